"""Builds the one zip that puts the execution side into another Python. Imports nothing of ours but its files."""

import zipfile
from collections.abc import Iterator
from pathlib import Path

_PACKAGE = Path(__file__).parent
_SHARED = ("__init__.py", "protocol.py", "outcome.py")
_MOMENT = (1980, 1, 1, 0, 0, 0)  # the earliest that zip can express


def build_bundle(path: str | Path) -> None:
    """Write ``healguard_core`` as far as a program under test needs it to the zip file ``path``.

    The same sources give the same bytes. On PYTHONPATH (or in ``sys.path``) of any Python from 3.8 on, the zip makes
    ``python -m healguard_core.execution`` work. Raises ``OSError`` when the file cannot be written.
    """
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bundle:
        for source in _files():
            entry = zipfile.ZipInfo(source.relative_to(_PACKAGE.parent).as_posix(), _MOMENT)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # the same on every system
            entry.external_attr = 0o100644 << 16
            bundle.writestr(entry, source.read_bytes())


def _files() -> Iterator[Path]:
    for name in _SHARED:
        if (_PACKAGE / name).exists():
            yield _PACKAGE / name
    yield from sorted((_PACKAGE / "execution").rglob("*.py"))

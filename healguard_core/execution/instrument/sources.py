"""What a name or path given as a source stands for on disk. Imports nothing of ours."""

import difflib
import importlib.machinery
import os
import pkgutil
import sys
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple

_SUFFIX = ".py"


class Source(NamedTuple):
    """A file, or a directory with everything below it, that was asked for as ``asked``.

    ``module`` is the dotted name it was asked by, "" for a path.
    """

    path: str
    is_directory: bool
    asked: str
    module: str = ""


def resolve(root: str, item: str) -> List[Source]:
    """The places that ``item`` names: an absolute or ``root``-relative path, or a dotted name that is importable.

    Nothing is imported. Raises ``ValueError`` that says what is wrong and lists the nearest valid names.
    """
    if not item.strip():
        raise ValueError("a source is empty; name a package, a file or a directory")
    if _looks_like_path(item):
        found = _by_path(root, item)
        if found is None:
            raise ValueError("source {!r} does not exist (looked at {})".format(item, _absolute(root, item)))
        return [found]
    sources = _by_name(root, item)
    found = _by_path(root, item)
    if found is not None and all(os.path.realpath(source.path) != os.path.realpath(found.path) for source in sources):
        sources.append(found)  # a checkout beside an installed release: which one is imported is not for us to guess
    if sources:
        return sources
    raise ValueError(
        "source {!r} is neither an importable package nor a path under {}{}".format(item, root, _nearest(root, item))
    )


def places(root: str) -> List[str]:
    """Where a project under ``root`` keeps its packages."""
    return [root, os.path.join(root, "src")]


def _looks_like_path(item: str) -> bool:
    return os.sep in item or "/" in item or item.endswith(_SUFFIX) or item in (os.curdir, os.pardir)


def _absolute(root: str, item: str) -> str:
    return os.path.abspath(os.path.join(root, os.path.expanduser(item)))


def _by_path(root: str, item: str) -> Optional[Source]:
    path = _absolute(root, item)
    if os.path.isdir(path):
        return Source(path, True, item)
    if os.path.isfile(path):
        return Source(path, False, item)
    return None


def _by_name(root: str, name: str) -> List[Source]:
    parts = name.split(".")
    if not all(part.isidentifier() for part in parts):
        return []
    spec = _top_level(root, parts[0])
    for index in range(1, len(parts)):
        if spec is None or spec.submodule_search_locations is None:
            return []
        spec = _find(".".join(parts[: index + 1]), list(spec.submodule_search_locations))
    return [] if spec is None else _places_of(spec, name)


def _top_level(root: str, name: str) -> Any:
    loaded = sys.modules.get(name)
    spec = getattr(loaded, "__spec__", None)
    if spec is not None and spec.name == name:
        return spec
    return _find(name, None) or importlib.machinery.PathFinder.find_spec(name, places(root))


def _find(name: str, path: Optional[List[str]]) -> Any:
    """What the import system would find, without importing the packages around it."""
    for finder in sys.meta_path:
        find_spec = getattr(finder, "find_spec", None)
        spec = find_spec(name, path) if find_spec is not None else None
        if spec is not None:
            return spec
    return None


def _places_of(spec: Any, asked: str) -> List[Source]:
    locations = spec.submodule_search_locations
    if locations is not None:
        return [Source(os.path.abspath(place), True, asked, asked) for place in locations if os.path.isdir(place)]
    origin = spec.origin
    if not spec.has_location or origin is None or not origin.endswith(_SUFFIX):
        raise ValueError(
            "source {!r} has no Python source ({}); only modules written in Python can be instrumented".format(
                asked, origin or "built in"
            )
        )
    return [Source(os.path.abspath(origin), False, asked, asked)]


def _nearest(root: str, item: str) -> str:
    parent, _, last = item.rpartition(".")
    near = difflib.get_close_matches(last, _names_beside(root, parent), 3, 0.6)
    if not near:
        return ""
    return "; did you mean {}?".format(" or ".join(repr(parent + "." + name if parent else name) for name in near))


def _names_beside(root: str, parent: str) -> Sequence[str]:
    """The names that could stand where an unknown name stands."""
    path: Optional[List[str]] = None
    if parent:
        found = _by_name(root, parent)
        path = [source.path for source in found if source.is_directory]
    names = {module.name for module in pkgutil.iter_modules(path)}
    if path is None:
        names.update(module.name for module in pkgutil.iter_modules(places(root)))
    return sorted(names)


def under(path: str, directory: str) -> Optional[Tuple[str, ...]]:
    """The parts of ``path`` below ``directory``; None when it does not lie there."""
    if path == directory:
        return ()
    prefix = directory if directory.endswith(os.sep) else directory + os.sep
    if not path.startswith(prefix):
        return None
    return tuple(path[len(prefix) :].split(os.sep))

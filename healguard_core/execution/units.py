"""Which test is running, whatever runs it. Imports nothing of ours."""

import os
import sys
import threading
from types import FrameType
from typing import Any, Dict, Iterator, List, Optional

_set: List[str] = [""]
_environ = os.environ  # the process's real environment, whatever a test puts in its place


def set_unit(name: str) -> None:
    """Say which test runs from now on; "" gives the question back to `current_unit`."""
    _set[0] = name


def current_unit(
    _environ: Any = _environ,
    _getframe: Any = sys._getframe,
    _frames: Any = sys._current_frames,
    _main: Any = threading.main_thread,
    _ident: Any = threading.get_ident,
) -> str:
    """The running test: what `set_unit` said, else pytest's node id, else ``module.Class.method`` of unittest, else "".

    A thread without a test on its own stack belongs to the test that the main thread runs.
    """
    if _set[0]:
        return _set[0]
    announced = _environ.get("PYTEST_CURRENT_TEST")
    if announced:
        return _without_phase(announced)
    found = _on_stack(_getframe(1))
    if not found and _ident() != _main().ident:
        found = _on_stack(_frames().get(_main().ident))
    return found


def _without_phase(announced: str) -> str:
    """``announced`` without pytest's " (call)" and its like at the end."""
    name, space, phase = announced.rpartition(" ")
    return name if space and phase in ("(setup)", "(call)", "(teardown)") else announced


def _on_stack(frame: Optional[FrameType]) -> str:
    for one in _outward(frame):
        name = _asker(one)
        if name:
            return name
    return ""


def _outward(frame: Optional[FrameType]) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _asker(frame: FrameType) -> str:
    """The test that a runner's own frame runs; only frames of known runners are looked into."""
    module = dict.get(frame.f_globals, "__name__")
    if module == "unittest.case" and frame.f_code.co_name == "run":
        return _unittest_id(_local(frame, "self"))
    if module == "_pytest.runner" and frame.f_code.co_name == "runtestprotocol":
        # A test that clears the environment takes PYTEST_CURRENT_TEST with it.
        return str(getattr(_local(frame, "item"), "nodeid", ""))  # pytest's own property, which it reads all the time
    return ""


def _local(frame: FrameType, name: str) -> Any:
    held: Dict[str, Any] = frame.f_locals
    return held.get(name)


def _unittest_id(case: object) -> str:
    """``module.Class.method`` as ``TestCase.id`` spells it, without calling a method that a test may override."""
    cls = type(case)
    method = object.__getattribute__(case, "_testMethodName")
    return "{}.{}.{}".format(cls.__module__, cls.__qualname__, method)

"""What an audit event means while a heal runs. May import groups, extent, policy and hooks.

Raising in an audit hook stops the operation before its effect, however it was reached. Importing a module opens,
compiles and executes files, and may write bytecode: that is let through where Python's import system or ours does it.
"""

import os
from types import CodeType, FrameType
from typing import Any, Optional, Tuple

from healguard_core.execution import hooks
from healguard_core.execution.guard import extent as extents
from healguard_core.execution.guard import groups
from healguard_core.execution.guard.extent import Extent
from healguard_core.execution.guard.policy import Policy
from healguard_core.execution.guard.veto import Stop, shown

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

_INTERPRETER = frozenset((
    "sys.settrace", "sys.setprofile", "sys.addaudithook", "gc.get_objects", "gc.get_referrers", "gc.get_referents",
    "cpython.run_command", "cpython.run_interactivehook", "sys.monitoring.register_callback",
))
"""Never while a heal runs, whoever asks."""

_FROM_HEAL = frozenset((
    "object.__getattr__", "object.__setattr__", "object.__delattr__", "sys._getframe", "sys._current_frames",
    "sys._current_exceptions", "sys._getframemodulename", "exec", "compile", "code.__new__", "function.__new__",
    "marshal.loads", "marshal.load", "pickle.find_class", "_thread.start_new_thread",
))
"""Never directly from healing code."""

_TRACERS = ("threading", "coverage", "pydevd", "debugpy", "sys")
"""Packages that may set their own trace function in a thread that a heal starts."""


def judge_event(
    policy: Policy, extent: Extent, event: str, args: Tuple[Any, ...], frame: FrameType
) -> Optional[Stop]:
    """What to stop, or None. ``frame`` is the Python frame that caused the event."""
    if event in _INTERPRETER or event.startswith("ctypes."):
        if extents.is_ours(frame.f_code) or _is_tracer(event, frame):
            return None
        if event == "sys.setprofile" and extent.unprofiled:
            extent.unprofiled = False
            return None
        return Stop("HG305", event, key=_shown(args))
    low_level = event == "open" and len(args) > 1 and args[1] is None
    entry = policy.events.get("os.open" if low_level else event)
    if entry is not None and not (entry.writes_only and not opens_to_write(args)) and not _by_import(frame):
        return Stop("HG301", entry.target, entry.id, _shown(args))
    if event == "_thread.start_new_thread" and not _is_thread_module(frame):
        return Stop("HG305", event, key="a thread that nobody can follow")
    if frame.f_code.co_filename == extent.label:
        return _from_heal(extent, event, args)
    if event == "exec" and hooks.is_instrumented(frame.f_code) and _is_text(args):
        return Stop("HG305", "running text as code", key=_code_name(args))
    return None


def _from_heal(extent: Extent, event: str, args: Tuple[Any, ...]) -> Optional[Stop]:
    if event == "compile" and extent.stops:
        return None  # Python shows the source of a traceback: a veto was lost in a finaliser
    if event in _FROM_HEAL:
        return Stop("HG305", event, key=_shown(args))
    if event == "open":
        return Stop("HG303", "open to write", key=_shown(args)) if opens_to_write(args) else None
    return Stop("HG303", event, key=_shown(args)) if event in groups.HEAL_EVENTS else None


def opens_to_write(args: Tuple[Any, ...]) -> bool:
    """Whether the arguments of an ``open`` event are those of an opening for writing."""
    if not args or isinstance(args[0], int):
        return False  # a descriptor that is open already
    mode = args[1] if len(args) > 1 else None
    flags = args[2] if len(args) > 2 else 0
    if isinstance(mode, str) and set(mode) & set("wax+"):
        return True
    return isinstance(flags, int) and bool(flags & _WRITES)


def _by_import(frame: FrameType) -> bool:
    """Whether the import system, or our own cache of instrumented code, asks."""
    at: Optional[FrameType] = frame
    for _ in range(4):
        if at is None:
            return False
        name = at.f_code.co_filename
        if name.startswith("<frozen importlib") or extents.is_ours(at.f_code):
            return True
        if name != os.__file__ and not name.startswith("<frozen os"):
            return False
        at = at.f_back  # `os.makedirs` of our cache
    return False


def _is_tracer(event: str, frame: FrameType) -> bool:
    name = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    return event in ("sys.settrace", "sys.setprofile", "sys.monitoring.register_callback") and name in _TRACERS


def _is_thread_module(frame: FrameType) -> bool:
    return frame.f_globals.get("__name__") == "threading"


def _is_text(args: Tuple[Any, ...]) -> bool:
    code = args[0] if args else None
    return isinstance(code, CodeType)


def _code_name(args: Tuple[Any, ...]) -> str:
    return str(args[0].co_filename)


def _shown(args: Tuple[Any, ...]) -> str:
    return ", ".join(shown(value) for value in args[:4])

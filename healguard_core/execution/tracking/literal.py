"""The paper's rule: after a heal, a protected operation is stopped unless its key is a literal at the call.

Nothing is followed for it. Calls are seen by `sys.setprofile`; what was pushed for an argument is read from the code of
the caller. A veto that is raised there takes the profile function out, whose finaliser puts the next one in.
May import program and sinks.
"""

import sys
import threading
from types import BuiltinFunctionType, FrameType, ModuleType
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

from healguard_core.execution.guard.extent import is_ours
from healguard_core.execution.guard.kinds import identity
from healguard_core.execution.guard.policy import Operation
from healguard_core.execution.guard.veto import Stop, Veto, shown
from healguard_core.execution.tracking.program import Program, program_of
from healguard_core.execution.tracking.sinks import Sinks, spelled, writes

_getprofile, _setprofile = sys.getprofile, sys.setprofile
_LITERALS = ("LOAD_CONST", "LOAD_SMALL_INT")


class _Given:
    """An argument: whether it is a literal at the call, and its value where that is known."""

    __slots__ = ("literal", "value")

    def __init__(self, literal: bool, value: Any = None) -> None:
        self.literal = literal
        self.value = value


class LiteralRule:
    """Applies the rule from `start` to `stop`. ``found`` is told of each stop before its veto is raised.

    ``note`` says why the rule is applied, where that is not the user's wish.
    """

    def __init__(self, sinks: Sinks, found: Callable[[Stop], None]) -> None:
        self.note = ""
        self._sinks = sinks
        self._found = found
        self._on = False
        self._before: Any = None
        self._inside: Dict[int, Set[int]] = {}  # by thread: frames in which C code runs

    def start(self) -> None:
        """Watch this thread, and those that start from now on."""
        if not self._on:
            self._on = True
            self._before = _getprofile()
            threading.setprofile(_Watch(self))
            _setprofile(_Watch(self))

    def stop(self) -> None:
        """Watch no more, and put back what profiled before."""
        if self._on:
            self._on = False
            threading.setprofile(None)
            if isinstance(_getprofile(), _Watch):
                _setprofile(self._before)

    @property
    def on(self) -> bool:
        """Whether the rule holds now."""
        return self._on

    def seen(self, frame: FrameType, event: str, callee: Any) -> None:
        """A profile event."""
        inside = self._inside.setdefault(threading.get_ident(), set())
        if event in ("c_return", "c_exception"):
            inside.discard(identity(frame))
        elif event == "c_call":
            if not is_ours(frame.f_code):
                self._judge(frame, callee, frame)
            inside.add(identity(frame))
        elif event == "call" and frame.f_back is not None and not is_ours(frame.f_code):
            self._judge_function(frame, frame.f_back, identity(frame.f_back) in inside)

    def _judge_function(self, frame: FrameType, caller: FrameType, from_c: bool) -> None:
        operation = self._sinks.by_code(frame.f_code)
        if operation is None:
            return
        code = frame.f_code
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        values = [frame.f_locals.get(name) for name in names]
        given = None if from_c else arguments(program_of(caller.f_code), caller.f_lasti >> 1)
        args, named = given if given is not None else ([_Given(False, value) for value in values], {})
        bound = len(args) + len(named) < len(values) and operation.owner is not None
        if given is not None and bound:
            args = [_Given(False, values[0] if values else None)] + args
        for index, one in enumerate(args[: len(values)]):
            one.value = values[index]
        self._decide(operation, args, named, caller)

    def _judge(self, frame: FrameType, callee: Any, caller: FrameType) -> None:
        operation = self._sinks.operation(callee)
        if operation is None:
            return
        given = arguments(program_of(frame.f_code), frame.f_lasti >> 1)
        args, named = given if given is not None else ([_Given(False)] * 8, {})
        receiver = callee.__self__ if type(callee) is BuiltinFunctionType else None
        if receiver is not None and not isinstance(receiver, ModuleType):
            args = [_Given(False, receiver)] + args
        if operation.entry.writes_only and args and all(one.literal for one in args[1:2]) and not writes(args, named):
            return
        self._decide(operation, args, named, caller)

    def _decide(self, operation: Operation, args: List[_Given], named: Dict[str, _Given], caller: FrameType) -> None:
        key = operation.key_of(tuple(args), named)
        open_ones = [name for name, one in key.items() if not _is_literal(one)]
        if not open_ones:
            return
        text = ", ".join("{}={}".format(name, shown(getattr(key[name], "value", "..."))) for name in open_ones)
        program = program_of(caller.f_code)
        where = spelled((caller.f_code, program.lines[max(caller.f_lasti, 0) >> 1]))
        stop = Stop("HG309", operation.entry.target, operation.entry.id, text, where, [where], False, self.note)
        self._found(stop)
        raise Veto(stop.message)


def _is_literal(given: Any) -> bool:
    if isinstance(given, (tuple, list)):
        return all(_is_literal(one) for one in given)
    if isinstance(given, dict):
        return all(_is_literal(one) for one in given.values())
    return bool(given.literal)


class _Watch:
    """The profile function of one thread; its finaliser puts in a new one as long as the rule holds."""

    __slots__ = ("_rule",)

    def __init__(self, rule: LiteralRule) -> None:
        self._rule = rule

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        try:
            self._rule.seen(frame, event, arg)
        except Veto as veto:
            rule = self._rule
            del self, arg, frame
            raise _again(rule, veto) from None

    def __del__(self) -> None:
        if self._rule.on and _getprofile() is None:
            _setprofile(_Watch(self._rule))


def _again(_rule: LiteralRule, veto: Veto) -> Veto:
    __tracebackhide__ = True
    return veto.with_traceback(None)


def arguments(program: Program, at: int) -> Optional[Tuple[List[_Given], Dict[str, _Given]]]:
    """What the call at index ``at`` is given, by position and by name; None where it cannot be told."""
    while at > 0 and program.names[at] in ("", "CACHE"):
        at -= 1  # a frame that called a Python function may stand behind its call
    name, count = program.names[at], program.args[at]
    depth = program.depths[at]
    if name == "CALL_KW":
        names_at = _pushed(program, at, depth - 1)
        keywords = program.code.co_consts[program.args[names_at]] if names_at is not None else ()
        depth -= 1
    elif name == "CALL":
        keywords = _names_before(program, at)
    else:
        return None
    given = []
    for place in range(depth - count, depth):
        pushed = _pushed(program, at, place)
        literal = pushed is not None and program.names[pushed] in _LITERALS
        value = None
        if literal and pushed is not None and program.names[pushed] == "LOAD_CONST":
            value = program.code.co_consts[program.args[pushed]]
        given.append(_Given(literal, value))
    split = count - len(keywords)
    return given[:split], dict(zip(keywords, given[split:]))


def _names_before(program: Program, at: int) -> Tuple[str, ...]:
    """The keywords of a call that another instruction sets before it (3.11 and 3.12)."""
    for index in range(at - 1, -1, -1):
        if program.names[index] == "KW_NAMES":
            names: Tuple[str, ...] = program.code.co_consts[program.args[index]]
            return names
        if program.names[index] not in ("", "PRECALL", "CACHE", "EXTENDED_ARG"):
            return ()
    return ()


def _pushed(program: Program, at: int, place: int) -> Optional[int]:
    """The index of the instruction that pushed entry ``place`` of the value stack, as it stands before ``at``."""
    for index in range(at - 1, -1, -1):
        if program.names[index] and 0 <= program.depths[index] <= place:
            return index
    return None

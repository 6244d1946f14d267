"""Whether an exception leaves one frame: its ``try`` and ``with`` blocks, from the inside out.

Standard library only.
"""

import ast
import builtins
import sys
from importlib.machinery import ModuleSpec
from types import CodeType, FrameType, ModuleType
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from . import exits, handlers, layout, lexical, names, valuestack, withs
from .handlers import Body
from .names import UNKNOWN, Names
from .passage import Passage, passes, swallows, unsure

_STAR = getattr(ast, "TryStar", None)
_GROUP = getattr(builtins, "BaseExceptionGroup", None)
_GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80 | 0x100, 0x200


class Answer(NamedTuple):
    """A remembered answer, good while its guards hold. Code and class are kept, so that their ids stay taken."""

    code: CodeType
    cls: Optional[type]
    scope: Dict[str, Any]
    guards: List[names.Guard]
    local: List[names.LocalGuard]
    managers: List[exits.ExitGuard]
    result: Passage


Memory = Dict[Tuple[int, int, int], Answer]
"""By the ids of code, offset and the id of the class."""

answers: Memory = {}
_MAX_MEMO = 20000


def through(frame: FrameType, cls: Optional[type]) -> Passage:
    """What becomes of an exception of class ``cls`` that is raised at the frame's current instruction."""
    key = (id(frame.f_code), frame.f_lasti, id(cls))
    known = answers.get(key)
    if (
        known is not None
        and known.scope is frame.f_globals
        and names.hold(known.guards)
        and (not known.local or names.hold_local(known.local, frame))
        and (not known.managers or exits.hold(known.managers, frame))
    ):
        return known.result
    here = names.of_frame(frame)
    result = _judge(frame, cls, here)
    if not here.trail.loose and _is_module(frame.f_globals) and not _is_recursion(cls):
        if len(answers) > _MAX_MEMO:
            answers.clear()
        trail = here.trail
        answers[key] = Answer(
            frame.f_code, cls, frame.f_globals, trail.guards, trail.local, trail.managers, result)
    return result


def _is_module(scope: Dict[str, Any], _modules: Any = sys.modules) -> bool:
    """Whether these are the globals of an imported module: others may be wanted gone."""
    spec = dict.get(scope, "__spec__")
    named = spec.name if type(spec) is ModuleSpec else None  # some modules of the library go by another name
    for name in (dict.get(scope, "__name__"), named):
        module = _modules.get(name) if type(name) is str else None
        if type(module) is ModuleType and module.__dict__ is scope:
            return True
    return False


def _is_recursion(cls: Optional[type]) -> bool:
    """Whether this is the interpreter's own error, which comes through too many frames to look at them from each."""
    return cls is not None and names.derives(cls, RecursionError)


def _judge(frame: FrameType, cls: Optional[type], here: Names) -> Passage:
    place = lexical.place(frame)
    if place.blocks is None:
        here.trail.loose = True
        result = _without_source(frame, place, cls)
    elif place.blocks:
        result = _through_blocks(frame, place, cls, here)
    else:
        result = passes(cls)
    if result.way == "passes" and result.cls is not None:
        return passes(_leaving(frame.f_code.co_flags, result.cls))
    return result


def _leaving(flags: int, cls: type) -> type:
    """Generators turn a StopIteration that leaves them into a RuntimeError."""
    if flags & (_GENERATOR | _COROUTINE | _ASYNC_GENERATOR) and names.derives(cls, StopIteration):
        return RuntimeError
    if flags & _ASYNC_GENERATOR and names.derives(cls, StopAsyncIteration):
        return RuntimeError
    return cls


def _through_blocks(frame: FrameType, place: lexical.Place, cls: Optional[type], here: Names) -> Passage:
    shift = place.scope.shift if place.scope is not None else 0
    managers = _managers(place)
    result = passes(cls)
    for block in place.blocks or ():
        if block.part == "item":
            handler = managers.pop(0) if managers else None
            result = _through_with(frame, block, handler, here, result.cls)
        else:
            result = _through_try(frame, block, here, result.cls, shift)
        if result.way != "passes":
            return result
    return result


def _managers(place: lexical.Place) -> List[layout.Handler]:
    """The bytecode handlers of the frame's with blocks, if they agree with the source."""
    count = sum(1 for block in place.blocks or () if block.part == "item")
    return list(place.withs) if len(place.withs) == count and valuestack.readable() else []


# --------------------------------------------------------------------------- try


def _through_try(frame: FrameType, block: lexical.Block, here: Names, cls: Optional[type], shift: int) -> Passage:
    result = passes(cls)
    if block.part == "body":
        if _STAR is not None and type(block.node) is _STAR:
            result = _star(frame, block.node, here, cls, shift)
        else:
            result = _clauses(frame, block.node, here, cls, shift)
    if not block.node.finalbody or result.way == "unsure":
        return result
    final = _finally(frame, block.node, here, result.cls, shift)
    return final if result.way == "passes" or final.way != "passes" else result


def _clauses(frame: FrameType, node: Any, here: Names, cls: Optional[type], shift: int) -> Passage:
    for clause in node.handlers:
        caught = True if clause.type is None else names.matches(cls, names.evaluate(clause.type, here))
        if caught is False:
            continue
        at = lexical.where(frame.f_code, clause.lineno + shift)
        if caught is None:
            return unsure("whether the except at {} catches it is not known".format(at))
        ends = handlers.handler_ends(clause, here, cls)
        return _ending(ends, cls, _said(clause, cls, at), "the except at {}".format(at))
    return passes(cls)


def _said(clause: Any, cls: Optional[type], at: str) -> str:
    if clause.type is None:
        return "except at {} catches it".format(at)
    kind = clause.type
    name = getattr(kind, "id", getattr(kind, "attr", "")) or (cls.__name__ if cls is not None else "")
    return "except {} at {} catches it".format(name, at)


def _star(frame: FrameType, node: Any, here: Names, cls: Optional[type], shift: int) -> Passage:
    at = lexical.where(frame.f_code, node.lineno + shift)
    if cls is None or (_GROUP is not None and names.derives(cls, _GROUP)):
        return unsure("the except* at {} may take a part of the group".format(at))
    result = _clauses(frame, node, here, cls, shift)
    if result.way == "passes" and result.cls is cls:
        matched = [names.matches(cls, names.evaluate(clause.type, here)) for clause in node.handlers]
        if any(matched):  # raised again inside except*: as itself or in a group
            return unsure("the except* at {} raises it again".format(at))
    return result if result.cls is cls or result.way != "passes" else passes(None)


def _finally(frame: FrameType, node: Any, here: Names, cls: Optional[type], shift: int) -> Passage:
    at = lexical.where(frame.f_code, node.finalbody[0].lineno + shift)
    changed = lexical.stored_names(node.finalbody)
    ends = handlers.flow(node.finalbody, Body(here.within(changed, {}), None))
    ends = {handlers.SAME if end == handlers.NEXT else end for end in ends}
    if handlers.UNSURE in ends:
        return unsure("the finally at {} may end differently".format(at))
    return _ending(ends, cls, "the finally at {} ends it".format(at), "the finally at {}".format(at))


def _ending(ends: handlers.Ends, cls: Optional[type], said: str, what: str) -> Passage:
    if handlers.leaves(ends):
        return swallows(said)
    if not handlers.raises(ends):
        return unsure("{} only sometimes lets it go on".format(what))
    classes = [cls if end.way == "same" else end.cls for end in ends]
    return passes(classes[0] if all(one is classes[0] for one in classes) else None)


# --------------------------------------------------------------------------- with


def _through_with(frame: FrameType, block: lexical.Block, handler: Optional[layout.Handler], here: Names,
                  cls: Optional[type]) -> Passage:
    if handler is None:
        here.trail.loose = True
        return withs.static_passage(block.node.items[block.item], here, cls)
    owner, function = valuestack.exit_callable(frame, handler)
    guard = exits.exit_guard(valuestack.exit_index(frame.f_code, handler), function)
    if guard is None:
        here.trail.loose = True
    else:
        here.trail.managers.append(guard)
    return withs.exit_passage(owner, function, cls, through)


def _without_source(frame: FrameType, place: lexical.Place, cls: Optional[type]) -> Passage:
    """What bytecode alone says: only simple ``except`` and ``finally`` handlers and known with blocks are followed."""
    if not layout.HAS_TABLES and not valuestack.readable() and layout.sets_up_blocks(frame.f_code):
        return unsure("the source of {} is not known".format(frame.f_code.co_name))
    result = passes(cls)
    for one in place.decoded:
        if one.handler.kind == "except":
            known = UNKNOWN if one.tested is None else names.of_frame(frame).get(one.tested)
            if names.matches(result.cls, known) is not False:
                result = unsure("an except clause without source ({}) may end it".format(frame.f_code.co_name))
        elif one.handler.kind == "finally":
            if not one.reraises:
                result = unsure("a finally without source ({}) may end it".format(frame.f_code.co_name))
        elif valuestack.readable():
            owner, function = valuestack.exit_callable(frame, one.handler)
            result = withs.exit_passage(owner, function, result.cls, through)
        else:
            result = unsure("a with block without source ({}) may end it".format(frame.f_code.co_name))
        if result.way != "passes":
            return result
    return result

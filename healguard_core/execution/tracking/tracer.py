"""Follows frames by `sys.settrace`: hands marks from callers to callees and back. May import the parts of tracking.

Whatever traced before goes on: its events are passed on, and it is put back when following ends.
"""

import os
import sys
import threading
import time
import weakref
from types import AsyncGeneratorType, CodeType, CoroutineType, FrameType, GeneratorType
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

from healguard_core.execution.guard.extent import is_ours
from healguard_core.execution.guard.kinds import identity
from healguard_core.execution.guard.veto import Veto
from healguard_core.execution.tracking import calls, entering, flights, namespaces, natives
from healguard_core.execution.tracking.frames import INNER, code_word
from healguard_core.execution.tracking.gate import ATOMS, Gate
from healguard_core.execution.tracking.heap import Heap
from healguard_core.execution.tracking.labels import Mark, join
from healguard_core.execution.tracking.liveness import is_used
from healguard_core.execution.tracking.local import EVERY, Local, Passing, rearm
from healguard_core.execution.tracking.memory import OBJECTS, WORDS
from healguard_core.execution.tracking.opcodes import step_of
from healguard_core.execution.tracking.program import Program
from healguard_core.execution.tracking.shadow import Flight, Shadow, new_shadow
from healguard_core.execution.tracking.sinks import Sinks
from healguard_core.execution.tracking.standins import Standins, Tracing
from healguard_core.execution.tracking.threads import Thread
from healguard_core.execution.tracking.wall import switches_off, watch

_gettrace, _settrace, _getframe = sys.gettrace, sys.settrace, sys._getframe
_set_for_new = threading.settrace
_ident = threading.get_ident
_SHARED = sys.version_info >= (3, 13)
_GENERATOR_KINDS = 0x20 | 0x80 | 0x200
_CLEAN = (None,)  # nothing of what is in flight, or reachable from it, is marked
_ATOMS = ATOMS.numbers
_clock = time.thread_time
_SELDOM = EVERY * 16 - 1


def _nothing() -> None:
    """Nobody wants to know."""


def _unheard(_frame: FrameType) -> None:
    """Nobody wants to know."""


def _unasked(_frame: FrameType, _mark: Mark) -> BaseException:
    """Nobody has another opinion."""
    return Veto("a healed value decides about tracing")


def _get_for_new() -> Any:
    return threading._trace_hook  # type: ignore[attr-defined]  # `gettrace` came with Python 3.10


def _is_known(inner: int, places: Tuple[int, ...], values: Set[int]) -> bool:
    """Whether everything in ``places`` of a frame is known not to lead to anything marked."""
    try:
        for place in places:
            value = OBJECTS[inner + place]
            if identity(type(value)) not in _ATOMS and identity(value) not in values:
                return False
    except ValueError:  # a variable that is not bound yet
        return False
    return True


class Machine:
    """Everything that is followed in one process."""

    def __init__(self, heap: Heap, sinks: Sinks, spared: Any, fault: Callable[[Exception], None]) -> None:
        self.heap = heap
        self.sinks = sinks
        self.fault = fault
        self._spared = spared  # whether a code object is never followed
        self._threads: Dict[int, Thread] = {}
        self._shadows: Dict[int, Shadow] = {}
        self._followed: Dict[int, CodeType] = {}  # code of which a frame was followed
        self._steps: Dict[int, Any] = {}
        self._spare_known: Dict[int, Any] = {}
        self._through_runner: List[Any] = []  # what fixtures and alike gave to the test runner, with marks
        self._gate = Gate(heap)
        self._leave_wall: Callable[[], None] = _nothing
        self.used_up: Callable[[], None] = _nothing
        self.tampered: Callable[[FrameType, Mark], BaseException] = _unasked
        self.displaced: Callable[[FrameType], None] = _unheard
        self.lost: Callable[[], None] = _nothing
        self._new_threads: Any = None  # what the program wants threads to be traced by
        self._standins = Standins(Tracing(
            self._set_here, self._get_here, self._set_for_new, lambda: self._new_threads, self._set_everywhere))
        self.begun = self._begun  # one object, so that it is known again
        self.events = 0
        self._in_use: Optional[Shadow] = None  # the frame that used marks when it was last looked at
        self._spent = 0.0
        self._most = 0.0
        self.on = False

    def broken(self, fault: Exception) -> None:
        """Our own ``fault`` at the begin or the end of a frame: what went on there is not known."""
        self.fault(fault)
        self.lost()

    # ----------------------------------------------------------------- the budget

    def allow(self, seconds: float) -> None:
        """Following may cost so much processor time more."""
        self._most = self._spent + seconds

    def timed(self, shadow: Shadow, frame: FrameType) -> None:
        """One event in `EVERY` is timed for all of them."""
        began = _clock()
        try:
            shadow.opcode(frame)
        finally:
            self._spent += (_clock() - began) * EVERY
        if shadow.thread.ambient is None:
            if self._spent > self._most:
                self.used_up()
            elif not self.events & _SELDOM:
                self.heap.prune()

    # ----------------------------------------------------------------- what operations ask

    def steps_of(self, program: Program) -> List[Any]:
        """The instructions of ``program`` as functions with their arguments, by index."""
        known = self._steps.get(identity(program))
        if known is None:
            steps = [(step_of(name), argument) for name, argument in zip(program.names, program.args)]
            known = self._steps[identity(program)] = (program, steps)
        found: List[Any] = known[1]
        return found

    def namespace(self, s: Shadow) -> Any:
        """The mapping of names of a frame at module level or in a class body; None for others."""
        frame = s.thread.frame
        if frame is None or identity(frame) != s.frame_id or s.code.co_flags & 1:
            return None
        return frame.f_locals

    def adopt_generator(self, thread: Thread, made: Any, frame: FrameType, filling: Any) -> None:
        """A generator was made: its frame gets the marks of its parameters now, for when it runs."""
        shadow = new_shadow(self, thread, frame)
        entering.fill(shadow, filling)
        self._keep(shadow, made)

    def _keep(self, shadow: Shadow, made: Any) -> None:
        self._shadows[shadow.frame_id] = shadow
        shadows, number = self._shadows, shadow.frame_id

        def forget(_reference: Any) -> None:
            if shadows.get(number) is shadow:
                del shadows[number]

        if made is not None:
            shadow.made = weakref.ref(made, forget)

    # ----------------------------------------------------------------- threads

    def thread(self) -> Thread:
        """What is known about this thread."""
        ident = _ident()
        found = self._threads.get(ident)
        if found is None:
            found = self._threads[ident] = Thread()
            found.called = self._make_called(found)
        return found

    def start(self) -> None:
        """Begin to follow in this thread and in threads that start from now on."""
        if not self.on:
            self._leave_wall = watch(self._audited)
            self._new_threads = _get_for_new()
            self._standins.install()
        self.on = True
        _set_for_new(self.begun)
        self.trace_here(self.thread())

    def _audited(self, event: str, args: Any, frame: FrameType) -> Optional[BaseException]:
        """What to raise in place of an audited operation of the program."""
        thread = self._threads.get(_ident())
        if thread is None or thread.ambient is not None:
            return None  # the guard of the running heal judges
        current = thread.current
        if switches_off(event):
            if thread.traced and not thread.vetoing and _gettrace() is thread.called:
                thread.traced = False  # it is being set now: nothing else can be
                self.displaced(frame)  # not by the stand-ins, so there is no way to go on beside it
            return None
        return None if current is None else self.sinks.audited(current, event, args)

    def _set_here(self, function: Any, caller: FrameType) -> None:
        """The program sets its trace function in this thread."""
        thread = self.thread()
        starts = function is self.begun  # in a new thread
        if starts or (not thread.traced and _gettrace() is not thread.called):
            thread.previous = self._new_threads if starts else None
            thread.heals(thread.ambient)
            _settrace(thread.called if starts else function)
            return
        asking = self.shadow_of(caller)
        flight = asking.flight if asking is not None else None
        mark = join(*[mark for _, mark in flight.pairs]) if flight is not None else None
        if mark is not None:
            raise self.tampered(caller, mark)
        thread.previous = function
        thread.heals(thread.ambient)

    def _get_here(self) -> Any:
        thread = self.thread()
        return thread.previous if _gettrace() is thread.called else _gettrace()

    def _set_for_new(self, function: Any) -> None:
        self._new_threads = function

    def _set_everywhere(self, function: Any, caller: FrameType) -> None:
        self._new_threads = function
        for thread in list(self._threads.values()):
            thread.previous = function
            thread.heals(thread.ambient)
        self._set_here(function, caller)

    def trace_here(self, thread: Thread) -> None:
        """Trace this thread."""
        current = _gettrace()
        if not thread.traced:
            thread.previous = None if current is thread.called or current is self.begun else current
            thread.heals(thread.ambient)
            thread.traced = True
        if current is not thread.called:
            _getframe(0).f_trace_opcodes = True
            _settrace(thread.called)

    def stop(self) -> None:
        """Follow no more; put back what traced before."""
        self.on = False
        self._leave_wall()
        self._standins.remove()
        _set_for_new(self._new_threads)
        thread = self.thread()
        if thread.traced:
            thread.traced = False
            if _gettrace() is thread.called:
                _settrace(thread.previous)
        self._threads.clear()
        self._shadows.clear()

    # ----------------------------------------------------------------- frames

    def is_spared(self, code: CodeType) -> bool:
        """Whether frames of ``code`` are never followed: ours and the test runner's."""
        known = self._spare_known.get(identity(code))
        if known is None or known[0] is not code:
            known = self._spare_known[identity(code)] = (code, is_ours(code) or self._spared(code))
        return bool(known[1])

    def arm(self, frame: FrameType) -> Optional[Shadow]:
        """Follow a frame that runs already, from where it stands. None for one that is never followed."""
        if self.is_spared(frame.f_code):
            return None
        self.events += 1  # what was found out before about other frames need not hold any more
        shadow = self._shadows.get(identity(frame))
        if shadow is None or shadow.code is not frame.f_code:
            shadow = new_shadow(self, self.thread(), frame)
            shadow.arm_midway(frame)
            self._shadows[identity(frame)] = shadow
        self._attach(frame, shadow)
        return shadow

    def is_used_up(self) -> bool:
        """Whether nothing that is marked can be used any more."""
        if self.heap or self.heap.is_noted or self._through_runner:
            return False
        if any(thread.leaving is not None or thread.ambient is not None for thread in self._threads.values()):
            return False
        last = self._in_use  # the same as a rule, which spares the look at all others
        if last is not None and self._shadows.get(last.frame_id) is last and is_used(last):
            return False
        self._in_use = next(filter(is_used, reversed(list(self._shadows.values()))), None)
        return self._in_use is None

    def rest(self, thread: Thread) -> None:
        """Follow no more until the next heal, where nothing marked is left and nobody else traces."""
        if thread.plain and len(self._threads) == 1 and self.is_used_up():
            self.stop()

    def shadow_of(self, frame: FrameType) -> Optional[Shadow]:
        """The shadow of a frame that is followed."""
        found = self._shadows.get(identity(frame))
        return found if found is not None and found.code is frame.f_code else None

    def _attach(self, frame: FrameType, shadow: Shadow) -> None:
        local = frame.f_trace
        self._followed[identity(frame.f_code)] = frame.f_code
        if not isinstance(local, Local):
            shadow.chained = local
            frame.f_trace = Local(self, shadow)
        elif not local.follows(shadow):  # it was followed before, for an earlier heal
            frame.f_trace = Local(self, shadow)
        frame.f_trace_opcodes = True

    # ----------------------------------------------------------------- events

    def _make_called(self, thread: Thread) -> Callable[[FrameType, str, Any], Any]:
        """The global trace function of one thread: it runs for every call, so the usual cases are decided at once."""
        marked, shadows, handed, gate = self.heap.entries, self._shadows, self._through_runner, self._gate
        shared, followed = _SHARED, self._followed
        plans, values, words, word = gate.plans, gate.values, WORDS, code_word()

        def called(frame: FrameType, event: str, arg: Any) -> Any:
            events = self.events
            if events == thread.clean_at:
                if shared and (word < 0 or words[(words[(identity(frame) << 1) + INNER] >> 3) + word] >> 4 in followed):
                    frame.f_trace_opcodes = True
                return None
            if thread.plain and not handed:
                current = thread.current
                flight = None if current is None else current.flight
                number = identity(frame)
                if (flight is None or flight.union == _CLEAN) and number not in shadows:
                    if not marked:
                        if thread.asked_at != events:
                            thread.asked_at = events
                            if all(shadow.made is None for shadow in list(shadows.values())):  # none is suspended
                                thread.clean_at = events
                        if shared:
                            self._left_alone(frame, None)
                        return None
                    if gate.since == events:
                        inner = words[(number << 1) + INNER] >> 3
                        places = plans.get(words[inner + word])
                        if places is not None and _is_known(inner, places, values):
                            if shared:
                                self._left_alone(frame, None)
                            return None
            try:
                return self._follow(thread, frame, event, arg)
            except Veto:
                raise
            except Exception as fault:  # would reach the program, and switch tracing off
                self.broken(fault)
                return None

        return called

    def _begun(self, frame: FrameType, event: str, arg: Any) -> Any:
        """The first call in a new thread."""
        thread = self.thread()
        self.trace_here(thread)
        return thread.called(frame, event, arg)

    def _follow(self, thread: Thread, frame: FrameType, event: str, arg: Any) -> Any:
        """A frame begins, or a generator goes on: the local trace function where it has to be followed."""
        if not self.on:
            return None
        chained = None
        if thread.previous is not None:
            chained = thread.previous(frame, event, arg)
            if _gettrace() is not thread.called:
                _settrace(thread.called)
        code = frame.f_code
        if self.is_spared(code):
            return self._left_alone(frame, chained)
        if self._is_untouched(thread, frame, code):
            if not self.heap.entries:
                self.rest(thread)
            return self._left_alone(frame, chained)
        shadow = self._entered(thread, frame, code)
        shadow.chained = chained
        self._followed[identity(code)] = code
        frame.f_trace_lines = chained is not None
        frame.f_trace_opcodes = True
        local = Local(self, shadow)
        frame.f_trace = local
        if code.co_name in self.sinks.bodies and thread.ambient is None:
            self._protect(thread, frame, shadow, local)
        return local

    def _left_alone(self, frame: FrameType, chained: Any) -> Any:
        """From Python 3.13 on one frame of a code object that wants no instructions takes them from all others."""
        if not _SHARED or identity(frame.f_code) not in self._followed:
            return chained
        frame.f_trace_opcodes = True
        return chained if chained is None else Passing(chained)

    def _protect(self, thread: Thread, frame: FrameType, shadow: Shadow, local: Local) -> None:
        """The frame may be that of a protected operation: raises the veto in it before its first instruction."""
        try:
            entering.check_entry(shadow, thread.current, max(frame.f_lasti, 0) >> 1)
        except Veto as veto:
            __tracebackhide__ = True
            self._shadows.pop(identity(frame), None)
            rearm(self, frame, local)
            raise veto.with_traceback(None) from None

    def _is_untouched(self, thread: Thread, frame: FrameType, code: CodeType) -> bool:
        """Whether ``frame`` can neither read a mark nor move one, or does not run for the program."""
        flight = None if thread.current is None else thread.current.flight
        clean = flight is None or flights.in_flight(self.heap, flight) is None
        quiet = thread.ambient is None and not self._through_runner and identity(frame) not in self._shadows
        if clean and quiet and self._gate.is_closed(frame, code, self.events):
            return True
        return not self._concerns(thread, frame)

    def _concerns(self, thread: Thread, frame: FrameType) -> bool:
        """Whether ``frame`` runs for the program, not for us or for the test runner. Sets who called it."""
        parent = thread.current
        at = frame.f_back
        if parent is not None and at is not None and identity(at) == parent.frame_id:
            return True
        while at is not None:
            found = self.shadow_of(at)
            if found is not None:
                thread.current = found
                return True
            if self.is_spared(at.f_code):
                thread.current = None
                if is_ours(at.f_code):
                    return thread.healing is not None and bool(thread.healing.runs(frame.f_code))
                return not frame.f_code.co_filename.startswith(_LIBRARY) or _SITE in frame.f_code.co_filename
            at = at.f_back
        thread.current = None
        return True

    def _entered(self, thread: Thread, frame: FrameType, code: CodeType) -> Shadow:
        parent = thread.current
        back = frame.f_back
        flight = parent.flight if parent is not None else None
        shadow = self._shadows.get(identity(frame))
        if shadow is not None and shadow.code is code:  # a generator goes on
            shadow.thread = thread
            shadow.back = 0 if back is None else identity(back)
            self._resumed(shadow, parent, flight, frame)
        else:
            shadow = new_shadow(self, thread, frame)
            self._keep(shadow, _generator_of(flight, frame) if code.co_flags & _GENERATOR_KINDS else None)
            if code.co_flags & _GENERATOR_KINDS and frame.f_lasti > 0:
                shadow.stack = [None]
                self._resumed(shadow, parent, flight, frame)
            entering.read_code(shadow, flight)
            if not code.co_flags & 1:  # variables that are a mapping
                namespaces.run(parent, flight, frame.f_locals)
            if thread.healing is not None and thread.healing.runs(code):
                thread.healing.entered(shadow)
            elif flight is None:
                if self._through_runner and parent is None:
                    flights.fill_from_flight(shadow, Flight(list(self._through_runner)))
            else:
                filling = flight.codes.get(identity(code))
                if filling is not None and parent is not None and shadow.back == parent.frame_id:
                    entering.fill(shadow, filling)
                else:
                    flights.fill_from_flight(shadow, flight, parent.returned if parent is not None else ())
        return shadow

    def _resumed(self, shadow: Shadow, parent: Optional[Shadow], flight: Optional[Flight], frame: FrameType) -> None:
        """Give a generator the mark of what is sent into it."""
        depth = shadow.program.depths[max(frame.f_lasti, 0) >> 1]
        calls.fit(shadow.stack, max(depth, 0))
        if not shadow.stack:
            return
        sent: Optional[Mark] = None
        if parent is not None and parent.sent is not None and shadow.back == parent.frame_id:
            sent = parent.sent
        elif flight is not None and flight.call is not None and flight.call[1].args:
            call = flight.call[1]
            name = getattr(call.callee, "__name__", "")
            if name in ("send", "asend", "throw", "athrow"):
                sent = join(*call.marks)
        shadow.stack[-1] = sent

    def left(self, shadow: Shadow, frame: FrameType, value: Any, failed: bool) -> None:
        """A followed frame returns or yields ``value``, or an error leaves it."""
        thread = shadow.thread
        thread.clean_at = thread.asked_at = -1
        mark, shadow.leaving = shadow.leaving, None
        if thread.healing is not None and thread.healing.runs(shadow.code):
            thread.healing.left(shadow)
        if not failed and shadow.program.names[shadow.at] == "YIELD_VALUE":
            if shadow.made is None:
                shadow.made = frame  # so that nobody else gets its identity; until the end
        elif self._shadows.get(identity(frame)) is shadow:
            del self._shadows[identity(frame)]
        back = frame.f_back
        parent = self.shadow_of(back) if back is not None else None
        if not shadow.code.co_flags & 1 and shadow.code.co_name != "<module>":
            self._class_body(frame, back)
        if not failed and shadow.code.co_flags & 0x80 and shadow.program.names[shadow.at].startswith("RETURN"):
            natives.task_result(self.heap, frame, mark)
        if parent is not None:
            thread.current = parent
            if not failed:
                parent.returned.append((value, mark))
            return
        thread.current = None
        if mark is None and not self.heap.entries:
            self.rest(thread)
        if back is None or (mark is None and self.heap.changes == shadow.changes) or (failed and mark is None):
            return
        if not self.is_spared(back.f_code):
            armed = self.arm(back)
            if armed is not None:
                armed.returned.append((value, mark))
                thread.current = armed
        elif mark is not None and not is_ours(back.f_code):
            self._through_runner.append((value, mark))

    def _class_body(self, frame: FrameType, back: Optional[FrameType]) -> None:
        """The names of a class body become the class's attributes."""
        marks = self.heap.slots(frame.f_locals) if self.heap else {}
        parent = self.shadow_of(back) if back is not None else None
        if marks and parent is not None and parent.flight is not None:
            pending = parent.pending

            def settle(s: Shadow, depth: int) -> None:
                if pending is not None:
                    pending(s, depth)
                made = s.places.at(s.base + depth - 1)
                for slot, mark in marks.items():
                    if slot[0] == "item":
                        s.machine.heap.put(made, ("attribute", slot[1]), mark)

            parent.pending = settle


def _generator_of(flight: Optional[Flight], frame: FrameType) -> Any:
    """The generator or coroutine in ``flight`` whose frame this is."""
    if flight is not None:
        for value, _ in flight.pairs[:4]:
            for kind, name in _FRAMES:
                if type(value) is kind and getattr(value, name) is frame:
                    return value
    return None


_FRAMES = ((GeneratorType, "gi_frame"), (CoroutineType, "cr_frame"), (AsyncGeneratorType, "ag_frame"))


_LIBRARY = os.path.dirname(os.__file__) + os.sep
_SITE = os.sep + "site-packages" + os.sep

"""A paused frame: running code in it, writing back what the code bound. May import guard, heal_code, quiet, scopes."""

import contextlib
import linecache
import reprlib
import traceback
from types import FrameType
from typing import Any, Dict, List, Optional

from healguard_core.execution.guard.enforcement import Watch
from healguard_core.execution.guard.veto import Veto
from healguard_core.execution.pause.heal_code import CONTROLS, RAISE, RETURN, VALUE, Parsed, parse, private_class
from healguard_core.execution.pause.quiet import Captured, head_room, source_lines
from healguard_core.execution.pause.scopes import UNBOUND, Attempt, scope_of, wrote

_UNWATCHED = contextlib.nullcontext()
_MAX_ERROR = 8000
_MAX_VALUE = 8000


class Ran:
    """What one run of heal code did. Nothing of it is in the frame before `PausedFrame.write_back`.

    Attributes: ``code``; ``stdout`` (what it printed, bounded); ``value_repr`` (of a last expression, bounded, ""
    without one); ``error`` ("" or a traceback of the heal's own lines); ``exception`` (the object, or None);
    ``bindings`` (name to new value) and ``deleted`` names; ``has_return`` and ``return_value`` (`_eh_rtn`);
    ``raise_exc`` (`_eh_raise`, an instance, or None); ``wrote`` (changed locations in words).
    """

    def __init__(self, code: str) -> None:
        self.code = code
        self.stdout = ""
        self.value_repr = ""
        self.error = ""
        self.exception: Optional[BaseException] = None
        self.has_return = False
        self.return_value: Any = None
        self.raise_exc: Optional[BaseException] = None
        self.wrote: List[str] = []
        self._local: Dict[str, Any] = {}
        self._global: Dict[str, Any] = {}
        self._attempt: Optional[Attempt] = None

    @property
    def bindings(self) -> Dict[str, Any]:
        """New and changed names with their new values."""
        both = dict(self._global, **self._local)
        return {name: value for name, value in both.items() if value is not UNBOUND}

    @property
    def deleted(self) -> List[str]:
        """Names that the code unbound."""
        both = dict(self._global, **self._local)
        return sorted(name for name, value in both.items() if value is UNBOUND)


class PausedFrame:
    """Access to the variables of ``frame`` while the program is paused in it or in something that it called."""

    def __init__(self, frame: FrameType) -> None:
        self._frame = frame
        with head_room():
            self._scope = scope_of(frame)

    def read(self) -> Dict[str, Any]:
        """The variables by name: locals, captured and free variables, names added by heals."""
        return self._scope.read()

    def run(self, code: str, label: str = "<heal>", echo: bool = False, watch: Optional[Watch] = None) -> Ran:
        """Run ``code`` as if it stood in the frame. Its errors come back in `Ran.error`.

        ``watch`` guards the run: what it stops is in `Watch.stops`, also where the code has swallowed the veto.

        While it runs, cells and globals that it binds are changed for real, so that functions it calls see them;
        afterwards every binding is as before, until `write_back`. With ``echo`` its output is printed as well.
        Lets ``KeyboardInterrupt`` and other exceptions that are no ``Exception`` through, with bindings put back.
        """
        ran = Ran(code)
        with head_room(), source_lines(label, code):
            try:
                attempt = self._scope.attempt(self._parse(code, label, watch))
            except (SyntaxError, ValueError, RecursionError, MemoryError) as exc:
                _failed(ran, exc, label)
                return ran
            with Captured(echo) as output:
                try:
                    with watch or _UNWATCHED:
                        attempt.call()
                        self._collect(ran, attempt)
                except (Exception, SystemExit, GeneratorExit, Veto) as exc:
                    _failed(ran, exc, label)
                finally:
                    attempt.undo()
                    if watch is not None:
                        self._settle(watch, ran)
            ran.stdout = output.text
        return ran

    def _settle(self, watch: Watch, ran: Ran) -> None:
        """Let ``watch`` look at what the run left, and list what it wrote beside names."""
        at_module_level = self._frame.f_locals is self._frame.f_globals
        watch.settle(self._frame.f_globals, {**ran._global, **(ran._local if at_module_level else {})})
        ran.wrote = ran.wrote + [text for text in watch.wrote if text not in ran.wrote]

    def write_back(self, ran: Ran) -> None:
        """Let the frame go on with what ``ran`` bound. Raises ``ValueError`` for a run that failed."""
        if ran.error or ran._attempt is None:
            raise ValueError("this run failed, so there is nothing to write back:\n" + ran.error)
        for name, value in ran._global.items():
            ran._attempt.globals.put(name, value)
        self._scope.write(ran._local)

    def undo(self, ran: Ran) -> None:
        """Bind everything that ``ran`` changed as it was before; needed only after `write_back`."""
        if ran._attempt is None:
            return
        before = ran._attempt.locals.before
        for name in ran._global:
            ran._attempt.globals.put(name, ran._attempt.globals.before[name])
        self._scope.write({
            name: before[name] for name in ran._local
            if before[name] is not UNBOUND or not self._scope.refusal(name)
        })

    def evaluate(self, expression: str) -> Any:
        """The value of ``expression`` in the frame. Its own exceptions, ``SyntaxError`` included, come through."""
        expression = expression.strip()
        compile(expression, "<where>", "eval", 0, True)
        attempt = self._scope.attempt(self._parse(expression, "<where>"))
        try:
            with head_room():
                attempt.call()
            return attempt.locals.get(VALUE)
        finally:
            attempt.undo()

    def _parse(self, code: str, label: str, watch: Optional[Watch] = None) -> Parsed:
        private = ""
        if "__" in code:
            private = private_class(self._frame.f_code, linecache.getlines(self._frame.f_code.co_filename))
        return parse(code, label, self._frame.f_code, private, watch)

    def _collect(self, ran: Ran, attempt: Attempt) -> None:
        """Take what the code left before it is put back: value, ways to leave, bindings."""
        local = attempt.locals.changed()
        control = {name: local.pop(name) for name in CONTROLS if name in local}
        if VALUE in control:
            ran.value_repr = safe_repr(control[VALUE])
        refusals = [self._scope.refusal(name) for name, value in local.items() if value is UNBOUND]
        for refusal in filter(None, refusals):
            ran.error = refusal
            return
        if control.get(RAISE, UNBOUND) is not UNBOUND:
            ran.raise_exc = _instance(control[RAISE])
        if control.get(RETURN, UNBOUND) is not UNBOUND:
            ran.has_return, ran.return_value = True, control[RETURN]
        ran._local, ran._global, ran._attempt = local, attempt.globals.changed(), attempt
        ran.wrote = wrote(ran._local, ran._global)


def _instance(wanted: Any) -> BaseException:
    if isinstance(wanted, type) and issubclass(wanted, BaseException):
        wanted = wanted()
    if not isinstance(wanted, BaseException):
        raise TypeError(
            "`_eh_raise` must be an exception class or instance, not {}".format(type(wanted).__name__)
        )
    return wanted


def _failed(ran: Ran, exc: BaseException, label: str) -> None:
    own = [entry for entry in traceback.extract_tb(exc.__traceback__) if entry.filename == label]
    text = "".join(traceback.format_list(own) + traceback.format_exception_only(type(exc), exc))
    if own:
        text = "Traceback (most recent call last):\n" + text
    if len(text) > _MAX_ERROR:
        text = text[:_MAX_ERROR] + "\n... {} more characters".format(len(text) - _MAX_ERROR)
    ran.error = text.rstrip("\n")
    ran.exception = exc.with_traceback(None)  # a traceback would keep the program's frames alive
    ran._local, ran._global, ran._attempt = {}, {}, None


class _Repr(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 6
        self.maxdict = self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = self.maxdeque = 60
        self.maxstring = self.maxlong = self.maxarray = 2000
        self.maxother = 4000


def safe_repr(value: Any) -> str:
    """``repr(value)``, bounded; a broken one becomes a note."""
    try:
        text = _Repr().repr(value)
    except Exception as exc:
        text = "<{} whose repr() raised {}>".format(type(value).__name__, type(exc).__name__)
    return text if len(text) <= _MAX_VALUE else text[:_MAX_VALUE] + "..."

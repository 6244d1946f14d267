"""The table of small programs and the measurement: what is said about an exception, and what then becomes of it."""

import itertools
import linecache
import pathlib
import sys
import types

from healguard_core.execution.pause import handled


class Program:
    """One program of the table. ``expected``: the answer wanted; ``reported``: unhandled, but recorded by a harness."""

    def __init__(self, name, expected, since, text):
        self.name, self.expected, self.since, self.text = name, expected, since, text


def table():
    """All programs of ``programs.txt`` that this Python can run."""
    text = (pathlib.Path(__file__).parent / "programs.txt").read_text(encoding="utf-8")
    found = []
    for piece in text.split("#: ")[1:]:
        head, _, body = piece.partition("\n")
        name, _, rest = head.partition(" | ")
        expected, _, since = rest.partition(" ")
        needed = tuple(int(part) for part in since.split(".")) if since else (3, 8)
        if sys.version_info >= needed:
            found.append(Program(name, expected, needed, body))
    return found


class Boom:
    """Raises, and asks what will become of the exception while it is still in its hands.

    ``remembered`` says of each decision whether memory would have told. Memory may tell only what a decision says.
    """

    def __init__(self, decider):
        self.decider, self.decisions, self.raised, self.remembered = decider, [], [], []

    def function(self):
        def boom(kind=KeyError, _second=None, *_ignored):  # of one argument it might be a property
            try:
                raise kind("boom")
            except BaseException as exc:
                self.raised.append(exc)
                self.ask(exc, sys._getframe())
                raise

        return boom

    def ask(self, exc, frame):
        """Decide about ``exc``, which is being handled in ``frame``."""
        before = self.decider.handled_before(type(exc), frame)
        decision = self.decider.decide(exc, frame)
        after = self.decider.handled_before(type(exc), frame)
        self.remembered.append(before)
        self.decisions.append(decision)
        assert decision.answer == "handled" or not (before or after), decision


def drive(main):
    """Run ``main`` and give back what it raised; this frame is the boundary."""
    hook, sys.unraisablehook = sys.unraisablehook, lambda _: None
    try:
        main()
    except BaseException as exc:
        return exc
    finally:
        sys.unraisablehook = hook
    return None


_count = itertools.count()


def load(text, tree=None, space=None, **names):
    """A module's namespace from source text that can be found again, or from a tree that was made of it."""
    filename = f"<program {next(_count)}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    scope = {} if space is None else space
    scope.update(names, __name__="program")
    exec(compile(text if tree is None else tree, filename, "exec", dont_inherit=True), scope)
    return scope


def measure(text, **given):
    """``(decision, reached, boom)`` of a program's first exception."""
    boom = Boom(handled.Decider(boundaries=[__name__ + ":drive"]))
    module = sys.modules["program"] = types.ModuleType("program")  # as an import leaves it: only of modules are answers
    scope = load(text, space=vars(module), boom=boom.function(), **given)  # remembered
    outcome = drive(scope["main"])
    assert boom.decisions, f"the program did not raise: {outcome!r}"
    return boom.decisions[0], is_or_led_to(outcome, boom.raised[0]), boom


def is_or_led_to(outcome, exc):
    """Whether ``outcome`` is ``exc`` or was raised because of it."""
    seen = []
    waiting = [outcome]
    while waiting:
        one = waiting.pop()
        if one is exc:
            return True
        if one is not None and one not in seen:
            seen.append(one)
            waiting += [one.__cause__, one.__context__]
    return False

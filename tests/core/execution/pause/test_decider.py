"""What holds for the decision besides its answers: nothing is run, kept or raised, and it says why."""

import ast
import contextlib
import gc
import sys
import textwrap
import types
import weakref

import pytest

from healguard_core.execution import hooks
from healguard_core.execution.pause import handled, valuestack

from . import programs


def decide_in(text, **scope):
    decision, _, _ = programs.measure(textwrap.dedent(text), **scope)
    return decision


def test_reads_value_stacks_on_every_supported_python():
    assert valuestack.readable() is ((3, 8) <= sys.version_info[:2] <= (3, 14))


def test_without_value_stacks_managers_are_judged_by_source(monkeypatch):
    text = """
        import contextlib, pytest, threading
        LOCK = threading.Lock()
        @contextlib.contextmanager
        def plain():
            yield
        def main():
            with LOCK, open(__file__), plain(), pytest.raises({}):
                boom()
        """
    monkeypatch.setattr(valuestack, "_found", [None])
    assert decide_in(text.format("KeyError"), __file__=__file__).answer == "handled"
    assert decide_in(text.format("OSError"), __file__=__file__).answer == "unhandled"


def test_names_the_handler_and_its_line():
    decision = decide_in("""
        def main():
            try:
                boom()
            except KeyError:
                pass
        """)
    assert decision.why.startswith("except KeyError at <program")
    assert decision.why.endswith(":5 catches it")
    assert decision.where.endswith(":4")


def test_names_the_boundary():
    decision = decide_in("def main(): boom()")
    assert decision.why == "nothing up to drive handles it"


@pytest.mark.parametrize(("catchers", "answer"), [((), "handled"), (("program:invoke",), "unhandled")])
def test_transparent_catchers_are_not_looked_at(catchers, answer):
    text = """
        def invoke(f):
            try:
                f()
            except Exception:
                return 1
        def main():
            invoke(boom)
        """
    boom = programs.Boom(handled.Decider(catchers, boundaries=[programs.__name__ + ":drive"]))
    programs.drive(programs.load(textwrap.dedent(text), boom=boom.function())["main"])
    assert [decision.answer for decision in boom.decisions] == [answer]


def test_counts_and_repeats_its_answers():
    decider = handled.Decider(boundaries=[programs.__name__ + ":drive"])
    boom = programs.Boom(decider)
    scope = programs.load("""
def down(n):
    down(n - 1) if n else boom()
def main():
    try: down(20)
    except KeyError: pass
""", boom=boom.function())
    for _ in range(5):
        programs.drive(scope["main"])
    assert len(set(boom.decisions)) == 1
    assert decider.counters["decisions"] == decider.counters["handled"] == 5
    assert decider.counters["steps"] == 5 * 22
    assert decider.counters["steps_known"] >= 5 * 20 - 3


def test_the_same_code_answers_by_what_its_names_mean_now():
    boom = programs.Boom(handled.Decider(boundaries=[programs.__name__ + ":drive"]))
    scope = programs.load(
        "def main(kind):\n    try: boom()\n    except kind: pass\n    except ALSO: pass\n", boom=boom.function())
    for kind, also in [(KeyError, OSError), (OSError, OSError), (OSError, KeyError), (KeyError, OSError)]:
        scope["ALSO"] = also
        programs.drive(lambda kind=kind: scope["main"](kind))
    assert [decision.answer for decision in boom.decisions] == ["handled", "unhandled", "handled", "handled"]


MEMORABLE = {
    "in the same function": """
        def main():
            try: boom()
            except KeyError: pass
    """,
    "several frames up": """
        def down(n):
            down(n - 1) if n else boom()
        def main():
            try: down(5)
            except LookupError: pass
    """,
    "a handler that reads plain variables": """
        def main(strict=False):
            seen = []
            try: boom()
            except KeyError as error:
                if strict: raise
                if "x" in seen: seen.append(error.args)
                seen.extend(error.args)
    """,
    "suppress": """
        import contextlib
        def main():
            with contextlib.suppress(LookupError): boom()
    """,
    "through a lock": """
        import threading
        LOCK = threading.Lock()
        def main():
            try:
                with LOCK: boom()
            except KeyError: pass
    """,
    "translated": """
        def find():
            try: boom()
            except KeyError: raise OSError
        def main():
            try: find()
            except OSError: pass
    """,
    "getattr with a default": """
        class Lazy:
            def __getattr__(self, name): boom(AttributeError)
        def main():
            getattr(Lazy(), "x", None)
    """,
    "a mapping's protocol": """
        from collections.abc import Mapping
        class Own(Mapping):
            def __getitem__(self, key): boom()
            def __iter__(self): return iter(())
            def __len__(self): return 0
        def main():
            1 in Own()
    """,
}


def driven(monkeypatch, text):
    """The module of ``text`` and what was asked while its ``main`` ran three times."""
    module = types.ModuleType("program")
    monkeypatch.setitem(sys.modules, "program", module)
    boom = programs.Boom(handled.Decider(boundaries=[programs.__name__ + ":drive"]))
    scope = programs.load(textwrap.dedent(text), space=vars(module), boom=boom.function())
    for _ in range(20):  # the interpreter has warmed up by then
        programs.drive(scope["main"])
    return scope, boom


@pytest.mark.skipif(sys.version_info < (3, 11), reason="older versions name no handler of a with block")
@pytest.mark.parametrize("text", MEMORABLE.values(), ids=MEMORABLE)
def test_an_error_that_was_handled_before_is_not_decided_about_again(monkeypatch, text):
    _, boom = driven(monkeypatch, text)
    assert {decision.answer for decision in boom.decisions} == {"handled"}
    assert boom.remembered[-5:] == [True] * 5
    assert boom.remembered[0] is False


@pytest.mark.parametrize("change", ["strict", "kinds", "name", "manager"])
def test_what_a_remembered_answer_depended_on_is_looked_at_each_time(monkeypatch, change):
    scope, boom = driven(monkeypatch, """
        import contextlib
        KINDS = KeyError
        STRICT = False
        def kinds(): return KeyError
        def strict(strict=False):
            try: boom()
            except KeyError:
                if strict: raise
        def name():
            try: boom()
            except KINDS: pass
        def manager(manager=contextlib.suppress(KeyError)):
            with manager: boom()
        def main():
            strict(); name(); manager()
    """)
    assert boom.remembered[-3:] == [True] * 3
    if change == "strict":
        programs.drive(lambda: scope["strict"](True))
    elif change == "name":
        scope["KINDS"] = OSError
        programs.drive(scope["name"])
    elif change == "manager":
        programs.drive(lambda: scope["manager"](contextlib.suppress(OSError)))
    else:
        programs.drive(lambda: scope["manager"](contextlib.nullcontext()))
    assert (boom.remembered[-1], boom.decisions[-1].answer) == (False, "unhandled")


def test_answers_of_modules_are_remembered_only_while_their_names_mean_the_same(monkeypatch):
    errors, module = types.ModuleType("errors"), types.ModuleType("program")
    monkeypatch.setitem(sys.modules, "program", module)
    text = "def main():\n    try: boom()\n    except errors.Own: pass\n    except ALSO: pass\n"
    boom = programs.Boom(handled.Decider(boundaries=[programs.__name__ + ":drive"]))
    scope = programs.load(text, space=vars(module), boom=boom.function(), errors=errors, ALSO=OSError)
    for own, also in [(KeyError, OSError), (OSError, OSError), (OSError, KeyError), (KeyError, OSError)]:
        for _ in range(2):
            errors.Own, scope["ALSO"] = own, also
            programs.drive(scope["main"])
    answers = [decision.answer for decision in boom.decisions]
    assert answers == ["handled"] * 2 + ["unhandled"] * 2 + ["handled"] * 4
    scope["KeyError"] = OSError  # a module may hide a builtin at any time
    scope = programs.load(text.replace("errors.Own", "KeyError"), space=vars(module))
    programs.drive(scope["main"])
    del scope["KeyError"]
    programs.drive(scope["main"])
    assert [decision.answer for decision in boom.decisions[-2:]] == ["unhandled", "handled"]


HOSTILE = """
    calls = []
    class Meta(type):
        def __instancecheck__(cls, one): calls.append("instance"); return True
        def __subclasscheck__(cls, one): calls.append("subclass"); return True
        def __getattribute__(cls, name): calls.append(name); return type.__getattribute__(cls, name)
        def __eq__(cls, other): calls.append("eq"); return True
        def __hash__(cls): calls.append("hash"); return 1
        def mro(cls): return type.mro(cls)
    class Own(Exception, metaclass=Meta):
        def __eq__(self, other): calls.append("eq"); return True
        def __hash__(self): calls.append("hash"); return 1
        def __repr__(self): calls.append("repr"); return ""
        def __getattribute__(self, name):
            calls.append(name); return Exception.__getattribute__(self, name)
    class Other(Exception, metaclass=Meta): pass
    class Manager:
        def __enter__(self): return self
        def __exit__(self, *a): return self.quiet
        def __getattribute__(self, name): calls.append(name); return object.__getattribute__(self, name)
        def __class__(self): raise RuntimeError
        __class__ = property(__class__)
    class Holder:
        @property
        def Kind(self): calls.append("Kind"); return Own
        def __eq__(self, other): calls.append("eq"); return True
        def __bool__(self): calls.append("bool"); return True
    def work(holder):
        try:
            with Manager():
                boom(Own)
        except Other:
            pass
        except holder.Kind:
            if holder == 1 or holder:
                raise
    def main():
        work(Holder())
    """


def test_runs_no_code_of_the_program():
    calls_during = []

    class Watching(handled.Decider):
        def decide(self, exc, frame):
            calls = scope["calls"]
            del calls[:]
            decision = super().decide(exc, frame)
            calls_during.append(list(calls))
            return decision

    boom = programs.Boom(Watching(boundaries=[programs.__name__ + ":drive"]))
    scope = programs.load(textwrap.dedent(HOSTILE), boom=boom.function())
    programs.drive(scope["main"])
    assert calls_during == [[]]
    assert boom.decisions[0].answer == "undecided"
    assert boom.decider.counters["failures"] == 0


def test_keeps_no_frame_no_exception_and_no_local():
    class Local:
        pass

    references = []

    def main():
        local = Local()
        references.append(weakref.ref(local))
        with contextlib.suppress(OSError):
            boom.function()(ValueError)

    boom = programs.Boom(handled.Decider(boundaries=[programs.__name__ + ":drive"]))
    outcome = programs.drive(main)
    references.append(weakref.ref(type("Mine", (ValueError,), {})()))
    del boom.raised[:]
    outcome.__traceback__ = None
    del outcome
    gc.collect()
    assert [reference() for reference in references] == [None, None]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="f_locals is the only way to see nothing of this before")
def test_leaves_no_snapshot_of_locals():
    class Local:
        pass

    def main():
        local = Local()
        alive = weakref.ref(local)
        kind = OSError
        try:
            boom.function()(KeyError)
        except kind:
            pass
        except KeyError:
            del local
            return alive() is None
        return None

    boom = programs.Boom(handled.Decider(boundaries=[programs.__name__ + ":drive"]))
    assert main() is True


def test_a_failing_decision_is_undecided_and_says_so(monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(handled.blocks, "through", broken)
    decider = handled.Decider()
    decision = decider.decide(KeyError(), sys._getframe())
    assert decision.answer == "undecided"
    assert "ZeroDivisionError at " in decision.why
    assert "secret" not in decision.why
    assert decider.counters["failures"] == 1


def test_deep_recursion_is_decided():
    decision = decide_in("""
        def down(n):
            if n: down(n - 1)
            else: boom()
        def main():
            try: down(400)
            except KeyError: pass
        """)
    assert decision.answer == "handled"


# --------------------------------------------------------------------------- instrumented frames


@pytest.mark.parametrize(("kind", "answer"), [("KeyError", "handled"), ("OSError", "unhandled")])
def test_own_handlers_in_bytecode_are_not_seen(kind, answer):
    """Handlers of ours exist only in bytecode: they are compiled in here at positions of the program's statement."""
    source = f"def main():\n    try:\n        raise KeyError\n    except {kind}:\n        pass\n"
    tree = ast.parse(source)
    outer = tree.body[0].body[0]
    statement = outer.body[0]
    match = ast.Call(func=ast.Name(id=hooks.HEAL, ctx=ast.Load()), args=[ast.Constant(value=1)], keywords=[])
    wrapped = ast.Try(body=[statement], orelse=[], finalbody=[],
                      handlers=[ast.ExceptHandler(type=match, name=None, body=[ast.Pass()])])
    for node in ast.walk(wrapped):
        if not hasattr(node, "lineno"):
            ast.copy_location(node, statement)
    outer.body[0] = wrapped
    decisions = []
    decider = handled.Decider(boundaries=[programs.__name__ + ":drive"])

    def caught(_site, frame, exc):
        decisions.append((decider.decide(exc, frame), handled.thrown_in(exc, frame)))
        return ()

    hooks.install(caught)
    try:
        outcome = programs.drive(programs.load(source, tree=tree)["main"])
    finally:
        hooks.disable()
    assert isinstance(outcome, (KeyError, type(None))), repr(outcome)
    assert [(decision.answer, thrown) for decision, thrown in decisions] == [(answer, False)]
    assert isinstance(outcome, KeyError) is (answer == "unhandled"), repr(outcome)


# --------------------------------------------------------------------------- thrown in


def seen_as_thrown(text):
    """What `thrown_in` says in each handler that calls ``ask``."""
    answers = []

    def ask():
        answers.append(handled.thrown_in(sys.exc_info()[1], sys._getframe(1)))

    scope = programs.load(textwrap.dedent(text), ask=ask)
    programs.drive(scope["main"])
    return answers


def test_contextmanager_sees_a_thrown_exception():
    assert seen_as_thrown("""
        import contextlib
        @contextlib.contextmanager
        def cm():
            try:
                yield
            except KeyError:
                ask()
                raise
        def main():
            with cm():
                {}["x"]
        """) == [True]


def test_generator_throw_without_traceback():
    assert seen_as_thrown("""
        def gen():
            try:
                x = yield 1
            except KeyError:
                ask()
        def main():
            g = gen()
            next(g)
            g.throw(KeyError())
        """) == [True]


def test_delegating_generator():
    assert seen_as_thrown("""
        def inner():
            yield 1
        def gen():
            try:
                yield from inner()
            except KeyError:
                ask()
        def main():
            g = gen()
            next(g)
            g.throw(KeyError())
        """) == [True]


def test_a_generator_s_own_error_is_not_thrown_in():
    assert seen_as_thrown("""
        def gen():
            try:
                yield {}["x"]
            except KeyError:
                ask()
                yield
        def main():
            list(gen())
        """) == [False]


def test_an_error_of_a_called_function_is_not_thrown_in():
    assert seen_as_thrown("""
        def inner():
            yield {}["x"]
        def main():
            try:
                list(inner())
            except KeyError:
                ask()
        """) == [False]


def test_an_awaited_task_s_error_is_not_thrown_in():
    assert seen_as_thrown("""
        import asyncio
        async def inner():
            {}["x"]
        async def amain():
            task = asyncio.ensure_future(inner())
            try:
                await task
            except KeyError:
                ask()
        def main():
            asyncio.run(amain())
        """) == [False]


def test_an_exception_that_an_outer_frame_holds_is_thrown_in():
    assert seen_as_thrown("""
        def again(e):
            try:
                raise e
            except KeyError:
                ask()
                raise
        def main():
            try:
                {}["x"]
            except KeyError as e:
                again(e)
        """) == [True]

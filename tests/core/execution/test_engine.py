"""The engine around a pause: what it leaves alone, what it keeps, what it lets go."""

import gc
import importlib
import os
import sys
import weakref
from pathlib import Path

import pytest

from healguard_core.execution.engine import Engine
from healguard_core.outcome import outcome
from healguard_core.protocol import Config, Crashed, Healed, Left, Noticed, Reraised, Stopped

CATCHER = [f"{__name__}:call"]


class Scripted:
    """Answers every crash with the same code, or with reraise when there is none."""

    name = "scripted"

    def __init__(self, code="", resume="next"):
        self.code = code
        self.resume = resume
        self.asked = 0
        self.closed = False

    def respond(self, session):
        self.asked += 1
        if self.code:
            session.heal(self.code, resume=self.resume)

    def close(self):
        self.closed = True


def call(function, *args):
    """What ``function`` returned or raised; the engine is told to look through this handler."""
    try:
        return function(*args)
    except Exception as error:
        return error.with_traceback(None)


class Project:
    def __init__(self, folder):
        self.folder = folder
        self.engines = []
        self.modules = []

    def start(self, agent=None, **config):
        engine = Engine(Config(root=str(self.folder), catchers=CATCHER, gate=False, **config), agent)
        engine.start()
        engine.begin("unit")
        self.engines.append(engine)
        return engine

    def load(self, source, name="program"):
        (self.folder / f"{name}.py").write_text(source)
        importlib.invalidate_caches()
        sys.modules.pop(name, None)  # another test may have left a module of this name
        self.modules.append(name)
        return importlib.import_module(name)


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    project = Project(tmp_path)
    yield project
    for engine in project.engines:
        engine.stop()
    for name in project.modules:
        sys.modules.pop(name, None)


def kinds(engine):
    return [type(event).__name__ for event in engine.journal.events("unit")]


NEVER = ["AssertionError", "StopAsyncIteration", "KeyboardInterrupt", "SystemExit", "GeneratorExit"]


@pytest.mark.parametrize("error", NEVER)
def test_never_pauses(project, error):
    agent = Scripted("pass")
    engine = project.start(agent)
    program = project.load(f"def run():\n    raise {error}('x')\n")
    with pytest.raises(BaseException, match="x"):
        program.run()
    assert agent.asked == 0
    assert kinds(engine) == []


def test_expected_types_are_left_alone(project):
    agent = Scripted("pass")
    engine = project.start(agent)
    engine.begin("unit", expected=(LookupError,))
    program = project.load("def run():\n    return {}['a']\n")
    assert isinstance(call(program.run), KeyError)
    assert agent.asked == 0


def test_a_disabled_unit_is_left_alone(project):
    agent = Scripted("pass")
    engine = project.start(agent)
    engine.begin("unit", enabled=False)
    program = project.load("def run():\n    return {}['a']\n")
    assert isinstance(call(program.run), KeyError)
    assert agent.asked == 0


def test_a_declined_crash_is_offered_once(project):
    agent = Scripted()
    engine = project.start(agent)
    program = project.load("""
def inner():
    for key in "a":
        if key:
            return {}[key]

def middle():
    try:
        return sorted([1, 2], key=lambda n: inner())
    finally:
        pass

def run():
    with open(__file__):
        return middle()
""")
    assert isinstance(call(program.run), KeyError)
    assert agent.asked == 1
    assert kinds(engine) == ["Crashed", "Reraised"]


def test_log_and_reraise_is_offered_at_the_first_raise(project):
    agent = Scripted()
    engine = project.start(agent)
    program = project.load("""
def inner():
    return {}["a"]

def run():
    try:
        return inner()
    except KeyError:
        print("logged")
        raise
""")
    assert isinstance(call(program.run), KeyError)
    (crashed,) = [event for event in engine.journal.events("unit") if isinstance(event, Crashed)]
    assert crashed.function == "program.inner"


def test_handled_errors_leave_no_trace(project):
    agent = Scripted("pass")
    engine = project.start(agent)
    program = project.load("""
def inner():
    return {}["a"]

def run():
    try:
        return inner()
    except LookupError:
        return "handled"
""")
    assert program.run() == "handled"
    assert kinds(engine) == []


def test_the_journal_says_how_often_memory_answered(project):
    engine = project.start(Scripted())
    program = project.load("def find(table):\n    return table['a']\n\ndef run():\n"
                           "    try:\n        find({})\n        return 1\n    except KeyError:\n        return 0\n")
    for _ in range(50):
        program.run()
    engine.stop()
    stopped = engine.journal.events("")[-1]
    assert isinstance(stopped, Stopped)
    decisions = stopped.decisions
    assert decisions["decisions"] + decisions["remembered"] == 50
    assert decisions["decisions"] == decisions["handled"] < 20, "the interpreter may rewrite a call as it warms up"


def test_intercept_all_pauses_at_handled_errors_too(project):
    agent = Scripted("_eh_rtn = 1")
    project.start(agent, intercept="all")
    program = project.load("""
def look():
    x = {}["a"]
    return x

def run():
    try:
        return look()
    except KeyError:
        return "handled"
""")
    assert program.run() == 1


def test_errors_inside_a_heal_are_not_intercepted(project):
    agent = Scripted("x = broken()")
    engine = project.start(agent)
    program = project.load("def broken():\n    return {}['b']\n\ndef run():\n    x = {}['a']\n    return x\n")
    assert isinstance(call(program.run), KeyError)
    assert kinds(engine) == ["Crashed", "Stumbled", "Reraised"]


def test_an_agent_that_fails_is_on_record_and_the_error_goes_on(project):
    class Broken:
        name = "broken"

        def respond(self, _):
            raise RuntimeError("no network")

        def close(self):
            pass

    engine = project.start(Broken())
    program = project.load("def run():\n    return {}['a']\n")
    assert isinstance(call(program.run), KeyError)
    (reraised,) = [event for event in engine.journal.events("unit") if isinstance(event, Reraised)]
    assert "RuntimeError: no network" in reraised.reason


def test_the_budget_of_a_crash_ends_it(project):
    class Prober:
        name = "prober"

        def respond(self, session):
            while not session.decided:
                session.probe("1")

        def close(self):
            pass

    engine = project.start(Prober(), max_calls=3)
    program = project.load("def run():\n    return {}['a']\n")
    assert isinstance(call(program.run), KeyError)
    assert kinds(engine) == ["Crashed", "Probed", "Probed", "Probed", "Reraised"]


def test_a_heal_that_never_helps_cannot_loop_forever(project):
    engine = project.start(Scripted("pass", "retry"), max_heals=5)
    program = project.load("def run():\n    x = {}['a']\n    return x\n")
    assert isinstance(call(program.run), KeyError)
    assert kinds(engine).count("Healed") == 5
    assert kinds(engine)[-1] == "Reraised"


def test_an_error_at_the_recursion_limit_can_be_healed(project):
    agent = Scripted("_eh_rtn = 0")
    project.start(agent)
    program = project.load("def down(n):\n    return down(n + 1) + 1\n")
    limit = sys.getrecursionlimit()
    assert call(program.down, 0) > 10
    assert sys.getrecursionlimit() == limit


def test_undecided_errors_are_recorded_and_paused_when_armed(project):
    source = """
class Unknown:
    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return bool(len(str(exc)) > 10**6)

def inner():
    x = {}["a"]
    return x

def run():
    with Unknown():
        return inner()
"""
    agent = Scripted("x = 5")
    engine = project.start(agent)
    engine.begin("unit", repeatable=True)
    program = project.load(source)
    error = None
    try:
        program.run()
    except KeyError as caught:
        error = caught
    lefts = engine.left_for(error)
    assert [left.line for left in lefts] == [10]
    assert agent.asked == 0
    engine.begin("unit", repeatable=True, armed=lefts)
    assert program.run() == 5
    (crashed,) = [event for event in engine.journal.events("unit") if isinstance(event, Crashed)]
    assert crashed.second_look


def test_undecided_pause_needs_no_second_look(project):
    engine = project.start(Scripted("x = 5"), undecided="pause")
    program = project.load("""
class Unknown:
    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return bool(len(str(exc)) > 10**6)

def run():
    with Unknown():
        x = {}["a"]
    return x
""")
    assert program.run() == 5
    assert Left.__name__ not in kinds(engine)


def test_completion_is_observed(project):
    engine = project.start(Scripted("x = 5"))
    program = project.load("""
def run():
    x = {}["a"]
    return x

def broken():
    x = {}["a"]
    assert x == 6
""")
    program.run()
    assert engine.completed(AssertionError())
    error = None
    try:
        program.broken()
    except AssertionError as caught:
        error = caught
    assert not engine.completed(error)
    events = engine.journal.events("unit")
    assert outcome(events, passed=False, completed=True) == "proceed"
    assert outcome(events, passed=False, completed=False) == "halted"


def test_a_fault_of_ours_is_noticed_and_changes_nothing(project, monkeypatch):
    agent = Scripted("pass")
    engine = project.start(agent)
    program = project.load("def run():\n    return {}['a']\n")

    def fail(*_):
        raise RuntimeError("planted")

    monkeypatch.setattr(engine._decider, "decide", fail)
    assert isinstance(call(program.run), KeyError)
    (noticed,) = [event for event in engine.journal.events("unit") if isinstance(event, Noticed)]
    assert noticed.code == "internal"
    assert "planted" in noticed.message


def test_healed_errors_keep_nothing_alive(project):
    project.start(Scripted("x = 0"))
    program = project.load("""
class Big:
    pass

def run(kept):
    big = Big()
    kept.append(big)
    x = {}["a"]
    return x
""")
    kept = []
    program.run(kept)
    reference = weakref.ref(kept.pop())
    gc.collect()
    assert reference() is None


def test_many_errors_leave_memory_and_descriptors_flat(project):
    engine = project.start(Scripted("x = 0"))
    engine.end("unit")  # a long program has no units
    program = project.load("""
def handled():
    try:
        return {}["a"]
    except KeyError:
        return 0

def healed():
    x = {}["a"]
    return x
""")
    engine.config.max_heals = 10**9

    def round_trip(handled, healed):
        for _ in range(handled):
            program.handled()
        for _ in range(healed):
            program.healed()
        gc.collect()
        return sum(type(found).__name__ in ("frame", "traceback", "KeyError") for found in gc.get_objects())

    first = round_trip(100, 10)
    descriptors = len(os.listdir("/proc/self/fd"))
    assert round_trip(10_000, 100) <= first + 5
    assert len(os.listdir("/proc/self/fd")) <= descriptors


def test_stop_ends_everything(project):
    agent = Scripted("x = 1")
    engine = project.start(agent)
    program = project.load("def run():\n    x = {}['a']\n    return x\n")
    engine.stop()
    project.engines.remove(engine)
    assert agent.closed
    assert isinstance(call(program.run), KeyError)
    assert agent.asked == 0


def test_a_heal_is_recorded_with_its_function(project):
    engine = project.start(Scripted("x = 1"))
    program = project.load("class C:\n    def m(self):\n        x = {}['a']\n        return x\n")
    program.C().m()
    (healed,) = [event for event in engine.journal.events("unit") if isinstance(event, Healed)]
    assert healed.function == "program.C.m"
    assert healed.wrote
    assert Path(program.__file__).exists()


def test_what_an_import_asks_a_module_for_is_handled(project):
    agent = Scripted()
    engine = project.start(agent)
    project.load("def __getattr__(name):\n    raise AttributeError(name)\n", "lazy")
    asks = project.load("""
def wanted():
    try:
        from lazy import anything
    except ImportError:
        return "not there"

def unwanted():
    from lazy import anything
""", "asks")
    assert asks.wanted() == "not there"
    assert agent.asked == 0
    assert isinstance(call(asks.unwanted), ImportError)
    assert agent.asked >= 1
    assert kinds(engine)[0] == "Crashed"


def test_what_a_transparent_catcher_keeps_waits_for_the_second_look(project):
    source = "def run():\n    x = {}['a']\n    return x\n"
    agent = Scripted("x = 5")
    engine = project.start(agent)
    program = project.load(source)
    engine.begin("unit", repeatable=True)
    assert isinstance(call(program.run), KeyError)
    assert agent.asked == 0
    lefts = engine.left_for(AssertionError("the result is missing"))
    assert [left.keeper for left in lefts] != [""]
    engine.begin("unit", repeatable=True, armed=lefts)
    assert call(program.run) == 5


def test_a_message_does_not_repeat_a_secret(project):
    class Prober(Scripted):
        def respond(self, session):
            self.context = session.context
            self.shown = session.probe("print(password)\n'it is ' + password")

    agent = Prober()
    engine = project.start(agent)
    program = project.load("""
class Settings:
    def __init__(self):
        self.db_password = "on-the-object"

def login(password, user):
    settings = {"api_key": "in-the-dict-1"}
    holder = Settings()
    raise ValueError("no %s %s %s %s" % (user, password, settings["api_key"], holder.db_password))

def run():
    secret = "of-the-caller"
    try:
        login("Tr0ub4dor-horse", "ann")
    except ValueError as error:
        raise RuntimeError("%s: %s" % (secret, error)) from error
""")
    call(program.run)
    texts = [str(event) for event in engine.journal.events("unit")] + [str(agent.context), str(agent.shown)]
    for secret in ("Tr0ub4dor-horse", "in-the-dict-1", "on-the-object", "of-the-caller"):
        assert not [text for text in texts if secret in text]
    assert "ann" in texts[0]

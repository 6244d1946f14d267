"""Runs a program with healing, as ``python`` itself would run it. May import everything in ``execution``.

The engine starts before any module of the program is imported. It stops after the program's threads and exit handlers.
"""

import atexit
import dataclasses
import difflib
import json
import os
import runpy
import sys
import types
from importlib.machinery import SourceFileLoader
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, TextIO, Tuple

from healguard_core.execution.asking import Agent
from healguard_core.execution.engine import Engine
from healguard_core.execution.instrument.importer import Importer
from healguard_core.execution.instrument.scope import Scope
from healguard_core.execution.link import Address, LinkAgent
from healguard_core.execution.local_agents.baselines import (
    ReraiseAgent,
    RetryAgent,
    RollbackAgent,
    SteamrollerAgent,
)
from healguard_core.execution.local_agents.human import HumanAgent
from healguard_core.execution.local_agents.rules import RulesAgent
from healguard_core.protocol import Blocked, Config, Crashed, Event, Healed, Reraised, UnitEnded

USAGE = (
    "usage: python -m healguard_core.execution CONFIG.json [--fail-on-heal] [--quiet] (-m MODULE | SCRIPT) [ARGS...]"
)
BAD_SETTINGS = 2  # exit code, as for a wrong command line

LOCAL_AGENTS: Dict[str, Callable[[Dict[str, Any]], Agent]] = {
    "rules": RulesAgent,
    "human": HumanAgent,
    "reraise": ReraiseAgent,
    "retry": RetryAgent,
    "rollback": RollbackAgent,
    "steamroller": SteamrollerAgent,
}
NO_AGENT = ("", "runbook")

_HERE = os.path.dirname(os.path.abspath(__file__))
_os_exit = os._exit
_kept: List[types.ModuleType] = []  # __main__ modules that were replaced: their functions still run


class Program(NamedTuple):
    """What to run: a module by name or a script by path, with its arguments."""

    module: str
    script: str
    arguments: Tuple[str, ...]

    @property
    def name(self) -> str:
        """The program as a user would type it after ``python``, without arguments."""
        return "-m " + self.module if self.module else self.script


class Options(NamedTuple):
    """What the caller wants to know: exit 1 after a heal, no summary, and a function called at the very end."""

    fail_on_heal: bool = False
    quiet: bool = False
    after: Optional[Callable[[List[Event], int], None]] = None


_PLAIN = Options()
_traceback: Any = vars(BaseException)["__traceback__"]  # read past a ``__getattribute__`` of the program


class _Ending(NamedTuple):
    code: int
    error: Optional[BaseException] = None


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Run what ``arguments`` (the command line by default) say. Always leaves by an exception, as `run_program`."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        path, options, program = _parsed(words)
        config = load_config(path)
        agent = local_agent(config)
    except ValueError as problem:
        sys.stderr.write("healguard: {}\n".format(problem))
        raise SystemExit(BAD_SETTINGS) from None
    run_program(program, config, agent, options)


def load_config(path: str) -> Config:
    """The configuration in the JSON file ``path``. Raises ``ValueError`` that says what is wrong with it."""
    try:
        with open(path, encoding="utf-8") as file:
            record = json.load(file)
    except OSError as error:
        raise ValueError("{}: cannot read the configuration: {}".format(path, error.strerror)) from None
    except ValueError as error:
        raise ValueError("{}: the configuration is not JSON: {}".format(path, error)) from None
    if not isinstance(record, dict):
        raise ValueError("{}: the configuration must be a JSON object".format(path))
    known = [field.name for field in dataclasses.fields(Config)]
    for key in record:
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            hint = "did you mean {!r}?".format(near[0]) if near else "known: " + ", ".join(known)
            raise ValueError("{}: unknown key {!r}; {}".format(path, key, hint))
    return Config(**record)


def local_agent(config: Config) -> Optional[Agent]:
    """The agent that ``config`` names: one without a model, or any that a healing side (option ``link``) has.

    Raises ``ValueError`` for any other.
    """
    if config.agent in NO_AGENT:
        return None
    link = config.agent_options.get("link")
    if isinstance(link, dict):
        address = Address.from_json(link)
        return LinkAgent(config.agent, address, model=str(link.get("model", "")), timeout=config.timeout)
    if config.agent not in LOCAL_AGENTS:
        raise ValueError(
            "agent {!r} cannot run inside the program; use one of: runbook, {}".format(
                config.agent, ", ".join(sorted(LOCAL_AGENTS))
            )
        )
    agent = LOCAL_AGENTS[config.agent](config.agent_options)
    problem = agent.unusable() if isinstance(agent, HumanAgent) else ""
    if problem:
        raise ValueError(problem)
    return agent


def run_program(program: Program, config: Config, agent: Optional[Agent], options: Options = _PLAIN) -> None:
    """Run ``program`` as ``__main__`` under a started engine and leave as the program does: by SystemExit with its
    exit code, or by KeyboardInterrupt. An error that nothing handles is printed as Python does, without our frames.
    """
    try:
        engine = Engine(config, agent)
    except ValueError as problem:  # a source that does not exist, a condition of the runbook that cannot be used
        sys.stderr.write("healguard: {}\n".format(problem))
        raise SystemExit(BAD_SETTINGS) from None
    closing = _Closing(engine, options)
    atexit.register(closing.finish)  # registered first, so it runs after every handler of the program
    engine.start()
    try:
        ending = _Ending(0)
        _execute(program, config)
    except SystemExit as leaving:
        ending = _Ending(_exit_code(leaving.code), leaving)
    except BaseException as error:
        ending = _Ending(1, error)
    code = closing.ended(ending)
    kind = type(ending.error)  # `isinstance` would ask the error for its class, and its answer may be an error
    if ending.error is not None and issubclass(kind, SystemExit) and code == ending.code:
        raise ending.error
    if ending.error is not None and not issubclass(kind, SystemExit):
        _print_as_python(ending.error)
    if ending.error is not None and issubclass(kind, KeyboardInterrupt):
        sys.excepthook = _silent  # it is printed already; Python now ends the process as an interrupted one
        raise ending.error
    raise SystemExit(code)


class _Closing:
    """What happens when the program has ended: the journal is closed, and the user told."""

    def __init__(self, engine: Engine, options: Options) -> None:
        self._engine = engine
        self._options = options
        self._code = 1
        self._pid = os.getpid()

    def ended(self, ending: _Ending) -> int:
        """Record the end of the main thread; return the exit code."""
        self._code = ending.code
        if self._engine.look_for_policy() and self._code == 0:
            self._code = BAD_SETTINGS  # what the policy names was not protected
        kind = type(ending.error)
        named = "" if ending.error is None or issubclass(kind, SystemExit) else kind.__name__
        self._engine.journal.record(UnitEnded(passed=ending.code == 0, completed=not named, error=named))
        if self._failing():
            self._code = 1
        return self._code

    def finish(self) -> None:
        """The process ends: no thread or exit handler of the program runs any more."""
        if os.getpid() != self._pid:
            return
        late = self._failing()
        code = 1 if late else self._code
        self._engine.stop(code)
        events = self._engine.journal.events()
        if not self._options.quiet:
            _summarise(events, [self._engine.journal.problem, *self._engine.policy_problems], sys.stderr)
        if self._options.after is not None:
            self._options.after(events, code)
        if late:  # a thread was healed after the exit code had been settled as 0
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            _os_exit(code)

    def _failing(self) -> bool:
        if not self._options.fail_on_heal or self._code != 0:
            return False
        return any(isinstance(event, Healed) for event in self._engine.journal.events())


# --------------------------------------------------------------------------- running


def _execute(program: Program, config: Config) -> None:
    main_module = types.ModuleType("__main__")
    _kept.append(sys.modules["__main__"])
    sys.modules["__main__"] = main_module
    replaces_first = not (sys.flags.isolated or getattr(sys.flags, "safe_path", False))
    if program.module:
        if replaces_first:
            sys.path[0] = os.getcwd()
        sys.argv[:] = ["-m"] + list(program.arguments)
        # What ``python -m`` itself calls. It has no public form that runs in ``__main__``.
        runpy._run_module_as_main(program.module)  # type: ignore[attr-defined]
        return
    sys.argv[:] = [program.script] + list(program.arguments)
    path = os.path.abspath(program.script)
    if os.path.isdir(path):
        if replaces_first:
            sys.path[0] = path
        path = os.path.join(path, "__main__.py")
    elif replaces_first:
        sys.path[0] = os.path.dirname(os.path.realpath(path))
    code = _script_code(path, config)
    namespace = vars(main_module)
    namespace.update(
        __file__=path, __loader__=SourceFileLoader("__main__", path), __package__=None, __spec__=None, __cached__=None,
        __annotations__={},
    )
    exec(code, namespace)


def _script_code(path: str, config: Config) -> types.CodeType:
    """The script's code: instrumented, unless sources were named and it is none of them."""
    if not os.path.isfile(path):
        sys.stderr.write("healguard: cannot run {!r}: there is no such file\n".format(path))
        raise SystemExit(BAD_SETTINGS)
    wanted = not config.sources or Scope(config.root, config.sources).decide("__main__", path).instrument
    importer = next(finder for finder in sys.meta_path if isinstance(finder, Importer))
    if wanted:
        return importer.code(path)
    with open(path, "rb") as file:
        return compile(file.read(), path, "exec", dont_inherit=True)


# --------------------------------------------------------------------------- the end


def _exit_code(value: object) -> int:
    """What the process exits with after ``SystemExit(value)``."""
    if value is None:
        return 0
    return value & 0xFF if isinstance(value, int) else 1


def _print_as_python(error: BaseException) -> None:
    """Show an unhandled error through ``sys.excepthook``, as the interpreter does, without frames of ours."""
    tb = _foreign(_traceback.__get__(error))
    _traceback.__set__(error, tb)
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, tb
    sys.excepthook(type(error), error, tb)


def _foreign(tb: Optional[types.TracebackType]) -> Optional[types.TracebackType]:
    """The traceback without the entries that belong to this package."""
    kept: List[types.TracebackType] = []
    while tb is not None:
        if not tb.tb_frame.f_code.co_filename.startswith(_HERE + os.sep):
            kept.append(tb)
        tb = tb.tb_next
    for index, entry in enumerate(kept):
        entry.tb_next = kept[index + 1] if index + 1 < len(kept) else None
    return kept[0] if kept else None


def _silent(*_: object) -> None:
    """An excepthook for an error that has been shown."""


def _summarise(events: Sequence[Event], problems: Sequence[str], stream: TextIO) -> None:
    crashes = {event.crash: event for event in events if isinstance(event, Crashed)}
    heals = [event for event in events if isinstance(event, Healed)]
    declined = [event for event in events if isinstance(event, Reraised)]
    lines = []
    if crashes:
        lines.append("{} crash{}: {} healed, {} went on".format(
            len(crashes), "" if len(crashes) == 1 else "es", len(heals), len(declined)))
    for healed in heals:
        code = healed.code.strip().replace("\n", "; ")
        lines.append("  {} healed by {}: {}".format(_where(crashes.get(healed.crash)), healed.by, code))
    for blocked in events:
        if isinstance(blocked, Blocked):
            lines.append("  {} stopped: {}".format(_where(crashes.get(blocked.crash)), blocked.message))
    for reraised in declined:
        lines.append("  {} went on: {}".format(_where(crashes.get(reraised.crash)), reraised.reason))
    lines.extend(filter(None, problems))
    try:
        for line in lines:
            stream.write("healguard: {}\n".format(line))
        stream.flush()
    except (OSError, ValueError, AttributeError):
        return  # the program closed its error output; the journal has it all


def _where(crashed: Optional[Crashed]) -> str:
    if crashed is None:
        return "an error"
    return "{} at {}:{} in {}".format(crashed.error, crashed.file, crashed.line, crashed.function)


# --------------------------------------------------------------------------- the command line


def _parsed(words: List[str]) -> Tuple[str, Options, Program]:
    """Configuration file, options and program. Raises ``ValueError`` with the usage."""
    if not words or words[0].startswith("-"):
        raise ValueError("the first argument must be the configuration file\n" + USAGE)
    path, rest = words[0], words[1:]
    flags = set()
    while rest and rest[0] in ("--fail-on-heal", "--quiet"):
        flags.add(rest.pop(0))
    if not rest or (rest[0].startswith("-") and rest[0] != "-m") or rest == ["-m"]:
        raise ValueError("there is no program to run\n" + USAGE)
    is_module = rest[0] == "-m"
    program = Program(rest[1], "", tuple(rest[2:])) if is_module else Program("", rest[0], tuple(rest[1:]))
    return path, Options("--fail-on-heal" in flags, "--quiet" in flags), program

"""The command ``healguard``. May import settings, bundle, outcome and execution, each where a subcommand needs it.

``run`` imports as little as it can before the program's own modules: what is imported early cannot be healed.
"""

import argparse
import dataclasses
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from healguard_core import __version__
from healguard_core.protocol import Config
from healguard_core.settings.errors import Problem, SettingsError

if TYPE_CHECKING:
    from healguard_core.execution.asking import Agent
    from healguard_core.execution.run import Program
    from healguard_core.protocol import Event

OK, REFUSED, WRONG = 0, 1, 2
"""Exit codes: accepted; rejected; the command line, a file or a setting is wrong."""

RUNBOOK = "runbook"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line ``arguments`` (by default the process's) and return the exit code.

    ``healguard run`` in this process leaves by SystemExit or KeyboardInterrupt instead, as the program does.
    """
    parser = _parser()
    words = parser.parse_args(arguments)
    try:
        run: Callable[[argparse.Namespace], int] = words.run
        return run(words)
    except SettingsError as error:
        print(error, file=sys.stderr)
        return WRONG
    except BrokenPipeError:  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("healguard", description="Heal a running program, and check what heals it.")
    parser.add_argument("--version", action="version", version=f"healguard {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _run_parser(commands.add_parser("run", help="run a program with healing"))

    gate = commands.add_parser("gate", help="say whether a piece of healing code is accepted (exit 0) or rejected (1)")
    gate.add_argument("file", metavar="FILE", help="the code; - reads standard input")
    gate.add_argument("--purpose", choices=("heal", "probe", "expression"), default="heal")
    gate.set_defaults(run=_gate)

    runbook = commands.add_parser("runbook", help="check runbook files")
    check = runbook.add_subparsers(metavar="COMMAND", required=True)
    runbook_check = check.add_parser("check", help="say what is wrong")
    runbook_check.add_argument("files", metavar="FILE", nargs="+")
    runbook_check.set_defaults(run=_runbook_check)

    policy = commands.add_parser("policy", help="check policy files")
    check = policy.add_subparsers(metavar="COMMAND", required=True)
    policy_check = check.add_parser("check", help="say what is wrong")
    policy_check.add_argument("files", metavar="FILE", nargs="+")
    policy_check.set_defaults(run=_policy_check)

    instrument = commands.add_parser("instrument", help="print a file's instrumented source for people to read")
    instrument.add_argument("file", metavar="FILE")
    instrument.set_defaults(run=_instrument)

    mcp = commands.add_parser("mcp", help="let an MCP client (on standard input and output) heal a run with agent mcp")
    mcp.add_argument("--root", metavar="DIR", default=os.curdir, help="the project of the run (here)")
    mcp.set_defaults(run=_mcp)

    bundle = commands.add_parser("bundle", help="write the zip that puts the execution side into another Python")
    bundle.add_argument("file", metavar="OUT.zip")
    bundle.set_defaults(run=_bundle)
    return parser


def _run_parser(parser: argparse.ArgumentParser) -> None:
    parser.usage = "healguard run [options] (-m MODULE | SCRIPT) [ARGS ...]"
    add = parser.add_argument
    add("--policy", metavar="FILE", help="HealGuard policy (sinks.yaml)")
    add("--guard-mode", choices=("track", "literal", "off"), default="track", help="how the policy holds after a heal: "
        "follow the values that it wrote (track), stop whatever is no literal (literal), or not at all (off)")
    add("--guard-budget", type=float, default=10.0, metavar="SECONDS", help="processor time that following values may "
        "cost per heal; after that as in mode literal (10)")
    add("--runbook", metavar="FILE", action="append", default=[],
        help="reviewed heals, used before the agent (repeatable)")
    add("--source", metavar="PKG", action="append", default=[], help="package or path to heal (repeatable); "
        "default: the packages under the current directory, and SCRIPT")
    add("--agent", metavar="NAME", default="", help="who heals: runbook, rules, human, healer, "
        "mini-swe-agent, openhands, codex, codex-tools, mcp, exec:COMMAND, or one that a package registered; default: "
        "runbook with --runbook, else rules")
    add("--model", metavar="NAME", default="", help="model, for agents that use one")
    add("--model-alias", metavar="LINE", action="append", default=[], help="a model of your own: "
        "'ALIAS = PROVIDER/NAME [base_url=URL] [key=VARIABLE] [input=USD] [output=USD] [cached=USD]' (repeatable)")
    add("--max-calls", type=int, default=100, metavar="N", help="calls per crash (100)")
    add("--timeout", type=float, default=None, metavar="SECONDS", help="time per crash (no limit)")
    add("--sandbox", choices=("auto", "bwrap", "landlock", "user", "none"), default="auto",
        help="what keeps agents that look at the repository from changing it (auto: the strongest that holds here)")
    add("--max-cost", type=float, default=None, metavar="USD", help="cost of the whole run (no limit)")
    add("--agent-option", metavar="KEY=VALUE", action="append", default=[], help="for example rules=all (repeatable)")
    add("--python", metavar="EXE", default="", help="run the program with this interpreter (3.8 or newer)")
    add("--journal", metavar="FILE", default="", help="append every event to FILE as JSON lines")
    add("--report", metavar="FILE.json", default="", help="write a machine-readable report")
    add("--intercept", choices=("unhandled", "all"), default="unhandled", help="which exceptions pause the program")
    add("--protocol", choices=("full", "paper"), default="full", help="what agents are offered")
    add("--fail-on-heal", action="store_true", help="exit 1 when a heal was applied, though the program exited 0")
    add("--quiet", action="store_true", help="no summary on standard error")
    add("-m", dest="is_module", action="store_true", help="the program is a module")
    add("program", metavar="MODULE | SCRIPT")
    add("arguments", metavar="ARGS", nargs=argparse.REMAINDER)
    parser.set_defaults(run=_run)


# --------------------------------------------------------------------------- run


def _run(words: argparse.Namespace) -> int:
    config = _config(words)
    if words.python and not _is_this_python(words.python):
        return _run_elsewhere(words, config)
    from healguard_core.execution.run import Options, run_program

    agent = _agent(words, config)

    def after(events: Sequence["Event"], code: int) -> None:
        if words.report:
            _write_report(words, config, events, code)

    run_program(_program(words), config, agent, Options(words.fail_on_heal, words.quiet, after))
    raise AssertionError("run_program leaves by an exception")


def _config(words: argparse.Namespace) -> Config:
    """The settings of ``healguard run``, validated. Raises `SettingsError`."""
    entries: list[dict[str, Any]] = []
    if words.runbook:
        from healguard_core.settings.runbook import load_runbook

        entries = [dataclasses.asdict(entry) for entry in load_runbook(words.runbook)]
    policy = None
    if words.policy:
        from healguard_core.settings.policy import load_policy

        policy = load_policy(words.policy, [_root(words)])
    agent = words.agent or (RUNBOOK if words.runbook else "rules")
    if words.model and agent in (RUNBOOK, "rules", "human"):
        raise SettingsError([Problem("HF411", "--model", f"agent {agent!r} uses no model", "leave --model out")])
    options: dict[str, Any] = {"model": words.model} if words.model else {}
    for option in words.agent_option:
        key, equals, value = option.partition("=")
        if not equals or not key:
            raise SettingsError([Problem("HF404", "--agent-option", f"{option!r} is not of the form KEY=VALUE")])
        options[key] = value
    return Config(
        root=_root(words),
        sources=list(words.source),
        agent=agent,
        agent_options=options,
        runbook=entries,
        intercept=words.intercept,
        protocol=words.protocol,
        policy=policy,
        guard_mode=words.guard_mode,
        guard_budget=words.guard_budget,
        max_calls=words.max_calls,
        timeout=words.timeout,
        cache_dir=str(_cache_dir()),
        journal=os.path.abspath(words.journal) if words.journal else None,
    )


def _root(words: argparse.Namespace) -> str:
    """The directory whose packages are healed: the current one, or a script's own when it lies elsewhere."""
    here = Path.cwd()
    if words.is_module:
        return str(here)
    script = Path(words.program).resolve()
    return str(here if script.is_relative_to(here) else script if script.is_dir() else script.parent)


def _cache_dir() -> Path:
    """Where instrumented bytecode is kept between runs."""
    base = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "healguard"


def _agent(words: argparse.Namespace, config: Config) -> "Agent | None":
    """The agent in this process. Raises `SettingsError` naming the nearest agents."""
    from healguard_core.agent_choice import chosen

    return chosen(config, words.model, words.model_alias, words.max_cost, words.sandbox)


def _program(words: argparse.Namespace) -> "Program":
    from healguard_core.execution.run import Program

    arguments = tuple(words.arguments)
    return Program(words.program, "", arguments) if words.is_module else Program("", words.program, arguments)


def _is_this_python(executable: str) -> bool:
    """Whether ``executable`` is this interpreter in this environment (those of virtual environments are links)."""
    import shutil

    found = shutil.which(executable) or executable
    try:
        same_place = os.path.samefile(os.path.dirname(found) or os.curdir, os.path.dirname(sys.executable))
        return same_place and os.path.samefile(found, sys.executable)
    except OSError:
        return False


def _run_elsewhere(words: argparse.Namespace, config: Config) -> int:
    """Run the program with another interpreter and return its exit code.

    The bundle is handed over as an argument, not by PYTHONPATH, so the program's own children are not affected.
    """
    import json
    import tempfile

    from healguard_core.agent_choice import started_elsewhere
    from healguard_core.bundle import build_bundle
    from healguard_core.execution.journal import read

    with started_elsewhere(config, words.model, words.model_alias, words.max_cost, words.sandbox), \
            tempfile.TemporaryDirectory(prefix="healguard-") as directory:
        bundle, settings = Path(directory, "healguard.zip"), Path(directory, "config.json")
        if words.report and config.journal is None:
            config.journal = str(Path(directory, "journal.jsonl"))
        before = len(list(read(config.journal))) if config.journal and os.path.exists(config.journal) else 0
        build_bundle(bundle)
        settings.write_text(json.dumps(dataclasses.asdict(config)), encoding="utf-8")
        flags = [flag for flag, given in (("--fail-on-heal", words.fail_on_heal), ("--quiet", words.quiet)) if given]
        program = (["-m"] if words.is_module else []) + [words.program, *words.arguments]
        code = _wait_for([words.python, "-c", _BOOTSTRAP, str(bundle), str(settings), *flags, *program])
        if words.report and config.journal:
            _write_report(words, config, list(read(config.journal))[before:], code)
    return code


# The bundle goes first, so that another version in that environment is not used instead. Once the package is imported
# its modules are found through it, and the program's path is as it would be without us.
_BOOTSTRAP = """\
import sys
sys.path.insert(0, sys.argv.pop(1))
from healguard_core.execution.run import main
del sys.path[0]
main()
"""


def _wait_for(command: Sequence[str]) -> int:
    """The exit code of ``command``; Ctrl-C is the child's to handle. Raises `SettingsError` when it cannot start."""
    import signal
    import subprocess

    try:
        child = subprocess.Popen(command)
    except OSError as error:
        problem = Problem("HF400", "--python", f"cannot start {command[0]!r}: {error.strerror}", "name an interpreter")
        raise SettingsError([problem]) from error
    while True:
        try:
            code = child.wait()
            break
        except KeyboardInterrupt:
            continue
    if code < 0:  # end as the program did
        signal.signal(-code, signal.SIG_DFL) if -code not in (signal.SIGKILL, signal.SIGSTOP) else None
        os.kill(os.getpid(), -code)
    return code


def _write_report(words: argparse.Namespace, config: Config, events: Sequence["Event"], code: int) -> None:
    """The report of a program's run: one record per test, for a runner of tests, or one for the program."""
    import json

    from healguard_core.outcome import outcome, summary
    from healguard_core.protocol import Crashed, Healed, UnitEnded

    program = ("-m " if words.is_module else "") + words.program
    endings = {event.unit: event for event in events if isinstance(event, UnitEnded)}
    whole = endings.get("", UnitEnded(passed=code == 0))
    tests = []
    for unit in dict.fromkeys(event.unit for event in events if event.unit or isinstance(event, (Crashed, UnitEnded))):
        own = [event for event in events if event.unit == unit]
        ending = endings.get(unit, whole)
        category = outcome(own, ending.passed, ending.completed) or ("passed" if ending.passed else "failed")
        tests.append({"nodeid": unit or program, "outcome": category, "crashes": summary(own)})
    heals = sum(isinstance(event, Healed) for event in events)
    totals = {"tests": len(tests), "crashes": sum(isinstance(event, Crashed) for event in events), "applied": heals}
    run = {"program": program, "agent": config.agent, "root": config.root, "version": __version__, "exit_status": code}
    report = {"schema": "healguard-run/1", "run": run, "tests": tests, "totals": totals}
    Path(words.report).write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


# --------------------------------------------------------------------------- the other commands


def _gate(words: argparse.Namespace) -> int:
    from healguard_core.execution.guard import gate

    name = "<stdin>" if words.file == "-" else words.file
    code = sys.stdin.read() if words.file == "-" else _text(words.file)
    findings = gate.check(code, purpose=words.purpose)
    if findings:
        print(gate.render(findings, code, name))
    return REFUSED if findings else OK


def _runbook_check(words: argparse.Namespace) -> int:
    from healguard_core.settings.runbook import load_runbook

    entries = load_runbook(words.files)
    print(f"{len(entries)} {'entry' if len(entries) == 1 else 'entries'}, nothing wrong")
    return OK


def _policy_check(words: argparse.Namespace) -> int:
    from healguard_core.settings.policy import load_policy

    problems: list[Problem] = []
    count = 0
    for file in words.files:
        try:
            policy = load_policy(file, [str(Path.cwd())])
            count += len(policy["protect"]) + len(policy["include"])
        except SettingsError as error:
            problems.extend(error.problems)
    if problems:
        raise SettingsError(problems)
    print(f"{count} {'entry' if count == 1 else 'entries'}, nothing wrong")
    return OK


def _instrument(words: argparse.Namespace) -> int:
    from healguard_core.instrumented_source import printable

    try:
        print(printable(_text(words.file), words.file))
    except SyntaxError as error:
        place = f"{words.file}:{error.lineno or 1}"
        raise SettingsError([Problem("HF400", place, f"not Python: {error.msg}")]) from error
    return OK


def _bundle(words: argparse.Namespace) -> int:
    from healguard_core.bundle import build_bundle

    try:
        build_bundle(words.file)
    except OSError as error:
        raise SettingsError([Problem("HF400", words.file, f"cannot write the file: {error.strerror}")]) from error
    return OK


def _mcp(words: argparse.Namespace) -> int:
    from healguard_core.healing.mcp_bridge import main as serve

    serve(Path(words.root))
    return OK


def _text(path: str) -> str:
    """The text of a file of Python source. Raises `SettingsError`."""
    import tokenize

    try:
        with tokenize.open(path) as file:
            return file.read()
    except (OSError, SyntaxError, UnicodeDecodeError) as error:
        problem = Problem("HF400", f"{path}:1", f"cannot read the file: {error}", "check the path")
        raise SettingsError([problem]) from error


if __name__ == "__main__":
    sys.exit(main())

"""The options of the plugin: names, help, ini twins and how a value is looked up. Imports pytest only."""

from __future__ import annotations

import argparse
import dataclasses
from typing import Any

import pytest

OFF = ("", "off")
LISTS = ("list", "lines")
_NUMBERS = pytest.version_tuple >= (8, 4)  # since then ini keys may be declared int and float


@dataclasses.dataclass(frozen=True)
class Option:
    """One option with its ini twin. ``kind`` is text, number, whole, list, lines, switch or ini (no option, a bool)."""

    name: str  # as the ini key; the option is the same with dashes
    kind: str
    metavar: str
    help: str
    default: Any
    choices: tuple[str, ...] = ()

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")


def _text(name: str, metavar: str, help: str, default: str = "", choices: tuple[str, ...] = ()) -> Option:
    return Option(name, "text", metavar, help, default, choices)


OPTIONS = (
    _text("heal", "AGENT", "turn healing on with this agent: rules, runbook, human, healer, mini-swe-agent, openhands, "
          "codex, codex-tools, mcp, exec:COMMAND, reraise, retry, rollback, steamroller, or one that a package "
          "registered; see `pytest-heal agents list` (`off` overrules the ini file)"),
    _text("heal_model", "NAME", "model for LLM agents: an alias (gpt, deepseek, glm, or of heal_models), or "
          "PROVIDER/NAME"),
    _text("heal_guard", "FILE", "HealGuard policy; `off` runs without the HealCore gate, and every report says so"),
    _text("heal_guard_mode", "track|literal|off", "how the policy holds after a heal: follow the values that it wrote, "
          "stop whatever is no literal, or not at all", "track", ("track", "literal", "off")),
    Option("heal_guard_budget", "number", "SECONDS", "processor time that following values may cost per heal; after "
           "that as in mode literal", 10.0),
    Option("heal_source", "list", "PATH_OR_PACKAGE", "what counts as repository code (repeatable; default: the "
           "packages under the rootdir)", ()),
    Option("heal_runbook", "list", "FILE", "reviewed heals, used before the agent is asked (repeatable)", ()),
    _text("heal_record", "FILE", "write every applied heal as a runbook entry"),
    _text("heal_accept", "none|correct|proceed", "which healed tests may count as passing", "none",
          ("none", "correct", "proceed")),
    _text("heal_intercept", "unhandled|all", "pause where nothing would handle the exception, or at every exception",
          "unhandled", ("unhandled", "all")),
    Option("heal_max_calls", "whole", "N", "probes and submissions per crash", 100),
    Option("heal_timeout", "number", "SECONDS", "time per crash (default: no limit)", 0.0),
    Option("heal_max_cost", "number", "USD", "cost of the whole run (default: no limit)", 0.0),
    _text("heal_report", "FILE", "machine-readable report (JSON)"),
    _text("heal_html", "FILE", "one self-contained page for people"),
    _text("heal_sarif", "FILE", "unsafe findings for code-scanning tools"),
    _text("heal_suggest", "DIR", "write one .patch per applied heal into this folder"),
    _text("heal_second_look", "on|off", "run a failed test once more when nobody could tell whether its exception "
          "is handled", "on", ("on", "off")),
    _text("heal_trial", "auto|off", "rehearse probes and heals in a forked child where that is safe", "auto",
          ("auto", "off")),
    _text("heal_rules", "safe|all", "which rules the agent `rules` may use", "safe", ("safe", "all")),
    _text("heal_protocol", "full|paper", "what agents are offered", "full", ("full", "paper")),
    _text("heal_sandbox", "auto|bwrap|landlock|user|none", "what keeps agents that look at the repository from "
          "changing it: the strongest sandbox that holds here, one by name, or no shell for agents", "auto",
          ("auto", "bwrap", "landlock", "user", "none")),
    _text("heal_cassette", "FILE", "what agents did at each crash: recorded, or replayed without agent, model and key"),
    _text("heal_http_cassette", "FILE", "what the model's provider answered: recorded, or replayed without key"),
    _text("heal_cassette_mode", "none|once|new|strict", "replay only; record when the file is not there (once); record "
          "what is not in it; replay, and let every difference count as a miss", "once",
          ("none", "once", "new", "strict")),
    _text("heal_journal", "FILE", "append every event as one line of JSON"),
    Option("heal_redact", "switch", "", "keep secrets in captured values inside the process under test", True),
)

INI_ONLY = (
    _text("heal_junit", "", "where JUnit carries our fields: properties, system-out or off", "properties",
          ("properties", "system-out", "off")),
    Option("heal_models", "lines", "", "aliases of models, a line each: ALIAS = PROVIDER/NAME [base_url=URL] "
           "[key=VARIABLE] [wire=chat|responses] [input=USD] [output=USD] [cached=USD]", ()),
    Option("heal_hypothesis", "ini", "", "heal inside hypothesis' @given too", False),
    Option("heal_reruns", "ini", "", "heal in reruns of pytest-rerunfailures too", False),
)

_BY_NAME = {option.name: option for option in OPTIONS + INI_ONLY}

MARKER = (
    "heal(enabled=True, *, agent=None, model=None, guard=None, accept=None, max_calls=None, second_look=None): "
    "how this test is healed; heal(False) leaves it alone."
)


def add_options(parser: pytest.Parser) -> None:
    """Register every option and ini key."""
    group = parser.getgroup("heal", "healing of crashes (pytest-heal)")
    for option in OPTIONS:
        _add_option(group, option)
    for option in OPTIONS + INI_ONLY:
        _add_ini(parser, option)


def _add_option(group: Any, option: Option) -> None:
    if option.kind == "switch":
        group.addoption(option.flag, action="store_true", dest=option.name, default=None, help=option.help)
        negative = "--no-" + option.name.replace("_", "-")
        group.addoption(negative, action="store_false", dest=option.name, default=None, help="the opposite")
        return
    keywords: dict[str, Any] = {"dest": option.name, "default": None, "metavar": option.metavar, "help": option.help}
    if option.kind == "list":
        keywords["action"] = "append"
    elif option.kind == "whole":
        keywords["type"] = int
    elif option.kind == "number":
        keywords["type"] = float
    elif option.choices:
        keywords["choices"] = option.choices
    group.addoption(option.flag, **keywords)


def _add_ini(parser: pytest.Parser, option: Option) -> None:
    types: dict[str, Any] = {
        "text": "string", "list": "args", "lines": "linelist", "switch": "bool", "ini": "bool",
        "whole": "int" if _NUMBERS else "string", "number": "float" if _NUMBERS else "string",
    }
    default: Any = list(option.default) if option.kind in LISTS else option.default
    if types[option.kind] == "string":
        default = str(default)
    parser.addini(option.name, option.help, type=types[option.kind], default=default)


def value(config: pytest.Config, name: str, given: argparse.Namespace | None = None) -> Any:
    """The value of an option: from the command line, else from the ini file, else its default.

    ``given`` replaces ``config.option`` while the command line is still being read.
    Raises ``pytest.UsageError`` for an ini value that the option would not accept.
    """
    option = _BY_NAME[name]
    found = getattr(config.option if given is None else given, name, None)
    if found is not None:
        return tuple(found) if option.kind in LISTS else found
    found = config.getini(name)
    if option.kind in LISTS:
        return tuple(found)
    if option.choices and found not in option.choices:
        raise pytest.UsageError(f"{_where(config)}{name} = {found!r}: choose from {', '.join(option.choices)}")
    if option.kind in ("whole", "number") and isinstance(found, str):
        return _number(config, option, found)
    return found


def _number(config: pytest.Config, option: Option, text: str) -> float:
    try:
        return int(text) if option.kind == "whole" else float(text)
    except ValueError:
        raise pytest.UsageError(f"{_where(config)}{option.name} = {text!r}: this must be a number") from None


def _where(config: pytest.Config) -> str:
    return f"{config.inipath}: " if config.inipath else ""


def agent_name(config: pytest.Config, given: argparse.Namespace | None = None) -> str:
    """The agent that was asked for, "" when healing is off."""
    name = str(value(config, "heal", given)).strip()
    return "" if name in OFF else name

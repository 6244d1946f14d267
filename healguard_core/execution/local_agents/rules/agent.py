"""The agent ``rules``: heals what has one plausible reading, and re-raises everything else. May import the rules."""

import ast
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

from healguard_core.execution.local_agents.rules import calls, keys, names, sequences, text
from healguard_core.execution.local_agents.rules.crash import SURE, Crash, Suggestion

if TYPE_CHECKING:
    from healguard_core.execution.session import Session

RULES = keys.RULES + names.RULES + text.RULES + sequences.RULES + calls.RULES

_LEVELS = {"safe": SURE, "all": 0.0}


class RulesAgent:
    """Deterministic and offline. ``options["rules"]`` is ``safe`` (the default: certain rules only) or ``all``."""

    name = "rules"

    def __init__(self, options: Optional[Dict[str, Any]] = None) -> None:
        level = (options or {}).get("rules", "safe")
        if level not in _LEVELS:
            raise ValueError("option rules of agent rules must be one of {}; got {!r}".format(
                ", ".join(sorted(_LEVELS)), level))
        self._least = _LEVELS[level]

    def respond(self, session: "Session") -> None:
        """Heal the crash when exactly one reading of it is certain enough."""
        crash = _crash_of(session)
        if crash is None:
            session.reraise("the statement cannot be read")
            return
        found, reason = decide(crash, self._least)
        if found is None:
            session.reraise(reason)
            return
        explanation = "{} [rule {}]".format(found.explanation, found.rule)
        outcome = session.heal(found.code, resume=found.resume, explanation=explanation)
        if not session.decided:
            session.reraise("rule {} did not help: {}".format(found.rule, outcome.error.partition("\n")[0]))

    def close(self) -> None:
        """Nothing is kept."""


def suggestions(crash: Crash) -> List[Suggestion]:
    """What every rule for this kind of error says."""
    found = []
    for rule in RULES:
        if type(crash.error) in rule.errors:
            suggestion = rule.suggest(crash)
            if suggestion is not None:
                found.append(suggestion._replace(rule=rule.name))
    return found


def decide(crash: Crash, least: float = SURE) -> Tuple[Optional[Suggestion], str]:
    """The one suggestion of at least this confidence, or None and why there is none."""
    if isinstance(crash.node, (ast.Raise, ast.Assert)):
        return None, "the error is raised on purpose"
    enough = [suggestion for suggestion in suggestions(crash) if suggestion.confidence >= least]
    if not enough:
        return None, "no rule is certain enough about this {}".format(type(crash.error).__name__)
    best = max(suggestion.confidence for suggestion in enough)
    leading = [suggestion for suggestion in enough if suggestion.confidence == best]
    if len({suggestion.code for suggestion in leading}) > 1:
        return None, "several rules apply ({}), so none does".format(", ".join(s.rule for s in leading))
    return leading[0], ""


def _crash_of(session: "Session") -> Optional[Crash]:
    """The session's crash for the rules; None when its statement is unknown."""
    first = session.frames[0]
    if first.site is None or not first.statement:
        return None
    site = first.site
    return Crash(session.exception, first.frame, dict(first.read()), first.statement, site.line, site.column)

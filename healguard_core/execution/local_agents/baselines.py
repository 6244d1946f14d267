"""Agents that look at nothing: what healing has to be better than. May import protocol and, for types, session.

- ``reraise`` never heals.
- ``retry`` runs the failed statement again; of a ``raise`` the caller's statement, because what failed is the call.
- ``rollback`` goes back to the test's start and runs it again from its fixtures, as a checkpoint would.
- ``steamroller`` drops the failed statement and goes on, as FuckIt.py does; what the statement was to bind or return
  becomes None, the manufactured value of failure-oblivious computing (Rinard et al. 2004).
"""

import ast
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

from healguard_core.execution.pause.progress import bound_by

if TYPE_CHECKING:
    from healguard_core.execution.session import Session

RETRIES = 3
"""How often the same statement is tried again for the same error before that error may go on."""


class ReraiseAgent:
    """Lets every error go on."""

    name = "reraise"

    def __init__(self, options: Optional[Dict[str, Any]] = None) -> None:
        """There are no options; those of other agents are ignored."""

    def respond(self, session: "Session") -> None:
        """Let the error go on."""
        session.reraise("the baseline reraise never heals")

    def close(self) -> None:
        """Nothing is kept."""


class RetryAgent(ReraiseAgent):
    """Runs the failed statement again, `RETRIES` times for the same error at the same place of one test."""

    name = "retry"

    def __init__(self, options: Optional[Dict[str, Any]] = None) -> None:
        super().__init__(options)
        self._unit = ""
        self._tried: Dict[Tuple[str, int, str, str], int] = {}

    def respond(self, session: "Session") -> None:
        """Try again in the nearest frame where that is possible; let the error go on when it was of no use."""
        context = session.context
        if context.unit != self._unit or context.attempt == 1:
            self._unit, self._tried = context.unit, {}
        key = (context.file, context.line, context.qualified_error, context.message)
        tried = self._tried[key] = self._tried.get(key, 0) + 1
        if tried > RETRIES:
            session.reraise("the statement failed again after {} retries".format(RETRIES))
            return
        problem = "nothing but raise statements"
        for frame in session.frames:
            if not isinstance(frame.statement_node, ast.Raise):
                said = "retry {} of {}".format(tried, RETRIES)
                outcome = session.heal("pass", resume="retry", frame=frame.index, explanation=said)
                if session.decided:
                    return
                problem = outcome.error
        session.reraise("nothing can be run again: {}".format(problem))


class RollbackAgent(ReraiseAgent):
    """Lets the error go on, and asks whoever runs the test to run it once more from its start."""

    name = "rollback"
    rollbacks = 1

    def respond(self, session: "Session") -> None:
        """Let the error go on; the runner reads ``rollbacks``."""
        session.reraise("the test is to be run again from its start")


class SteamrollerAgent(ReraiseAgent):
    """Drops every statement that fails."""

    name = "steamroller"

    def respond(self, session: "Session") -> None:
        """Go on with the next statement; None stands for what the failed one was to give."""
        first = session.frames[0]
        code = neutral(first.statement_node, list(first.read()))
        outcome = session.heal(code, resume="next", explanation="the failed statement was dropped")
        if not session.decided:
            session.reraise("the statement cannot be dropped: {}".format(outcome.error))


def neutral(statement: Optional[ast.stmt], bound: List[str]) -> str:
    """Code that gives None to the names which ``statement`` was to bind, unless they are ``bound``, or returns None."""
    if isinstance(statement, ast.Return):
        return "_eh_rtn = None"
    if statement is None:
        return "pass"
    names = [name for name in bound_by(statement) if name not in bound]
    return "\n".join("{} = None".format(name) for name in names) or "pass"

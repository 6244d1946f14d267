"""Who is asked about a crash: the runbook, then the agent. May import session and runbook."""

from typing import Callable, List, Optional, Protocol

from healguard_core.execution.runbook import Runbook
from healguard_core.execution.session import Session


class Agent(Protocol):
    """Whoever decides about crashes. One object serves a whole run."""

    name: str

    def respond(self, session: Session) -> None:
        """Decide about one crash through the session's verbs; returning undecided means reraise."""

    def close(self) -> None:
        """The run is over."""


def ask(session: Session, runbook: Runbook, agent: Optional[Agent], notice: Callable[[str, str], None]) -> None:
    """Get ``session`` decided: by the runbook if an entry applies and works, else by ``agent``, else by letting go.

    ``notice`` is told about conditions of the runbook that raised.
    """
    notes: List[str] = []
    failed = ""
    match = runbook.match(session.exception, session.frames, notes)
    for note in notes:
        notice("runbook-where", note)
    if match is not None:
        entry = match.entry
        session.by = "runbook:" + entry.id
        if entry.reraise:
            session.reraise(entry.note or "the runbook says that this exception is right", wanted=True)
            return
        outcome = session.heal(entry.do, resume=entry.resume, frame=match.frame_index, explanation=entry.note)
        if session.decided:
            return
        failed = "the runbook's heal failed: " + outcome.error.strip().rpartition("\n")[2]
    if agent is None:
        session.by = session.by or "runbook"
        session.reraise("no entry of the runbook matches" if match is None else failed)
        return
    session.by = agent.name
    try:
        agent.respond(session)
    except Exception as error:
        session.reraise(_failure(error))
    session.reraise("the agent ended without a decision")


def _failure(error: BaseException) -> str:
    tb = error.__traceback__
    while tb is not None and tb.tb_next is not None:
        tb = tb.tb_next
    where = "" if tb is None else " at {}:{}".format(tb.tb_frame.f_code.co_filename, tb.tb_lineno)
    return "agent error: {}: {}{}".format(type(error).__name__, error, where)

"""The messages and events that the execution side, the healing side and every report share.

Plain dataclasses of JSON values, with one way to JSON and one way back. Standard library only,
Python 3.8 syntax; imports nothing of this package.
"""

import dataclasses
from typing import Any, Dict, List, Optional, Type

VERSION = 1
"""Version of everything in this module as it travels or is stored."""

FULL, PAPER = "full", "paper"
"""What agents are offered: everything, or only what the agents of the paper have (appendix F)."""


# --------------------------------------------------------------------------- configuration


@dataclasses.dataclass
class Config:
    """What one process under test needs to know; validated elsewhere, plain JSON here.

    ``sources`` are importable package names or absolute paths; empty means the packages under
    ``root``. ``runbook`` holds validated entries as `RunbookEntry` dictionaries.
    """

    root: str = ""
    sources: List[str] = dataclasses.field(default_factory=list)
    agent: str = ""
    agent_options: Dict[str, Any] = dataclasses.field(default_factory=dict)
    runbook: List[Dict[str, Any]] = dataclasses.field(default_factory=list)
    intercept: str = "unhandled"  # or "all"
    protocol: str = FULL  # or PAPER: what agents are offered
    undecided: str = "leave"  # or "pause": what to do where nobody can tell whether it is handled
    gate: bool = True
    policy: Optional[Dict[str, Any]] = None  # validated: protect, include, allow; see settings.policy
    guard_mode: str = "track"  # or "literal" or "off": how what a heal wrote is followed after it, under a policy
    guard_budget: float = 10.0  # seconds of processor time that following may cost per heal; then as in "literal"
    redact: bool = True
    trial: str = "auto"  # or "off": rehearse probes and heals in a forked child where that is safe
    max_calls: int = 100  # verbs (probes, submissions) per crash
    max_heals: int = 200  # applied heals per unit, so that a heal that never helps cannot loop forever
    timeout: Optional[float] = None  # seconds of pause per crash
    cache_dir: Optional[str] = None  # instrumented bytecode; None: no cache on disk
    journal: Optional[str] = None  # JSON lines, appended
    catchers: List[str] = dataclasses.field(default_factory=list)  # extra transparent catchers, "module:qualname"


@dataclasses.dataclass
class RunbookEntry:
    """One reviewed heal (docs: runbook). Empty fields match anything."""

    id: str
    error: str
    do: str = ""
    resume: str = "next"
    reraise: bool = False
    function: str = ""
    message: str = ""
    statement: str = ""
    where: str = ""
    note: str = ""
    location: str = ""  # file:line of the entry in its runbook, for messages


# --------------------------------------------------------------------------- crash and verbs


@dataclasses.dataclass
class FrameView:
    """One repository frame of the stack above a crash, as an agent sees it.

    ``index`` counts repository frames from the crash outward (0 = where it crashed). ``marked_source``
    is the enclosing function (or class or module excerpt) with the current statement marked.
    """

    index: int
    file: str
    function: str
    line: int
    statement: str
    marked_source: str
    locals: Dict[str, str]
    loop: str = ""  # how far the innermost loop around the statement has come, in words


@dataclasses.dataclass
class CrashContext:
    """What is sent to an agent about one pause. Sizes are bounded; secrets are redacted."""

    crash: int
    unit: str
    error: str  # class name as a user would write it in `except`
    qualified_error: str
    message: str
    traceback: str
    file: str
    function: str
    line: int
    end_line: int
    statement: str
    failing_expression: str  # the part of the statement that raised, "" where unknown
    skipped: str  # what `resume: next` would leave out besides the failing expression, in words
    frames: List[FrameView]
    resumes: List[str]  # the values of `resume` that are possible here
    attempt: int = 1  # 1 for the first pause of this unit, 2 for the second, ...
    redacted: int = 0  # how many values were withheld
    protocol: str = FULL  # or PAPER: what the agent is offered


@dataclasses.dataclass
class ExecuteOutcome:
    """Answer to one `execute`: what an agent gets back for a probe or a submission."""

    code: str
    submit: bool
    stdout: str = ""
    value_repr: str = ""
    error: str = ""


@dataclasses.dataclass
class Finding:
    """Why a guard stage said no. ``severity``: ``dangerous`` or ``unsupported`` (outside HealCore only)."""

    rule: str  # HC1xx gate, HG2xx static, HG3xx dynamic
    severity: str
    line: int
    column: int
    message: str
    advice: str = ""


# --------------------------------------------------------------------------- journal events


@dataclasses.dataclass
class Event:
    """Base of everything in a journal. ``at`` is seconds since the epoch; ``unit`` the test or ""."""

    at: float = 0.0
    unit: str = ""


@dataclasses.dataclass
class Started(Event):
    version: str = ""
    python: str = ""
    agent: str = ""
    root: str = ""
    gate: bool = True


@dataclasses.dataclass
class Noticed(Event):
    """Something a user should know that is not a crash (a file left plain, a module imported too early)."""

    code: str = ""
    message: str = ""
    where: str = ""


@dataclasses.dataclass
class Crashed(Event):
    """The program is paused. ``why`` says why nobody up the stack would handle the error."""

    crash: int = 0
    error: str = ""
    message: str = ""
    file: str = ""
    function: str = ""
    line: int = 0
    statement: str = ""
    why: str = ""
    second_look: bool = False
    thread: str = ""


@dataclasses.dataclass
class Left(Event):
    """An exception left alone because nobody could tell whether it is handled (answer: undecided).

    ``keeper``: it would be unhandled but for this harness function, which keeps it for the test to look at.
    """

    error: str = ""
    message: str = ""
    file: str = ""
    line: int = 0
    site: int = 0
    occurrence: int = 0
    why: str = ""
    keeper: str = ""


@dataclasses.dataclass
class Probed(Event):
    crash: int = 0
    code: str = ""
    stdout: str = ""
    value_repr: str = ""
    error: str = ""
    ms: float = 0.0
    child: bool = False  # ran in a forked child
    note: str = ""  # why not, when it did not


@dataclasses.dataclass
class Explored(Event):
    """An agent looked at the repository; what it saw is not kept. ``problem``: why the command gave nothing."""

    crash: int = 0
    command: str = ""
    exit_code: Optional[int] = None
    problem: str = ""
    ms: float = 0.0


@dataclasses.dataclass
class Refused(Event):
    """The gate refused code before any of it ran."""

    crash: int = 0
    code: str = ""
    submit: bool = False
    findings: List[Finding] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Blocked(Event):
    """The guard stopped an operation before its effect. ``policy_id``: "" where no policy is needed to stop it.

    ``operation`` is what would have happened, ``key`` its deciding input, ``where`` the file:line that asked for it and
    ``path`` the steps from the heal to there. ``heals`` are the numbers of the crashes whose heals wrote what arrived
    there. ``exact`` is False for an approximation, ``live`` in a rehearsal.
    """

    crash: int = 0
    code: str = ""
    submit: bool = False
    stage: str = "dynamic"  # or "static": before the program went on
    heals: List[int] = dataclasses.field(default_factory=list)
    rule: str = ""  # HG2xx, HG3xx
    policy_id: str = ""
    operation: str = ""
    key: str = ""
    where: str = ""
    path: List[str] = dataclasses.field(default_factory=list)
    exact: bool = True
    live: bool = True
    message: str = ""


@dataclasses.dataclass
class Stumbled(Event):
    """A submission raised or could not be applied. ``live`` is False when live state was never touched."""

    crash: int = 0
    code: str = ""
    error: str = ""
    ms: float = 0.0
    live: bool = False


@dataclasses.dataclass
class Healed(Event):
    crash: int = 0
    code: str = ""
    resume: str = "next"
    frame: int = 0
    function: str = ""  # module.qualname of the healed frame
    wrote: List[str] = dataclasses.field(default_factory=list)
    verdict: str = "unguarded"
    by: str = ""  # agent name, or "runbook:ID"
    explanation: str = ""
    ms: float = 0.0
    rehearsed: bool = False
    note: str = ""


@dataclasses.dataclass
class Reraised(Event):
    """The original exception goes on."""

    crash: int = 0
    by: str = ""
    reason: str = ""
    wanted: bool = False  # a runbook entry says that this exception is right
    asked: bool = False  # an agent was asked (or a runbook entry answered)


@dataclasses.dataclass
class Used(Event):
    """What asking an agent about one crash cost. ``calls`` are answered provider requests; ``retries`` the others.

    ``cost_usd`` is None where a price is not known. ``estimated``: a provider did not say how many tokens it
    counted, so they were estimated from sizes.
    """

    crash: int = 0
    agent: str = ""
    model: str = ""  # the resolved id that was asked for
    answered_by: str = ""  # the model that the provider says has answered
    calls: int = 0
    retries: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0  # of the input tokens
    output_tokens: int = 0
    cost_usd: Optional[float] = 0.0
    seconds: float = 0.0  # from the crash to the decision
    estimated: bool = False
    metered: bool = True  # counted by the metering proxy; else as the agent itself reported


@dataclasses.dataclass
class UnitEnded(Event):
    """A test or program ended. ``completed``: its outermost call into repository code returned."""

    passed: bool = False
    completed: bool = False
    error: str = ""


@dataclasses.dataclass
class Stopped(Event):
    """``decisions``: how often it was decided about an error (``decisions``, and each answer), and how often memory
    told that one is handled (``remembered``), which needs no decision.
    """

    exit_code: Optional[int] = None
    decisions: Dict[str, int] = dataclasses.field(default_factory=dict)


EVENTS: Dict[str, Type[Event]] = {
    cls.__name__: cls
    for cls in (
        Started, Noticed, Crashed, Left, Probed, Explored, Refused, Blocked, Stumbled, Healed, Reraised, Used,
        UnitEnded, Stopped,
    )
}


def event_to_json(event: Event) -> Dict[str, Any]:
    """The event as one JSON object with its class name under ``event``."""
    record = {"event": type(event).__name__}
    record.update(dataclasses.asdict(event))
    return record


def event_from_json(record: Dict[str, Any]) -> Event:
    """The event that `event_to_json` wrote. Unknown fields of newer versions are dropped.

    Raises ``ValueError`` for an unknown event name.
    """
    name = record.get("event")
    if name not in EVENTS:
        raise ValueError("unknown journal event {!r}; known: {}".format(name, ", ".join(sorted(EVENTS))))
    cls = EVENTS[name]
    known = {field.name for field in dataclasses.fields(cls)}
    event = cls(**{key: value for key, value in record.items() if key in known})
    if isinstance(event, Refused):
        event.findings = [f if isinstance(f, Finding) else Finding(**f) for f in event.findings]
    return event

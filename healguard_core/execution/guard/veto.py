"""What stops a protected operation, and what is known about it. Imports nothing of ours.

The veto is no `Exception`, so that code which handles errors lets it through. Swallowing it changes nothing: what was
stopped is on record before it is raised.
"""

import dataclasses
from typing import Any, Dict, List

MOST_SHOWN = 200  # characters of one argument in a message


class Veto(BaseException):
    """Raised in place of an operation that must not happen while a heal runs."""


@dataclasses.dataclass(frozen=True)
class StopRule:
    """One reason to stop: its title for people and what to do instead."""

    title: str
    advice: str


STOP_RULES: Dict[str, StopRule] = {
    "HG201": StopRule(
        "what the heal bound goes on to decide about a protected operation",
        "heal with a value that the operation does not depend on, or let the error go",
    ),
    "HG301": StopRule(
        "a protected operation while a heal runs",
        "heal by changing the program's values; leave the operation to the program",
    ),
    "HG302": StopRule(
        "a heal writes a value that a security check reads",
        "leave the check as it is, and treat the input that it refuses as refused",
    ),
    "HG303": StopRule(
        "a heal calls or changes what belongs to the system",
        "a heal changes values in memory only; leave files, processes and the interpreter to the program",
    ),
    "HG304": StopRule(
        "a heal hands a protected or system operation to other code",
        "pass plain values and pure functions",
    ),
    "HG305": StopRule(
        "code reaches the interpreter while a heal runs",
        "heal with plain statements on the values at hand, without running text as code or tracing",
    ),
    "HG306": StopRule(
        "a heal reaches for the guard, the test runner or the interpreter's own modules",
        "leave them alone; work on the program's values",
    ),
    "HG307": StopRule(
        "what a heal wrote decides about a protected operation",
        "heal in another way, so that the operation gets the program's own values, or let the error go",
    ),
    "HG308": StopRule(
        "a security check tests a value that a heal wrote",
        "leave what the check reads as it is",
    ),
    "HG309": StopRule(
        "after a heal, a protected operation whose input is no literal",
        "this rule blocks whatever is not written out at the call; follow values instead: heal_guard_mode = track",
    ),
    "HG310": StopRule(
        "what a heal wrote decides about the program's trace function",
        "leave tracing alone; heal in another way, or let the error go",
    ),
}
"""The dynamic check's rules; docs/guard.md has an entry for each."""


@dataclasses.dataclass
class Stop:
    """One thing that was stopped before its effect.

    ``operation`` is what would have happened, ``key`` the input that decides about it (in words), ``where`` the
    ``file:line`` that asked for it, ``path`` the steps from the heal to there, ``policy_id`` the entry of the policy
    ("" when no entry is needed to stop it). ``exact`` is False where the link to the heal is an approximation; ``note``
    says why it is one.
    """

    rule: str
    operation: str
    policy_id: str = ""
    key: str = ""
    where: str = ""
    path: List[str] = dataclasses.field(default_factory=list)
    exact: bool = True
    note: str = ""

    @property
    def message(self) -> str:
        """What was stopped and why, in one line."""
        key = " ({})".format(self.key) if self.key else ""
        entry = ", protected as {!r}".format(self.policy_id) if self.policy_id else ""
        note = "; {}".format(self.note) if self.note else ""
        return "{} {}: {}{}{}{}".format(self.rule, STOP_RULES[self.rule].title, self.operation, key, entry, note)

    @property
    def stage(self) -> str:
        """``static``: found before the program went on. ``dynamic``: as it was about to happen."""
        return "static" if self.rule.startswith("HG2") else "dynamic"

    @property
    def advice(self) -> str:
        """What to do instead."""
        return STOP_RULES[self.rule].advice

    def as_json(self) -> Dict[str, Any]:
        """Plain values, for the way out of a forked child."""
        return dataclasses.asdict(self)


def shown(value: Any) -> str:
    """An argument in a few characters. Runs no code of the program."""
    kind = type(value)
    if kind in (str, bytes, int, float, bool, type(None)):
        text = repr(value if kind not in (str, bytes) else value[:MOST_SHOWN])
    elif kind in (list, tuple) and all(type(item) in (str, bytes, int) for item in value[:10]):
        text = repr(value[:10])
    else:
        text = "<{}>".format(kind.__name__)
    return text if len(text) <= MOST_SHOWN else text[: MOST_SHOWN - 3] + "..."

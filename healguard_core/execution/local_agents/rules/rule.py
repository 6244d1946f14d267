"""What a rule is, and the ways of spelling that several rules compare. May import crash."""

import re
from typing import Callable, Iterable, List, NamedTuple, Optional, Tuple

from healguard_core.execution.local_agents.rules.crash import Crash, Suggestion

_SEPARATORS = re.compile(r"[\s_\-.]+")


class Rule(NamedTuple):
    """A named rule for errors of exactly the given classes. It answers None where it does not apply."""

    name: str
    errors: Tuple[type, ...]
    suggest: Callable[[Crash], Optional[Suggestion]]


def folded(name: str) -> str:
    """``name`` without case, surrounding blanks and separators: what two spellings of one name share."""
    return _SEPARATORS.sub("", name).casefold()


def is_misspelling(written: str, meant: str) -> bool:
    """Whether ``written`` is ``meant`` with one slip inside the word.

    A slip is another case or separator, two letters swapped, or one letter missing or added, in long words also
    wrong. A different digit, first or last letter is no slip: ``x1`` and ``x2``, ``item`` and ``items`` differ.
    """
    if written == meant:
        return False
    left, right = folded(written), folded(meant)
    if left == right:
        return len(left) > 1
    if min(len(left), len(right)) < 5 or left[0] != right[0]:
        return False
    if re.sub(r"\D", "", left) != re.sub(r"\D", "", right):
        return False
    return _one_slip(left, right)


def _one_slip(left: str, right: str) -> bool:
    start = 0
    while start < min(len(left), len(right)) and left[start] == right[start]:
        start += 1
    rest, other = left[start:], right[start:]
    if rest[:2] == other[1::-1] and rest[2:] == other[2:]:
        return True  # two letters swapped
    if left[-1] != right[-1]:
        return False
    if len(rest) == len(other):
        return len(left) >= 8 and rest[1:] == other[1:]  # short words with one other letter are other words
    return rest[1:] == other or rest == other[1:]


def only(candidates: Iterable[str]) -> Optional[str]:
    """The single candidate, None when there is none or a choice."""
    found: List[str] = list(dict.fromkeys(candidates))
    return found[0] if len(found) == 1 else None

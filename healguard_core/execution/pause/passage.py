"""What becomes of an exception at one obstacle: a block, a with, a C caller. Imports nothing of ours."""

from typing import NamedTuple, Optional


class Passage(NamedTuple):
    """``way``: ``passes`` (as ``cls``, None where the new class is unknown), ``swallows``, ``unsure`` or ``reaches``.

    ``reaches`` means the outcome of a test is told about it here. ``keeper``: what is unsure was not passed on itself,
    so a test that fails may fail for its lack.
    """

    way: str
    cls: Optional[type] = None
    why: str = ""
    keeper: str = ""


def passes(cls: Optional[type]) -> Passage:
    """The exception goes on, as an instance of ``cls``."""
    return Passage("passes", cls)


def swallows(why: str) -> Passage:
    """The exception ends here."""
    return Passage("swallows", None, why)


def unsure(why: str) -> Passage:
    """Nobody can tell without running the program."""
    return Passage("unsure", None, why)


def replaces(why: str) -> Passage:
    """Another error comes out, with no link to this one."""
    return Passage("unsure", None, why, why)


def reaches(why: str) -> Passage:
    """The exception is what a test or program is reported to have ended with."""
    return Passage("reaches", None, why)

"""What is known about one thread while values are followed. May import labels and shadow."""

from types import FrameType
from typing import Any, Optional

from healguard_core.execution.tracking.labels import Mark
from healguard_core.execution.tracking.shadow import Shadow


class Thread:
    """What is known about one thread: the heal that runs in it, and the innermost frame that is followed."""

    __slots__ = ("ambient", "asked_at", "called", "clean_at", "current", "frame", "healing", "leaving", "plain",
                 "previous", "traced", "vetoing")

    def __init__(self) -> None:
        self.ambient: Optional[Mark] = None
        self.asked_at = -1  # the followed instruction for which `clean_at` was decided
        self.called: Any = None  # the global trace function here
        self.clean_at = -1  # the followed instruction in whose course nothing is marked and no frame can be
        self.current: Optional[Shadow] = None
        self.frame: Optional[FrameType] = None
        self.healing: Any = None  # the `Healing` that runs here
        self.leaving: Optional[Mark] = None
        self.previous: Any = None  # the trace function that was there before
        self.traced = False
        self.vetoing = False  # the interpreter switches tracing off because of a veto of ours
        self.plain = True  # no heal runs here, and nobody else traces

    def heals(self, ambient: Optional[Mark]) -> None:
        """A heal with this mark runs here from now on; None for no heal."""
        self.ambient = ambient
        self.clean_at = self.asked_at = -1
        self.plain = ambient is None and self.previous is None

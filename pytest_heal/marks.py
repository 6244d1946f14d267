"""What a test's marks ask for, as one `Plan`; see docs/pytest.md. Imports pytest."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

import pytest
from _pytest.skipping import xfailed_key

from pytest_heal.settings import Settings

ACCEPT = ("none", "correct", "proceed")
_WORDS = ("enabled", "agent", "model", "guard", "accept", "max_calls", "second_look")

Types = tuple[type[BaseException], ...]


@dataclasses.dataclass(frozen=True)
class Plan:
    """How one test is healed. ``agent`` is "" for the run's own."""

    enabled: bool = True
    agent: str = ""
    model: str = ""  # as asked for; "" for the run's own
    accept: str = "none"
    max_calls: int | None = None
    second_look: bool = True
    guard: str = ""  # a policy's file, or off; "" for the run's own


PLAN = pytest.StashKey[Plan]()


def plan_of(item: pytest.Item, settings: Settings) -> Plan:
    """The plan of ``item``; read from its marks once."""
    if PLAN not in item.stash:
        item.stash[PLAN] = _read(item, settings)
    return item.stash[PLAN]


def _read(item: pytest.Item, settings: Settings) -> Plan:
    asked: dict[str, Any] = {}
    for mark in reversed(list(item.iter_markers("heal"))):  # the closest one wins
        asked.update(_arguments(item, mark))
    accept = asked.get("accept") or settings.accept
    enabled = bool(asked.get("enabled", True)) and (settings.hypothesis or not is_hypothesis(item))
    return Plan(
        enabled=enabled,
        agent=asked.get("agent") or "",
        model=asked.get("model") or "",
        accept=accept,
        max_calls=asked.get("max_calls"),
        second_look=settings.second_look and asked.get("second_look") is not False,
        guard=_guard(item, asked.get("guard")),
    )


def _guard(item: pytest.Item, asked: str | os.PathLike[str] | None) -> str:
    """The policy that a mark names, from the rootdir."""
    if asked is None or asked == "off":
        return asked or ""
    return os.path.join(item.config.rootpath, asked)


def _arguments(item: pytest.Item, mark: pytest.Mark) -> dict[str, Any]:
    where = f"{item.nodeid}: @pytest.mark.heal"
    if len(mark.args) > 1:
        raise pytest.UsageError(f"{where} takes one positional argument (True or False), got {mark.args!r}")
    asked: dict[str, Any] = {**dict(zip(("enabled",), mark.args, strict=False)), **mark.kwargs}
    for name in asked:
        if name not in _WORDS:
            raise pytest.UsageError(f"{where} does not know {name!r}; use {', '.join(_WORDS)}")
    if not isinstance(asked.get("model"), (str, type(None))):
        raise pytest.UsageError(f"{where}(model={asked['model']!r}): name a model as for --heal-model")
    if asked.get("guard") is not None and not isinstance(asked["guard"], (str, os.PathLike)):
        raise pytest.UsageError(f"{where}(guard={asked['guard']!r}): name a policy's file, or 'off'")
    if asked.get("accept") not in (None, *ACCEPT):
        raise pytest.UsageError(f"{where}(accept={asked['accept']!r}): choose from {', '.join(ACCEPT)}")
    calls = asked.get("max_calls")
    if calls is not None and (not isinstance(calls, int) or calls < 1):
        raise pytest.UsageError(f"{where}(max_calls={calls!r}): this must be a whole number of at least 1")
    return asked


def is_hypothesis(item: pytest.Item) -> bool:
    """Whether the test is one of hypothesis' ``@given``, which runs it many times and times each run."""
    return bool(getattr(getattr(item, "obj", None), "is_hypothesis_test", False))


def expected(item: pytest.Item) -> Types:
    """The exception types that the test's marks expect and that are therefore never paused.

    ``(BaseException,)`` means all of them. Marks that fixtures add are seen once the fixtures ran.
    """
    if _unittest_expects(item):
        return (BaseException,)
    xfailed = item.stash.get(xfailed_key, None)
    if xfailed is None or item.config.option.runxfail:
        return ()
    raises: Any = xfailed.raises
    for types in (raises, getattr(raises, "expected_exceptions", None)):  # the latter of pytest.RaisesExc
        named = types if isinstance(types, tuple) else (types,)
        if named and all(isinstance(type_, type) for type_ in named):
            return named
    return (BaseException,)  # no `raises`, or a RaisesGroup, which may hold anything


def _unittest_expects(item: pytest.Item) -> bool:
    name = "__unittest_expecting_failure__"
    owner = getattr(item, "cls", None)
    return bool(getattr(getattr(item, "obj", None), name, False) or getattr(owner, name, False))

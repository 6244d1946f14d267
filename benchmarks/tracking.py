"""What following healed values costs: processor time of three workloads against the same without a heal.

    python benchmarks/tracking.py [--rounds N]

Each workload runs in this process, with the engine's tracker driven as a pause drives it. Printed are ratios of the
best of several rounds to the plain run, for: a policy that is loaded and no heal yet; a heal whose value nobody uses
(gated), or only the caller afterwards; an unrelated container with one marked element, reachable from everywhere
(ungated); the whole input marked.
"""

from __future__ import annotations

import argparse
import json
import re
import string
import sys
import textwrap
import time
import types
from collections.abc import Callable
from typing import Any

from healguard_core.execution.guard.enforcement import Guard
from healguard_core.execution.tracking.tracker import Tracker

POLICY = {"protect": [{"id": "remove", "kind": "call", "target": "os.remove", "key": ["path"]},
                      {"id": "print", "kind": "call", "target": "print", "key": ["*"]}]}


# --------------------------------------------------------------------------- W1: lexer, parser, evaluator


class Lexer:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def token(self) -> str:
        while self.at < len(self.text) and self.text[self.at] == " ":
            self.at += 1
        if self.at == len(self.text):
            return ""
        start = self.at
        if self.text[start].isdigit():
            while self.at < len(self.text) and self.text[self.at].isdigit():
                self.at += 1
        else:
            self.at += 1
        return self.text[start:self.at]


class Number:
    def __init__(self, value: int) -> None:
        self.value = value

    def evaluate(self) -> int:
        return self.value


class Operation:
    def __init__(self, sign: str, left: Any, right: Any) -> None:
        self.sign = sign
        self.left = left
        self.right = right

    def evaluate(self) -> int:
        left, right = self.left.evaluate(), self.right.evaluate()
        return {"+": left + right, "-": left - right, "*": left * right}[self.sign] % 1000003


class Parser:
    def __init__(self, text: str) -> None:
        self.lexer = Lexer(text)
        self.now = self.lexer.token()

    def advance(self) -> str:
        before, self.now = self.now, self.lexer.token()
        return before

    def sum(self) -> Any:
        left = self.product()
        while self.now in ("+", "-"):
            left = Operation(self.advance(), left, self.product())
        return left

    def product(self) -> Any:
        left = self.factor()
        while self.now == "*":
            left = Operation(self.advance(), left, self.factor())
        return left

    def factor(self) -> Any:
        if self.now == "(":
            self.advance()
            inner = self.sum()
            self.advance()
            return inner
        return Number(int(self.advance()))


EXPRESSION = " + ".join(f"({n} * (2 - {n}) + 7) * {n}" for n in range(12))


def language(text: str) -> Any:
    """Lexer, parser and evaluator of small methods and attributes."""
    return [Parser(text).sum().evaluate() for _ in range(60)]


# --------------------------------------------------------------------------- W2: text, dict, template, json

TEXT = "the quick brown fox jumps over the lazy dog and runs away from the quick red fox " * 12


def texts(text: str) -> Any:
    """Words counted in a dict, a template filled in, JSON there and back."""
    result = []
    for _ in range(60):
        counts: dict[str, int] = {}
        for word in re.findall(r"\w+", text):
            counts[word] = counts.get(word, 0) + 1
        lines = [string.Template("$word: $count").substitute(word=word, count=count) for word, count in counts.items()]
        result.append(json.loads(json.dumps({"lines": lines, "filled": textwrap.fill(" ".join(lines), 60)})))
    return result


# --------------------------------------------------------------------------- W3: n-body on lists


def bodies(step: float) -> Any:
    """Planets as lists of floats."""
    planets = [[float(i), float(i * 2 % 7), float(i * 3 % 5), 0.0, 0.0, 0.0, 1.0 + i] for i in range(5)]
    for _ in range(600):
        for i, one in enumerate(planets):
            for other in planets[i + 1:]:
                dx, dy, dz = one[0] - other[0], one[1] - other[1], one[2] - other[2]
                pull = step / ((dx * dx + dy * dy + dz * dz) ** 1.5 + 0.01)
                for axis, distance in enumerate((dx, dy, dz)):
                    one[3 + axis] -= distance * other[6] * pull
                    other[3 + axis] += distance * one[6] * pull
        for one in planets:
            for axis in range(3):
                one[axis] += step * one[3 + axis]
    return planets


WORKLOADS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "W1 lexer, parser, evaluator": (language, EXPRESSION),
    "W2 text, dict, template, json": (texts, TEXT),
    "W3 n-body on lists": (bodies, 0.01),
}
UNRELATED: dict[str, Any] = {"list": [["kept"]]}


# --------------------------------------------------------------------------- measuring


def timed(work: Callable[[Any], Any], value: Any) -> float:
    """Processor seconds of one run."""
    began = time.process_time()
    work(value)
    return time.process_time() - began


def healed(tracker: Tracker, frame: types.FrameType, names: list[str]) -> None:
    """What a pause does about a heal that binds ``names`` in ``frame``."""
    with tracker.heal(1, "<heal 1>", frame) as healing:
        pass
    ran: Any = types.SimpleNamespace(raise_exc=None, bindings=dict.fromkeys(names), deleted=[])
    tracker.settle(healing, frame, ran, False)
    tracker.go_on(frame)


def _quietly(*_told: Any) -> None:
    """Stops and notices are of no interest here."""


def loaded(work: Callable[[Any], Any], value: Any) -> float:
    """A policy is loaded, nothing has been healed."""
    guard = Guard(POLICY, _quietly)
    guard.start()
    return timed(work, value)


def tracked(body: Callable[..., float], *given: Any) -> float:
    """What ``body`` measures with a tracker of its own, which is ended afterwards.

    The healed frame is that of ``body``, and has no ``try``: a heal may have a block that is being tried run again.
    """
    guard = Guard(POLICY, _quietly)
    guard.start()
    tracker = Tracker(guard.policy, "track", _quietly, _raised, 1e9, _quietly)
    try:
        return body(tracker, *given)
    finally:
        tracker.finish()
        UNRELATED["list"][0][0] = "kept"


def _followed(
    tracker: Tracker, work: Callable[[Any], Any], value: Any, names: list[str], unrelated: bool = False
) -> float:
    other = "healed"
    pause(tracker, sys._getframe(), names)
    if unrelated:
        UNRELATED["list"][0][0] = other
    return timed(work, value)


def _used(tracker: Tracker, work: Callable[[Any], Any], value: Any) -> float:
    """The healed value waits in a variable while the work is done, and is used afterwards."""
    other = "healed"
    pause(tracker, sys._getframe(), ["other"])
    spent = timed(work, value)
    UNRELATED["used"] = other.upper()
    return spent


def _raised(fault: Exception) -> None:
    raise fault


pause = types.FunctionType(healed.__code__.replace(co_filename=sys.modules[Tracker.__module__].__file__), globals())
"""`healed` as a function of the tracker's own package, which is never followed."""

SETTINGS: dict[str, Callable[[Callable[[Any], Any], Any], float]] = {
    "policy, no heal": loaded,
    "after a heal, gated": lambda work, value: tracked(_followed, work, value, ["other"]),
    "gated, used afterwards": lambda work, value: tracked(_used, work, value),
    "one unrelated marked element": lambda work, value: tracked(_followed, work, value, ["other"], True),
    "whole input marked": lambda work, value: tracked(_followed, work, value, ["value"]),
}


def main() -> None:
    """Print a table of ratios."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=3)
    rounds = options.parse_args().rounds
    print(f"Python {sys.version.split()[0]}; processor time against the plain run, best of {rounds}")
    for name, (work, value) in WORKLOADS.items():
        work(value)
        plain = min(timed(work, value) for _ in range(rounds * 3))
        ratios = [f"{setting}: {min(run(work, value) for _ in range(rounds)) / plain:.2f}"
                  for setting, run in SETTINGS.items()]
        print(f"{name} ({plain * 1000:.1f} ms): " + "; ".join(ratios))


if __name__ == "__main__":
    main()

"""Programs that are paused for real (rewritten, run, stopped by the hook) so that their crash can be described."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path
from typing import Any

from healguard_core.execution import hooks
from healguard_core.execution.instrument.rewrite import rewrite
from healguard_core.execution.instrument.sites import Site
from healguard_core.execution.pause import context
from healguard_core.execution.pause.context import Limits
from healguard_core.protocol import CrashContext


class Paused:
    """``contexts`` has one `CrashContext` per crash; ``error`` is what came out of the program at last."""

    def __init__(self) -> None:
        self.contexts: list[CrashContext] = []
        self.error: BaseException | None = None

    @property
    def context(self) -> CrashContext:
        return self.contexts[0]


def paused(
    folder: Path,
    source: str,
    call: str = "run()",
    *,
    limits: Limits | None = None,
    redact: bool = True,
    name: str = "program",
    namespace: dict[str, Any] | None = None,
    write: bool = True,
) -> Paused:
    """Run ``source`` instrumented, then ``call`` in its module, and describe every crash at its first statement."""
    text = textwrap.dedent(source).lstrip("\n")
    path = folder / (name + ".py")
    if write:
        path.write_text(text, encoding="utf-8")
    rewritten = rewrite(ast.parse(text), text, every_error=True)
    sites = rewritten.sites
    code = compile(rewritten.tree, str(path), "exec")
    found = Paused()
    offered: list[BaseException] = []

    def sites_for(filename: str) -> tuple[Site, ...]:
        return sites if filename == str(path) else ()

    def caught(number: int, frame: Any, exc: BaseException) -> Any:
        if any(exc is one for one in offered) or hooks.seen_below(exc, frame):
            return ()
        offered.append(exc)
        found.contexts.append(
            context.describe(
                exc, frame, sites[number], crash=len(offered), unit="tests.py::test", resumes=["next"],
                sites_for=sites_for, is_repository=hooks.is_instrumented, redact=redact,
                limits=limits or Limits(),
            )
        )
        return ()

    module = {"__name__": name, "__builtins__": __builtins__, **(namespace or {})}
    hooks.install(caught)
    try:
        exec(code, module)
        exec(compile(call, "<call>", "exec"), module)
    except Exception as error:
        found.error = error
    finally:
        hooks.disable()
    return found

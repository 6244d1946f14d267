"""The paper's protocol: what an agent sees and may do when only that is to be offered. May import protocol.

Sections 3.2, F.1 and F.5: the traceback, the crashed frame's variables, its source and the callers' source; probes,
submissions and letting go. No choice of how or in which frame the program goes on.
"""

import ast
import dataclasses

from healguard_core.protocol import CrashContext


def reduced(context: CrashContext) -> CrashContext:
    """The description of a crash without what the paper's agents do not have."""
    frames = [
        dataclasses.replace(frame, locals=frame.locals if frame.index == 0 else {}, loop="")
        for frame in context.frames
    ]
    return dataclasses.replace(context, failing_expression="", skipped="", resumes=[], frames=frames)


def refusal(code: str, resume: str, frame: int) -> str:
    """Why the paper's protocol does not know this submission, "" when it does."""
    if resume != "next":
        return "this run has no `resume`: the program goes on with the next statement"
    if frame != 0:
        return "this run has no `frame`: what crashed is healed where it crashed"
    if "_eh_raise" in code and "_eh_raise" in _names(code):
        return "this run has no `_eh_raise`"
    return ""


def _names(code: str) -> "set[str]":
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()  # running it reports the syntax error with its place
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}

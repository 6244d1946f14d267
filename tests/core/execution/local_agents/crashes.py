"""Runs a small program until it crashes and hands its crash to the rules, without pausing it for real."""

import ast
import itertools
import linecache

from healguard_core.execution.local_agents.rules.crash import Crash

_numbers = itertools.count()


def crash_of(source):
    """The crash of the program ``source`` at its innermost statement."""
    name = f"<program {next(_numbers)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    namespace = {"__name__": "program"}
    try:
        exec(compile(source, name, "exec"), namespace)
    except Exception as caught:
        error = caught
    else:
        raise AssertionError("the program did not crash:\n" + source)
    entry, found = error.__traceback__, None
    while entry is not None:
        code = entry.tb_frame.f_code
        if code.co_filename == name and code.co_name not in ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"):
            found = entry
        entry = entry.tb_next
    while error.__traceback__ is not found:
        error.__traceback__ = error.__traceback__.tb_next
    statement = _innermost(ast.parse(source), found.tb_lineno)
    lines = source.encode().splitlines(True)[statement.lineno - 1 : statement.end_lineno]
    lines[-1] = lines[-1][: statement.end_col_offset]
    lines[0] = lines[0][statement.col_offset :]
    frame, text = found.tb_frame, b"".join(lines).decode()
    return Crash(error, frame, dict(frame.f_locals), text, statement.lineno, statement.col_offset)


def healed(crash, suggestion):
    """The names in the crashed frame after the suggested code ran there."""
    frame = crash._frame
    namespace = dict(frame.f_globals)
    namespace.update(frame.f_locals)
    exec(compile(suggestion.code, "<heal>", "exec"), namespace)
    return namespace


def _innermost(tree, line):
    found = None
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt) or not node.lineno <= line <= node.end_lineno:
            continue
        if found is None or (node.lineno, -node.end_lineno) >= (found.lineno, -found.end_lineno):
            found = node
    return found

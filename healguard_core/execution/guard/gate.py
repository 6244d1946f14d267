"""The gate: whether healing code is HealCore, and if not, every reason why. Imports the rules of this package."""

import ast
from typing import AbstractSet, Iterator, List, Optional, Sequence

from healguard_core.execution.guard import (
    calls,
    expressions,
    healcore,
    imports,
    names,
    reading,
    sizes,
    statements,
)
from healguard_core.execution.guard.rules import DANGEROUS, RULES, UNSUPPORTED
from healguard_core.execution.guard.scope import LiveImport, Scope
from healguard_core.protocol import Finding

PURPOSES = ("heal", "probe", "expression")
_SHOWN = 20


def check(
    code: str,
    *,
    purpose: str = "heal",
    live_import: Optional[LiveImport] = None,
    shadowed: AbstractSet[str] = frozenset(),
) -> List[Finding]:
    """Every reason why ``code`` is not HealCore, sorted by position; empty when it is accepted.

    Lines and columns count from 1, columns in characters. Runs nothing of the code and never raises, whatever the
    text; its time grows with the (bounded) length of the text.

    ``purpose``: ``heal``, ``probe`` (as heal, and `dir(x)`) or ``expression`` (a runbook's `where`).
    ``live_import``: gives the live object for (module, attribute) when the program has already imported the module,
    else None; it is also asked for the attribute ``__name__`` to learn whether a module is imported at all. It should
    look in the module's own dictionary, so that asking imports nothing. Without it only the listed modules of Python's
    own library may be imported.
    ``shadowed``: names of builtins that the paused frame binds to something else (and not to another function of the
    system), such as a local variable called ``input`` or ``max``.

    Raises ``ValueError`` for an unknown purpose.
    """
    if purpose not in PURPOSES:
        raise ValueError("unknown purpose {!r}; known: {}".format(purpose, ", ".join(PURPOSES)))
    try:
        source, findings = reading.read(code)
        if source is None:
            return findings
        return _sorted(_judge(Scope(source, purpose, live_import, shadowed)))
    except (RecursionError, MemoryError) as error:  # the paused program may have used up the stack or the memory itself
        message = "no room left to examine the code ({})".format(type(error).__name__)
        return [Finding("HC101", UNSUPPORTED, 1, 1, message, RULES["HC101"].advice)]


def _judge(scope: Scope) -> Iterator[Finding]:
    for node in scope.source.nodes:
        yield from statements.check_kind(scope, node)
        yield from statements.check_statement(scope, node)
        if isinstance(node, ast.Name):
            yield from names.check_name(scope, node)
        elif isinstance(node, ast.Attribute):
            yield from names.check_attribute(scope, node)
        elif isinstance(node, ast.Call):
            yield from calls.check_call(scope, node)
        elif isinstance(node, ast.Import):
            yield from imports.check_import(scope, node)
        elif isinstance(node, ast.ImportFrom):
            yield from imports.check_import_from(scope, node)
        elif isinstance(node, ast.GeneratorExp):
            yield from calls.check_generator(scope, node)
        elif isinstance(node, ast.Assign):
            yield from calls.check_hook(scope, node)
        elif isinstance(node, (ast.FormattedValue, ast.Subscript, ast.Constant)):
            yield from _constant_parts(scope, node)
        yield from imports.check_module_use(scope, node)
        yield from imports.check_class_use(scope, node)
        yield from calls.check_function_value(scope, node)
    for node in scope.conflicts:
        message = "one name is imported with two meanings"
        yield scope.source.finding(node, "HC123", UNSUPPORTED, message, "use two different names")
    if scope.purpose == "expression":
        yield from expressions.check_expression(scope)
    yield from sizes.check_sizes(scope.source, scope.callee)


def _constant_parts(scope: Scope, node: ast.AST) -> Iterator[Finding]:
    """Formats inside f-strings, and keys that take internals out of a namespace dictionary."""
    parts = getattr(getattr(node, "format_spec", None), "values", [])
    if any(isinstance(part, ast.FormattedValue) for part in parts):
        yield scope.source.finding(node, "HC135", UNSUPPORTED, "a format inside an f-string must be literal")
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in healcore.DANGEROUS_TEXTS:
        yield scope.source.finding(node, "HC110", DANGEROUS, "`{!r}` names interpreter internals".format(node.value))
    if isinstance(node, ast.Subscript):
        key = getattr(node.slice, "value", None)  # Constant, or on 3.8 Index(Constant)
        key = getattr(key, "value", key)
        if isinstance(key, str) and key in healcore.DANGEROUS_KEYS:
            yield scope.source.finding(node, "HC110", DANGEROUS, "`[{!r}]` takes interpreter internals".format(key))


def _sorted(findings: Iterator[Finding]) -> List[Finding]:
    """By position, and each reason once."""
    unique = {(f.line, f.column, f.rule, f.message): f for f in findings}
    return [unique[key] for key in sorted(unique)]


def render(findings: Sequence[Finding], code: str = "", name: str = "heal") -> str:
    """The findings as text for agents and terminals: place, rule, what is wrong, the line, what to write instead.

    ``code``: the text that was checked, for the lines with carets. ``name``: what to call it, such as a file's path.
    """
    lines = reading.split_lines(code) if code else []
    blocks = [_block(finding, lines, name) for finding in findings[:_SHOWN]]
    if len(findings) > _SHOWN:
        blocks.append("... and {} more".format(len(findings) - _SHOWN))
    return "\n".join(blocks)


def _block(finding: Finding, lines: List[str], name: str) -> str:
    text = "{}:{}:{}: {} {}: {}".format(
        name, finding.line, finding.column, finding.rule, finding.severity, finding.message
    )
    if 1 <= finding.line <= len(lines):
        line = lines[finding.line - 1].replace("\t", " ")
        text += "\n    {}\n    {}^".format(line, " " * min(finding.column - 1, len(line)))
    if finding.advice:
        text += "\n    instead: {}".format(finding.advice)
    return text

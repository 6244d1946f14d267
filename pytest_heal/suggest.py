"""One `.patch` per applied heal (`--heal-suggest`): the heal as a source change. Imports healguard_core, libcst on use.

The failing statement stays and the heal becomes what happens when it raises, so that inputs which never
crashed take the same way as before.
"""

from __future__ import annotations

import builtins
import difflib
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from healguard_core.protocol import Crashed, Healed
from pytest_heal.jsonreport import write_text
from pytest_heal.recording import applied_heals
from pytest_heal.records import Record

_LEAVES = {"_eh_rtn": "return", "_eh_raise": "raise"}


class NoSuggestion(Exception):
    """A heal that cannot be written as a source change; the text says why."""


def write_suggestions(folder: Path, marks: Iterable[Record], root: Path) -> list[Record]:
    """Write the patches, each once, and return notices about heals without one."""
    notices: list[Record] = []
    written: set[str] = set()
    for crashed, healed in applied_heals(marks):
        try:
            patch = suggestion(crashed, healed, root)
        except NoSuggestion as why:
            notices.append({"code": "no-suggestion", "message": f"no patch for this heal: {why}",
                            "where": f"{crashed.file}:{crashed.line}"})
            continue
        if patch not in written:
            written.add(patch)
            name = re.sub(r"\W+", "-", crashed.function.rpartition(".")[2]).strip("-") or "module"
            write_text(folder / f"{len(written):03}-{name}-{crashed.line}.patch", patch)
    return notices


def suggestion(crashed: Crashed, healed: Healed, root: Path) -> str:
    """The patch for one heal, with paths relative to ``root`` (for ``git apply``). Raises `NoSuggestion`."""
    if healed.frame:
        raise NoSuggestion("it healed a caller of the function that crashed")
    try:
        source = Path(crashed.file).read_bytes()
        module = cst.parse_module(source)
    except (OSError, cst.ParserSyntaxError, UnicodeDecodeError) as error:
        raise NoSuggestion(f"the file cannot be read as Python: {error}") from error
    wrapper = MetadataWrapper(module)
    target = _statement_at(wrapper, crashed.line)
    name = _catchable(module, crashed.error)
    changed = wrapper.module.deep_replace(target, _guarded(target, healed, name, module))
    assert isinstance(changed, cst.Module), "replacing a statement leaves a module"
    before = module.code.splitlines(keepends=True)
    after = changed.code.splitlines(keepends=True)
    path = _path(crashed.file, root)
    body = "".join(difflib.unified_diff(before, after, f"a/{path}", f"b/{path}"))
    return f"{_title(crashed, healed)}\n{body}"


def _title(crashed: Crashed, healed: Healed) -> str:
    words = [f"Heal {crashed.error} in {crashed.function}", "", f"Applied by {healed.by or 'an agent'}; review it."]
    if healed.explanation:
        words += ["", " ".join(healed.explanation.split())]
    return "\n".join([*words, "---"])


def _statement_at(wrapper: MetadataWrapper, line: int) -> cst.SimpleStatementLine:
    positions = wrapper.resolve(PositionProvider)
    for node, where in positions.items():
        if isinstance(node, cst.SimpleStatementLine) and where.start.line <= line <= where.end.line:
            if len(node.body) > 1:
                raise NoSuggestion("several statements share the line")
            return node
    raise NoSuggestion("what crashed is part of a compound statement (a test, an iterable, a decorator, ...)")


def _guarded(target: cst.SimpleStatementLine, healed: Healed, error: str, module: cst.Module) -> cst.Try:
    """``try: TARGET`` with the heal as its handler."""
    config = module.config_for_parsing
    heal = [_leaving(line) for line in cst.parse_module(healed.code, config).body]
    bare = target.with_changes(leading_lines=())
    ending: Sequence[cst.BaseStatement] = ()
    if healed.resume in ("continue", "break"):
        ending = (cst.parse_statement(healed.resume, config),)
    elif healed.resume == "retry":
        ending = (bare.deep_clone(),)
    body = [*heal, *ending] or [cst.parse_statement("pass", config)]
    handler = cst.ExceptHandler(type=cst.parse_expression(error), body=cst.IndentedBlock(body=body))
    return cst.Try(
        body=cst.IndentedBlock(body=[bare]), handlers=[handler], leading_lines=target.leading_lines
    )


def _leaving(statement: cst.BaseStatement) -> cst.BaseStatement:
    """``_eh_rtn = x`` as ``return x`` and ``_eh_raise = e`` as ``raise e``, wherever they stand."""
    changed = statement.visit(_Leaving())
    assert isinstance(changed, cst.BaseStatement), "a statement stays a statement"
    return changed


class _Leaving(cst.CSTTransformer):
    def leave_Assign(
        self, original_node: cst.Assign, updated_node: cst.Assign  # noqa: ARG002
    ) -> cst.BaseSmallStatement:
        target = updated_node.targets[0].target
        if len(updated_node.targets) != 1 or not isinstance(target, cst.Name) or target.value not in _LEAVES:
            return updated_node
        if target.value == "_eh_rtn":
            return cst.Return(value=updated_node.value)
        return cst.Raise(exc=updated_node.value)


def _catchable(module: cst.Module, error: str) -> str:
    """The error's name where the file can spell it, else ``Exception``."""
    kind = getattr(builtins, error, None)
    if isinstance(kind, type) and issubclass(kind, Exception):
        return error
    bound = re.search(rf"^(?:from .+ import .*\b{re.escape(error)}\b|class {re.escape(error)}\b)", module.code, re.M)
    return error if bound else "Exception"


def _path(file: str, root: Path) -> str:
    inside = os.path.abspath(file).startswith(str(root) + os.sep)
    return Path(os.path.relpath(file, root)).as_posix() if inside else Path(file).as_posix().lstrip("/")

"""The instrumented source of a file, for people to read. May import execution.instrument and execution.hooks."""

import ast
import copy
import re

from healguard_core.execution import hooks
from healguard_core.execution.instrument.rewrite import rewrite
from healguard_core.execution.instrument.sites import Site

_READABLE = {
    hooks.HEAL: "__heal__", hooks.LEAVE: "__leave__", hooks.WAY: "__way__", hooks.VALUE: "__value__",
}
_HANDLER = re.compile(r"^(\s*except __heal__\((\d+)\):)$")
_CONSTANTS = {hooks.CONTINUE: "CONTINUE", hooks.BREAK: "BREAK"}
_WAY = re.compile(r"__way__\(\) == (\d+)")


def printable(source: str, filename: str = "<source>") -> str:
    """``source`` as it runs when it is instrumented, with names that can be spelled and a note at every handler.

    Comments and blank lines are lost, because the text is made from the tree that is compiled. Raises what
    `ast.parse` raises.
    """
    rewritten = rewrite(ast.parse(source, filename), source)
    text = ast.unparse(_spelled(rewritten.tree))
    text = _WAY.sub(lambda found: f"__way__() == {_CONSTANTS[int(found.group(1))]}", text)
    return "\n".join(_annotated(line, rewritten.sites) for line in text.split("\n"))


def _spelled(tree: ast.Module) -> ast.Module:
    """A copy with readable names; the nodes of the rewriter are shared by every file, so they must not be changed."""
    tree = copy.deepcopy(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = _READABLE.get(node.id, node.id)
        elif isinstance(node, ast.Global):
            node.names = [_READABLE.get(name, name) for name in node.names]
    return tree


def _annotated(line: str, sites: tuple[Site, ...]) -> str:
    found = _HANDLER.match(line)
    if found is None:
        return line
    site = sites[int(found.group(2))]
    facts = [f"line {site.line}", site.node if site.kind == "simple" else f"header of {site.node}"]
    if site.leaves:
        facts.append("may leave by " + ", ".join(site.leaves))
    if site.guarded:
        facts.append("its own handlers are asked first")
    return f"{found.group(1)}  # " + "; ".join(facts)

"""Cuts a test module down to one test. Imports nothing of ours."""

import ast


def only(source: str, test: str) -> str | None:
    """``source`` without its other tests; ``test`` is a pytest id without its file. None when it is not there.

    Imports, helpers, fixtures and the rest of the test's class stay.
    """
    names = test.partition("[")[0].split("::")
    tree = ast.parse(source)
    if not _keep(tree.body, names):
        return None
    return ast.unparse(tree) + "\n"


def _keep(body: list[ast.stmt], names: list[str]) -> bool:
    """Drop from ``body`` every test but the named one; whether that was there."""
    found = False
    for node in list(body):
        if isinstance(node, ast.ClassDef) and node.name == names[0] and len(names) > 1:
            found |= _keep(node.body, names[1:])
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == names[0] and len(names) == 1:
            found = True
        elif _is_test(node):
            body.remove(node)
    return found


def _is_test(node: ast.stmt) -> bool:
    if isinstance(node, ast.ClassDef):
        return node.name.startswith("Test") or any(
            getattr(base, "attr", getattr(base, "id", "")).endswith("TestCase") for base in node.bases)
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test")

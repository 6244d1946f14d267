"""Whether the names in a policy exist, told without importing the repository. May import the guard's policy.

Builtins and Python's own library are looked at as live objects. Other modules are read as source; where a file cannot
answer (star imports, lazy attributes, decorators, compiled modules), nothing is said: the program asks again when it
has imported the module.
"""

import ast
import importlib
import pkgutil
import sys
import tokenize
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec

from healguard_core.execution.guard import policy
from healguard_core.settings.errors import nearest

_NEVER_IMPORTED = ("antigravity", "this", "idlelib", "lib2to3", "turtledemo", "tkinter", "turtle")
_DYNAMIC_CALLS = ("globals", "setattr", "exec", "vars", "__import__")

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Wrong:
    """Why an entry cannot be meant. ``about_key``: its callable exists, and the key does not fit."""

    why: str
    advice: str = ""
    about_key: bool = False


class _Undetermined(Exception):
    """The source does not say."""


class Names:
    """Looks names up; ``paths`` are folders with packages of the repository.

    Unless ``complete``, a module that cannot be found may come: the folders that the program imports from are not all
    known yet.
    """

    def __init__(self, paths: Iterable[str] = (), complete: bool = True) -> None:
        self._own = list(paths)
        self._paths = [*self._own, *sys.path]
        self._complete = complete

    def wrong_call(self, target: str, key: Sequence[str | int]) -> Wrong | None:
        """What is wrong with protecting calls of ``target``, None for nothing (or nothing that is known yet)."""
        if not _is_dotted(target):
            return Wrong(f"{target!r} is not a dotted name", "write package.module.function")
        if self._import_standard(target):
            return _wrong_live_call(target, key)
        try:
            found, in_class = self._source(target)
        except _Undetermined:
            return None
        except LookupError as error:
            return Wrong(*error.args)
        return _wrong_source_key(target, found, in_class, key)

    def wrong_condition(self, target: str) -> tuple[str, str]:
        """What is wrong with the condition ``target`` and what to do, two empty texts for nothing."""
        if not _is_dotted(target) or "." not in target:
            return f"{target!r} is not a dotted name", "write package.module.NAME or package.module.Class.attribute"
        if self._import_standard(target):
            found = policy.find(target)
            return (found.why, "") if isinstance(found, policy.Nothing) else ("", "")
        try:
            self._source(target)
        except _Undetermined:
            return "", ""
        except LookupError as error:
            return error.args
        return "", ""

    # ----------------------------------------------------------------- Python's own

    def _import_standard(self, target: str) -> bool:
        """Import the module of a builtin or of something in Python's own library; whether it is that."""
        parts = target.split(".")
        if len(parts) == 1:
            return True
        if parts[0] not in sys.stdlib_module_names or parts[0] in _NEVER_IMPORTED:
            return False
        for end in range(len(parts) - 1, 0, -1):
            try:
                importlib.import_module(".".join(parts[:end]))
                return True
            except ImportError:
                continue
        return False

    # ----------------------------------------------------------------- source

    def _source(self, target: str) -> tuple[ast.AST, bool]:
        """The node that binds ``target``, and whether it stands in a class.

        Raises ``LookupError`` with message and advice when there is no such name, `_Undetermined` where nobody knows.
        """
        parts = target.split(".")
        spec, rest = self._module(parts)
        module = ".".join(parts[: len(parts) - len(rest)])
        if not rest:
            raise LookupError(f"{target} is a module", "name a function or a value in it")
        scope: ast.AST = _parsed(spec)
        names = _bound(scope)
        for position, name in enumerate(rest):
            if name not in names:
                self._missing(scope, names, name, module, rest[:position], spec)
            found = names[name]
            if position == len(rest) - 1:
                return found, isinstance(scope, ast.ClassDef)
            if not isinstance(found, ast.ClassDef):
                raise _Undetermined
            scope, names = found, _bound(found)
        raise _Undetermined

    def _missing(
        self, scope: ast.AST, names: dict[str, ast.AST], name: str, module: str, inside: list[str], spec: ModuleSpec
    ) -> None:
        """Raise `_Undetermined` where the name may come from elsewhere, else ``LookupError``."""
        if isinstance(scope, ast.ClassDef):
            if scope.bases or scope.keywords or scope.decorator_list or _sets_attribute(scope, name):
                raise _Undetermined
            raise LookupError(f"class {'.'.join(inside)} of {module} has no {name!r}", _near(name, names))
        if _is_dynamic(scope):
            raise _Undetermined
        advice = _near(name, names)
        if spec.submodule_search_locations is not None and not advice:
            advice = "name what a module of the package defines"
        raise LookupError(f"module {module} has no {name!r}", advice)

    def _module(self, parts: list[str]) -> tuple[ModuleSpec, list[str]]:
        """The spec of the longest prefix that is a module, and the rest."""
        spec = self._top(parts[0])
        if spec is None:
            if not self._complete:
                raise _Undetermined
            known = {name for name in sys.modules if "." not in name} | set(sys.stdlib_module_names)
            known |= {module.name for module in pkgutil.iter_modules(self._own)}
            near = nearest(parts[0], known)
            advice = near if near.startswith("did you mean") else "check the spelling, or the folder to start from"
            raise LookupError(f"there is no module {parts[0]!r}", advice)
        used = 1
        while used < len(parts) and spec.submodule_search_locations is not None:
            inner = PathFinder.find_spec(".".join(parts[: used + 1]), list(spec.submodule_search_locations))
            if inner is None:
                break
            spec, used = inner, used + 1
        return spec, parts[used:]

    def _top(self, name: str) -> ModuleSpec | None:
        found = PathFinder.find_spec(name, self._paths)
        if found is not None:
            return found
        try:
            return find_spec(name)
        except (ImportError, ValueError):
            return None


def _is_dotted(target: str) -> bool:
    return all(part.isidentifier() for part in target.split("."))


def _near(name: str, names: Iterable[str]) -> str:
    advice = nearest(name, names)
    return advice if advice.startswith("did you mean") else ""


def _wrong_live_call(target: str, key: Sequence[str | int]) -> Wrong | None:
    found = policy.find(target)
    if isinstance(found, policy.Nothing):
        why, _, advice = found.why.partition("; ")
        return Wrong(why, advice)
    if isinstance(found, policy.NotYet):
        return None
    probe = policy.Policy({"protect": [{"id": target, "kind": "call", "target": target, "key": list(key)}]})
    probe.resolve()
    if not probe.problems:
        return None
    why = probe.problems[0].partition("protects nothing: ")[2]
    what, _, advice = why.partition("; ")
    return Wrong(what, advice, about_key=why.startswith("key"))


def _parsed(spec: ModuleSpec) -> ast.Module:
    if not spec.origin or not spec.origin.endswith(".py"):
        raise _Undetermined
    try:
        with tokenize.open(spec.origin) as file:
            return ast.parse(file.read())
    except (OSError, SyntaxError, ValueError, RecursionError) as error:
        raise _Undetermined from error


def _bound(scope: ast.AST) -> dict[str, ast.AST]:
    """What the body of a module or class binds, with the last binding node of each name."""
    found: dict[str, ast.AST] = {}
    waiting: list[ast.AST] = list(reversed(getattr(scope, "body", [])))
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found[node.name] = node
            for inner in ast.walk(node):
                if isinstance(inner, ast.Global):
                    found.update({name: inner for name in inner.names if name not in found})
            continue
        if isinstance(node, ast.Lambda):
            continue
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found.update({alias.asname or alias.name.partition(".")[0]: node for alias in node.names})
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found[node.id] = node
        waiting.extend(reversed(list(ast.iter_child_nodes(node))))
    return found


def _sets_attribute(cls: ast.ClassDef, name: str) -> bool:
    return any(
        isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Store)
        for node in ast.walk(cls)
    )


def _is_dynamic(module: ast.AST) -> bool:
    """Whether the module may have names that its text does not bind."""
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
            return True
        if isinstance(node, ast.Name) and node.id in _DYNAMIC_CALLS:
            return True
        if isinstance(node, ast.FunctionDef) and node.name == "__getattr__":
            return True
        if isinstance(node, ast.Attribute) and node.attr == "modules":
            return True
    return False


def _wrong_source_key(target: str, found: ast.AST, in_class: bool, key: Sequence[str | int]) -> Wrong | None:
    """What is wrong with a key, by the function's text; a decorator may change everything."""
    if isinstance(found, ast.ClassDef):
        made = _bound(found).get("__init__")
        if found.bases or found.decorator_list or found.keywords or not isinstance(made, Function):
            return None
        return _compared(target, made, True, [part for part in key if part != "self"])
    if not isinstance(found, Function) or found.decorator_list:
        return None
    return _compared(target, found, in_class, key)


def _compared(target: str, function: Function, method: bool, key: Sequence[str | int]) -> Wrong | None:
    arguments = function.args
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    names += ["*" + arguments.vararg.arg] if arguments.vararg else []
    names += [argument.arg for argument in arguments.kwonlyargs]
    names += ["**" + arguments.kwarg.arg] if arguments.kwarg else []
    why = policy.wrong_keys(key, names, method)
    return Wrong(f"{target}: {why.partition('; ')[0]}", why.partition("; ")[2], about_key=True) if why else None

"""Rules for imports and for what is read from imported modules. Imports only the tables, `scope` and `names`."""

import ast
import builtins
import functools
import types
import unicodedata
from typing import Iterator, Optional, Tuple

from healguard_core.execution.guard import allowed_imports, frame_modules, healcore
from healguard_core.execution.guard.names import Problem, attribute_problem, is_dunder
from healguard_core.execution.guard.rules import DANGEROUS, UNSUPPORTED
from healguard_core.execution.guard.scope import Scope
from healguard_core.protocol import Finding

_WAYS = allowed_imports.submodule_roots()
_FORBIDDEN_OBJECTS = tuple(
    getattr(builtins, name)
    for name in sorted(healcore.DANGEROUS_BUILTINS | {"getattr", "setattr", "delattr", "type", "super"})
    if hasattr(builtins, name)
)
_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType)
_MACHINERY_TYPES = (types.FrameType, types.CodeType, types.TracebackType)
_HARMLESS_ORIGINS = ("builtins", "posixpath", "ntpath", "genericpath")


def check_import(scope: Scope, node: ast.Import) -> Iterator[Finding]:
    """Findings for ``import a.b as c, d``."""
    for alias in node.names:
        path = unicodedata.normalize("NFKC", alias.name)
        bound = alias.asname or path.partition(".")[0]
        problem = module_problem(scope, path)
        if problem is None:
            problem = _bound_problem(scope, bound, bool(alias.asname))
        if problem is None and path == "os.path":
            problem = "HC123", UNSUPPORTED, "`import os.path` binds `os`", "write `from os.path import join`"
        yield from _found(scope, node, problem)


def check_import_from(scope: Scope, node: ast.ImportFrom) -> Iterator[Finding]:
    """Findings for ``from a.b import c as d``."""
    if node.level or not node.module:
        message = "a heal has no package that a relative import could start from"
        yield scope.source.finding(node, "HC123", UNSUPPORTED, message, "name the package")
        return
    path = unicodedata.normalize("NFKC", node.module)
    problem_of_module = module_problem(scope, path)
    yield from _found(scope, node, problem_of_module)
    for alias in node.names:
        name = unicodedata.normalize("NFKC", alias.name)
        problem = None
        if name == "*":
            problem = "HC123", UNSUPPORTED, "`from {} import *` hides what is imported".format(path), ""
        elif problem_of_module is None and path + "." + name not in allowed_imports.ALLOWED:
            problem = member_problem(scope, path, name)
        if problem is None and name != "*":
            problem = _bound_problem(scope, alias.asname or name, alias.asname is not None)
        yield from _found(scope, node, problem)


def _found(scope: Scope, node: ast.AST, problem: Optional[Problem]) -> Iterator[Finding]:
    if problem is not None:
        rule, severity, message, advice = problem
        yield scope.source.finding(node, rule, severity, message, advice)


def _bound_problem(scope: Scope, name: str, renamed: bool) -> Optional[Problem]:
    name = unicodedata.normalize("NFKC", name)
    if is_dunder(name) or name.startswith("_eh_"):
        return "HC123", DANGEROUS, "`{}` cannot be the name of an import".format(name), ""
    if name in healcore.BUILTINS:
        return "HC123", UNSUPPORTED, "the import would hide the builtin `{}`".format(name), "import the module instead"
    if renamed and (name in frame_modules.FRAME_MODULES or name in allowed_imports.ALLOWED):
        return "HC123", UNSUPPORTED, "the import would pose as the module `{}`".format(name), "use another name"
    if name in scope.stored:
        return "HC123", UNSUPPORTED, "`{}` is imported and also assigned".format(name), "use two different names"
    return None


def module_problem(scope: Scope, path: str) -> Optional[Problem]:
    """What is wrong with importing the module ``path``, or None."""
    if path == "__future__":
        return "HC121", UNSUPPORTED, "`__future__` changes how code is read", "leave it out"
    if any(is_dunder(part) for part in path.split(".")):
        return "HC110", DANGEROUS, "`{}` is part of the interpreter".format(path), ""
    if path in allowed_imports.ALLOWED or path in _WAYS:
        return None
    if allowed_imports.is_dangerous_module(path):
        return "HC120", DANGEROUS, "`{}` gives access to the system, the test runner or the guard".format(path), ""
    if allowed_imports.is_stdlib(path):
        return "HC121", UNSUPPORTED, "`{}` is not among the modules that a heal may import".format(path), ""
    if scope.live_import is None:
        return (
            "HC121",
            UNSUPPORTED,
            "whether `{}` may be imported is only known while the program is paused".format(path),
            "use a value that the frame has, or submit the heal to the paused program",
        )
    if _live(scope, path, "__name__")[0] is None:
        return "HC121", UNSUPPORTED, "the program has not imported `{}`".format(path), "use what the program has loaded"
    return None


def member_problem(scope: Scope, module: str, name: str) -> Optional[Problem]:
    """What is wrong with reading ``name`` from an imported ``module`` that is itself allowed, or None."""
    if module in _WAYS and module not in allowed_imports.ALLOWED:
        return "HC122", UNSUPPORTED, "`{}.{}` is not among the allowed imports".format(module, name), ""
    if module in allowed_imports.ALLOWED:
        return _listed_problem(module, name)
    if is_dunder(name):
        if name in healcore.HARMLESS_DUNDER_NAMES:
            return None
        return "HC110", DANGEROUS, "`{}.{}` opens the interpreter's own structures".format(module, name), ""
    problem = attribute_problem(name)
    if problem is not None or scope.live_import is None:
        return problem
    value, error = _live(scope, module, name)
    if error:
        return "HC122", UNSUPPORTED, "`{}.{}` cannot be read: {}".format(module, name, error), ""
    return _live_problem(module, name, value)


def _live(scope: Scope, module: str, name: str) -> Tuple[Optional[object], str]:
    """The live object, and the error when the module's own `__getattr__` raised one."""
    if scope.live_import is None:
        return None, ""
    try:
        return scope.live_import(module, name), ""
    except Exception as error:
        return None, type(error).__name__


def _listed_problem(module: str, name: str) -> Optional[Problem]:
    if name in allowed_imports.ALLOWED[module]:
        return None
    pair = (module, name)
    known_danger = pair in allowed_imports.DANGEROUS_MEMBERS or name in allowed_imports.DANGEROUS_ATTRIBUTES
    severity = DANGEROUS if known_danger or name.startswith("_") else UNSUPPORTED
    listed = "{} gives: {}".format(module, ", ".join(sorted(allowed_imports.ALLOWED[module])))
    advice = allowed_imports.WHY_NOT.get(pair, listed if len(listed) < 300 else "")
    return "HC122", severity, "`{}.{}` is not allowed in a heal".format(module, name), advice


def _live_problem(module: str, name: str, value: Optional[object]) -> Optional[Problem]:
    if value is None:
        return "HC122", UNSUPPORTED, "`{}` has no `{}` in the paused program".format(module, name), ""
    if isinstance(value, types.ModuleType):
        path = str(types.ModuleType.__getattribute__(value, "__name__"))
        if allowed_imports.is_dangerous_module(path):
            return "HC120", DANGEROUS, "`{}.{}` is the module `{}`".format(module, name, path), ""
        return (
            "HC122",
            UNSUPPORTED,
            "`{}.{}` is a module".format(module, name),
            "write `from {}.{} import name`".format(module, name),
        )
    if is_dangerous_object(value):
        return "HC122", DANGEROUS, "`{}.{}` is a system operation".format(module, name), ""
    return None


def is_dangerous_object(value: object) -> bool:
    """Whether a live object is a callable or class of the system by identity or by the module that defines it.

    Looks through bound methods and partials. Runs no code of the object: reads attributes of Python's own types only.
    """
    value = _unwrapped(value)
    if any(value is forbidden for forbidden in _FORBIDDEN_OBJECTS) or type(value) in _MACHINERY_TYPES:
        return True
    if isinstance(value, types.ModuleType):
        return allowed_imports.is_dangerous_module(str(types.ModuleType.__getattribute__(value, "__name__")))
    if isinstance(value, type) and issubclass(value, BaseException):
        return False
    module, name = _origin(value)
    if (module.lstrip("_"), name) in allowed_imports.DANGEROUS_MEMBERS:
        return True
    if name.startswith("_path_"):  # posixpath takes some of its functions from posix
        return False
    if module in _HARMLESS_ORIGINS or not allowed_imports.is_dangerous_origin(module):
        return False
    defines_it = isinstance(value, type) or type(value) in _FUNCTIONS
    return defines_it or module.partition(".")[0].lstrip("_") in allowed_imports.DANGEROUS_ATTRIBUTES


def _unwrapped(value: object) -> object:
    for _ in range(10):
        if type(value) is functools.partial:
            value = value.func
        elif type(value) is types.MethodType:
            value = value.__func__
        else:
            break
    return value


def _origin(value: object) -> Tuple[str, str]:
    """Module and name of a function or class, or of the class of any other object."""
    if isinstance(value, _FUNCTIONS):
        module, name = value.__module__, value.__name__
    else:
        owner = value if isinstance(value, type) else type(value)
        module, name = type.__getattribute__(owner, "__module__"), type.__getattribute__(owner, "__name__")
    return (module if isinstance(module, str) else ""), str(name)


def check_module_use(scope: Scope, node: ast.AST) -> Iterator[Finding]:
    """Findings for ``module.name`` and for a bare ``module``, where this code imported the module."""
    if isinstance(node, ast.Attribute):
        module = scope.module_of(node.value)
        if module is None or scope.module_of(node) is not None:
            return
        if module_problem(scope, module) is None:
            yield from _found(scope, node, member_problem(scope, module, unicodedata.normalize("NFKC", node.attr)))
    if scope.module_of(node) is not None:
        parent = scope.source.parent(node)
        if not isinstance(parent, ast.Attribute) and isinstance(getattr(node, "ctx", None), ast.Load):
            message = "`{}` is a module, not a value".format(scope.module_of(node))
            yield scope.source.finding(node, "HC124", UNSUPPORTED, message)


def check_class_use(scope: Scope, node: ast.AST) -> Iterator[Finding]:
    """Abstract classes, enumerations and types may only be asked about: ``isinstance(x, Mapping)``."""
    pair = None
    if isinstance(node, ast.Name) and node.id in scope.members and isinstance(node.ctx, ast.Load):
        pair = scope.members[node.id]
    elif isinstance(node, ast.Attribute):
        module = scope.module_of(node.value)
        pair = (module, node.attr) if module is not None else None
    if pair is None or pair[0] not in allowed_imports.CLASSES_ONLY or pair in allowed_imports.NOT_AS_CLASSES:
        return
    child = node
    for inner, parent in scope.source.ancestors(node):
        child = inner
        if isinstance(parent, ast.AnnAssign) and parent.annotation is child:
            return
        if isinstance(parent, ast.Call) and parent.func is not child:
            if scope.callee(parent.func) in ("isinstance", "issubclass"):
                return
            break
        if type(parent).__name__ not in ("Tuple", "Subscript", "BinOp", "Index"):
            break
    message = "`{}.{}` may only be used in isinstance, issubclass and annotations".format(*pair)
    yield scope.source.finding(node, "HC132", UNSUPPORTED, message)

"""Rules for names and attributes. Imports only the tables and `scope`."""

import ast
import unicodedata
from typing import Iterator, Optional, Tuple

from healguard_core.execution.guard import allowed_imports, frame_modules, healcore
from healguard_core.execution.guard.rules import DANGEROUS, UNSUPPORTED
from healguard_core.execution.guard.scope import Scope
from healguard_core.protocol import Finding

Problem = Tuple[str, str, str, str]
"""Rule, severity, message, advice ("" for the rule's own)."""


def is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def attribute_problem(name: str) -> Optional[Problem]:
    """What is wrong with reading an attribute of this name from any value, or None. Dunders: see `dunder_problem`."""
    name = unicodedata.normalize("NFKC", name)
    if name in healcore.MACHINERY:
        return "HC111", DANGEROUS, "`.{}` belongs to frames, code objects or generators".format(name), ""
    if name.strip("_") in allowed_imports.DANGEROUS_ATTRIBUTES and not is_dunder(name):
        return "HC114", DANGEROUS, "`.{}` is a system module wherever it is found".format(name), ""
    if name in healcore.DANGEROUS_PRIVATE:
        return "HC110", DANGEROUS, "`.{}` reaches the interpreter".format(name), ""
    if name in healcore.REFLECTION:
        return "HC110", DANGEROUS, "`.{}` reads attributes by text, makes classes or hands out frames".format(name), ""
    if name in healcore.EFFECT_METHODS or name.lstrip("_") in healcore.EFFECT_FUNCTIONS:
        return "HC115", DANGEROUS, "`.{}` acts on files, processes, the network or imports".format(name), ""
    if name.startswith("__") and not is_dunder(name):
        return "HC112", UNSUPPORTED, "`.{}` is private to a class body, which a heal is not".format(name), ""
    return None


def dunder_problem(name: str, called: bool, stored: bool) -> Optional[Problem]:
    """What is wrong with the special attribute ``name``; ``called``: ``x.__name__(...)``; ``stored``: or deleted."""
    if stored:
        return "HC110", DANGEROUS, "`.{}` cannot be changed by a heal".format(name), ""
    if name == "__class__" and not called:
        return None
    if called and (name in healcore.PROTOCOL_METHODS or name.startswith(healcore.PROTOCOL_PREFIXES)):
        return None
    readable = name in healcore.HARMLESS_DUNDER_ATTRIBUTES and name not in healcore.DUNDERS_THAT_NEED_A_CALL
    if readable and not called:
        return None
    advice = "call it, or use the operator or builtin that does the same" if name in healcore.PROTOCOL_METHODS else ""
    return "HC110", DANGEROUS, "`.{}` opens the interpreter's own structures".format(name), advice


def check_attribute(scope: Scope, node: ast.Attribute) -> Iterator[Finding]:
    """Findings for one ``value.attr``, read, stored or deleted."""
    name = unicodedata.normalize("NFKC", node.attr)
    stored = not isinstance(node.ctx, ast.Load)
    parent = scope.source.parent(node)
    called = isinstance(parent, ast.Call) and parent.func is node
    problem = dunder_problem(name, called, stored) if is_dunder(name) else None
    if problem is None and name.startswith("_") and not is_dunder(name) and _is_library(scope, node.value):
        problem = "HC110", DANGEROUS, "`.{}` is an internal of Python's own library".format(name), ""
    if problem is None and not is_dunder(name) and (not stored or name in healcore.MACHINERY or name.startswith("__")):
        problem = attribute_problem(name)
    if problem is None and name == "__class__" and not _class_in_place(parent):
        problem = (
            "HC110",
            DANGEROUS,
            "`.__class__` is allowed only as `x.__class__.__name__` or in a comparison",
            "write type(x)",
        )
    if problem is None and name in ("format", "format_map"):
        problem = _format_problem(node, parent, called, stored)
    if problem is None:
        problem = _frame_module_problem(scope, node, stored)
    if problem is None and stored:
        problem = _stored_on_class(scope, node)
    if problem is not None:
        rule, severity, message, advice = problem
        yield scope.source.finding(node, rule, severity, message, advice)


def _is_library(scope: Scope, node: ast.AST) -> bool:
    """Whether ``node`` is a builtin or something imported from Python's own library."""
    name = scope.callee(node)
    return bool(name) and (name in healcore.BUILTINS or allowed_imports.is_stdlib(name))


def _class_in_place(parent: Optional[ast.AST]) -> bool:
    if isinstance(parent, ast.Attribute):
        return parent.attr in ("__name__", "__qualname__", "__module__", "__doc__")
    return isinstance(parent, ast.Compare)


def _format_problem(node: ast.Attribute, parent: Optional[ast.AST], called: bool, stored: bool) -> Optional[Problem]:
    """``.format`` as a value could be called later with any template; calls are checked in `calls`."""
    if stored or (called and node.attr == "format"):
        return None
    if node.attr == "format" and isinstance(parent, (ast.Compare, ast.Attribute)):
        return None  # a plain attribute of that name, as images have
    return "HC135", UNSUPPORTED, "`.{}` as a value can be used with any template".format(node.attr), ""


def _frame_module_problem(scope: Scope, node: ast.Attribute, stored: bool) -> Optional[Problem]:
    """``os.remove`` and alike by the usual names of modules, whether or not the heal imported them."""
    base, path = node.value, node.attr
    if isinstance(base, ast.Attribute) and isinstance(base.value, ast.Name) and base.value.id == "os":
        if base.attr == "path" and (stored or path not in allowed_imports.ALLOWED["os.path"]):
            return "HC133", DANGEROUS, "`os.path.{}` is not one of the functions that a heal may use".format(path), ""
        if base.attr == "environ" and path not in frame_modules.ENVIRON_METHODS:
            return "HC133", DANGEROUS, "`os.environ.{}` changes the environment".format(path), ""
        return None
    module = base.id if isinstance(base, ast.Name) else base.attr.strip("_") if isinstance(base, ast.Attribute) else ""
    allowed = frame_modules.FRAME_MODULES.get(module)
    if allowed is not None and (stored or path not in allowed) and module not in scope.members:
        return "HC133", DANGEROUS, "`{}.{}` is a system operation".format(module, path), ""
    if path in frame_modules.FRAME_DENIED.get(module, ()) and not stored and not scope.module_of(base):
        severity = UNSUPPORTED if module in frame_modules.SOFTLY_DENIED else DANGEROUS
        return "HC133", severity, "`{}.{}` is not for a heal".format(module, path), ""
    return None


def _stored_on_class(scope: Scope, node: ast.Attribute) -> Optional[Problem]:
    base = node.value
    module = scope.module_of(base)
    if module is not None or scope.callee(base):
        what = module or scope.callee(base)
        severity = UNSUPPORTED if module and not allowed_imports.is_stdlib(module) else DANGEROUS
        if isinstance(base, ast.Name) and base.id in scope.members and not allowed_imports.is_stdlib(what):
            return None  # an object of the program, imported by name: its state may be changed like any other
        return "HC126", severity, "`{}` is shared by the whole process".format(what), ""
    if scope.is_class(base):
        return "HC126", UNSUPPORTED, "the class of an object is shared by all its instances", ""
    return None


def check_name(scope: Scope, node: ast.Name) -> Iterator[Finding]:
    """Findings for one name, read, stored or deleted."""
    name = unicodedata.normalize("NFKC", node.id)
    if isinstance(node.ctx, ast.Load):
        problem = _read_problem(scope, node, name)
    else:
        problem = binding_problem(scope, name)
        if problem is None and name.startswith("_eh_") and isinstance(node.ctx, ast.Del):
            problem = "HC113", UNSUPPORTED, "`{}` cannot be deleted".format(name), ""
    if problem is not None:
        rule, severity, message, advice = problem
        yield scope.source.finding(node, rule, severity, message, advice)


def binding_problem(scope: Scope, name: str) -> Optional[Problem]:
    """What is wrong with binding ``name`` (by assignment, loop, import, handler, ...), or None."""
    if is_dunder(name):
        return "HC110", DANGEROUS, "`{}` belongs to the interpreter or to the module".format(name), ""
    if name.startswith("_eh_") and name not in ("_eh_rtn", "_eh_raise"):
        return "HC113", UNSUPPORTED, "`{}` is reserved".format(name), ""
    if name in healcore.KEPT_BUILTINS and name not in scope.shadowed:
        return "HC143", UNSUPPORTED, "`{}` must keep its meaning for the code that follows".format(name), ""
    if name in frame_modules.FRAME_MODULES:
        return "HC143", UNSUPPORTED, "`{}` is the name of a system module".format(name), ""
    if name in scope.stored and (name in scope.modules or name in scope.members):
        return "HC123", UNSUPPORTED, "`{}` is imported and also assigned".format(name), "use two different names"
    return None


def _read_problem(scope: Scope, node: ast.Name, name: str) -> Optional[Problem]:
    if name.startswith("_eh_"):
        if name in ("_eh_rtn", "_eh_raise") and name in scope.stored:
            return None
        return "HC113", UNSUPPORTED, "`{}` is not a value of the program".format(name), ""
    if is_dunder(name):
        if name in healcore.HARMLESS_DUNDER_NAMES:
            return None
        return "HC110", DANGEROUS, "`{}` belongs to the interpreter".format(name), ""
    if name in healcore.DANGEROUS_PRIVATE:
        return "HC110", DANGEROUS, "`{}` reaches the interpreter".format(name), ""
    if name in scope.shadowed or name in scope.members:
        return None
    if name in frame_modules.FRAME_MODULES:
        return _frame_module_as_value(scope, node, name)
    if name in healcore.BUILTINS:
        return _builtin_problem(scope, node, name)
    if name in healcore.REFLECTION:
        return "HC110", DANGEROUS, "`{}` reads attributes by text, makes classes or hands out frames".format(name), ""
    parent = scope.source.parent(node)
    called = isinstance(parent, ast.Call) and parent.func is node
    if name in healcore.CALLED_NAMES and called:
        return "HC134", UNSUPPORTED, "`{}` binds a function out of the guard's sight".format(name), ""
    if name in healcore.EFFECT_FUNCTIONS and called:
        return "HC115", DANGEROUS, "`{}` acts on files, processes, the network or imports".format(name), ""
    return None


def _frame_module_as_value(scope: Scope, node: ast.Name, name: str) -> Optional[Problem]:
    """``os`` alone, or ``os.environ`` and ``os.path`` where they are not used at once."""
    parent = scope.source.parent(node)
    if not isinstance(parent, ast.Attribute):
        return "HC133", DANGEROUS, "`{}` as a value hands out the whole module".format(name), ""
    if name == "os" and parent.attr in ("path", "environ"):
        user = scope.source.parent(parent)
        if isinstance(user, ast.Attribute):
            return None
        reads_item = isinstance(user, ast.Subscript) and isinstance(user.ctx, ast.Load) and user.value is parent
        if parent.attr == "environ" and (reads_item or isinstance(user, ast.Compare)):
            return None
        return "HC133", DANGEROUS, "`os.{}` may only be read in place".format(parent.attr), ""
    return None


def _builtin_problem(scope: Scope, node: ast.Name, name: str) -> Optional[Problem]:
    """Rules for builtins as values. Their calls are checked in `calls`."""
    parent = scope.source.parent(node)
    called = isinstance(parent, ast.Call) and parent.func is node
    if name in healcore.DANGEROUS_BUILTINS and name in scope.stored and not called:
        return "HC143", UNSUPPORTED, "`{}` may still mean the builtin here".format(name), ""
    if name in healcore.DANGEROUS_BUILTINS:
        return "HC130", DANGEROUS, "`{}` reaches the interpreter or the system".format(name), _INSTEAD.get(name, "")
    if name in healcore.UNSUPPORTED_BUILTINS:
        return "HC131", UNSUPPORTED, "`{}` is not part of HealCore".format(name), ""
    if name in healcore.PROCESS_ERRORS:
        if called and name == "SystemExit":
            return None
        return "HC140", UNSUPPORTED, "`{}` stands for more than errors of the program".format(name), ""
    if name in healcore.SHAPED and not called:
        return _shaped_as_value(scope, parent, name)
    variable = name in scope.stored or called or _passes_on(parent, node)
    if name in healcore.HIGHER_ORDER and not variable:
        return "HC132", UNSUPPORTED, "`{}` under another name would hide which function it calls".format(name), ""
    return None


_INSTEAD = {
    "eval": "write the expression itself",
    "exec": "write the statements themselves",
    "vars": "read x.name",
    "globals": "names of the module can be used as they are",
    "locals": "names of the frame can be used as they are",
    "open": "a heal touches no files; if `open` is a variable of the frame, read it under another name",
    "input": "nobody can answer; if `input` is a variable of the frame, the guard is told so when the heal runs",
    "__import__": "write `import module`",
}


def _shaped_as_value(scope: Scope, parent: Optional[ast.AST], name: str) -> Optional[Problem]:
    if name == "type" and isinstance(parent, ast.Call) and scope.callee(parent.func) in ("isinstance", "issubclass"):
        return None
    if name in ("format", "print", "dir") or name in scope.stored:
        return "HC132", UNSUPPORTED, "`{}` may only be called directly".format(name), ""
    return "HC132", DANGEROUS, "`{}` as a value can reach any attribute or make any class".format(name), ""


def _passes_on(parent: Optional[ast.AST], node: ast.Name) -> bool:
    """Where a higher-order builtin (or a variable called `max`) may stand as a value: operands and arguments."""
    if isinstance(parent, (ast.Compare, ast.BinOp, ast.UnaryOp, ast.FormattedValue)):
        return True
    if isinstance(parent, ast.Call):
        return any(argument is node for argument in parent.args)
    return isinstance(parent, ast.keyword) and node.id not in ("map", "filter", "sorted", "iter")

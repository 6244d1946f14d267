"""Rules for calls: forms of builtins, callables passed on, format templates. Imports tables, `scope` and `names`."""

import ast
import string
from typing import Callable, Dict, FrozenSet, Iterator, List, Optional, Tuple

from healguard_core.execution.guard import allowed_imports, healcore
from healguard_core.execution.guard.names import Problem, attribute_problem, dunder_problem, is_dunder
from healguard_core.execution.guard.rules import DANGEROUS, UNSUPPORTED
from healguard_core.execution.guard.scope import PURE_METHOD_TYPES, Scope
from healguard_core.protocol import Finding

CALLABLE_POSITIONS: Dict[str, Tuple[Tuple[int, ...], str]] = {
    "map": ((0,), ""),
    "filter": ((0,), ""),
    "sorted": ((), "key"),
    "min": ((), "key"),
    "max": ((), "key"),
    "functools.reduce": ((0,), "function"),
    "itertools.accumulate": ((1,), "func"),
    "itertools.dropwhile": ((0,), "predicate"),
    "itertools.filterfalse": ((0,), "predicate"),
    "itertools.groupby": ((1,), "key"),
    "itertools.starmap": ((0,), "function"),
    "itertools.takewhile": ((0,), "predicate"),
    "collections.defaultdict": ((0,), ""),
    "re.sub": ((1,), "repl"),
    "re.subn": ((1,), "repl"),
    "bisect.bisect": ((), "key"),
    "bisect.bisect_left": ((), "key"),
    "bisect.bisect_right": ((), "key"),
    "bisect.insort": ((), "key"),
    "bisect.insort_left": ((), "key"),
    "bisect.insort_right": ((), "key"),
    "heapq.merge": ((), "key"),
    "heapq.nlargest": ((2,), "key"),
    "heapq.nsmallest": ((2,), "key"),
    "json.dumps": ((), "default cls"),
    "json.loads": ((), "cls object_hook object_pairs_hook parse_float parse_int parse_constant"),
    "textwrap.indent": ((2,), "predicate"),
    "dataclasses.asdict": ((), "dict_factory"),
    "dataclasses.astuple": ((), "tuple_factory"),
    "urllib.parse.urlencode": ((), "quote_via"),
    "copy.deepcopy": ((), ""),
}
"""Where each function takes a callable: positions, and names of keywords."""

_METHOD_KEYWORDS = {"sort": frozenset({"key"})}
_KEY_METHODS = frozenset({"get", "index", "count", "find"})
_DICT_METHODS = frozenset({"get", "keys", "values", "items"})
_REPLACEMENT = frozenset({"re.sub", "re.subn"})
_USUAL_NAMES = {
    name.rpartition(".")[2]: name
    for name in CALLABLE_POSITIONS
    if name.startswith(("functools.", "itertools.", "collections.", "heapq."))
}
"""`groupby` and alike as plain names, after the program's own `from itertools import groupby`."""

_HAS_CALLABLE_FORMS = frozenset(CALLABLE_POSITIONS) - healcore.HIGHER_ORDER


def check_call(scope: Scope, node: ast.Call) -> Iterator[Finding]:
    """Findings for one call besides those of the names and attributes in it."""
    callee = scope.likely_callee(node.func)
    callee = _USUAL_NAMES.get(callee, callee)
    problems: List[Tuple[ast.AST, Optional[Problem]]] = []
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    shape = _SHAPES.get(name)
    if shape is not None and name not in scope.shadowed and name not in scope.members:
        problems.append((node, shape(scope, node)))
    if callee in CALLABLE_POSITIONS or isinstance(node.func, ast.Attribute):
        problems.extend(_callables(scope, node, callee))
    if isinstance(node.func, ast.Attribute):
        problems.append((node, _method_problem(scope, node, node.func)))
    for keyword in node.keywords:
        if keyword.arg and is_dunder(keyword.arg):
            problems.append((node, ("HC110", DANGEROUS, "`{}` as a keyword".format(keyword.arg), "")))
    for place, problem in problems:
        if problem is not None:
            rule, severity, message, advice = problem
            yield scope.source.finding(place, rule, severity, message, advice)


def check_function_value(scope: Scope, node: ast.AST) -> Iterator[Finding]:
    """An imported function that takes callables must be called where it stands, so that its arguments are seen."""
    if not isinstance(node, (ast.Name, ast.Attribute)) or not isinstance(node.ctx, ast.Load):
        return
    name = scope.callee(node)
    parent = scope.source.parent(node)
    called = isinstance(parent, ast.Call) and parent.func is node
    if name in _HAS_CALLABLE_FORMS and name != "copy.deepcopy" and not called:
        yield scope.source.finding(node, "HC132", UNSUPPORTED, "`{}` may only be called directly".format(name))


# --------------------------------------------------------------------------- builtins with a form of their own


def _attribute_form(_: Scope, node: ast.Call) -> Optional[Problem]:
    """getattr(x, 'name'[, default]), hasattr(x, 'name'); setattr and delattr are statements of their own."""
    function = node.func.id  # type: ignore[attr-defined]
    name = node.args[1] if len(node.args) > 1 else None
    if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
        return "HC132", DANGEROUS, "`{}` with arguments that cannot be seen".format(function), ""
    if not isinstance(name, ast.Constant) or not isinstance(name.value, str):
        built = not isinstance(name, (ast.Name, ast.Attribute, ast.Subscript))
        severity = DANGEROUS if built else UNSUPPORTED
        return "HC132", severity, "`{}` needs the attribute's name as a literal".format(function), "write x.name"
    if function == "hasattr":
        return None
    if function in ("setattr", "delattr"):
        severity = DANGEROUS if is_dunder(name.value) or attribute_problem(name.value) else UNSUPPORTED
        return "HC132", severity, "`{}` hides a change".format(function), "write `x.name = value` or `del x.name`"
    if is_dunder(name.value):
        if name.value == "__class__":
            return "HC110", DANGEROUS, "`__class__` by getattr", "write type(x)"
        return dunder_problem(name.value, False, False)
    if name.value in ("format", "format_map"):
        return "HC135", UNSUPPORTED, "`{}` as a value can be used with any template".format(name.value), ""
    return attribute_problem(name.value)


def _type_form(scope: Scope, node: ast.Call) -> Optional[Problem]:
    if len(node.args) != 1 or node.keywords or isinstance(node.args[0], ast.Starred):
        return "HC132", DANGEROUS, "`type` with other than one argument makes a class", "write type(x)"
    if scope.is_class(node.args[0]):
        return "HC132", DANGEROUS, "the type of a type can make classes", ""
    return None


def _super_form(scope: Scope, node: ast.Call) -> Optional[Problem]:
    if not node.args:
        return "HC132", UNSUPPORTED, "`super()` finds no class in a heal", "write super(Class, self).method(...)"
    parent = scope.source.parent(node)
    plain = len(node.args) == 2 and not node.keywords and all(isinstance(a, ast.Name) for a in node.args)
    if not plain or not isinstance(parent, ast.Attribute):
        return "HC132", UNSUPPORTED, "`super` in an unusual form", "write super(Class, self).method(...)"
    return None


def _print_form(_: Scope, node: ast.Call) -> Optional[Problem]:
    if any(keyword.arg not in ("sep", "end", "flush") for keyword in node.keywords):
        return "HC115", DANGEROUS, "`print` may only go to standard output", "leave out `file`"
    return None


def _dir_form(scope: Scope, node: ast.Call) -> Optional[Problem]:
    if scope.purpose == "probe" and len(node.args) == 1 and not node.keywords:
        return None
    return "HC132", UNSUPPORTED, "`dir(x)` is for probes", "probe with dir(x) first, then name the attribute"


def _format_form(_: Scope, node: ast.Call) -> Optional[Problem]:
    literal = len(node.args) < 2 or (isinstance(node.args[1], ast.Constant) and isinstance(node.args[1].value, str))
    if node.keywords or not literal or any(isinstance(argument, ast.Starred) for argument in node.args):
        return "HC135", UNSUPPORTED, "`format` needs a literal format", ""
    return None


def _iter_form(_: Scope, node: ast.Call) -> Optional[Problem]:
    if len(node.args) != 1 or isinstance(node.args[0], ast.Starred):
        return "HC134", UNSUPPORTED, "`iter(function, end)` calls a function out of sight", "write a loop"
    return None


_SHAPES: Dict[str, Callable[[Scope, ast.Call], Optional[Problem]]] = {
    "getattr": _attribute_form,
    "hasattr": _attribute_form,
    "setattr": _attribute_form,
    "delattr": _attribute_form,
    "type": _type_form,
    "super": _super_form,
    "print": _print_form,
    "dir": _dir_form,
    "format": _format_form,
    "iter": _iter_form,
}


# --------------------------------------------------------------------------- callables passed on


def _callables(scope: Scope, node: ast.Call, callee: str) -> Iterator[Tuple[ast.AST, Optional[Problem]]]:
    positions, keywords = CALLABLE_POSITIONS.get(callee, ((), ""))
    names = frozenset(keywords.split())
    method = node.func.attr if isinstance(node.func, ast.Attribute) and callee not in CALLABLE_POSITIONS else ""
    names |= _METHOD_KEYWORDS.get(method, frozenset())
    last = max(positions, default=-1)
    if any(isinstance(argument, ast.Starred) for argument in node.args[: last + 1]):
        yield node, ("HC134", UNSUPPORTED, "which function is passed cannot be seen", "")
    for position in positions:
        if position < len(node.args) and not _is_seen(scope, node.args[position], callee):
            yield node.args[position], _hidden(method or callee)
    for keyword in node.keywords:
        if keyword.arg is None and names:
            yield node, ("HC134", UNSUPPORTED, "`**` may pass a function to `{}`".format(method or callee), "")
        elif keyword.arg in names and not _is_seen(scope, keyword.value, callee):
            yield keyword.value, _hidden(method or callee)


def _hidden(function: str) -> Problem:
    return "HC134", UNSUPPORTED, "`{}` would call this out of the guard's sight".format(function), ""


def _is_seen(scope: Scope, node: ast.AST, callee: str) -> bool:
    """Whether what is passed is known to be pure (or, for a replacement, a text)."""
    if isinstance(node, ast.Starred):
        return True  # reported on its own
    if isinstance(node, ast.Constant) or (callee in _REPLACEMENT and _is_text(node)):
        return True
    name = scope.callee(node)
    if name:
        return _is_pure(name)
    if isinstance(node, ast.Call):
        return scope.callee(node.func) == "operator.itemgetter" and all(
            isinstance(argument, (ast.Constant, ast.UnaryOp)) for argument in node.args
        )
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Constant):
        return isinstance(node.value.value, str) and node.attr not in ("format", "format_map")
    by_key = callee in ("sorted", "min", "max", "map") and isinstance(node, ast.Attribute) and node.attr in _KEY_METHODS
    return by_key and isinstance(node, ast.Attribute) and isinstance(node.value, (ast.Name, ast.Dict, ast.Attribute))


def _is_text(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp):
        return True
    made = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("str", "repr", "bytes")
    return made or isinstance(node, (ast.JoinedStr, ast.Constant))


def _is_pure(name: str) -> bool:
    if name in healcore.PURE_TYPES or name in healcore.PURE_FUNCTIONS or name in ("min", "max"):
        return True
    owner, _, attribute = name.rpartition(".")
    if owner in PURE_METHOD_TYPES:
        return attribute not in ("format", "format_map")
    if owner == "dict":
        return attribute in _DICT_METHODS
    if name in CALLABLE_POSITIONS:
        return False
    return owner in allowed_imports.CALLABLE_MODULES or name in _PURE_MEMBERS


_PURE_MEMBERS: FrozenSet[str] = frozenset(
    {
        "collections.OrderedDict",
        "collections.Counter",
        "collections.deque",
        "decimal.Decimal",
        "fractions.Fraction",
        "datetime.date.fromisoformat",
        "datetime.datetime.fromisoformat",
        "json.loads",
        "json.dumps",
        "re.escape",
        "copy.copy",
        "copy.deepcopy",
        "textwrap.dedent",
        "urllib.parse.quote",
        "urllib.parse.quote_plus",
        "urllib.parse.unquote",
        "uuid.UUID",
    }
)


def check_hook(scope: Scope, node: ast.Assign) -> Iterator[Finding]:
    """``mapping.default_factory = function`` would be called at the next missing key."""
    for target in node.targets:
        if (
            isinstance(target, ast.Attribute)
            and target.attr == "default_factory"
            and not _is_seen(scope, node.value, "")
        ):
            yield scope.source.finding(node, *_hidden("default_factory"))


def check_generator(scope: Scope, node: ast.GeneratorExp) -> Iterator[Finding]:
    """A generator must be used up in place: what it does later would be done without the guard of a running heal."""
    child: ast.AST = node
    for child, parent in scope.source.ancestors(node):
        if isinstance(parent, (ast.For, ast.comprehension)) and child is parent.iter:
            if isinstance(parent, ast.For):
                return
            continue  # used up when the comprehension is
        if isinstance(parent, ast.GeneratorExp):
            continue
        if isinstance(parent, ast.Assign) and all(
            isinstance(target, (ast.Tuple, ast.List)) for target in parent.targets
        ):
            return  # unpacked at once
        if isinstance(parent, (ast.ListComp, ast.SetComp, ast.DictComp, ast.Starred, ast.Compare)):
            return
        if isinstance(parent, ast.Call) and child is not parent.func:
            name = scope.callee(parent.func)
            eager_method = isinstance(parent.func, ast.Attribute) and parent.func.attr in healcore.EAGER_METHODS
            if eager_method or name in healcore.EAGER:
                return
            if name in healcore.LAZY or name.startswith("itertools."):
                continue
        break
    message = "this generator would run after the heal, out of the guard's sight"
    yield scope.source.finding(node, "HC145", UNSUPPORTED, message)


# --------------------------------------------------------------------------- methods


def _method_problem(scope: Scope, node: ast.Call, function: ast.Attribute) -> Optional[Problem]:
    name = function.attr
    if name in healcore.CODE_METHODS and any(_mentions_text(argument) for argument in node.args):
        return "HC115", DANGEROUS, "`.{}(...)` runs text as code".format(name), "write the expression itself"
    if name == "query" and any(_mentions_variables(argument) for argument in node.args):
        return (
            "HC115",
            DANGEROUS,
            "`.query('@...')` evaluates text over the program's variables",
            "filter with a comparison",
        )
    if name == "open":
        return "HC115", UNSUPPORTED, "`.open(...)` may open a file or a connection", "work on what is open already"
    if name == "register" and (scope.callee(function.value) or scope.is_class(function.value)):
        return "HC126", DANGEROUS, "`.register` changes what a class means for the whole process", ""
    if name == "format":
        return _template_problem(function.value)
    return None


def _mentions_text(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp):
        return _mentions_text(node.left) or _mentions_text(node.right)
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _mentions_variables(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and "@" in node.value


def _template_problem(template: ast.AST) -> Optional[Problem]:
    """``'literal {}'.format(x)`` with plain fields passes; templates may read attributes of their arguments."""
    if not isinstance(template, ast.Constant) or not isinstance(template.value, str):
        return "HC135", UNSUPPORTED, "`.format` needs a literal template", ""
    try:
        fields = list(string.Formatter().parse(template.value))
    except ValueError:
        return None  # the call itself raises the same error
    for _, field, spec, _ in fields:
        if field and any(mark in field for mark in ".["):
            return "HC135", DANGEROUS, "the field `{{{}}}` reads inside its argument".format(field), ""
        if spec and "{" in spec:
            return "HC135", UNSUPPORTED, "a format inside a format must be literal", ""
    return None

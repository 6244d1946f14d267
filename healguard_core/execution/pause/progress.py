"""How far a paused frame has come: its loops, and the names that its statement was to bind. May import sources, static.

Nothing is evaluated: only local names and builtin containers of exact types are looked at.
"""

import ast
import itertools
from typing import Any, Callable, List, Mapping, Optional, Sequence, Tuple

from healguard_core.execution.pause import static
from healguard_core.execution.pause.sources import Loop

MOST_SEARCHED = 10000
"""How many elements of a list are compared to find out which one a loop has come to."""

_COUNTED = (list, tuple, range, dict)

Show = Callable[[str, object], str]


class Names:
    """What a frame's names mean: its own (``local``), and those of its module (``outer``)."""

    def __init__(self, local: Mapping[str, Any], outer: Mapping[str, Any]) -> None:
        self.local = local
        self.outer = outer

    def get(self, name: str) -> Any:
        """The object under ``name``, None when it is not bound (or bound to None)."""
        return self.local[name] if name in self.local else self.outer.get(name)

    def has(self, name: str) -> bool:
        """Whether ``name`` is bound, builtins aside."""
        return name in self.local or name in self.outer


def loop_words(loops: Sequence[Loop], lines: List[str], names: Names, show: Show) -> str:
    """One line for every loop, outermost first: its header, what its targets are bound to now, which element it is at.

    ``show`` spells the value of a name.
    """
    return "\n".join(_one_loop(loop, lines, names, show) for loop in loops)


def _one_loop(loop: Loop, lines: List[str], names: Names, show: Show) -> str:
    header = lines[loop.first - 1].strip() if loop.first <= len(lines) else ""
    told = "{} (line {})".format(header[:160], loop.first)
    if loop.target is None or loop.iterable is None:
        return told
    bound = []
    for name in target_names(loop.target):
        bound.append("{}={}".format(name, show(name, names.local[name])) if name in names.local
                     else "{} not bound yet".format(name))
    place = _place(loop.target, loop.iterable, names)
    return "{}: {}".format(told, "; ".join([", ".join(bound)] * bool(bound) + [place] * bool(place)) or "running")


def target_names(target: ast.expr) -> List[str]:
    """The plain names that an assignment target binds, in order."""
    if isinstance(target, ast.Name):
        return [target.id]
    if isinstance(target, ast.Starred):
        return target_names(target.value)
    if isinstance(target, (ast.Tuple, ast.List)):
        return [name for element in target.elts for name in target_names(element)]
    return []


def _place(target: ast.expr, iterable: ast.expr, names: Names) -> str:
    """Which element a loop is at, "" where that cannot be told without running anything."""
    first = target_names(target)[:1]
    current = names.local.get(first[0]) if first else None
    if isinstance(iterable, ast.Call) and isinstance(iterable.func, ast.Name) and not names.has(iterable.func.id):
        if iterable.func.id == "enumerate" and isinstance(target, (ast.Tuple, ast.List)):
            return _place_of_enumerate(iterable, current, names)
        if iterable.func.id == "range":
            span = _range(iterable, names)
            return _spelled(None if span is None else _index_of(span, "", current), span)
        return ""
    way, container = _container(iterable, names)
    if container is None or not first:
        return ""
    is_element = isinstance(target, ast.Name) if way != "items" else isinstance(target, (ast.Tuple, ast.List))
    known = is_element and first[0] in names.local
    return _spelled(_index_of(container, way, current) if known else None, container)


def _place_of_enumerate(call: ast.Call, current: Any, names: Names) -> str:
    start: Any = 0
    given = call.args[1:2] + [keyword.value for keyword in call.keywords if keyword.arg == "start"]
    if given:
        start = _integer(given[0], names)
    if type(current) is not int or type(start) is not int or current < start:
        return ""
    _, container = _container(call.args[0], names) if call.args else ("", None)
    if container is None:
        return "element {}".format(current - start + 1)
    return _spelled(current - start, container)


def _spelled(index: Optional[int], container: Any) -> str:
    if container is None:
        return ""
    try:
        size = len(container)
    except OverflowError:
        return ""  # a range longer than any list can be
    if index is None or index >= size:
        return "of {} elements".format(size)
    return "element {} of {}".format(index + 1, size)


def _container(node: ast.expr, names: Names) -> Tuple[str, Any]:
    """The builtin container that ``node`` names and how it is gone through: itself, keys, values or items."""
    way = ""
    if (isinstance(node, ast.Call) and not node.args and not node.keywords and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("keys", "values", "items")):
        way, node = node.func.attr, node.func.value
    found = _value(node, names)
    kind = type(found)
    if not any(kind is one for one in _COUNTED) or (way and kind is not dict):
        return way, None
    return way or ("keys" if kind is dict else "elements"), found


def _value(node: ast.expr, names: Names) -> Any:
    """What a name, or attributes stored below a name, mean; None where that would need a call."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute):
        owner = _value(node.value, names)
        return None if owner is None else static.attribute(owner, node.attr)
    return None


def _index_of(container: Any, way: str, current: Any) -> Optional[int]:
    """Where ``current`` itself (not an equal) stands, when it stands there once and near enough to the front."""
    if type(container) is range:
        return container.index(current) if type(current) is int and current in container else None
    elements = container.values() if way == "values" else container
    places = [n for n, item in enumerate(itertools.islice(elements, MOST_SEARCHED)) if item is current]
    return places[0] if len(places) == 1 else None


def _range(call: ast.Call, names: Names) -> Optional[range]:
    bounds = [_integer(argument, names) for argument in call.args]
    if call.keywords or not 1 <= len(bounds) <= 3 or any(type(bound) is not int for bound in bounds):
        return None
    return range(*bounds) if len(bounds) < 3 or bounds[2] else None


def _integer(node: ast.expr, names: Names) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len"
            and not names.has("len") and len(node.args) == 1):
        _, container = _container(node.args[0], names)
        return None if container is None else len(container)
    return None


# --------------------------------------------------------------------------- the statement


def parsed(source: str, column: int) -> Optional[ast.stmt]:
    """The statement with this text, which stands at ``column``, parsed on its own; None where that is not possible."""
    first, newline, rest = source.partition("\n")
    text = first + newline + "\n".join(
        line[column:] if not line[:column].strip() else line for line in rest.split("\n"))
    try:
        body = ast.parse(text[2:] if text.startswith("elif") and not text[4:5].isidentifier() else text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return body[0] if body else None


def header_end(statement: ast.stmt, text: str) -> Optional[int]:
    """The line of ``text`` (the source of ``statement``) that ends what comes before the body; None without a body."""
    start = _body_start(statement)
    if start is None:
        return None
    last = max([1] + [getattr(node, "end_lineno", None) or 1 for part in _header(statement) for node in ast.walk(part)])
    lines = text.split("\n")
    for number in range(last, min(start, len(lines) + 1)):
        if lines[number - 1].partition("#")[0].rstrip().endswith(":"):
            return number
    return max(start - 1, 1)


def _body_start(statement: ast.stmt) -> Optional[int]:
    body = getattr(statement, "body", None)
    if isinstance(body, list) and body:
        return int(min([body[0].lineno] + [one.lineno for one in getattr(body[0], "decorator_list", ())]))
    cases = getattr(statement, "cases", None)
    return int(cases[0].pattern.lineno) if cases else None


def bound_by(statement: ast.stmt) -> List[str]:
    """The names that ``statement`` (of a compound one only the header) binds, in order, each once."""
    found: List[str] = []
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [statement.name]
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return [(alias.asname or alias.name).partition(".")[0] for alias in statement.names if alias.name != "*"]
    for node in _header(statement):
        found.extend(_bound_in(node))
    return list(dict.fromkeys(found))


def _header(statement: ast.stmt) -> List[ast.AST]:
    """The parts of ``statement`` that are not statements themselves."""
    skipped = ("body", "orelse", "finalbody", "handlers", "cases")
    return [node for field, value in ast.iter_fields(statement) if field not in skipped
            for node in (value if isinstance(value, list) else [value]) if isinstance(node, ast.AST)]


def _bound_in(node: ast.AST) -> List[str]:
    """Names bound by an expression or target, those of comprehensions and lambdas left out."""
    if isinstance(node, ast.Lambda):
        return []
    if isinstance(node, ast.Name):
        return [node.id] if isinstance(node.ctx, ast.Store) else []
    hidden = set()
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        hidden = {name for generator in node.generators for name in target_names(generator.target)}
    return [name for child in ast.iter_child_nodes(node) for name in _bound_in(child) if name not in hidden]


def names_in(statement: Optional[ast.stmt]) -> List[str]:
    """Every name that the header or the whole of a simple ``statement`` mentions, in order, each once."""
    if statement is None:
        return []
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        parts: List[ast.AST] = list(statement.decorator_list)
    else:
        parts = _header(statement)
    return list(dict.fromkeys(node.id for part in parts for node in ast.walk(part) if isinstance(node, ast.Name)))

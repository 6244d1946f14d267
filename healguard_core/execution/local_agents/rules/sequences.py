"""Rules for positions, views, generators and unpacking. May import crash, rule and values."""

import ast
import re
import types
from typing import Any, Optional

from healguard_core.execution.local_agents.rules.crash import LIKELY, SURE, Crash, Suggestion
from healguard_core.execution.local_agents.rules.rule import Rule
from healguard_core.execution.local_agents.rules.values import UNKNOWN, VIEWS

_LAZY = (map, filter, zip, types.GeneratorType, enumerate, reversed)
_SEQUENCES = (list, tuple, str, bytes, bytearray, range)
_UNPACK = re.compile(r"(?:too many|not enough) values to unpack \(expected (\d+)")


def whole_float(crash: Crash) -> Optional[Suggestion]:
    """``range(n / 2)`` or ``items[n / 2]`` where the quotient is a whole number."""
    node = crash.failing(ast.Subscript, ast.Call, ast.BinOp)
    if isinstance(node, ast.Subscript):
        index = _index(node)
        if crash.kind(node.value) not in _SEQUENCES:
            return None
        wanted = list(index.elts) if isinstance(index, ast.Tuple) else [index]
        if isinstance(index, ast.Slice):
            wanted = [part for part in (index.lower, index.upper, index.step) if part is not None]
    elif isinstance(node, ast.Call):
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name not in ("range", "chr", "bin", "hex", "oct") or crash.live(node.func) is UNKNOWN:
            return None
        wanted = list(node.args)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        wanted = [side for side in (node.left, node.right) if crash.kind(side) not in _SEQUENCES]
        if len(wanted) != 1:
            return None
    else:
        return None
    floats = [part for part in wanted if crash.kind(part) is float]
    values = [crash.live(part) for part in floats]
    if not floats or not all(type(value) is float and value.is_integer() and abs(value) < 2**53 for value in values):
        return None
    return crash.rewritten(
        "The number is whole and has to be an int here.",
        [(part, "int({})".format(crash.text(part))) for part in floats],
    )


def digits_as_index(crash: Crash) -> Optional[Suggestion]:
    """``items["0"]`` on a list."""
    node = crash.failing(ast.Subscript)
    if node is None or not isinstance(node.ctx, ast.Load):
        return None
    index = _index(node)
    owner, position = crash.live(node.value), crash.live(index)
    if type(owner) not in (list, tuple) or type(position) is not str:
        return None
    if not (position.isascii() and position.isdecimal() and int(position) < len(owner)):
        return None
    return crash.rewritten("The text is the position of an element.", [(index, "int({})".format(crash.text(index)))])


def list_as_key(crash: Crash) -> Optional[Suggestion]:
    """``table[[1, 2]]`` on a dictionary whose keys are tuples."""
    node = crash.failing(ast.Subscript)
    if node is None:
        return None
    owner, index = crash.live(node.value), _index(node)
    if type(owner) is not dict or crash.kind(index) is not list:
        return None
    key = crash.live(index)
    if key is not UNKNOWN and not all(_is_hashable(part) for part in key):
        return None
    tuples = bool(owner) and all(type(known) is tuple for known in owner)
    return crash.rewritten(
        "A list cannot be a key, and the tuple of its elements can.",
        [(index, "tuple({})".format(crash.text(index)))], SURE if tuples else LIKELY,
    )


def view_or_generator(crash: Crash) -> Optional[Suggestion]:
    """``d.keys()[0]``, ``map(f, xs)[0]`` or ``len(generator)``: a list is needed."""
    node = crash.failing(ast.Subscript, ast.Call)
    if isinstance(node, ast.Subscript):
        lazy: ast.expr = node.value
    elif isinstance(node, ast.Call) and _is_len(node):
        lazy = node.args[0]
    else:
        return None
    kind = crash.kind(lazy)
    if kind in VIEWS:
        return crash.rewritten("A view has no positions; the list of its elements has.",
                               [(lazy, "list({})".format(crash.text(lazy)))])
    if kind not in _LAZY:
        return None
    reason = "A generator has no length and no positions; the list of its elements has."
    if isinstance(lazy, ast.Name):
        return crash.rebound(lazy.id, "list({})".format(lazy.id), reason, used_up=[lazy])
    if isinstance(lazy, (ast.Call, ast.GeneratorExp)):
        return crash.rewritten(reason, [(lazy, "list({})".format(crash.text(lazy)))])
    return None


def unlimited_split(crash: Crash) -> Optional[Suggestion]:
    """``key, value = line.split("=")`` where the value holds the separator too."""
    found = _UNPACK.match(crash.message)
    node = crash.node
    if found is None or not crash.message.startswith("too many") or not isinstance(node, ast.Assign):
        return None
    target, call = node.targets[0], node.value
    if len(node.targets) != 1 or not isinstance(target, ast.Tuple) or not isinstance(call, ast.Call):
        return None
    expected = int(found.group(1))
    if len(target.elts) != expected or any(isinstance(part, ast.Starred) for part in target.elts):
        return None
    function = call.func
    if not isinstance(function, ast.Attribute) or function.attr != "split" or len(call.args) != 1 or call.keywords:
        return None
    separator = crash.live(call.args[0])
    if crash.kind(function.value) is not str or type(separator) is not str or not crash.direct:
        return None
    return crash.rewritten(
        "The last of {} parts may hold the separator too.".format(expected),
        [(call.args[0], "{}, {}".format(crash.text(call.args[0]), expected - 1))],
    )


def pairs_of_dictionary(crash: Crash) -> Optional[Suggestion]:
    """``[f(k, v) for k, v in d]`` without ``.items()``."""
    loops = [loop for node in crash.nodes() for loop in getattr(node, "generators", ())]
    suited = [
        loop for loop in loops
        if isinstance(loop.target, ast.Tuple) and len(loop.target.elts) == 2 and type(crash.live(loop.iter)) is dict
    ]
    unpacks = _UNPACK.match(crash.message) or "cannot unpack non-iterable" in crash.message
    if not unpacks or not crash.direct or len(suited) != 1 or len(loops) != 1:
        return None
    return crash.rewritten(
        "A dictionary gives its keys; pairs are meant.", [(suited[0].iter, crash.text(suited[0].iter) + ".items()")]
    )


def nothing_to_iterate(crash: Crash) -> Optional[Suggestion]:
    """``for x in found`` where nothing was found and the name holds None."""
    loops = [node.iter for node in crash.nodes() if isinstance(node, (ast.For, ast.comprehension))]
    arguments = [
        node.args[0] for node in crash.nodes()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1
        and node.func.id in ("list", "tuple", "set", "sorted", "sum", "any", "all", "len")
    ]
    empty = [node for node in loops + arguments if crash.live(node) is None]
    about_none = "'NoneType' object is not iterable" in crash.message or "'NoneType' has no len" in crash.message
    if len(empty) != 1 or not about_none or not crash.direct or not isinstance(empty[0], ast.Name):
        return None
    return crash.rebound(empty[0].id, "[]", "None stands for no elements here.", LIKELY)


def absent_element(crash: Crash) -> Optional[Suggestion]:
    """``items.remove(x)`` or ``del table[x]`` where ``x`` is not in it: what is wanted holds already."""
    node = crash.failing(ast.Call, ast.Subscript)
    statement = crash.node
    if isinstance(statement, ast.Expr) and statement.value is node and isinstance(node, ast.Call):
        function = node.func
        removes = isinstance(function, ast.Attribute) and function.attr in ("remove", "pop") and len(node.args) == 1
        if not removes or not isinstance(crash.live(getattr(function, "value", node)), (list, set, dict)):
            return None
    elif not (isinstance(statement, ast.Delete) and isinstance(node, ast.Subscript) and len(statement.targets) == 1
              and type(crash.live(node.value)) is dict):
        return None
    if isinstance(crash.error, ValueError) and "not in list" not in crash.message:
        return None
    return Suggestion("pass", "The element is not there, which is what the statement is for.", LIKELY)


def position_or_minus_one(crash: Crash) -> Optional[Suggestion]:
    """``text.index(part) >= 0``: compared as if it were ``find``."""
    call = crash.failing(ast.Call)
    if call is None or not isinstance(call.func, ast.Attribute) or call.func.attr not in ("index", "rindex"):
        return None
    test = crash.parent(call)
    if crash.kind(call.func.value) is not str or not isinstance(test, ast.Compare) or test.left is not call:
        return None
    if len(test.ops) != 1 or not isinstance(test.ops[0], (ast.Gt, ast.GtE, ast.NotEq, ast.Eq, ast.Lt)):
        return None
    limit = crash.live(test.comparators[0])
    if type(limit) is not int or limit not in (0, -1):
        return None
    finder = call.func.attr.replace("index", "find")
    new = "{}.{}({})".format(
        crash.text(call.func.value), finder, ", ".join(crash.text(argument) for argument in call.args)
    )
    return crash.rewritten("The comparison expects -1 where the text is not found.", [(call, new)])


def empty_average(crash: Crash) -> Optional[Suggestion]:
    """``total / len(items)`` without items."""
    node = crash.failing(ast.BinOp)
    if node is None or not isinstance(node.op, (ast.Div, ast.FloorDiv)):
        return None
    divisor = node.right
    if not isinstance(divisor, ast.Call) or not _is_len(divisor):
        return None
    if crash.live(divisor) != 0 or crash.live(node.left) != 0:
        return None
    zero = "0.0" if isinstance(node.op, ast.Div) else "0"
    return crash.rewritten("The average of no elements is taken as zero.", [(node, zero)], LIKELY)


def _index(node: ast.Subscript) -> Any:
    index: Any = node.slice
    return index.value if type(index).__name__ == "Index" else index  # Python 3.8 wraps it


def _is_len(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == "len" and len(call.args) == 1


def _is_hashable(value: Any) -> bool:
    return type(value) in (int, float, str, bytes, bool, type(None)) or (
        type(value) in (tuple, frozenset) and all(_is_hashable(part) for part in value)
    )


RULES = (
    Rule("whole-float", (TypeError,), whole_float),
    Rule("digits-as-index", (TypeError,), digits_as_index),
    Rule("list-as-key", (TypeError,), list_as_key),
    Rule("view-or-generator", (TypeError,), view_or_generator),
    Rule("unlimited-split", (ValueError,), unlimited_split),
    Rule("pairs-of-dictionary", (ValueError, TypeError), pairs_of_dictionary),
    Rule("nothing-to-iterate", (TypeError,), nothing_to_iterate),
    Rule("absent-element", (ValueError, KeyError), absent_element),
    Rule("position-or-minus-one", (ValueError,), position_or_minus_one),
    Rule("empty-average", (ZeroDivisionError,), empty_average),
)

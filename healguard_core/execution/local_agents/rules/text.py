"""Rules for text, bytes and numbers that are put together. May import crash, rule and values."""

import ast
import re
from typing import Any, Optional, Tuple

from healguard_core.execution.local_agents.rules.crash import LIKELY, SURE, Crash, Suggestion
from healguard_core.execution.local_agents.rules.rule import Rule
from healguard_core.execution.local_agents.rules.values import UNKNOWN, VIEWS

_NUMBERS = (int, float, bool)
_CONVERSION = re.compile(r"%(?:\((?P<name>[^)]*)\))?[-+ #0]*(?:\*|\d+)?(?:\.(?:\*|\d+))?[hlL]?(?P<kind>[a-zA-Z%])")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_TEXT_METHODS = frozenset(
    (
        "count", "endswith", "find", "index", "lstrip", "partition", "replace", "rfind", "rindex", "rpartition",
        "rsplit", "rstrip", "split", "startswith", "strip", "join"
    )
)


def text_and_number(crash: Crash) -> Optional[Suggestion]:
    """``"total: " + 3``: a number put into text."""
    sides = _sum(crash)
    if sides is None:
        return None
    left, right = sides
    kinds = crash.kind(left), crash.kind(right)
    for text, number, kind in ((left, right, kinds), (right, left, kinds[::-1])):
        if kind[0] is str and kind[1] in _NUMBERS and not _is_target(number):
            sure = _has_literal_words(text)
            return crash.rewritten(
                "A number is put into text, so its digits are meant.",
                [(number, "str({})".format(crash.text(number)))], SURE if sure else LIKELY,
            )
    return None


def list_and_tuple(crash: Crash) -> Optional[Suggestion]:
    """``[1] + (2,)`` and the old sums of two views, which were lists once."""
    sides = _sum(crash)
    if sides is None or crash.failing(ast.AugAssign) is not None:
        return None
    left, right = sides
    kinds = crash.kind(left), crash.kind(right)
    if kinds in ((list, tuple), (tuple, list)):
        name = kinds[0].__name__
        return crash.rewritten(
            "A {} grows by the elements of a {}.".format(name, kinds[1].__name__),
            [(right, "{}({})".format(name, crash.text(right)))],
        )
    if all(kind in VIEWS or kind is list for kind in kinds):
        edits = [(side, "list({})".format(crash.text(side))) for side in sides if crash.kind(side) in VIEWS]
        return crash.rewritten("The views of a dictionary were lists in Python 2; their elements are meant.", edits)
    return None


def bytes_and_text(crash: Crash) -> Optional[Suggestion]:
    """``data.split(",")`` on bytes, and the reverse: a literal of the wrong one of the two kinds."""
    call = crash.failing(ast.Call)
    if call is not None and isinstance(call.func, ast.Attribute) and call.func.attr in _TEXT_METHODS:
        owner = crash.kind(call.func.value)
        edits = [(argument, new) for argument in call.args for new in [_as_kind(argument, owner)] if new]
        return crash.rewritten(_KIND_REASON.format(owner.__name__), edits) if edits else None
    sides = _sum(crash)
    if sides is None:
        return None
    for literal, other in (sides, sides[::-1]):
        new = _as_kind(literal, crash.kind(other))
        if new:
            return crash.rewritten(_KIND_REASON.format(crash.kind(other).__name__), [(literal, new)])
    return None


_KIND_REASON = "The value is {}, so the literal has to be of that kind too."


def joined_values(crash: Crash) -> Optional[Suggestion]:
    """``", ".join([1, 2])``: numbers joined as text."""
    call = crash.failing(ast.Call)
    if call is None or not isinstance(call.func, ast.Attribute) or call.func.attr != "join" or len(call.args) != 1:
        return None
    values = crash.live(call.args[0])
    if crash.kind(call.func.value) is not str or type(values) not in (list, tuple, set, frozenset, dict):
        return None
    if not all(type(value) in (str, int, float) for value in values):
        return None
    return crash.rewritten(
        "Numbers are joined as text, so their digits are meant.",
        [(call.args[0], "[str(value) for value in {}]".format(crash.text(call.args[0])))],
    )


def tuple_in_format(crash: Crash) -> Optional[Suggestion]:
    """``"point %s" % point`` where the point is a tuple."""
    node = crash.failing(ast.BinOp)
    if node is None or not isinstance(node.op, ast.Mod) or isinstance(node.right, ast.Tuple):
        return None
    template, value = crash.live(node.left), crash.live(node.right)
    if type(template) is not str or not isinstance(value, tuple):
        return None
    found = [match for match in _CONVERSION.finditer(template) if match.group("kind") != "%"]
    if len(found) != 1 or found[0].group("kind") not in "sra" or found[0].group("name") is not None:
        return None
    return crash.rewritten(
        "The template has one place and the tuple is the value for it.",
        [(node.right, "({},)".format(crash.text(node.right)))],
    )


def number_in_text(crash: Crash) -> Optional[Suggestion]:
    """``int("3.0")``, ``int("1,234")``, ``float("1,234.5")``: numbers in another notation."""
    call = crash.failing(ast.Call)
    if call is None or not isinstance(call.func, ast.Name) or call.func.id not in ("int", "float"):
        return None
    if len(call.args) != 1 or call.keywords or crash.live(call.func) not in (int, float):
        return None
    text, argument = crash.live(call.args[0]), crash.text(call.args[0])
    if type(text) is not str:
        return None
    plain = text.strip()
    if _THOUSANDS.fullmatch(plain):
        plain, argument = plain.replace(",", ""), "{}.replace(',', '')".format(_operand(call.args[0], argument))
    elif call.func.id == "float":
        return None
    if call.func.id == "int" and not plain.lstrip("+-").isdigit():
        if not re.fullmatch(r"[+-]?\d+\.0*", plain) or len(plain) > 15:
            return None
        argument = "float({})".format(argument)
    return crash.rewritten("{!r} is a whole number in another notation.".format(text) if call.func.id == "int" else
                           "{!r} is a number with separators between the thousands.".format(text),
                           [(call.args[0], argument)])


def undecodable(crash: Crash) -> Optional[Suggestion]:
    """``raw.decode("utf-8")`` of bytes that are something else: keep what can be read."""
    call = crash.failing(ast.Call)
    if call is None or not isinstance(call.func, ast.Attribute) or call.func.attr != "decode":
        return None
    if crash.kind(call.func.value) is not bytes or len(call.args) > 1 or call.keywords:
        return None
    inside = crash.text(call.args[0]) + ", " if call.args else ""
    new = "{}.decode({}errors='replace')".format(crash.text(call.func.value), inside)
    return crash.rewritten("Bytes that are not text in this encoding are replaced by a mark.", [(call, new)], LIKELY)


def compared_with_digits(crash: Crash) -> Optional[Suggestion]:
    """``count > 5`` where the count is text of digits."""
    node = crash.failing(ast.Compare)
    if node is None or len(node.comparators) != 1 or not isinstance(node.ops[0], (ast.Lt, ast.LtE, ast.Gt, ast.GtE)):
        return None
    for text, number in ((node.left, node.comparators[0]), (node.comparators[0], node.left)):
        value = crash.live(text)
        if type(value) is str and value.isascii() and value.isdecimal() and crash.kind(number) in (int, float):
            return crash.rewritten("The text holds a number, which is what is compared.",
                                   [(text, "int({})".format(crash.text(text)))], LIKELY)
    return None


# --------------------------------------------------------------------------- shared by the rules


def _sum(crash: Crash) -> Optional[Tuple[ast.expr, ast.expr]]:
    """The two sides of the failing ``a + b`` or ``a += b``."""
    node = crash.failing(ast.BinOp, ast.AugAssign)
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        return node.target, node.value
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return node.left, node.right
    return None


def _has_literal_words(node: ast.AST) -> bool:
    """Whether the text that ``node`` makes holds words of the program's own, so that it is certainly prose."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and not node.value.strip().isdigit() and bool(node.value)
    if isinstance(node, ast.JoinedStr):
        return True
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add):
        return False
    return _has_literal_words(node.left) or _has_literal_words(node.right)


def _is_target(node: ast.expr) -> bool:
    return isinstance(getattr(node, "ctx", None), ast.Store)


def _as_kind(node: ast.AST, kind: type) -> str:
    """The literal ``node`` spelt as str or bytes, "" when it is no literal of the other kind or not plain ASCII."""
    value: Any = node.value if isinstance(node, ast.Constant) else UNKNOWN
    if kind is bytes and type(value) is str and value.isascii():
        return repr(value.encode("ascii"))
    if kind is str and type(value) is bytes and value.isascii():
        return repr(value.decode("ascii"))
    return ""


def _operand(node: ast.AST, text: str) -> str:
    """``text`` of ``node`` so that a method can be called on it."""
    atoms = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.Constant)
    return text if isinstance(node, atoms) else "({})".format(text)


RULES = (
    Rule("text-and-number", (TypeError,), text_and_number),
    Rule("list-and-tuple", (TypeError,), list_and_tuple),
    Rule("bytes-and-text", (TypeError,), bytes_and_text),
    Rule("joined-values", (TypeError,), joined_values),
    Rule("tuple-in-format", (TypeError,), tuple_in_format),
    Rule("number-in-text", (ValueError,), number_in_text),
    Rule("undecodable", (UnicodeDecodeError,), undecodable),
    Rule("compared-with-digits", (TypeError,), compared_with_digits),
)

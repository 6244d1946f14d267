"""How large the value of a constant expression would become, found without computing it. Imports only the tables."""

import ast
import re
from typing import Callable, Dict, List, Optional, Pattern

from healguard_core.execution.guard import healcore
from healguard_core.execution.guard.reading import Source
from healguard_core.execution.guard.rules import UNSUPPORTED
from healguard_core.protocol import Finding

_SIZED_BUILTINS = frozenset({"range", "bytes", "bytearray"})
_SIZED_METHODS = frozenset({"ljust", "rjust", "center", "zfill", "expandtabs", "to_bytes"})
_SIZED_MEMBERS = {"math.factorial": 20000, "math.comb": 100000, "math.perm": 20000}
_WIDE_SPEC = re.compile(r"[0-9]{5,}")
_WIDE_PERCENT = re.compile(r"%[^a-zA-Z%]*[0-9]{5,}")
_WIDE_FIELD = re.compile(r":[^{}]*[0-9]{5,}")
_EXPONENT = re.compile(r"[eE][+-]?[0-9]{5,}")
_EXACT_NUMBERS = frozenset({"Decimal", "Fraction"})


class Sizes:
    """Folds integers and lengths of one piece of code, each node once, within `healcore.MAX_BITS`."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._known: Dict[ast.AST, Optional[int]] = {}
        self.findings: List[Finding] = []

    def integer(self, node: ast.AST) -> Optional[int]:
        """The integer that a constant expression gives, or None when unknown or refused."""
        if node not in self._known:
            self._known[node] = self._fold(node)
        return self._known[node]

    def refuse(self, node: ast.AST, what: str) -> None:
        """Report ``node`` as too large."""
        self.findings.append(self._source.finding(node, "HC142", UNSUPPORTED, what))

    def _fold(self, node: ast.AST) -> Optional[int]:
        if isinstance(node, ast.Constant):
            return node.value if type(node.value) is int else None
        if isinstance(node, ast.UnaryOp):
            value = self.integer(node.operand)
            if value is None or isinstance(node.op, ast.Not):
                return None
            return -value if isinstance(node.op, ast.USub) else ~value if isinstance(node.op, ast.Invert) else value
        if isinstance(node, ast.BinOp):
            return self._binary(node, self.integer(node.left), self.integer(node.right))
        return None

    def _binary(self, node: ast.BinOp, left: Optional[int], right: Optional[int]) -> Optional[int]:
        if isinstance(node.op, ast.Pow):
            return self.power(node, left, right)
        if isinstance(node.op, ast.LShift):
            return self.shift(node, left, right)
        if isinstance(node.op, ast.Mult):
            return self._product(node, left, right)
        if left is None or right is None:
            return None
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
        if isinstance(node.op, (ast.FloorDiv, ast.Mod)) and right != 0:
            return left // right if isinstance(node.op, ast.FloorDiv) else left % right
        if isinstance(node.op, ast.RShift) and right >= 0:
            return left >> min(right, healcore.MAX_BITS)
        return None

    def power(self, node: ast.AST, left: Optional[int], right: Optional[int]) -> Optional[int]:
        """``left ** right``, reported instead of computed when it would be huge."""
        if right is None:
            return None
        bits = left.bit_length() if left is not None else 1
        if right > 0 and bits * right > healcore.MAX_BITS and left not in (0, 1, -1):
            self.refuse(node, "this power would have more than {} bits".format(healcore.MAX_BITS))
            return None
        return left**right if left is not None and right >= 0 else None

    def shift(self, node: ast.AST, left: Optional[int], right: Optional[int]) -> Optional[int]:
        """``left << right``, reported instead of computed when it would be huge."""
        if right is None:
            return None
        if right + (left.bit_length() if left is not None else 0) > healcore.MAX_BITS:
            self.refuse(node, "this shift would give more than {} bits".format(healcore.MAX_BITS))
            return None
        return left << right if left is not None and right >= 0 else None

    def _product(self, node: ast.BinOp, left: Optional[int], right: Optional[int]) -> Optional[int]:
        for sequence, count in ((node.left, right), (node.right, left)):
            if count is not None and _is_sequence(sequence) and count > healcore.MAX_LENGTH:
                self.refuse(node, "this would repeat a sequence {} times".format(_short(count)))
                return None
        if left is None or right is None:
            return None
        if left.bit_length() + right.bit_length() > healcore.MAX_BITS:
            self.refuse(node, "this product would have more than {} bits".format(healcore.MAX_BITS))
            return None
        return left * right


def _short(number: int) -> str:
    return str(number) if number.bit_length() < 64 else "more than 2**{}".format(number.bit_length() - 1)


def _is_sequence(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (str, bytes))
    if isinstance(node, ast.BinOp):
        return _is_sequence(node.left) or (isinstance(node.op, ast.Mult) and _is_sequence(node.right))
    return isinstance(node, (ast.List, ast.Tuple, ast.JoinedStr, ast.ListComp))


def check_sizes(source: Source, callee_of: Callable[[ast.AST], str]) -> List[Finding]:
    """Findings for values whose size would be out of all proportion. ``callee_of``: see `scope.Scope.callee`."""
    sizes = Sizes(source)
    for node in source.nodes:
        if isinstance(node, ast.BinOp):
            sizes.integer(node)
            if isinstance(node.op, ast.Mod) and _matches(_WIDE_PERCENT, node.left):
                sizes.refuse(node, "the template pads to an enormous width")
        elif isinstance(node, ast.FormattedValue) and node.format_spec is not None:
            if any(_matches(_WIDE_SPEC, part) for part in getattr(node.format_spec, "values", [])):
                sizes.refuse(node, "the format pads to an enormous width")
        elif isinstance(node, ast.Call):
            _check_call(node, callee_of(node.func), sizes)
    return sizes.findings


def _check_call(node: ast.Call, callee: str, sizes: Sizes) -> None:
    method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    if callee in _SIZED_BUILTINS or method in _SIZED_METHODS:
        limit = healcore.MAX_LENGTH
    elif callee in _SIZED_MEMBERS:
        limit = _SIZED_MEMBERS[callee]
    else:
        limit = 0
    if limit and any((sizes.integer(argument) or 0) > limit for argument in node.args):
        sizes.refuse(node, "the result would be out of all proportion")
    if callee in ("pow", "operator.pow") and len(node.args) == 2:
        sizes.power(node, sizes.integer(node.args[0]), sizes.integer(node.args[1]))
    if callee == "operator.lshift" and len(node.args) == 2:
        sizes.shift(node, sizes.integer(node.args[0]), sizes.integer(node.args[1]))
    if callee.rpartition(".")[2] in _EXACT_NUMBERS and any(_matches(_EXPONENT, argument) for argument in node.args):
        sizes.refuse(node, "a number with so large an exponent takes memory without bound once it is converted")
    if callee == "format" and any(_matches(_WIDE_SPEC, argument) for argument in node.args[1:]):
        sizes.refuse(node, "the format pads to an enormous width")
    if method == "format" and isinstance(node.func, ast.Attribute) and _matches(_WIDE_FIELD, node.func.value):
        sizes.refuse(node, "the template pads to an enormous width")


def _matches(pattern: Pattern[str], node: ast.AST) -> bool:
    """Whether ``node`` is a text constant in which ``pattern`` occurs."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, (str, bytes)):
        return False
    return bool(pattern.search(node.value if isinstance(node.value, str) else node.value.decode("latin-1")))

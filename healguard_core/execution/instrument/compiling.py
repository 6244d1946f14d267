"""From the bytes of a source file to instrumented code, or to plain code with the reason. May import rewrite."""

import ast
import binascii
import gc
import importlib.util
import sys
from types import CodeType
from typing import Any, Set, Tuple, cast

from healguard_core import __version__
from healguard_core.execution import hooks
from healguard_core.execution.instrument import clauses, comments, kinds, nodes, sites, table
from healguard_core.execution.instrument import rewrite as rewriting
from healguard_core.execution.instrument.rewrite import rewrite

_REWRITERS = (hooks, rewriting, nodes, kinds, clauses, comments, sites, table, sys.modules[__name__])

_gc_disable = gc.disable
_gc_enable = gc.enable
_gc_isenabled = gc.isenabled


def instrumented(data: bytes, path: str, every_error: bool = False) -> Tuple[CodeType, str]:
    """The code of the file at ``path`` with content ``data``, and "" or why it had to stay plain.

    ``every_error`` as for `rewrite.rewrite`. Raises what Python itself raises for a file that it cannot compile.
    """
    collecting = _gc_isenabled()
    if collecting:
        _gc_disable()  # thousands of nodes are made, none of them in a cycle
    try:
        return _instrumented(data, path, every_error), ""
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = "{}: {}".format(type(error).__name__, error)
    finally:
        if collecting:
            _gc_enable()
    return plain(data, path), reason


def plain(data: bytes, path: str) -> CodeType:
    """The code that Python itself makes of the file."""
    return compile(data, path, "exec", dont_inherit=True)


def rewriter_version(every_error: bool = False) -> int:
    """A number of 32 bits that differs as soon as the same file may be instrumented differently; for caches.

    It is made of the rewriter's own text: a number kept by hand would be forgotten, and code that an older rewriter
    made would go on running after an upgrade.
    """
    total = binascii.crc32("{} {}".format(__version__, every_error).encode("ascii"))
    for module in _REWRITERS:
        total = binascii.crc32(_text_of(module), total)
    return total


def _text_of(module: Any) -> bytes:
    """The source of ``module``, in a folder or a zip; empty for one that is installed as bytecode only."""
    try:
        text: bytes = module.__loader__.get_data(module.__file__)
    except (OSError, AttributeError, TypeError):
        return b""
    return text


def _instrumented(data: bytes, path: str, every_error: bool) -> CodeType:
    text = importlib.util.decode_source(data) if b"heal:" in data else ""
    rewritten = rewrite(_parsed(data, path), text, every_error=every_error)
    code = compile(rewritten.tree, path, "exec", dont_inherit=True)
    variables = _variables(code, rewritten.read) if rewritten.read else set()
    if not variables:
        return code
    # A function's own variable may be unbound where its module's name is bound, and reading it would fail.
    rewritten = rewrite(_parsed(data, path), text, every_error=every_error, unread=frozenset(variables))
    return compile(rewritten.tree, path, "exec", dont_inherit=True)


def _parsed(data: bytes, path: str) -> ast.Module:
    return cast(ast.Module, compile(data, path, "exec", ast.PyCF_ONLY_AST, dont_inherit=True))


def _variables(code: CodeType, names: Set[str]) -> Set[str]:
    """Which of ``names`` are variables of a function anywhere in ``code``."""
    found = names.intersection(code.co_varnames + code.co_cellvars)
    for constant in code.co_consts:
        if constant.__class__ is CodeType:
            found |= _variables(constant, names)
    return found

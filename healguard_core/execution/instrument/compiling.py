"""From the bytes of a source file to instrumented code, or to plain code with the reason. May import rewrite."""

import ast
import gc
import importlib.util
from types import CodeType
from typing import Tuple, cast

from healguard_core.execution.instrument.rewrite import rewrite

_gc_disable = gc.disable
_gc_enable = gc.enable
_gc_isenabled = gc.isenabled


def instrumented(data: bytes, path: str) -> Tuple[CodeType, str]:
    """The code of the file at ``path`` with content ``data``, and "" or why it had to stay plain.

    Raises what Python itself raises for a file that it cannot compile.
    """
    collecting = _gc_isenabled()
    if collecting:
        _gc_disable()  # thousands of nodes are made, none of them in a cycle
    try:
        return _instrumented(data, path), ""
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = "{}: {}".format(type(error).__name__, error)
    finally:
        if collecting:
            _gc_enable()
    return plain(data, path), reason


def plain(data: bytes, path: str) -> CodeType:
    """The code that Python itself makes of the file."""
    return compile(data, path, "exec", dont_inherit=True)


def _instrumented(data: bytes, path: str) -> CodeType:
    tree = cast(ast.Module, compile(data, path, "exec", ast.PyCF_ONLY_AST, dont_inherit=True))
    text = importlib.util.decode_source(data) if b"heal:" in data else ""
    return compile(rewrite(tree, text).tree, path, "exec", dont_inherit=True)

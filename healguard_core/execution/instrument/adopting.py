"""Instruments functions that exist already, by exchanging their code. Imports hooks only.

A module that was imported before the import hook (a pytest plugin under test, say) is bound all over the process, so
importing it again would not do. Its functions keep their identity, closures, defaults and attributes; what ran at its
module level has run.
"""

import gc
import os
from types import CodeType, FunctionType, ModuleType
from typing import Dict, Iterator, List, Sequence, Tuple

from healguard_core.execution import hooks

_get_objects = gc.get_objects
_basename = os.path.basename

_Place = Tuple[str, int]


def adopt(modules: Sequence[Tuple[ModuleType, CodeType]]) -> Tuple[int, List[str]]:
    """Give every live function of ``modules`` its instrumented code; each comes with its instrumented module code.

    Returns how many functions were changed, and the names of those that could not be: their file has changed since
    they were made.
    """
    known: Dict[int, Dict[_Place, CodeType]] = {}
    names: Dict[int, str] = {}
    for module, code in modules:
        space = id(vars(module))
        known[space] = {_place(inner): inner for inner in _functions_in(code)}
        names[space] = _basename(code.co_filename)
    changed, left = 0, []
    for function in _get_objects():
        if type(function) is not FunctionType or id(function.__globals__) not in known:
            continue
        old = function.__code__
        space = id(function.__globals__)
        # The folder is not compared: bytecode may have been made where the environment was before.
        generated = _basename(old.co_filename) != names[space] or old.co_name == "<lambda>"
        if generated or hooks.is_instrumented(old):
            continue
        new = known[space].get(_place(old))
        if new is None or not _fits(old, new):
            left.append("{}.{}".format(function.__module__, function.__qualname__))
        elif hooks.is_instrumented(new):
            function.__code__ = new
            changed += 1
    return changed, sorted(left)


def _functions_in(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _functions_in(constant)


def _place(code: CodeType) -> _Place:
    return code.co_name, code.co_firstlineno


def _fits(old: CodeType, new: CodeType) -> bool:
    """Whether ``new`` can stand for ``old``: same arguments, captured variables and kind of function."""
    return (
        old.co_freevars == new.co_freevars
        and old.co_cellvars == new.co_cellvars
        and old.co_flags == new.co_flags
        and _arguments(old) == _arguments(new)
    )


def _arguments(code: CodeType) -> Tuple[object, ...]:
    total = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)
    return code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_varnames[:total]

"""Rules for calls: forgotten, superfluous, or with arguments under another name. May import crash, rule and values."""

import ast
import inspect
import json
import re
import types
from typing import Any, FrozenSet, Optional

from healguard_core.execution.local_agents.rules.crash import LIKELY, SURE, Crash, Suggestion
from healguard_core.execution.local_agents.rules.rule import Rule, is_misspelling, only
from healguard_core.execution.local_agents.rules.values import UNKNOWN, class_attribute

_UNEXPECTED = re.compile(r"got an unexpected keyword argument '(\w+)'")
_UNCALLED = re.compile(r"'(?:builtin_function_or_)?method'")
_CALLABLES = (types.MethodType, types.BuiltinMethodType)


def misspelt_argument(crash: Crash) -> Optional[Suggestion]:
    """``draw(colour="red")`` where the parameter is ``color``."""
    call, keyword, name = _unexpected(crash)
    if call is None:
        return None
    given = {known.arg for known in call.keywords}
    meant = only(known for known in _parameters(crash.live(call.func)) - given if is_misspelling(name, known))
    if meant is None:
        return None
    return crash.rewritten(
        "There is no parameter {} and {} is the only one like it.".format(name, meant),
        [(keyword, "{}={}".format(meant, crash.text(keyword.value)))],
    )


def superfluous_argument(crash: Crash) -> Optional[Suggestion]:
    """A keyword argument that the function does not know is left out."""
    call, keyword, name = _unexpected(crash)
    if call is None:
        return None
    kept = [crash.text(argument) for argument in call.args]
    for known in call.keywords:
        if known is not keyword:
            prefix = "**" if known.arg is None else known.arg + "="
            kept.append(prefix + crash.text(known.value))
    return crash.rewritten(
        "The function has no parameter {}, so the argument is left out.".format(name),
        [(call, "{}({})".format(crash.text(call.func), ", ".join(kept)))], LIKELY,
    )


def called_property(crash: Crash) -> Optional[Suggestion]:
    """``order.total()`` where ``total`` is a property."""
    call = crash.failing(ast.Call)
    if call is None or not isinstance(call.func, ast.Attribute) or call.args or call.keywords:
        return None
    owner = crash.live(call.func.value)
    if owner is UNKNOWN or isinstance(owner, (type, types.ModuleType)) or "is not callable" not in crash.message:
        return None
    found = class_attribute(type(owner), call.func.attr)
    if not (isinstance(found, property) or type(found).__name__ == "cached_property"):
        return None
    return crash.rewritten(
        "{} is a property: reading it gives the value.".format(call.func.attr), [(call, crash.text(call.func))]
    )


def uncalled_method(crash: Crash) -> Optional[Suggestion]:
    """``name.lower[0]`` or ``len(table.keys)``: the call is missing."""
    if not _UNCALLED.search(crash.message) or not crash.direct:
        return None
    suited = []
    for node in crash.nodes():
        if not isinstance(node, ast.Attribute) or isinstance(crash.parent(node), ast.Call) and _is_called(crash, node):
            continue
        method = crash.live(node)
        if isinstance(method, _CALLABLES) or _is_builtin_method(crash, node):
            suited.append((node, method))
    if len(suited) != 1:
        return None
    node, method = suited[0]
    harmless = _is_builtin_method(crash, node)
    if not harmless and not _needs_nothing(method):
        return None
    return crash.rewritten(
        "{} is a method and its result is meant.".format(crash.text(node)),
        [(node, crash.text(node) + "()")], SURE if harmless else LIKELY,
    )


def byte_order_mark(crash: Crash) -> Optional[Suggestion]:
    """``json.loads`` of text that begins with a byte order mark."""
    calls = [
        node for node in crash.nodes()
        if isinstance(node, ast.Call) and isinstance(node.func, (ast.Attribute, ast.Name))
        and crash.live(node.func) is json.loads and len(node.args) == 1
    ]
    if len(calls) != 1 or "UTF-8 BOM" not in crash.message:
        return None
    argument = calls[0].args[0]
    text = crash.live(argument)
    if type(text) is not str or not text.startswith("\ufeff") or not isinstance(argument, (ast.Name, ast.Attribute)):
        return None
    return crash.rewritten(
        "The byte order mark is not part of the JSON text.",
        [(argument, "{}.lstrip('\\ufeff')".format(crash.text(argument)))], used_up=calls,
    )


# --------------------------------------------------------------------------- shared by the rules


def _unexpected(crash: Crash) -> Any:
    """The failing call, its keyword that is not known, and the keyword's name; (None, None, "") for another crash."""
    call, found = crash.failing(ast.Call), _UNEXPECTED.search(crash.message)
    if call is None or found is None:
        return None, None, ""
    for keyword in call.keywords:
        if keyword.arg == found.group(1) and hasattr(keyword, "lineno"):  # keywords have places from Python 3.9 on
            return call, keyword, keyword.arg
    return None, None, ""


def _parameters(function: Any) -> FrozenSet[str]:
    """The names that may be given by keyword, empty when ``function`` is not plain Python."""
    if isinstance(function, type):
        function = class_attribute(function, "__init__")
    function = getattr(function, "__func__", function) if isinstance(function, types.MethodType) else function
    if not isinstance(function, types.FunctionType):
        return frozenset()
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = inspect.signature(function, follow_wrapped=False).parameters.values()
    return frozenset(parameter.name for parameter in parameters if parameter.kind in kinds)


def _is_called(crash: Crash, node: ast.Attribute) -> bool:
    call = crash.parent(node)
    return isinstance(call, ast.Call) and call.func is node


def _is_builtin_method(crash: Crash, node: ast.Attribute) -> bool:
    kind = crash.kind(node.value)
    if kind is dict:
        return node.attr in ("items", "keys", "values")
    return kind is str and node.attr in ("lower", "upper", "strip", "split", "title", "casefold")


def _needs_nothing(method: Any) -> bool:
    if not isinstance(method, types.MethodType) or not isinstance(method.__func__, types.FunctionType):
        return False
    parameters = list(inspect.signature(method.__func__, follow_wrapped=False).parameters.values())[1:]
    return all(
        parameter.default is not parameter.empty
        or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) for parameter in parameters
    )


RULES = (
    Rule("misspelt-argument", (TypeError,), misspelt_argument),
    Rule("superfluous-argument", (TypeError,), superfluous_argument),
    Rule("called-property", (TypeError,), called_property),
    Rule("uncalled-method", (TypeError,), uncalled_method),
    Rule("byte-order-mark", (json.JSONDecodeError,), byte_order_mark),
)

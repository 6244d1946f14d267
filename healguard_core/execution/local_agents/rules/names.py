"""Rules for names and attributes that do not exist. May import crash, rule and values."""

import ast
import importlib
import re
import types
from typing import Any, Dict, Optional, Tuple

from healguard_core.execution.local_agents.rules.crash import LIKELY, SURE, Crash, Suggestion
from healguard_core.execution.local_agents.rules.rule import Rule, is_misspelling, only
from healguard_core.execution.local_agents.rules.values import UNKNOWN, VIEWS, attribute_names, is_iterator

_NAME_OF = re.compile(r"name '(\w+)' is not defined")
_ATTRIBUTE_OF = re.compile(r"has no attribute '(\w+)'")

_BUILTIN_NAMES = {
    "unicode": "str", "basestring": "str", "xrange": "range", "long": "int", "unichr": "chr",
    "izip": "zip", "imap": "map", "ifilter": "filter", "WindowsError": "OSError",
}
_IMPORTABLE = frozenset(
    (
        "base64", "bisect", "collections", "copy", "datetime", "decimal", "fractions", "functools", "hashlib",
        "heapq", "itertools", "json", "math", "numbers", "re", "statistics", "string", "textwrap", "time", "typing",
        "unicodedata"
    )
)
_DICT_NAMES = {
    "iteritems": "items", "iterkeys": "keys", "itervalues": "values",
    "viewitems": "items", "viewkeys": "keys", "viewvalues": "values",
}
_TYPE_NAMES: Tuple[Tuple[str, str, Dict[str, str]], ...] = (
    ("builtins", "dict", _DICT_NAMES),
    ("array", "array", {"tostring": "tobytes", "fromstring": "frombytes"}),
    ("threading", "Thread", {"isAlive": "is_alive"}),
    ("configparser", "RawConfigParser", {"readfp": "read_file"}),
    ("pandas.core.frame", "DataFrame", {"iteritems": "items", "applymap": "map"}),
    ("pandas.core.series", "Series", {"iteritems": "items"}),
    ("numpy", "ndarray", {"tostring": "tobytes"}),
)
_MODULE_NAMES = {
    "string": {"letters": "ascii_letters", "lowercase": "ascii_lowercase", "uppercase": "ascii_uppercase"},
    "itertools": {"izip_longest": "zip_longest", "ifilterfalse": "filterfalse"},
    "time": {"clock": "perf_counter"},
    "base64": {"encodestring": "encodebytes", "decodestring": "decodebytes"},
    "sys": {"maxint": "maxsize"},
    "numpy": {
        "float_": "float64", "complex_": "complex128", "unicode_": "str_", "string_": "bytes_", "NaN": "nan",
        "Inf": "inf", "infty": "inf", "product": "prod", "cumproduct": "cumprod", "alltrue": "all", "sometrue": "any",
        "in1d": "isin", "trapz": "trapezoid", "round_": "round",
    },
}
_MODULE_BUILTINS = {
    "itertools": {"izip": "zip", "imap": "map", "ifilter": "filter"},
    "numpy": {"float": "float", "int": "int", "bool": "bool", "object": "object", "complex": "complex", "str": "str"},
}


# --------------------------------------------------------------------------- names


def old_builtin(crash: Crash) -> Optional[Suggestion]:
    """``unicode(text)`` and other builtins that Python 3 renamed."""
    node, name = _missing_name(crash)
    if node is None or name not in _BUILTIN_NAMES:
        return None
    new = _BUILTIN_NAMES[name]
    return crash.rewritten("{} is called {} in Python 3.".format(name, new), [(node, new)])


def forgotten_import(crash: Crash) -> Optional[Suggestion]:
    """``math.sqrt(x)`` without ``import math``, for harmless modules of the standard library."""
    node, name = _missing_name(crash)
    if node is None or name not in _IMPORTABLE:
        return None
    use = crash.parent(node)
    if not isinstance(use, ast.Attribute) or use.attr not in vars(importlib.import_module(name)):
        return None
    return crash.rewritten(
        "The module {0} was never imported and has the attribute {1} that is used here.".format(name, use.attr),
        (), before="import " + name,
    )


def misspelt_name(crash: Crash) -> Optional[Suggestion]:
    """``recieved`` where only ``received`` is defined."""
    node, name = _missing_name(crash)
    if node is None:
        return None
    meant = only(known for known in crash.names() if not known.startswith("__") and is_misspelling(name, known))
    if meant is None:
        return None
    return crash.rewritten(
        "{} is not defined and {} is the only name like it.".format(name, meant), [(node, meant)],
        SURE if crash.is_local(meant) else LIKELY,
    )


def _missing_name(crash: Crash) -> Tuple[Optional[ast.Name], str]:
    node = crash.failing(ast.Name)
    found = _NAME_OF.search(crash.message)
    if node is None or found is None or node.id != found.group(1) or not isinstance(node.ctx, ast.Load):
        return None, ""
    return node, node.id


# --------------------------------------------------------------------------- attributes


def renamed_attribute(crash: Crash) -> Optional[Suggestion]:
    """``counts.iteritems()``, ``np.float`` and other names that have been replaced."""
    node, owner = _missing_attribute(crash)
    if node is None:
        return None
    if isinstance(owner, types.ModuleType):
        return _renamed_in_module(crash, node, owner)
    for module, name, renamed in _TYPE_NAMES:
        new = renamed.get(node.attr, "")
        if new and _is_a(owner, module, name) and new in attribute_names(owner):
            return _new_name(crash, node, "{}.{}".format(crash.text(node.value), new))
    return None


def removed_method(crash: Crash) -> Optional[Suggestion]:
    """Methods that Python 3 replaced by another spelling: ``has_key``, ``next``, ``str.decode``, ``getchildren``."""
    node, owner = _missing_attribute(crash)
    call = crash.parent(node) if node is not None else None
    if node is None or not isinstance(call, ast.Call) or call.func is not node:
        return None
    text, arguments = crash.text(node.value), [crash.text(argument) for argument in call.args]
    if node.attr == "has_key" and isinstance(owner, dict) and len(arguments) == 1:
        return _new_spelling(crash, call, "({} in {})".format(arguments[0], text))
    if node.attr == "next" and not arguments and is_iterator(owner):
        return crash.rewritten("Python 3 spells this next({}).".format(text), [(call, "next({})".format(text))],
                               used_up=list(ast.walk(node)))
    if node.attr == "decode" and type(owner) is str or node.attr == "encode" and type(owner) is bytes:
        return crash.rewritten(
            "The value is {} already, so there is nothing to {}.".format(type(owner).__name__, node.attr),
            [(call, text)],
        )
    if node.attr == "getchildren" and not arguments and _is_a(owner, "xml.etree.ElementTree", "Element"):
        return _new_spelling(crash, call, "list({})".format(text))
    return None


def sorted_view(crash: Crash) -> Optional[Suggestion]:
    """``keys = d.keys(); keys.sort()``, which needs a list since Python 3."""
    node, owner = _missing_attribute(crash)
    if node is None or node.attr != "sort" or type(owner) not in VIEWS:
        return None
    statement = crash.node
    call = crash.parent(node)
    if not isinstance(statement, ast.Expr) or statement.value is not call or not isinstance(node.value, ast.Name):
        return None
    if not isinstance(call, ast.Call) or call.args:
        return None
    keywords = "".join(", " + crash.text(keyword) for keyword in call.keywords if hasattr(keyword, "lineno"))
    if len(call.keywords) != keywords.count(", ") or not crash.is_local(node.value.id):
        return None
    name = node.value.id
    return crash.rewritten(
        "A view has no sort(); its sorted elements are kept as a list.",
        [(statement, "{0} = sorted({0}{1})".format(name, keywords))],
    )


def misspelt_attribute(crash: Crash) -> Optional[Suggestion]:
    """``response.staus_code`` where only ``status_code`` is close."""
    node, owner = _missing_attribute(crash)
    if node is None or crash.dynamic_attributes:
        return None
    private = node.attr.startswith("_")
    meant = only(
        name for name in attribute_names(owner) if name.startswith("_") == private and is_misspelling(node.attr, name)
    )
    if meant is None:
        return None
    return crash.rewritten(
        "{} has no attribute {} and {} is the only one like it.".format(_what(owner), node.attr, meant),
        [(node, "{}.{}".format(crash.text(node.value), meant))],
    )


def _missing_attribute(crash: Crash) -> Tuple[Optional[ast.Attribute], Any]:
    """The node and the live owner of an attribute that does not exist; never for None, which means something else."""
    node = crash.failing(ast.Attribute)
    found = _ATTRIBUTE_OF.search(crash.message)
    if node is None or not isinstance(node.ctx, ast.Load) or found is None or found.group(1) != node.attr:
        return None, None
    owner = getattr(crash.error, "obj", None)  # Python 3.10
    if owner is None:
        owner = crash.live(node.value)
    if owner is None or owner is UNKNOWN:
        return None, None
    return node, owner


def _renamed_in_module(crash: Crash, node: ast.Attribute, module: types.ModuleType) -> Optional[Suggestion]:
    name = module.__name__
    if name == "collections" and node.attr in vars(importlib.import_module("collections.abc")):
        return _new_name(crash, node, "{}.abc.{}".format(crash.text(node.value), node.attr))
    new = _MODULE_NAMES.get(name, {}).get(node.attr)
    if new is not None and new in vars(module):
        return _new_name(crash, node, "{}.{}".format(crash.text(node.value), new))
    builtin = _MODULE_BUILTINS.get(name, {}).get(node.attr)
    return None if builtin is None else _new_name(crash, node, builtin)


def _new_name(crash: Crash, node: ast.Attribute, new: str) -> Optional[Suggestion]:
    return crash.rewritten("{} is called {} now.".format(crash.text(node), new), [(node, new)])


def _new_spelling(crash: Crash, call: ast.Call, new: str) -> Optional[Suggestion]:
    return crash.rewritten("{} is spelt {} now.".format(crash.text(call), new), [(call, new)])


def _is_a(owner: Any, module: str, name: str) -> bool:
    return any(base.__module__ == module and base.__name__ == name for base in type(owner).__mro__)


def _what(owner: Any) -> str:
    if isinstance(owner, types.ModuleType):
        return "The module " + owner.__name__
    return "The class " + owner.__name__ if isinstance(owner, type) else "The " + type(owner).__name__


RULES = (
    Rule("old-builtin", (NameError,), old_builtin),
    Rule("forgotten-import", (NameError,), forgotten_import),
    Rule("misspelt-name", (NameError,), misspelt_name),
    Rule("renamed-attribute", (AttributeError,), renamed_attribute),
    Rule("removed-method", (AttributeError,), removed_method),
    Rule("sorted-view", (AttributeError,), sorted_view),
    Rule("misspelt-attribute", (AttributeError,), misspelt_attribute),
)

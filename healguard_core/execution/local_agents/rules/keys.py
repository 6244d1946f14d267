"""Rules for missing keys. May import crash, rule and values."""

import ast
from typing import Any, List, Optional

from healguard_core.execution.local_agents.rules.crash import LIKELY, SURE, Crash, Suggestion
from healguard_core.execution.local_agents.rules.rule import Rule, folded, is_misspelling
from healguard_core.execution.local_agents.rules.values import UNKNOWN, class_attribute

_MOST_KEYS = 5000


def other_spelling(crash: Crash) -> Optional[Suggestion]:
    """``row["Amount"]`` where only ``"amount"`` is there."""
    return _other_key(crash, SURE, lambda missing, key: (
        isinstance(missing, str) and isinstance(key, str) and len(folded(key)) > 1 and folded(missing) == folded(key)
    ))


def other_type(crash: Crash) -> Optional[Suggestion]:
    """``row["1"]`` where only ``1`` is there, and the like for bytes."""
    return _other_key(crash, SURE, _same_in_other_type)


def misspelt(crash: Crash) -> Optional[Suggestion]:
    """``row["adress"]`` where only ``"address"`` is close."""
    return _other_key(crash, LIKELY, lambda missing, key: (
        isinstance(missing, str) and isinstance(key, str) and is_misspelling(missing, key)
    ))


def _other_key(crash: Crash, confidence: float, same: Any) -> Optional[Suggestion]:
    found = _lookup(crash)
    if found is None:
        return None
    owner, index, missing = found
    keys = [key for key in owner if same(missing, key)]
    if len(keys) != 1:
        return None
    return crash.rewritten(
        "The key {!r} is missing and {!r} is the only key like it, so that one is used.".format(missing, keys[0]),
        [(index, repr(keys[0]))],
        confidence,
    )


def _lookup(crash: Crash) -> Optional[Any]:
    """The dictionary, the node of the key and the missing key of ``d[key]`` or ``d.pop(key)``."""
    node = crash.failing(ast.Subscript, ast.Call)
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        owner, index = crash.live(node.value), node.slice
        index = getattr(index, "value", index) if type(index).__name__ == "Index" else index  # Python 3.8
    elif (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "pop"
        and len(node.args) == 1 and not node.keywords
    ):
        owner, index = crash.live(node.func.value), node.args[0]
    else:
        return None
    if owner is UNKNOWN or not isinstance(owner, dict) or len(crash.error.args) != 1 or len(owner) > _MOST_KEYS:
        return None
    if type(owner).__getitem__ is not dict.__getitem__ or class_attribute(type(owner), "__missing__") is not UNKNOWN:
        return None
    missing = crash.error.args[0]
    if type(missing) not in (str, int, bytes) or dict.__contains__(owner, missing):
        return None
    return list(dict.keys(owner)), index, missing


def _same_in_other_type(missing: Any, key: Any) -> bool:
    if type(missing) is type(key) or bool in (type(missing), type(key)):
        return False
    spellings: List[str] = []
    for value in (missing, key):
        if type(value) is bytes:
            try:
                spellings.append(value.decode("utf-8"))
            except UnicodeDecodeError:
                return False
        elif type(value) in (str, int):
            spellings.append(str(value))
        else:
            return False
    return spellings[0] == spellings[1]


RULES = (
    Rule("key-spelling", (KeyError,), other_spelling),
    Rule("key-type", (KeyError,), other_type),
    Rule("key-misspelt", (KeyError,), misspelt),
)

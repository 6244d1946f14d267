"""Tools as a Chat Completions model sees them, and the one call that its reply may have. Imports nothing."""

from __future__ import annotations

import json
from typing import Any

RERAISE: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "reraise",
        "description": "Apply no heal and let the original exception go on.",
        "parameters": {"type": "object", "properties": {}, "additionalProperties": False},
    },
}
_CHOICES: dict[str, Any] = {
    "resume": {"type": "string", "enum": ["next", "retry", "return", "continue", "break"]},
    "frame": {"type": "integer", "description": "0, where it crashed, if left out; 1 is its caller, ..."},
}
_REQUIRED: dict[str, tuple[str, ...]] = {"bash": ("command",), "execute": ("code", "submit"), "reraise": ()}
_TYPES: dict[str, type] = {"code": str, "submit": bool, "command": str, "resume": str, "frame": int}


def execute_tool(paper: bool) -> dict[str, Any]:
    """The tool for probes and heals; as the paper has it (F.5) it offers no choices."""
    properties = {
        "code": {"type": "string", "description": "Python code, from the first column."},
        "submit": {"type": "boolean", "default": False,
                   "description": "false looks at live state and keeps nothing; true is the heal."},
        **({} if paper else _CHOICES),
    }
    parameters = {"type": "object", "properties": properties, "required": ["code", "submit"],
                  "additionalProperties": False}
    description = ("Run Python code in the crashed frame: to look at live state, or as the heal after which the "
                   "program goes on.")
    return {"type": "function",
            "function": {"name": "execute", "description": description, "parameters": parameters}}


def action_of(calls: list[tuple[str, str, Any]]) -> dict[str, Any] | str:
    """The one action that a reply asks for, or what is wrong with it.

    ``calls`` are its calls, each with id, tool and arguments.
    """
    if len(calls) != 1:
        return "It has no call of a tool." if not calls else f"It has {len(calls)} calls."
    number, name, text = calls[0]
    try:
        arguments = json.loads(text or "{}")
    except (ValueError, TypeError, RecursionError) as error:
        return f"The arguments are not JSON ({str(error)[:200]})."
    if name not in _REQUIRED:
        return f"There is no tool {name[:80]!r}."
    if not isinstance(arguments, dict):
        return "The arguments are no object."
    for argument, kind in _TYPES.items():
        given = arguments.get(argument)
        wanted = argument in _REQUIRED[name]
        if (wanted and given in (None, "")) or (given is not None and type(given) is not kind):
            return f"`{argument}` is missing or of the wrong kind."
    return {"tool": name, "arguments": arguments, "tool_call_id": number}

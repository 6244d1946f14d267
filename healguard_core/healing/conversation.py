"""Keeps what is sent to a model within a bounded length. May import prompts.

Messages are those of Chat Completions. An *exchange* is a message of the user, or one of the assistant with the results
of the tools that it called: they are sent together or not at all.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from healguard_core.healing.prompts import tokens

CONVERSATION = 48000
"""Tokens that a conversation may have; of a longer one the oldest exchanges are left out."""

Message = dict[str, Any]


def kept(sizes: Sequence[int], first: int, limit: int = CONVERSATION) -> list[int]:
    """Which of several parts, oldest first, fit into ``limit``: the newest ones, and the one at ``first`` always."""
    room = limit - sizes[first]
    found = {first}
    for index in range(len(sizes) - 1, -1, -1):
        if index == first:
            continue
        room -= sizes[index]
        if room < 0:
            break
        found.add(index)
    return sorted(found)


def left_out(count: int) -> str:
    """What stands in place of ``count`` parts."""
    return f"({count} earlier messages are left out here.)"


def bounded(
    exchanges: Sequence[Sequence[Message]], first: int, limit: int = CONVERSATION, head: Iterable[Message] = ()
) -> list[Message]:
    """The messages to send: ``head``, then what fits of the exchanges; the crash at ``first`` always does."""
    shown = kept([tokens(json.dumps(exchange, default=str)) for exchange in exchanges], first, limit)
    messages = list(head)
    if len(shown) < len(exchanges):
        messages.append({"role": "user", "content": left_out(len(exchanges) - len(shown))})
    for index in shown:
        messages += exchanges[index]
    return messages


def exchanges_of(messages: Iterable[Message]) -> list[list[Message]]:
    """The messages in exchanges."""
    exchanges: list[list[Message]] = []
    for message in messages:
        if message.get("role") == "tool" and exchanges:
            exchanges[-1].append(message)
        else:
            exchanges.append([message])
    return exchanges

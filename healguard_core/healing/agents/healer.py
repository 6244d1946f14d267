"""The agent ``healer``: one forced ``execute(submit=true)`` per turn, and nothing else. May import service, prompts.

After "Towards Agentic Runtime Healing" (Sun et al.): no probes, no look at the repository. The conversation goes on
over all crashes of a test, within a bounded length.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar

from healguard_core.healing.conversation import bounded
from healguard_core.healing.pauses import Pause, noting
from healguard_core.healing.prompts import ASK, ASK_PAPER, crash_text, healer_system, outcome_text
from healguard_core.healing.service import Service
from healguard_core.protocol import PAPER

MALFORMED = 3
"""Replies in a row without a usable call after which a crash is given up."""

FORMAT = (
    "That was not a usable answer: {problem}. Call `execute` exactly once, with a JSON object that has `code` (text) "
    "and `submit` (true), and with nothing else."
)

TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "execute",
        "description": "Run Python code in the crashed frame as the heal, and let the program go on.",
        "parameters": {
            "type": "object",
            "properties": {
                "code": {"type": "string", "description": "The whole heal, from the first column; or `raise`."},
                "submit": {"type": "boolean", "enum": [True], "default": True},
                "resume": {
                    "type": "string",
                    "enum": ["next", "retry", "return", "continue", "break"],
                    "description": "How the program goes on; next, the statement after the failed one, if left out.",
                },
                "frame": {
                    "type": "integer",
                    "description": "Which frame is healed: 0, where it crashed, if left out; 1 is its caller, ...",
                },
                "explanation": {"type": "string", "description": "One sentence: why this is right."},
            },
            "required": ["code", "submit"],
            "additionalProperties": False,
        },
    },
}


PAPER_TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "execute",
        "description": "Run Python code in the crashed frame as the heal, and let the program go on.",
        "parameters": {
            "type": "object",
            "properties": {
                "code": {"type": "string", "description": "The whole heal, from the first column."},
                "submit": {"type": "boolean", "enum": [True], "default": True},
            },
            "required": ["code", "submit"],
            "additionalProperties": False,
        },
    },
}
"""The tool as the paper's healer has it (F.5): nothing to choose but the code, and no way to let the error go on."""


@dataclass(frozen=True)
class Submission:
    """What a model asked for."""

    call_id: str
    code: str
    resume: str = "next"
    frame: int = 0
    explanation: str = ""


class Malformed(ValueError):
    """A reply cannot be used; the text says why, for the model."""


class Healer:
    """One conversation with a model."""

    side: ClassVar[str] = "healing"
    uses_model: ClassVar[str] = "yes"
    takes_argument: ClassVar[bool] = False
    summary: ClassVar[str] = "asks a model for one submission per turn"

    def __init__(self, service: Service) -> None:
        self._service = service
        self._exchanges: list[list[dict[str, Any]]] = []

    def respond(self, pause: Pause) -> None:
        paper = pause.context.protocol == PAPER
        ask = ASK_PAPER if paper else ASK
        self._exchanges.append([{"role": "user", "content": f"{crash_text(pause.context)}\n\n{ask}"}])
        first = len(self._exchanges) - 1
        malformed = 0
        while not pause.decided:
            message = self._ask(pause, first)
            try:
                submission = submission_of(message)
            except Malformed as problem:
                malformed += 1
                if malformed >= MALFORMED:
                    pause.reraise(f"the model gave {malformed} unusable answers in a row; the last one: {problem}")
                    return
                self._exchanges.append(correction(message, str(problem)))
                continue
            malformed = 0
            if submission.code.strip() == "raise" and not paper:
                self._add_result(message, submission, "The original exception goes on.")
                pause.reraise(submission.explanation or "the model let the error go on")
                return
            with noting(pause, "running a submission"):
                outcome = pause.heal(submission.code, submission.resume, submission.frame, submission.explanation)
            self._add_result(message, submission, outcome_text(outcome))

    def stop(self) -> None:
        """Nothing runs here but a request, which the meter cuts off."""

    def close(self) -> None:
        """Nothing is open."""

    # ----------------------------------------------------------------- the conversation

    def _ask(self, pause: Pause, first: int) -> dict[str, Any]:
        protocol = pause.context.protocol
        body = {
            "messages": bounded(self._exchanges, first, head=[{"role": "system", "content": healer_system(protocol)}]),
            "tools": [PAPER_TOOL if protocol == PAPER else TOOL],
            "tool_choice": {"type": "function", "function": {"name": "execute"}},
            "parallel_tool_calls": False,
        }
        with noting(pause, "waiting for the model"):
            return message_of(self._service.chat(pause, body))

    def _add_result(self, message: dict[str, Any], submission: Submission, text: str) -> None:
        calls = message["tool_calls"][:1]
        said = {"role": "assistant", "content": message.get("content") or None, "tool_calls": calls}
        self._exchanges.append([said, {"role": "tool", "tool_call_id": submission.call_id, "content": text}])


def message_of(reply: dict[str, Any]) -> dict[str, Any]:
    """The assistant's message in a Chat Completions answer; an empty one when there is none."""
    choices = reply.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else {}
    message = choice.get("message") if isinstance(choice, dict) else None
    return message if isinstance(message, dict) else {}


def submission_of(message: dict[str, Any]) -> Submission:
    """The one call in ``message``. Raises `Malformed`."""
    calls = message.get("tool_calls")
    if not isinstance(calls, list) or not calls:
        raise Malformed("it has no call of `execute`")
    if len(calls) > 1:
        raise Malformed(f"it has {len(calls)} calls; only one at a time can be carried out")
    call: dict[str, Any] = calls[0] if isinstance(calls[0], dict) else {}
    named = call.get("function")
    function: dict[str, Any] = named if isinstance(named, dict) else {}
    call_id = call.get("id")
    if function.get("name") != "execute" or not isinstance(call_id, str):
        raise Malformed(f"there is no tool {str(function.get('name'))[:80]!r}")
    try:
        asked = json.loads(function.get("arguments") or "")
    except (ValueError, TypeError, RecursionError) as error:
        raise Malformed(f"the arguments are not JSON ({str(error)[:200]})") from None
    if not isinstance(asked, dict) or not isinstance(asked.get("code"), str) or not asked["code"].strip():
        raise Malformed("the arguments have no `code`")
    if asked.get("submit", True) is not True:
        raise Malformed("`submit` must be true: this agent has no probes")
    frame = asked.get("frame", 0)
    if type(frame) is not int:
        raise Malformed("`frame` must be a whole number")
    return Submission(call_id, asked["code"], str(asked.get("resume") or "next"), frame,
                      str(asked.get("explanation") or "")[:1000])


def correction(message: dict[str, Any], problem: str) -> list[dict[str, Any]]:
    """An exchange that says what is wrong with ``message``. Its calls are not repeated: they may be no valid ones."""
    said = str(message.get("content") or "(an unusable call)")[:2000]
    return [{"role": "assistant", "content": said}, {"role": "user", "content": FORMAT.format(problem=problem)}]

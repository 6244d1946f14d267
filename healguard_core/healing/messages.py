"""What the execution side posts, checked before anything is done with it. May import protocol.

docs/protocol.md is the specification for other languages; these models are what is enforced.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from healguard_core.protocol import VERSION, CrashContext, ExecuteOutcome

LARGEST = 8 << 20
"""Bytes of the largest body that is read."""

Name = Annotated[str, Field(min_length=1, max_length=4000)]


class BadMessage(ValueError):
    """A message that the protocol does not allow; the text says where and why."""


class _Message(BaseModel):
    """Unknown keys are let pass, so that a newer execution side may say more."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class ModelRecord(_Message):
    """`models.Model`, as it travels."""

    asked: Name
    id: Name
    name: Name
    base_url: str = ""
    key_variable: str = ""
    transport: Literal["http", "litellm"] = "http"
    wire: str = "responses"
    input_price: float | None = None
    cached_price: float | None = None
    output_price: float | None = None


class CrashPosted(_Message):
    """POST /v1/crashes"""

    version: int
    client: Name
    agent: Name
    context: CrashContext
    pid: int | None = None
    max_calls: int = Field(default=100, ge=0)
    timeout: float | None = Field(default=None, gt=0)
    model: str = ""  # the id of one that was offered; "" for the run's own


class ModelPosted(_Message):
    """POST /v1/models"""

    model: ModelRecord
    key: str = ""


class NextAsked(_Message):
    """POST /v1/crashes/ID/next"""

    answered: int = 0
    outcome: ExecuteOutcome | None = None
    wait: float = Field(default=1.0, ge=0, le=20)


class EndPosted(_Message):
    """POST /v1/crashes/ID/end"""

    answered: int = 0
    outcome: ExecuteOutcome | None = None
    healed: bool = False


class ByePosted(_Message):
    """POST /v1/bye"""

    client: Name


class ClaimAsked(_Message):
    """POST /v1/agent/wait"""

    wait: float = Field(default=20.0, ge=0, le=60)


class VerbPosted(_Message):
    """POST /v1/agent/crashes/ID/execute and .../reraise"""

    code: str = ""
    submit: bool = False
    resume: str = "next"
    frame: int = 0
    explanation: str = ""
    reason: str = ""


_M = TypeVar("_M", bound=_Message)


def parse(kind: type[_M], raw: bytes) -> _M:
    """The message in ``raw``. Raises `BadMessage`."""
    try:
        record = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise BadMessage(f"the body is not JSON: {error}") from None
    if isinstance(record, dict) and record.get("version", VERSION) != VERSION:
        raise BadMessage(f"protocol version {record['version']!r} is not supported; this side speaks {VERSION}")
    try:
        return kind.model_validate(_encodable(record))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "the body"
        raise BadMessage(f"{place}: {first['msg']}") from None


def _encodable(value: Any) -> Any:
    """Lone surrogates, which a program's text may hold, cannot be sent on to anybody."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, list):
        return [_encodable(item) for item in value]
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    return value

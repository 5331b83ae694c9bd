"""The body of POST /api/chat, after the types of ollama 0.6.

Ollama itself passes over unknown keys; here they are refused, since whoever sends them means them.
"""

from typing import Annotated, Any, Literal

from pydantic import Field
from pydantic_core import ErrorDetails

from tests.support.endpoint.wires.shapes import Strict

BASE64 = r"^[A-Za-z0-9+/]+={0,2}$"
"""No `data:` ahead of it."""


class Function(Strict):
    index: int | None = None
    name: Annotated[str, Field(min_length=1)]
    arguments: dict[str, Any]


class ToolCall(Strict):
    id: str | None = None
    type: Literal["function"] | None = None
    function: Function


class Message(Strict):
    """The client leaves an empty content out."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str = ""
    thinking: str = ""
    images: list[Annotated[str, Field(pattern=BASE64)]] = Field(default_factory=list)
    tool_calls: list[ToolCall] = Field(default_factory=list)
    tool_name: str | None = None
    tool_call_id: str | None = None


class ToolFunction(Strict):
    name: Annotated[str, Field(min_length=1)]
    description: str = ""
    parameters: dict[str, Any] = Field(default_factory=dict)


class Tool(Strict):
    type: Literal["function"]
    function: ToolFunction


class ChatBody(Strict):
    model: Annotated[str, Field(min_length=1)]
    messages: Annotated[list[Message], Field(min_length=1)]
    tools: list[Tool] = Field(default_factory=list)
    stream: Literal[True] = True
    think: bool | Literal["low", "medium", "high"] | None = None
    format: Literal["", "json"] | dict[str, Any] | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    keep_alive: float | str | None = None


def sentence(fault: ErrorDetails) -> str:
    where = ".".join(map(str, fault["loc"]))
    return f"invalid request: {where}: {fault['msg']}"

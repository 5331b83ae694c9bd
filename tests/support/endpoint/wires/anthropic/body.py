"""The body of POST /v1/messages, after the request types of anthropic 2.12.

Narrower than the API: no documents, no server tools, no betas, and only streams.
"""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field
from pydantic_core import ErrorDetails

from tests.support.endpoint.wires.shapes import Strict

BASE64 = r"^[A-Za-z0-9+/]+={0,2}$"
CALL_ID = r"^[a-zA-Z0-9_-]+$"
TOOL_NAME = r"^[a-zA-Z0-9_-]{1,128}$"
MIN_BUDGET = 1024


class CacheControl(Strict):
    type: Literal["ephemeral"]
    ttl: Literal["5m", "1h"] = "5m"


class Block(Strict):
    cache_control: CacheControl | None = None


class Text(Block):
    type: Literal["text"]
    text: str


class Base64Source(Strict):
    type: Literal["base64"]
    media_type: Literal["image/jpeg", "image/png", "image/gif", "image/webp"]
    data: Annotated[str, Field(pattern=BASE64)]


class UrlSource(Strict):
    type: Literal["url"]
    url: Annotated[str, Field(pattern=r"^https://\S+$")]


class Image(Block):
    type: Literal["image"]
    source: Annotated[Base64Source | UrlSource, Field(discriminator="type")]


def _blocks(content: Any) -> Any:
    """A string stands for one text."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _result_blocks(content: Any) -> Any:
    """The empty string is the one empty text that a result may have."""
    return [] if content == "" else _blocks(content)


class ToolResult(Block):
    type: Literal["tool_result"]
    tool_use_id: Annotated[str, Field(pattern=CALL_ID)]
    content: Annotated[
        list[Annotated[Text | Image, Field(discriminator="type")]],
        BeforeValidator(_result_blocks),
    ] = Field(default_factory=list)
    is_error: bool = False


class Thinking(Strict):
    """The API takes no `cache_control` of thinking."""

    type: Literal["thinking"]
    thinking: str
    signature: str


class RedactedThinking(Strict):
    type: Literal["redacted_thinking"]
    data: str


class ToolUse(Block):
    type: Literal["tool_use"]
    id: Annotated[str, Field(pattern=CALL_ID)]
    name: Annotated[str, Field(pattern=TOOL_NAME)]
    input: dict[str, Any]


Said = Annotated[Text | Image | ToolResult, Field(discriminator="type")]
Answered = Annotated[Text | Thinking | RedactedThinking | ToolUse, Field(discriminator="type")]


class UserMessage(Strict):
    role: Literal["user"]
    content: Annotated[list[Said], BeforeValidator(_blocks)]


class AssistantMessage(Strict):
    role: Literal["assistant"]
    content: Annotated[list[Answered], BeforeValidator(_blocks)]


Message = Annotated[UserMessage | AssistantMessage, Field(discriminator="role")]


class Budget(Strict):
    type: Literal["enabled"]
    budget_tokens: Annotated[int, Field(ge=MIN_BUDGET)]
    display: Literal["summarized", "omitted"] | None = None


class Adaptive(Strict):
    type: Literal["adaptive"]
    display: Literal["summarized", "omitted"] | None = None


class Disabled(Strict):
    type: Literal["disabled"]


class InputSchema(Strict):
    model_config = ConfigDict(extra="allow")
    type: Literal["object"]
    properties: dict[str, Any] = Field(default_factory=dict)
    required: list[str] = Field(default_factory=list)


class Tool(Strict):
    type: Literal["custom"] | None = None
    name: Annotated[str, Field(pattern=TOOL_NAME)]
    description: str = ""
    input_schema: InputSchema
    strict: bool = False
    cache_control: CacheControl | None = None


class ToolChoice(Strict):
    type: Literal["auto", "any", "tool", "none"]
    name: str | None = None
    disable_parallel_tool_use: bool = False


class OutputConfig(Strict):
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    format: dict[str, Any] | None = None


class MessagesBody(Strict):
    model: Annotated[str, Field(min_length=1)]
    max_tokens: Annotated[int, Field(ge=1)]
    messages: Annotated[list[Message], Field(min_length=1)]
    system: Annotated[list[Text], BeforeValidator(_blocks)] | None = None
    stream: Literal[True]
    thinking: Annotated[Budget | Adaptive | Disabled, Field(discriminator="type")] | None = None
    tools: list[Tool] = Field(default_factory=list)
    tool_choice: ToolChoice | None = None
    output_config: OutputConfig | None = None
    temperature: Annotated[float, Field(ge=0, le=1)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    top_k: Annotated[int, Field(ge=0)] | None = None
    stop_sequences: list[str] | None = None
    metadata: dict[str, Any] | None = None
    service_tier: Literal["auto", "standard_only"] | None = None


ROLES = ("user", "assistant")


def sentence(fault: ErrorDetails) -> str:
    """As `messages.0.content.1.text.text: Field required`."""
    where = ".".join(str(part) for part in fault["loc"] if part not in ROLES)
    return f"{where}: {fault['msg']}"

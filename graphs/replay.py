"""The replay of a thread's messages to a provider: one table of what each needs.

Of a message that another provider made only its text and its calls are replayed: reasoning is
signed, or means nothing to anybody else. Of its own, a provider gets what it wants back:

    anthropic     thinking with its signature, ahead of the text and the calls
    google_genai  signatures of thoughts, text and calls (by call id)
    ollama        its reasoning, beside the text
    openai        the keys of its server: see `turnstream.graphs.server_keys`
    openai_responses    its reasoning, encrypted; OpenAI's chat completions take none

Read in the LangChain packages of `turnstream.graphs.providers` and measured against servers that
refuse what the real ones refuse.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolCall

from turnstream.graphs import stored
from turnstream.graphs.images import with_names
from turnstream.graphs.made_parts import kept_beside
from turnstream.graphs.server_keys import for_ids, sent_keys
from turnstream.graphs.stored import PROVIDER
from turnstream.graphs.sums import Content

SIGNATURES = "__gemini_function_call_thought_signatures__"
"""The key of a message's `additional_kwargs` in which langchain-google-genai keeps signatures, by
call id."""
_MORE = "Go on."
"""A last word of the user, for providers that do not continue a message of the model's."""

Ids = Mapping[str, str]
"""The ids that calls had, to those that they are given."""


def _text(message: AIMessage) -> str:
    """Return the text, or none if it is blank: some servers send blank lines ahead of a call, and
    some providers refuse a thread that has them."""
    return message.text if message.text.strip() else ""


@dataclass(frozen=True, slots=True)
class Replay:
    """The needs of a provider; `content` and `extras` are of a message of its own."""

    of: str
    """The provider, as LangChain's packages write it into their messages."""
    content: Callable[[AIMessage], Content] = _text
    extras: Callable[[AIMessage, Ids], dict[str, Any]] = lambda _message, _ids: {}
    begins_names: str = ""
    """Characters that the name of a call may begin with and that are no letters; empty: anything.
    """
    opens_urls: bool = True
    """True if an image may be an address. If it may not, LangChain's package would open it from the
    server, or send the address as an image."""
    continues: bool = True
    """True if the last message may be the model's."""


def _thinking(message: AIMessage) -> Content:
    """Without the thinking at its end, unless calls follow: the API refuses a message that ends
    so, as one does that was stopped between a thought and the next word."""
    blocks = [block for block in _blocks(message) if _is_signed(block) or _is_text(block)]
    while blocks and not message.tool_calls and not _is_text(blocks[-1]):
        blocks.pop()
    return [*blocks]


def _signed_parts(message: AIMessage) -> Content:
    return [
        block
        for block in _blocks(message)
        if _is_signed(block) or _is_text(block) or block.get("extras", {}).get("signature")
    ]


def _encrypted(message: AIMessage) -> Content:
    return [
        {key: block.get(key) for key in ("type", "id", "summary", "encrypted_content")}
        if block.get("encrypted_content")
        else {"type": "text", "text": block["text"]}
        for block in _blocks(message)
        if block.get("encrypted_content") or _is_text(block)
    ]


def _blocks(message: AIMessage) -> Iterator[dict[str, Any]]:
    """A bare string among blocks is text."""
    content = [message.content] if isinstance(message.content, str) else message.content
    for block in content:
        if isinstance(block, dict):
            yield {key: value for key, value in block.items() if key != "index"}
        elif block:
            yield {"type": "text", "text": block}


def _is_signed(block: Mapping[str, Any]) -> bool:
    """Thinking that was cut off has no signature, and is refused."""
    kind = block.get("type")
    return kind == "redacted_thinking" or (kind == "thinking" and bool(block.get("signature")))


def _is_text(block: Mapping[str, Any]) -> bool:
    return block.get("type") == "text" and bool(str(block.get("text") or "").strip())


def _signatures(message: AIMessage, ids: Ids) -> dict[str, Any]:
    signed = message.additional_kwargs.get(SIGNATURES) or {}
    return {SIGNATURES: {ids.get(id, id): signed[id] for id in signed}} if signed else {}


def _server_keys(message: AIMessage, ids: Ids) -> dict[str, Any]:
    keys = {key: for_ids(text, ids) for key, text in sent_keys(message.additional_kwargs).items()}
    return {key: text for key, text in keys.items() if text}


def _reasoning(message: AIMessage, _ids: Ids) -> dict[str, Any]:
    thoughts = [str(block.get("reasoning") or "") for block in _blocks(message)]
    return {"reasoning_content": "".join(thoughts)} if any(thoughts) else {}


REPLAYS: Mapping[str, Replay] = {
    "anthropic": Replay("anthropic", _thinking, continues=False),
    "google_genai": Replay(
        "google_genai",
        _signed_parts,
        _signatures,
        begins_names="_",
        opens_urls=False,
        continues=False,
    ),
    "ollama": Replay("ollama", extras=_reasoning, opens_urls=False),
    "openai": Replay("openai", extras=_server_keys),
    "openai_responses": Replay("openai", _encrypted),
}
PLAIN = Replay("")


def replay_for(provider: str | None) -> Replay:
    return REPLAYS.get(provider or "", PLAIN)


def replayed(
    message: AIMessage, calls: Sequence[ToolCall], ids: Ids, provider: str | None
) -> AIMessage:
    """A stored message as `provider` takes it, with these calls in the place of its own."""
    is_plain = message.content == _text(message) and not message.additional_kwargs
    if is_plain and calls == message.tool_calls and not message.invalid_tool_calls:
        return message
    replay = replay_for(provider)
    if replay.of != stored.provider(message):
        replay = PLAIN
    return AIMessage(
        content=replay.content(message),
        tool_calls=list(calls),
        id=message.id,
        additional_kwargs=replay.extras(message, ids),
        response_metadata={PROVIDER: replay.of} if replay is not PLAIN else {},
    )


def kept_extras(provider: str | None, extras: Mapping[str, Any], ids: Ids) -> dict[str, Any]:
    """Return the fields beside a model's content that are stored: those that its replay needs, and
    what is shown."""
    message = AIMessage("", additional_kwargs=dict(extras))
    if provider == "openai":
        return {**_server_keys(message, ids), **kept_beside(extras)}
    return _signatures(message, ids) if provider == "google_genai" else {}


def acceptable_name(name: str, provider: str | None) -> str:
    """A name that every provider takes, as this one does."""
    begins = replay_for(provider).begins_names
    if begins and not (name[0].isalpha() or name[0] in begins):
        return f"{begins[0]}{name}"[:64]
    return name


def from_others(message: HumanMessage, provider: str | None) -> HumanMessage:
    """The user's message, with a word in the place of an image that the provider cannot open, and
    what the user says of the others."""
    if provider is not None:
        message = with_names(message)
    if isinstance(message.content, str) or replay_for(provider).opens_urls:
        return message
    content = [_opened(block) for block in message.content]
    return message.model_copy(update={"content": content})


def _opened(block: str | dict[str, Any]) -> str | dict[str, Any]:
    match block:
        case {"type": "image_url", "image_url": {"url": str(url)}} if not url.startswith("data:"):
            return {"type": "text", "text": f"[an image at {url}, which cannot be opened here]"}
    return block


def with_last_word(messages: list[AnyMessage], provider: str | None) -> list[AnyMessage]:
    """The messages, ended as the provider wants them ended."""
    if messages and isinstance(messages[-1], AIMessage) and not replay_for(provider).continues:
        return [*messages, HumanMessage(_MORE)]
    return messages

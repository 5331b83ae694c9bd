"""The parts of a model's message as they stream: text, reasoning and tool calls, in order.

Text goes on in the part that was opened last, if it is of the same kind; anything else opens a
part. The node that calls the model and the stream that shows it share this rule, so a thread that
is loaded has the very parts that were streamed.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypedDict, cast

from langchain_core.messages import AIMessage, ToolCall

from turnstream.graphs import stored
from turnstream.graphs.calls import CallAssembler, StreamedCall
from turnstream.graphs.stored import PROVIDER, Layout
from turnstream.tools.strict_json import clean_text, text_of

Kind = Literal["text", "reasoning"]


@dataclass(slots=True)
class StreamedText:
    kind: Kind
    position: int
    fragments: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.fragments)

    def add(self, text: str) -> None:
        self.fragments.append(text)


StreamedPart = StreamedText | StreamedCall


class PartDelta(NamedTuple):
    part: StreamedPart
    opened: bool
    text: str


class PartAssembler:
    """Puts the parts of one model message together; `taken` are the thread's call ids so far."""

    def __init__(self, message_id: str, taken: Container[str]) -> None:
        self.parts: list[StreamedPart] = []
        self._assembler = CallAssembler(message_id, taken)

    @property
    def calls(self) -> list[StreamedCall]:
        return self._assembler.calls

    def given_id(self, position: int) -> str | None:
        """The id that the model gave its call at this position among the calls."""
        return self._assembler.given_id(position)

    @property
    def given_ids(self) -> Mapping[str, str]:
        """The ids that the model gave its calls, to those that they have."""
        return self._assembler.given_ids

    def feed(self, message: AIMessage) -> list[PartDelta]:
        """Take a chunk, or a whole message; say what it adds."""
        added = [self._add_text(kind, text) for kind, text in _said(message) if text]
        added += [self._add_call(call, text) for call, text in self._assembler.feed(message)]
        return added

    def go_on(self, parts: Sequence["StoredPart"]) -> list[PartDelta]:
        """Take all parts of the message as it is stored, which begins with those that are here; say
        what they add."""
        added = []
        for place, part in enumerate(parts):
            opened = place == len(self.parts)
            there = self._open(part) if opened else self.parts[place]
            text = part.text.removeprefix(there.text)
            there.add(text)
            if opened or text:
                added.append(PartDelta(there, opened, text))
        return added

    def _open(self, part: "StoredPart") -> StreamedPart:
        position = len(self.parts)
        if part.call is None:
            self.parts.append(StreamedText(cast(Kind, part.kind), position))
        else:
            id, name = part.call["id"] or "", part.call["name"]
            self.calls.append(StreamedCall(id, name, name, position))
            self.parts.append(self.calls[-1])
        return self.parts[-1]

    def _add_text(self, kind: Kind, text: str) -> PartDelta:
        text = clean_text(text)
        last = self.parts[-1] if self.parts else None
        opened = not isinstance(last, StreamedText) or last.kind != kind
        if opened:
            last = StreamedText(kind, len(self.parts))
            self.parts.append(last)
        assert isinstance(last, StreamedText)
        last.add(text)
        return PartDelta(last, opened, text)

    def _add_call(self, call: StreamedCall, text: str) -> PartDelta:
        opened = call.position < 0
        if opened:
            call.position = len(self.parts)
            self.parts.append(call)
        return PartDelta(call, opened, text)


def _said(message: AIMessage) -> Iterator[tuple[Kind, str]]:
    if isinstance(message.content, str):
        if message.additional_kwargs:
            yield "reasoning", str(message.additional_kwargs.get("reasoning_content") or "")
        yield "text", message.content
        return
    if not message.content:
        return
    for block in content_blocks(message):
        kind = block.get("type")
        if kind == "text" or kind == "reasoning":
            yield kind, str(block.get(kind) or "")


def content_blocks(message: AIMessage) -> Iterable[Mapping[str, Any]]:
    """The blocks of a message's content as LangChain's standard has them.

    Some translations of LangChain's raise an error for a block that a node wrote incomplete.
    """
    try:
        return cast(Iterable[Mapping[str, Any]], message.content_blocks)
    except Exception:  # noqa: BLE001  whatever a translation does with other keys
        return [block for block in message.content if isinstance(block, dict)]


def stored_call(call: StreamedCall) -> ToolCall:
    """A call as the thread keeps it; arguments that are no JSON object are kept as none."""
    return ToolCall(type="tool_call", id=call.id, name=call.name, args=call.args or {})


class PartsMetadata(TypedDict):
    """The metadata of a message's parts, which the message itself does not tell."""

    layout: Layout | None
    args_text: Mapping[str, str]


def parts_metadata(parts: Sequence[StreamedPart]) -> PartsMetadata:
    calls = [part for part in parts if isinstance(part, StreamedCall)]
    written = {
        call.id: call.args_text
        for call in calls
        if call.args_text and call.args_text != text_of(stored_call(call)["args"])
    }
    layout = [
        ("call", 0) if isinstance(part, StreamedCall) else (str(part.kind), len(part.text))
        for part in parts
    ]
    kinds = [kind for kind, _ in layout]
    plain = kinds in (["call"] * len(calls), ["text"] + ["call"] * len(calls))
    return PartsMetadata(layout=None if plain else layout, args_text=written)


def said_content(parts: Sequence[StreamedPart]) -> str | list[str | dict[str, Any]]:
    """The text and reasoning of a message, as its `content`: blocks only if there is reasoning."""
    texts = [part for part in parts if isinstance(part, StreamedText)]
    if any(part.kind == "reasoning" for part in texts):
        return [{"type": part.kind, part.kind: part.text} for part in texts]
    return "".join(part.text for part in texts)


def kept_content(
    given: str | list[str | dict[str, Any]], parts: Sequence[StreamedPart], provider: str | None
) -> str | list[str | dict[str, Any]]:
    """The `content` to store: a provider's own blocks, which it may want back as they were, as
    long as they give back the parts that streamed."""
    if isinstance(given, str):
        return said_content(parts)
    own = [_clean(block) for block in given]
    message = AIMessage(own, response_metadata={PROVIDER: provider} if provider else {})
    streamed = [(part.kind, part.text) for part in parts if isinstance(part, StreamedText)]
    return own if _by_kind(_said(message)) == _by_kind(streamed) else said_content(parts)


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {key: _clean(item) for key, item in value.items()}
    return [_clean(item) for item in value] if isinstance(value, list) else value


def _by_kind(said: Iterable[tuple[Kind, str]]) -> dict[Kind, str]:
    texts: dict[Kind, list[str]] = {"text": [], "reasoning": []}
    for kind, text in said:
        texts[kind].append(text)
    return {kind: "".join(pieces) for kind, pieces in texts.items()}


def partial_message(
    run_id: str,
    message_id: str,
    parts: Sequence[StreamedPart],
    server_keys: Mapping[str, str] | None = None,
) -> AIMessage:
    """The message of a model that was cut off, as far as it streamed. Its calls never became whole,
    so nobody is to end them. `server_keys`: see `turnstream.graphs.server_keys`."""
    calls = [stored_call(part) for part in parts if isinstance(part, StreamedCall)]
    return AIMessage(
        content=said_content(parts),
        id=message_id,
        tool_calls=calls,
        additional_kwargs=dict(server_keys or {}),
        response_metadata=stored.ai_metadata(
            run_id=run_id,
            dispositions=["invalid"] * len(calls),
            provider="openai" if server_keys else None,
            **parts_metadata(parts),
        ),
    )


@dataclass(frozen=True, slots=True)
class StoredPart:
    """A part of a message in the thread: text of a kind, or a call with its argument text."""

    kind: Kind | Literal["call"]
    text: str
    call: ToolCall | None = None


def stored_parts(message: AIMessage) -> list[StoredPart]:
    """The parts of a stored message, as they streamed."""
    said = _by_kind(_said(message))
    written = stored.args_text(message)
    calls = [
        StoredPart("call", written.get(call["id"] or "") or text_of(call["args"]), call)
        for call in message.tool_calls
    ]
    layout = stored.layout(message) or [
        *((kind, len(text)) for kind, text in reversed(said.items()) if text),
        *(("call", 0) for _ in calls),
    ]
    parts: list[StoredPart] = []
    waiting = iter(calls)
    read = dict.fromkeys(said, 0)
    for kind, length in layout:
        if kind == "call":
            parts.append(next(waiting))
        else:
            spoken, start = cast(Kind, kind), read[cast(Kind, kind)]
            parts.append(StoredPart(spoken, said[spoken][start : start + length]))
            read[spoken] = start + length
    return parts

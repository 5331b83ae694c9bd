"""ChatOpenAI for a server that is not trusted: what it sends costs no more than its size.

LangChain parses the argument text of every chunk that is made with tool calls, and of every sum of
chunks, as JSON that may be cut off anywhere: that takes the square of its length. Here a chunk gets
its calls when it is made, and a sum is made once, by the rule of `graphs.calls`. Read in
langchain-openai 1.7.3 (`_astream`, `_convert_chunk_to_generation_chunk`) and langchain-core 1.7.2
(`AIMessageChunk.init_tool_calls`, `merge_chat_generation_chunks`).
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from itertools import chain
from typing import Any

from langchain_core.messages import AIMessageChunk, InvalidToolCall, ToolCall, ToolCallChunk
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk
from langchain_openai import ChatOpenAI

from graphs.calls import CallAssembler, parse_args
from graphs.limits import MAX_MESSAGE_BYTES, byte_size
from graphs.sums import content_of, metadata_of, usage_of

CUT_AT = "max_message_bytes"
"""In the metadata of a message that was cut off at this limit."""


class StreamedGeneration(ChatGenerationChunk):
    """A chunk whose sum with others is made in one go."""

    def __add__(
        self, other: ChatGenerationChunk | list[ChatGenerationChunk]
    ) -> "StreamedGeneration":
        generations = [self, *(other if isinstance(other, list) else [other])]
        messages = [g.message for g in generations if isinstance(g.message, AIMessageChunk)]
        infos = [g.generation_info for g in generations if g.generation_info]
        return StreamedGeneration(
            message=_sum(messages), generation_info=dict(chain(*(i.items() for i in infos)))
        )


class BoundedChatOpenAI(ChatOpenAI):
    """ChatOpenAI whose messages end at `max_message_bytes`, as at any other limit of length."""

    max_message_bytes: int = MAX_MESSAGE_BYTES

    def _convert_chunk_to_generation_chunk(
        self,
        chunk: dict[str, Any],
        default_chunk_class: type,  # noqa: ARG002  what a server calls itself changes nothing
        base_generation_info: dict[str, Any] | None,
    ) -> ChatGenerationChunk | None:
        """`chunk` has the shape that `graphs.chunk_shape` checked."""
        bare, calls = _without_calls(chunk)
        made = super()._convert_chunk_to_generation_chunk(
            bare, AIMessageChunk, base_generation_info
        )
        if made is None:
            return None
        message = made.message
        if calls and isinstance(message, AIMessageChunk):
            # Not when it is made: that would parse them.
            message.tool_call_chunks = calls
            _set_calls(message)
        return StreamedGeneration(message=message, generation_info=made.generation_info)

    async def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        room = Room(self.max_message_bytes)
        begun = False
        # Not ChatOpenAI's, which hides the generator that holds the connection.
        stream: Any = super(ChatOpenAI, self)._astream(*args, **kwargs)
        async with aclosing(stream) as chunks:
            async for chunk in chunks:
                if begun and _says_nothing(chunk):
                    continue
                begun = True
                room.fill(chunk.message)
                yield chunk
                if room.is_over:
                    break
        if room.is_over:
            yield _cut(self.max_message_bytes)


class Room:
    """How much a message may still say; a chunk that says more loses the rest."""

    def __init__(self, max_bytes: int) -> None:
        self._left = max_bytes
        self.is_over = False

    def fill(self, message: AIMessageChunk) -> None:
        message.content = self._fitting(str(message.content))
        for call in message.tool_call_chunks:
            call["args"] = self._fitting(call["args"] or "")
        if self.is_over and message.tool_call_chunks:
            _set_calls(message)

    def _fitting(self, text: str) -> str:
        size = byte_size(text)
        if size > self._left:
            self.is_over = True
            text = text.encode(errors="replace")[: self._left].decode(errors="ignore")
            size = self._left
        self._left -= size
        return text


def _without_calls(chunk: dict[str, Any]) -> tuple[dict[str, Any], list[ToolCallChunk]]:
    """The chunk with nothing in its delta but text, and its calls.

    A delta's role and id are left out: they would make another kind of message of it, or one that
    replaces another of the thread.
    """
    choices: Sequence[Mapping[str, Any]] = (chunk.get("choices") or [])[:1]
    deltas: list[Mapping[str, Any] | None] = [choice.get("delta") for choice in choices]
    bare = [
        {
            "delta": None if delta is None else {"content": _text(delta.get("content"))},
            "finish_reason": choice.get("finish_reason"),
        }
        for choice, delta in zip(choices, deltas, strict=True)
    ]
    calls = [_call(call) for delta in deltas for call in ((delta or {}).get("tool_calls") or ())]
    return {**chunk, "choices": bare}, calls


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(str(block.get("text") or "") for block in content)
    return content or ""


def _call(call: Mapping[str, Any]) -> ToolCallChunk:
    function = call.get("function") or {}
    return tool_call_chunk(
        name=function.get("name"),
        args=function.get("arguments"),
        id=call.get("id"),
        index=call.get("index"),
    )


def _says_nothing(chunk: ChatGenerationChunk) -> bool:
    message = chunk.message
    assert isinstance(message, AIMessageChunk)
    return not (
        message.content
        or message.tool_call_chunks
        or message.usage_metadata
        or (chunk.generation_info or {}).get("finish_reason")
    )


def _cut(max_bytes: int) -> ChatGenerationChunk:
    return StreamedGeneration(
        message=AIMessageChunk(content="", response_metadata={"model_provider": "openai"}),
        generation_info={"finish_reason": "length", CUT_AT: max_bytes},
    )


def _sum(messages: Sequence[AIMessageChunk]) -> AIMessageChunk:
    whole = AIMessageChunk(
        content=content_of(messages),
        id=messages[0].id,
        usage_metadata=usage_of(messages),
        response_metadata=metadata_of(messages),
        chunk_position="last" if any(m.chunk_position for m in messages) else None,
    )
    assembler = CallAssembler(whole.id or "", ())
    for message in messages:
        assembler.feed(message)
    whole.tool_call_chunks = [
        tool_call_chunk(name=call.given_name, args=call.args_text, id=call.id, index=number)
        for number, call in enumerate(assembler.calls)
    ]
    _set_calls(whole)
    return whole


def _set_calls(message: AIMessageChunk) -> None:
    """Its calls, as far as they are whole."""
    message.tool_calls, message.invalid_tool_calls = [], []
    for chunk in message.tool_call_chunks:
        args = parse_args(chunk["args"] or "")
        name, id = chunk["name"] or "", chunk["id"]
        if args is None:
            message.invalid_tool_calls.append(
                InvalidToolCall(
                    type="invalid_tool_call", name=name, args=chunk["args"], id=id, error=None
                )
            )
        else:
            message.tool_calls.append(ToolCall(type="tool_call", name=name, args=args, id=id))

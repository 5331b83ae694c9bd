"""ChatOpenAI for a server that is not trusted: what it sends costs no more than its size.

LangChain parses the argument text of every chunk that is made with tool calls, and of every sum of
chunks, as JSON that may be cut off anywhere: that takes the square of its length. Here a chunk gets
its calls when it is made, and a sum is made once, by the rule of `graphs.calls`. Read in
langchain-openai 1.7.3 (`_astream`, `_convert_chunk_to_generation_chunk`) and langchain-core 1.7.2
(`AIMessageChunk.init_tool_calls`, `merge_chat_generation_chunks`).
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

from langchain_core.messages import AIMessageChunk, ToolCallChunk
from langchain_core.messages.ai import UsageMetadata, add_usage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk
from langchain_openai import ChatOpenAI
from pydantic import PrivateAttr, SecretStr

from graphs.calls import CallAssembler, set_calls
from graphs.chunk_stream import ChunkCompletions
from graphs.limits import CUT_AT, MAX_MESSAGE_BYTES, byte_size
from graphs.model_wire import ModelClients, model_clients
from graphs.sums import Content, add_metadata, joined


class Whole:
    """What the chunks of one message add up to, kept while they stream."""

    def __init__(self) -> None:
        self.count = 0
        self._contents: list[Content] = []
        self._usage: UsageMetadata | None = None
        self._metadata: dict[str, Any] = {}
        self._info: dict[str, Any] = {}
        self._calls = CallAssembler("", ())

    def add(self, generation: ChatGenerationChunk) -> None:
        message = generation.message
        assert isinstance(message, AIMessageChunk)
        self.count += 1
        if message.content:
            self._contents.append(message.content)
        if message.usage_metadata:
            self._usage = add_usage(self._usage, message.usage_metadata)
        add_metadata(self._metadata, message)
        self._info |= generation.generation_info or {}
        self._calls.feed(message)

    def message(self, id: str | None) -> AIMessageChunk:
        message = AIMessageChunk(
            content=joined(self._contents),
            id=id,
            usage_metadata=self._usage,
            response_metadata=self._metadata | self._info,
            chunk_position="last",
        )
        message.tool_call_chunks = [
            tool_call_chunk(name=call.given_name, args=call.args_text, id=call.id, index=number)
            for number, call in enumerate(self._calls.calls)
        ]
        set_calls(message)
        return message

    def generation(self, id: str | None) -> "StreamedGeneration":
        return StreamedGeneration(message=self.message(id), generation_info=dict(self._info))


class StreamedGeneration(ChatGenerationChunk):
    """A chunk whose sum with all the others of its message is there when it is asked for."""

    _whole: Whole | None = PrivateAttr(default=None)

    def part_of(self, whole: Whole) -> "StreamedGeneration":
        whole.add(self)
        self._whole = whole
        return self

    def __add__(
        self, other: ChatGenerationChunk | list[ChatGenerationChunk]
    ) -> "StreamedGeneration":
        others = other if isinstance(other, list) else [other]
        whole = self._whole
        if whole is None or whole.count != 1 + len(others):
            whole = Whole()
            for generation in (self, *others):
                whole.add(generation)
        return whole.generation(self.message.id)


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
            if (made.generation_info or {}).get("finish_reason"):
                set_calls(message)  # It may be all that comes.
        return StreamedGeneration(message=message, generation_info=made.generation_info)

    async def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        room, whole = Room(self.max_message_bytes), Whole()
        # Not ChatOpenAI's, which hides the generator that holds the connection.
        stream: Any = super(ChatOpenAI, self)._astream(*args, **kwargs)
        async with aclosing(stream) as chunks:
            async for chunk in chunks:
                if whole.count and _says_nothing(chunk):
                    continue
                room.fill(chunk.message)
                yield chunk.part_of(whole)
                if room.is_over:
                    break
        if room.is_over:
            yield _cut(self.max_message_bytes).part_of(whole)


@asynccontextmanager
async def open_openai_model(
    name: str, api_key: str | None, base_url: str | None, max_message_bytes: int
) -> AsyncIterator[BoundedChatOpenAI]:
    """A model with connections of its own, which are closed at the end."""
    clients = model_clients(max_message_bytes)
    with clients.sync:
        async with clients.asynchronous:
            yield openai_model(name, api_key, base_url, max_message_bytes, clients)


def openai_model(
    name: str,
    api_key: str | None,
    base_url: str | None,
    max_message_bytes: int = MAX_MESSAGE_BYTES,
    clients: ModelClients | None = None,
) -> BoundedChatOpenAI:
    """`clients` are the caller's to close; without them the model has its own as long as it
    lives."""
    clients = clients or model_clients(max_message_bytes)
    model = BoundedChatOpenAI(
        model=name,
        max_message_bytes=max_message_bytes,
        http_client=clients.sync,
        http_async_client=clients.asynchronous,
        # A server of one's own wants no key; the client wants a string.
        api_key=SecretStr(api_key or "none"),
        base_url=base_url,
        stream_usage=True,
        # Its watchdog uses asyncio.wait_for, which on Python 3.11 can swallow a cancel.
        stream_chunk_timeout=0,
        use_responses_api=False,
    )
    model.async_client = ChunkCompletions(model.root_async_client)
    return model


class Room:
    """How much a message may still say; a chunk that says more loses the rest."""

    def __init__(self, max_bytes: int) -> None:
        self._left = max_bytes
        self.is_over = False

    def fill(self, message: AIMessageChunk) -> None:
        message.content = self._fitting(str(message.content))
        for call in message.tool_call_chunks:
            call["args"] = self._fitting(call["args"] or "")

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


def _cut(max_bytes: int) -> StreamedGeneration:
    return StreamedGeneration(
        message=AIMessageChunk(content="", response_metadata={"model_provider": "openai"}),
        generation_info={"finish_reason": "length", CUT_AT: max_bytes},
    )

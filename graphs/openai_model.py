"""ChatOpenAI for a server that is not trusted: what it sends costs no more than its size.

LangChain parses the argument text of every chunk that is made with tool calls as JSON that may be
cut off anywhere: that takes the square of its length. Here a chunk gets its calls when it is made.
Read in langchain-openai 1.7.3 (`_astream`, `_convert_chunk_to_generation_chunk`).
"""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any

from langchain_core.messages import AIMessageChunk, ToolCallChunk
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from turnstream.graphs.calls import set_calls
from turnstream.graphs.chunk_stream import DONE, ChunkCompletions
from turnstream.graphs.limits import MAX_MESSAGE_BYTES
from turnstream.graphs.made_parts import SentParts, sent_parts
from turnstream.graphs.model_options import ModelOptions, possible_reasoning
from turnstream.graphs.model_wire import ModelClients, model_clients
from turnstream.graphs.server_keys import ServerKeys, has_keys, key_of, with_keys
from turnstream.graphs.stored import PROVIDER
from turnstream.graphs.streamed_generation import (
    Room,
    StreamedGeneration,
    Whole,
    cut_chunk,
    empty_chunk,
)
from turnstream.graphs.strict_order import is_strict
from turnstream.graphs.think_tags import ThinkTags, take_thoughts

_NAMES = frozenset(("id", "object", "created", "model", "choices", "usage", "obfuscation")) | {
    "service_tier",
    "system_fingerprint",
}
"""Keys of a chunk that bring nothing to a message that goes on."""
_OF_TEXT = frozenset(("content", "role"))


class BoundedChatOpenAI(ChatOpenAI):
    """ChatOpenAI whose messages end at `max_message_bytes`, as at any other limit of length."""

    max_message_bytes: int = MAX_MESSAGE_BYTES
    shows_reasoning: bool = False
    """Whether to pass on what compatible servers send as `reasoning_content` or `reasoning`."""
    reads_think_tags: bool = True

    def _convert_chunk_to_generation_chunk(
        self,
        chunk: dict[str, Any],
        default_chunk_class: type,  # noqa: ARG002  what a server calls itself changes nothing
        base_generation_info: dict[str, Any] | None,
    ) -> ChatGenerationChunk | None:
        """`chunk` is as `turnstream.graphs.chunk_shape` has read it."""
        if DONE in chunk:
            return StreamedGeneration(
                message=AIMessageChunk(content=""), generation_info={DONE: True}
            )
        if (text := _lone_text(chunk)) is not None and self.output_version != "v1":
            alone = AIMessageChunk(content=text, response_metadata={PROVIDER: "openai"})
            return StreamedGeneration(message=alone, generation_info=base_generation_info or None)
        keys = [choice["delta"] for choice in chunk.get("choices", ()) if has_keys(choice["delta"])]
        bare, calls = _without_calls(chunk)
        made = super()._convert_chunk_to_generation_chunk(
            bare, AIMessageChunk, base_generation_info
        )
        if made is None:
            return None
        message = made.message
        if self.shows_reasoning and (thought := _thought(chunk)):
            message.additional_kwargs["reasoning_content"] = thought
        if calls and isinstance(message, AIMessageChunk):
            # Not when it is made: that would parse them.
            message.tool_call_chunks = calls
            if (made.generation_info or {}).get("finish_reason"):
                set_calls(message)  # It may be all that comes.
        made = StreamedGeneration(message=message, generation_info=made.generation_info)
        # Most chunks have neither, and to set a field of a model costs more than to look.
        if keys:
            made.deltas = keys
        if sent := sent_parts(chunk):
            made.sent = sent
        return made

    async def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        room, whole = Room(self.max_message_bytes), Whole()
        keys, sent = ServerKeys(), SentParts()
        tags = ThinkTags(is_done=not self.reads_think_tags)
        # Not ChatOpenAI's, which hides the generator that holds the connection.
        stream: Any = super(ChatOpenAI, self)._astream(*args, **kwargs)
        async with aclosing(stream) as chunks:
            async for chunk in chunks:
                if DONE in (chunk.generation_info or {}):
                    if reason := whole.reason_at_done:
                        yield _end(reason).part_of(whole)
                    break
                keys.add(chunk.deltas)
                sent.add(chunk.sent)
                if whole.count and _says_nothing(chunk):
                    continue
                room.fill(chunk.message)
                ends = (chunk.generation_info or {}).get("finish_reason") is not None
                take_thoughts(tags, chunk.message, ends=ends, shows=self.shows_reasoning)
                if _has_words(chunk) and (kept := keys.begin()):
                    yield self._kept(kept).part_of(whole)
                yield chunk.part_of(whole)
                if room.is_over:
                    break
        for rest in self._rest(room, tags, keys, sent):
            yield rest.part_of(whole)
        if not whole.count:
            yield empty_chunk("openai").part_of(whole)

    def _rest(
        self, room: Room, tags: ThinkTags, keys: ServerKeys, sent: SentParts
    ) -> Iterator[StreamedGeneration]:
        """Return the last chunks of a message whose stream has ended."""
        if not tags.is_done:
            rest = AIMessageChunk(content="")
            take_thoughts(tags, rest, ends=True, shows=self.shows_reasoning)
            if rest.content or rest.additional_kwargs:
                yield StreamedGeneration(message=rest)
        if extras := sent.extras:
            message = AIMessageChunk(content="", additional_kwargs=extras)
            yield StreamedGeneration(message=message)
        if room.is_over:
            yield cut_chunk(self.max_message_bytes, "openai")
        elif kept := keys.rest():
            yield self._kept(kept)

    def _kept(self, keys: str) -> StreamedGeneration:
        message = AIMessageChunk(content="", additional_kwargs={self._server_key: keys})
        return StreamedGeneration(message=message)

    def _get_request_payload(self, input_: Any, **options: Any) -> dict[str, Any]:
        payload = super()._get_request_payload(input_, **options)
        messages = self._convert_input(input_).to_messages()
        if any(message.additional_kwargs for message in messages):
            payload["messages"] = with_keys(payload["messages"], messages, self._server_key)
        return payload

    @property
    def _server_key(self) -> str:
        return key_of(self.openai_api_base or "", self.model_name)


@asynccontextmanager
async def open_model(name: str, options: ModelOptions) -> AsyncIterator[ChatOpenAI]:
    """A model with connections of its own, which are closed at the end."""
    if options.reasoning != "off" and _reasons_at_openai(name, options):
        from turnstream.graphs.providers import openai_responses

        async with openai_responses.open_model(name, options) as reasoning:
            yield reasoning
        return
    clients = model_clients(options.max_message_bytes)
    with clients.sync:
        async with clients.asynchronous:
            yield openai_model(name, options, clients)


def _reasons_at_openai(name: str, options: ModelOptions) -> bool:
    """Compatible servers have chat completions, and send reasoning there."""
    profile = ChatOpenAI(model=name, api_key=SecretStr("none")).profile or {}
    return options.openai_base_url is None and bool(profile.get("reasoning_output"))


def openai_model(
    name: str, options: ModelOptions, clients: ModelClients | None = None
) -> BoundedChatOpenAI:
    """`clients` are the caller's to close; without them the model has its own as long as it
    lives."""
    clients = clients or model_clients(options.max_message_bytes)
    model = BoundedChatOpenAI(
        model=name,
        max_message_bytes=options.max_message_bytes,
        http_client=clients.sync,
        http_async_client=clients.asynchronous,
        # A server of one's own wants no key; the client wants a string.
        api_key=SecretStr(options.openai_api_key or "none"),
        base_url=options.openai_base_url,
        stream_usage=True,
        # Its watchdog uses asyncio.wait_for, which on Python 3.11 can swallow a cancel.
        stream_chunk_timeout=0,
        use_responses_api=False,
    )
    wanted = possible_reasoning(model, name, options.reasoning)
    model.shows_reasoning = wanted != "off"
    model.reads_think_tags = options.think_tags == "reasoning"
    if wanted not in ("off", "on"):
        model.reasoning_effort = wanted
    model.async_client = ChunkCompletions(
        model.root_async_client, name, options.omitted, is_strict=is_strict(name)
    )
    return model


def _lone_text(chunk: dict[str, Any]) -> str | None:
    """Return the text of a chunk that has nothing else. Most chunks have not: they need no look at
    all that a chunk can have."""
    choices = chunk.get("choices")
    if not choices or chunk.get("usage") or not chunk.keys() <= _NAMES:
        return None
    choice = choices[0]
    delta = choice["delta"]
    if choice.get("finish_reason") or choice.get("logprobs") or not delta.keys() <= _OF_TEXT:
        return None
    text: str | None = delta.get("content")
    return text


def _without_calls(chunk: dict[str, Any]) -> tuple[dict[str, Any], list[ToolCallChunk]]:
    """The chunk with nothing in its delta but text, and its calls.

    A delta's role and id are left out: they would make another kind of message of it, or one that
    replaces another of the thread.
    """
    choices = chunk.get("choices", ())
    bare = [
        {
            "delta": {"content": choice["delta"].get("content") or ""},
            "finish_reason": choice.get("finish_reason"),
        }
        for choice in choices
    ]
    calls = [_call(call) for choice in choices for call in choice["delta"].get("tool_calls") or ()]
    return {**chunk, "choices": bare}, calls


def _thought(chunk: Mapping[str, Any]) -> str:
    """Keys of DeepSeek, vLLM and others, and of OpenRouter; OpenAI itself sends none."""
    for choice in chunk.get("choices", ()):
        delta = choice["delta"]
        thought = delta.get("reasoning_content") or delta.get("reasoning")
        return thought if isinstance(thought, str) else ""
    return ""


def _call(call: Mapping[str, Any]) -> ToolCallChunk:
    function = call.get("function") or {}
    return tool_call_chunk(
        name=function.get("name"),
        args=function.get("arguments"),
        id=call.get("id"),
        index=call.get("index"),
    )


def _end(reason: str) -> StreamedGeneration:
    message = AIMessageChunk(content="", response_metadata={PROVIDER: "openai"})
    return StreamedGeneration(message=message, generation_info={"finish_reason": reason})


def _has_words(chunk: ChatGenerationChunk) -> bool:
    message = chunk.message
    assert isinstance(message, AIMessageChunk)
    return bool(message.content or message.tool_call_chunks)


def _says_nothing(chunk: ChatGenerationChunk) -> bool:
    message = chunk.message
    assert isinstance(message, AIMessageChunk)
    return not (
        message.content
        or message.additional_kwargs
        or message.tool_call_chunks
        or message.usage_metadata
        or (chunk.generation_info or {}).get("finish_reason")
    )

"""A model's chunks as LangChain takes them, bounded and summed at the cost of their size.

LangChain parses the argument text of every sum of chunks as JSON that may be cut off anywhere: that
takes the square of its length. Here a sum is made once, by the rule of `turnstream.graphs.calls`.
Read in langchain-core 1.7.2 (`AIMessageChunk.init_tool_calls`, `merge_chat_generation_chunks`).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessageChunk
from langchain_core.messages.ai import UsageMetadata, add_usage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk
from pydantic import Field, PrivateAttr, SkipValidation

from turnstream.graphs.calls import CallAssembler, set_calls
from turnstream.graphs.limits import CUT_AT, byte_size
from turnstream.graphs.made_parts import MadeFile, MadeSource
from turnstream.graphs.stored import PROVIDER
from turnstream.graphs.sums import Content, Extras, add_metadata, joined

_TEXTS = ("text", "thinking", "reasoning")
"""Keys of a content block that hold what the model says."""


class Whole:
    """The sum of the chunks of one message, kept while they stream."""

    def __init__(self) -> None:
        self.count = 0
        self._contents: list[Content] = []
        self._usage: UsageMetadata | None = None
        self._metadata: dict[str, Any] = {}
        self._extras = Extras()
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
        self._extras.add(message)
        self._info |= generation.generation_info or {}
        self._calls.feed(message)

    @property
    def reason_at_done(self) -> str | None:
        """The finish reason of a message whose server sent its end mark without one. None: it has a
        reason, says nothing, or has a call whose arguments are not whole."""
        calls = self._calls.calls
        if self._info.get("finish_reason") or not all(call.is_whole() for call in calls):
            return None
        if calls:
            return "tool_calls"
        return "stop" if self._contents else None

    def message(self, id: str | None) -> AIMessageChunk:
        message = AIMessageChunk(
            content=joined(self._contents),
            id=id,
            usage_metadata=self._usage,
            additional_kwargs=self._extras.whole,
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

    # Not private attributes, which pydantic looks up in Python code at each access.
    deltas: SkipValidation[Sequence[Mapping[str, Any]]] = Field(default=(), exclude=True)
    """The deltas of its server that have keys of its own."""
    sent: SkipValidation[Sequence[MadeFile | MadeSource]] = Field(default=(), exclude=True)
    """The citations and images that the server sends, for the end of the message."""
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


class Room:
    """The room that a message has left; a chunk that says more loses the rest."""

    def __init__(self, max_bytes: int) -> None:
        self._left = max_bytes
        self.is_over = False

    def fill(self, message: AIMessageChunk) -> None:
        if isinstance(message.content, str):
            message.content = self._fitting(message.content)
        else:
            for block in message.content:
                self._fill_block(block)
        thought = message.additional_kwargs.get("reasoning_content")
        if isinstance(thought, str):
            message.additional_kwargs["reasoning_content"] = self._fitting(thought)
        for call in message.tool_call_chunks:
            call["args"] = self._fitting(call["args"] or "")

    def _fill_block(self, block: str | dict[str, Any]) -> None:
        if not isinstance(block, dict):
            return
        for key in _TEXTS:
            if isinstance(block.get(key), str):
                block[key] = self._fitting(block[key])
        for part in block.get("summary") or ():  # of OpenAI's reasoning
            self._fill_block(part)

    def _fitting(self, text: str) -> str:
        size = byte_size(text)
        if size > self._left:
            self.is_over = True
            text = text.encode(errors="replace")[: self._left].decode(errors="ignore")
            size = self._left
        self._left -= size
        return text


def cut_chunk(max_bytes: int, provider: str) -> StreamedGeneration:
    """The last chunk of a message that was ended for its length."""
    return StreamedGeneration(
        message=AIMessageChunk(content="", response_metadata={PROVIDER: provider}),
        generation_info={"finish_reason": "length", CUT_AT: max_bytes},
    )


def empty_chunk(provider: str) -> StreamedGeneration:
    """Return the one chunk of a stream that has said nothing. LangChain raises a ValueError for a
    stream without chunks, which is known by its sentence alone."""
    message = AIMessageChunk(content="", response_metadata={PROVIDER: provider})
    return StreamedGeneration(message=message)

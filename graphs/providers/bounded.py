"""A base of all models of providers: the bounds of a message, and sums that cost its size."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any, ClassVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk

from turnstream.graphs.answer_bounds import answers_closed
from turnstream.graphs.limits import MAX_MESSAGE_BYTES
from turnstream.graphs.replay import replay_for
from turnstream.graphs.stored import PROVIDER
from turnstream.graphs.streamed_generation import (
    Room,
    StreamedGeneration,
    Whole,
    cut_chunk,
    empty_chunk,
)
from turnstream.graphs.think_tags import ThinkTags, take_thoughts


class BoundedChat(BaseChatModel):
    """Beside a model's own class, and before it: its messages end at `max_message_bytes`, as at any
    other limit of length, and its request is closed with the stream."""

    max_message_bytes: int = MAX_MESSAGE_BYTES
    reads_think_tags: bool = False
    shows_reasoning: bool = False
    """True to pass on the reasoning between tags."""
    provider: ClassVar[str]

    async def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        room, whole = Room(self.max_message_bytes), Whole()
        tags = ThinkTags(is_done=not self.reads_think_tags)
        async with answers_closed():
            stream: Any = super()._astream(*args, **kwargs)
            async with aclosing(stream) as chunks:
                async for chunk in chunks:
                    made = self._bounded(chunk, room)
                    assert isinstance(made.message, AIMessageChunk)
                    ends = bool((made.generation_info or {}).get("done"))
                    take_thoughts(tags, made.message, ends=ends, shows=self.shows_reasoning)
                    yield made.part_of(whole)
                    if room.is_over:
                        break
        if room.is_over:
            yield cut_chunk(self.max_message_bytes, self.provider).part_of(whole)
        elif not whole.count:
            yield empty_chunk(replay_for(self.provider).of).part_of(whole)

    def _bounded(self, chunk: ChatGenerationChunk, room: Room) -> StreamedGeneration:
        message = chunk.message
        assert isinstance(message, AIMessageChunk), "a stream is made of chunks"
        room.fill(message)
        message.response_metadata.setdefault(PROVIDER, self.provider)
        return StreamedGeneration(message=message, generation_info=chunk.generation_info)

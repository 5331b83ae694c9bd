"""OpenAI's models that reason, by its Responses API: chat completions send nothing of it.

Nothing is stored at OpenAI: a thread keeps the reasoning of its messages, encrypted, and sends it
along. Read in langchain-openai 1.7.3.
"""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any, ClassVar

import httpx2
import openai
from langchain_core.outputs import ChatGenerationChunk
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from turnstream.graphs.answer_bounds import PLAIN, bounding_hook
from turnstream.graphs.model_options import ModelOptions
from turnstream.graphs.models import ModelUnavailable
from turnstream.graphs.providers.bounded import BoundedChat
from turnstream.graphs.streamed_generation import Room, StreamedGeneration


class ReasoningChatOpenAI(BoundedChat, ChatOpenAI):
    provider: ClassVar[str] = "openai_responses"

    async def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        """LangChain raises ValueError for an error in the place of an event."""
        try:
            async with aclosing(super()._astream(*args, **kwargs)) as chunks:  # type: ignore[type-var]
                async for chunk in chunks:
                    yield chunk
        except ValueError as error:
            raise ModelUnavailable("OpenAI broke off its answer") from error

    def _bounded(self, chunk: ChatGenerationChunk, room: Room) -> StreamedGeneration:
        made = super()._bounded(chunk, room)
        message = made.message
        # The first chunk has an id of its own, which would make a message of its own of it.
        message.id = None
        if isinstance(message.content, list):
            # Calls stand beside the content already.
            message.content = [b for b in message.content if not _is_call(b)]
        details = message.response_metadata.get("incomplete_details") or {}
        if details.get("reason") == "content_filter":
            made.generation_info = {"finish_reason": "content_filter"}
        return made


@asynccontextmanager
async def open_model(name: str, options: ModelOptions) -> AsyncIterator[ReasoningChatOpenAI]:
    """`options` ask for reasoning."""
    hook = bounding_hook(httpx2.AsyncByteStream, options.max_message_bytes)
    effort = {} if options.reasoning == "on" else {"effort": options.reasoning}
    http = openai.DefaultAsyncHttpxClient(
        follow_redirects=False, headers=PLAIN, event_hooks={"response": [hook]}
    )
    async with http:
        yield ReasoningChatOpenAI(
            model=name,
            max_message_bytes=options.max_message_bytes,
            http_async_client=http,
            api_key=SecretStr(options.openai_api_key or "none"),
            base_url=options.openai_base_url,
            stream_usage=True,
            stream_chunk_timeout=0,
            use_responses_api=True,
            store=False,
            include=["reasoning.encrypted_content"],
            reasoning={**effort, "summary": "auto"},
        )


def _is_call(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "function_call"

"""A completion's stream for ChatOpenAI: the chunks as they were checked, with no object made of
each, and a request that goes out as it is given.

The client library parses every event again and builds a model of it, which LangChain turns into the
dict that it was; and it walks the request's tools by their types, which takes as long as a short
answer. Both are left out by two public ways of openai 3.54: `AsyncOpenAI.post`, and a class of
one's own for the stream. LangChain takes dicts for chunks (`BaseChatOpenAI._astream`).
"""

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import openai
from openai.resources.chat.completions import AsyncCompletions

from graphs.chunk_folding import Chunk
from graphs.model_wire import AsyncBoundedStream

OPTIONS = {"extra_headers", "extra_query", "extra_body", "timeout"}
"""What the client takes for itself; requests that have it go its own way."""


class ChunkStream(openai.AsyncStream[Chunk]):
    """Raises openai.APIError for an error in a chunk's place, or of the connection."""

    async def __aiter__(self) -> AsyncIterator[Chunk]:
        request, stream = self.response.request, self.response.stream
        assert isinstance(stream, AsyncBoundedStream)
        try:
            async for chunk in stream.chunks():
                if error := chunk.get("error"):
                    raise openai.APIError(_message(error), request, body=error)
                yield chunk
        except httpx2.TimeoutException as error:
            raise openai.APITimeoutError(request=request) from error
        except httpx2.RequestError as error:
            raise openai.APIConnectionError(request=request) from error


def _message(error: Any) -> str:
    message = error.get("message") if isinstance(error, dict) else None
    return message if message and isinstance(message, str) else "An error occurred during streaming"


class ChunkCompletions(AsyncCompletions):
    """What ChatOpenAI asks, in place of the client's `chat.completions`."""

    async def create(self, *, stream: Any = None, **body: Any) -> Any:
        if not stream or OPTIONS & body.keys():
            return await super().create(**body, **({"stream": stream} if stream else {}))
        return await self._client.post(
            "/chat/completions",
            cast_to=dict,
            body={**body, "stream": stream},
            stream=True,
            stream_cls=ChunkStream,
        )

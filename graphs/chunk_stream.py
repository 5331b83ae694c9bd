"""A completion's stream for ChatOpenAI: the chunks as they were checked, with no object made of
each, and a request that goes out as it is given.

The client library parses every event again and builds a model of it, which LangChain turns into the
dict that it was; and it walks the request's tools by their types, which takes as long as a short
answer. Both are left out by two public ways of openai 3.54: `AsyncOpenAI.post`, and a class of
one's own for the stream. LangChain takes dicts for chunks (`BaseChatOpenAI._astream`).

Most of a short request is its tools, the same ones each time: their JSON is kept.
"""

import json
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from typing import Any, get_args

import httpx2
import openai
from openai.resources.chat.completions import AsyncCompletions

from turnstream.graphs.chunk_shape import Chunk
from turnstream.graphs.foreign_sentences import refused_options
from turnstream.graphs.model_options import Omittable
from turnstream.graphs.model_wire import AsyncBoundedStream
from turnstream.graphs.server_keys import with_reasoning, with_signatures, without_keys
from turnstream.graphs.strict_order import in_strict_order

logger = logging.getLogger(__name__)

DONE = "[DONE]"
"""The key of the last chunk of a stream that came to its end mark."""

OMITTABLE = frozenset(get_args(Omittable))

REFUSALS = (openai.BadRequestError, openai.UnprocessableEntityError, openai.InternalServerError)
"""llama.cpp answers with a 500 if its template refuses the messages."""

OPTIONS = {"extra_headers", "extra_query", "extra_body", "timeout"}
"""Options that the client takes for itself; requests that have them go its own way."""

KEPT_TOOLS = 16
"""Lists of tools whose JSON is kept: a model that is bound has one of its own."""


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
            if stream.body.is_done:
                yield {DONE: True}
        except httpx2.TimeoutException as error:
            raise openai.APITimeoutError(request=request) from error
        except httpx2.RequestError as error:
            raise openai.APIConnectionError(request=request) from error


def _message(error: Any) -> str:
    message = error.get("message") if isinstance(error, dict) else None
    return message if message and isinstance(message, str) else "An error occurred during streaming"


class RequestBody:
    """A body in parts, some of them shared by requests: a live run keeps its request, and the text
    of the tools need not exist once per run.

    The client sends a body again on a retry only if it can be rewound like a file.
    """

    def __init__(self, *parts: bytes) -> None:
        self.parts = parts

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """The whole at once: each piece would be a write of its own to the socket."""
        yield self.read()

    def read(self) -> bytes:
        """The whole."""
        return b"".join(self.parts)

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return 0

    def seek(self, position: int) -> int:
        """Every iteration begins anew."""
        return position


class RequestJson:
    """Requests as JSON in UTF-8. Their tools are known again by the list that they are in, which
    nobody changes once a model is bound to it."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, tuple[list[Any], bytes]] = OrderedDict()
        """By the list's id; the list is kept too, or another might get its id."""

    def write(self, body: dict[str, Any]) -> RequestBody:
        """Raises ValueError or TypeError if it is no JSON."""
        tools = body.get("tools")
        if not isinstance(tools, list):
            return RequestBody(_json(body))
        ahead = _json({name: value for name, value in body.items() if name != "tools"})
        separator = b"," if len(body) > 1 else b""
        ahead = ahead[:-1] + separator + b'"tools":'
        return RequestBody(ahead, self._tools(tools), b"}")

    def _tools(self, tools: list[Any]) -> bytes:
        if id(tools) not in self._kept:
            self._kept[id(tools)] = (tools, _json(tools))
            if len(self._kept) > KEPT_TOOLS:
                self._kept.popitem(last=False)
        return self._kept[id(tools)][1]


Repair = Callable[[Sequence[Mapping[str, Any]]], list[dict[str, Any]]]
_OF_ALL: Sequence[Repair] = (without_keys, in_strict_order)
_OF_MODELS: Mapping[str, Repair] = {"deepseek": with_reasoning, "gemini": with_signatures}
"""By a part of the model's name: what its servers may demand of messages that it has not made."""
_LOGGED: Mapping[Repair, str] = {
    without_keys: "the model's server refuses the keys that it sent: left out from now on",
    in_strict_order: "the model's server takes messages in the strictest order: so from now on",
    with_reasoning: "the model's server demands reasoning in each message: so from now on",
    with_signatures: "the model's server demands a signature of each call: so from now on",
}


def _repairs(model: str) -> Sequence[Repair]:
    own = [repair for name, repair in _OF_MODELS.items() if name in model.lower()]
    return [*own, *_OF_ALL]


def _roles(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    return [message["role"] for message in messages]


def _json(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode()


class ChunkCompletions(AsyncCompletions):
    """The completions endpoint of ChatOpenAI, in place of the client's `chat.completions`.

    An option that a turn can do without is left out from the first refusal on that names it. A
    refused request is made once more without the keys of its server, and once more in the order of
    the strictest servers, where that changes it; what a server takes then it gets from then on. A
    refused request has had no answer, so nothing happens twice.
    """

    def __init__(
        self,
        client: openai.AsyncOpenAI,
        model: str,
        omitted: Collection[str] = (),
        *,
        is_strict: bool = False,
    ) -> None:
        super().__init__(client)
        self._repairs = _repairs(model)
        """Tried in this order for a refused request."""
        self._applied: list[Repair] = [in_strict_order] if is_strict else []
        """Applied to the messages of each request."""
        self._requests = RequestJson()
        self._omitted = set(omitted)

    async def create(self, *, stream: Any = None, **body: Any) -> Any:
        if not stream or OPTIONS & body.keys():
            return await super().create(**body, **({"stream": stream} if stream else {}))
        asked = {**body, "stream": stream}
        for repair in self._applied:
            asked["messages"] = repair(asked["messages"])
        try:
            return await self._post_but(asked, self._omitted)
        except REFUSALS as error:
            refused = refused_options(error, asked.keys() & OMITTABLE)
            if refused <= self._omitted:
                return await self._ask_repaired(asked, error)
            self._omitted |= refused
            named = {"options": ", ".join(sorted(refused))}
            logger.warning("the model's server refuses %(options)s: left out from now on", named)
        return await self.create(stream=stream, **body)

    async def _ask_repaired(self, asked: Mapping[str, Any], refusal: openai.APIStatusError) -> Any:
        """Ask once more for each repair that changes the messages, until one is taken. Raises the
        refusal if none is."""
        given = asked["messages"]
        for repair in self._repairs:
            repaired = repair(given)
            # A 500 is more often a failure than a refusal, and is one of the order alone.
            is_failure = refusal.status_code >= 500
            if (_roles(repaired) == _roles(given)) if is_failure else (repaired == given):
                continue
            try:
                answer = await self._post_but({**asked, "messages": repaired}, self._omitted)
            except openai.APIStatusError:
                continue
            self._applied.append(repair)
            logger.warning(_LOGGED[repair])
            return answer
        raise refusal from None

    async def _post_but(self, body: Mapping[str, Any], omitted: Collection[str]) -> Any:
        asked = {key: value for key, value in body.items() if key not in omitted}
        content = self._requests.write(asked)
        return await self._client.post(
            "/chat/completions",
            cast_to=dict,
            content=content,
            options={"headers": {"Content-Length": str(len(content))}},
            stream=True,
            stream_cls=ChunkStream,
        )

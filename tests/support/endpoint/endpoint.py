"""The endpoint: a table of exchanges between the HTTP server and the test."""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Self

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from tests.support.endpoint import rules
from tests.support.endpoint.exchange import Exchange
from tests.support.endpoint.own_keys import without_own_keys
from tests.support.endpoint.play import Performance
from tests.support.endpoint.refusal import Body, Refusal
from tests.support.endpoint.script import Fail, Raw, Reply, Scripted, Think, Turn, text_reply
from tests.support.endpoint.serving import HOST, serve
from tests.support.endpoint.wire import Envelope
from tests.support.endpoint.wires.anthropic.answer import AnthropicAnswer
from tests.support.endpoint.wires.asked import Asked, Models
from tests.support.endpoint.wires.gemini.answer import GeminiAnswer
from tests.support.endpoint.wires.ollama.answer import OllamaAnswer
from tests.support.endpoint.wires.ollama.rules import unknown_model
from tests.support.endpoint.wires.responses import ResponsesAnswer
from tests.support.endpoint.wires.seals import Seals
from tests.support.endpoint.wires.wire import Wire
from tests.support.waiting import WAIT_SECONDS

WIRES: dict[str, type[Wire]] = {
    "/v1/chat/completions": Envelope,
    "/v1/responses": ResponsesAnswer,
    "/v1/messages": AnthropicAnswer,
    "/v1beta/models/{model:path}:streamGenerateContent": GeminiAnswer,
    "/api/chat": OllamaAnswer,
}
"""By address."""


class StrictEndpoint:
    """An OpenAI-compatible server in this event loop, as strict as OpenAI with histories; at other
    addresses it speaks the wires of `tests.support.endpoint.wires`, as strictly.

        async with StrictEndpoint() as endpoint:
            endpoint.script(call_reply(("clock", "{}")), text_reply("It is noon."))
            model = ChatOpenAI(base_url=endpoint.base_url, api_key="test", model="any")

    A request takes the next turn of the script, or `default` when there is none. A refused
    request takes none. Requests are numbered from 1, refused ones too.

    Each connection serves one request, unless `keep_alive`: so a client that nobody closes, as
    ChatOpenAI has one, leaves no socket behind.
    """

    def __init__(
        self,
        *,
        port: int = 0,
        keep_alive: bool = False,
        further: Callable[[Body], Refusal | None] = lambda _body: None,
        has_own_keys: bool = False,
    ) -> None:
        """`further` are rules of one server beside those of all. With `has_own_keys` it takes back
        keys and ids that OpenAI does not have; so it does once it has sent some."""
        self.default: Scripted = text_reply("Hello from the endpoint.")
        self.refused: list[Refusal] = []
        """Tests end with `assert endpoint.refused == []`."""
        self._script: deque[Scripted] = deque()
        self._exchanges: list[Exchange] = []
        self._came = 0
        self._port = port
        self._keep_alive = keep_alive
        self._further = further
        self._has_own_keys = has_own_keys
        self._seals = Seals()
        self.ollama_models: tuple[str, ...] | None = None
        """Those that Ollama has; None: any."""
        self.ollama_capabilities = ["completion", "tools", "thinking", "vision"]
        self._exit = AsyncExitStack()

    @property
    def base_url(self) -> str:
        """For OpenAI's clients."""
        return f"{self.root_url}/v1"

    @property
    def root_url(self) -> str:
        """For the clients of the others."""
        return f"http://{HOST}:{self._port}"

    @property
    def requests(self) -> list[Body]:
        """The bodies, in the order of their coming."""
        return [exchange.body for exchange in self._exchanges[: self._came]]

    @property
    def open(self) -> int:
        """How many requests are being answered."""
        return sum(exchange.open for exchange in self._exchanges)

    @property
    def unplayed(self) -> int:
        """How many scripted turns nobody has asked for."""
        return len(self._script)

    def script(self, *turns: Scripted) -> None:
        self._script.extend(turns)

    def forget_script(self) -> None:
        """From now on `default` is played."""
        self._script.clear()

    async def arrived(self, number: int) -> Exchange:
        """Wait for a request; TimeoutError after five seconds."""
        exchange = self._exchange(number)
        async with asyncio.timeout(WAIT_SECONDS):
            await exchange.arrived.wait()
        return exchange

    async def closed(self, number: int) -> Exchange:
        """Wait until a request was answered, or left by its client: see `completed`."""
        exchange = self._exchange(number)
        async with asyncio.timeout(WAIT_SECONDS):
            await exchange.closed.wait()
        return exchange

    async def __aenter__(self) -> Self:
        routes = [
            *(
                Route(path, partial(self._complete, kind), methods=["POST"])
                for path, kind in WIRES.items()
            ),
            Route("/api/show", self._show, methods=["POST"]),
        ]
        serving = serve(Starlette(routes=routes), self._port, keep_alive=self._keep_alive)
        self._port = await self._exit.enter_async_context(serving)
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._exit.aclose()

    async def _show(self, request: Request) -> ASGIApp:
        """What Ollama says of a model."""
        named = (await request.json()).get("model")
        if self.ollama_models is not None and named not in self.ollama_models:
            status, body = OllamaAnswer.failure(unknown_model(named))
            return JSONResponse(body, status)
        return JSONResponse({"capabilities": self.ollama_capabilities, "model_info": {}})

    async def _complete(self, wire: type[Wire], request: Request) -> ASGIApp:
        raw = await request.body()
        self._came += 1
        number = self._came
        exchange = self._exchange(number)
        read = rules.read(raw)
        asked = self._asked({} if isinstance(read, Refusal) else read, request)
        has_own_keys = self._has_own_keys and wire is Envelope
        judged = replace(asked, body=without_own_keys(asked.body)) if has_own_keys else asked
        refusal = read if isinstance(read, Refusal) else wire.refusal(judged)
        refusal = refusal or self._further(asked.body)
        exchange.arrive(asked.body)
        if refusal:
            return self._refuse(exchange, refusal, wire)
        turn = self._script.popleft() if self._script else self.default
        played = _turn(turn, asked.body)
        # OpenAI sends neither.
        self._has_own_keys |= isinstance(played, Reply) and any(
            isinstance(step, Think | Raw) for step in played.steps
        )
        return Performance(played, exchange, wire(asked, number))

    def _asked(self, body: Body, request: Request) -> Asked:
        models = Models(self.ollama_models, tuple(self.ollama_capabilities))
        return Asked(body, self._seals, request.path_params.get("model", ""), models)

    def _refuse(self, exchange: Exchange, refusal: Refusal, wire: type[Wire]) -> ASGIApp:
        self.refused.append(refusal)
        exchange.refusal = refusal
        exchange.close(completed=True)
        status, body = wire.failure(refusal)
        return JSONResponse(body, status)

    def _exchange(self, number: int) -> Exchange:
        while len(self._exchanges) < number:
            self._exchanges.append(Exchange())
        return self._exchanges[number - 1]


def _turn(scripted: Scripted, body: Body) -> Turn:
    return scripted if isinstance(scripted, Reply | Fail) else scripted(body)

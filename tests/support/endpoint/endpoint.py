"""The endpoint: a table of exchanges between the HTTP server and the test."""

import asyncio
import secrets
from collections import deque
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Self

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from tests.support.endpoint import rules
from tests.support.endpoint.exchange import Exchange
from tests.support.endpoint.play import Performance
from tests.support.endpoint.refusal import Body, Refusal
from tests.support.endpoint.script import Fail, Reply, Scripted, Turn, text_reply
from tests.support.endpoint.serving import HOST, serve
from tests.support.waiting import WAIT_SECONDS


class StrictEndpoint:
    """An OpenAI-compatible server in this event loop, as strict as OpenAI with histories.

        async with StrictEndpoint() as endpoint:
            endpoint.script(call_reply(("clock", "{}")), text_reply("It is noon."))
            model = ChatOpenAI(base_url=endpoint.base_url, api_key="test", model="any")

    A request takes the next turn of the script, or `default` when there is none. A refused
    request takes none. Requests are numbered from 1, refused ones too.

    Each connection serves one request, unless `keep_alive`: so a client that nobody closes, as
    ChatOpenAI has one, leaves no socket behind.
    """

    def __init__(self, *, port: int = 0, keep_alive: bool = False) -> None:
        self.default: Scripted = text_reply("Hello from the endpoint.")
        self.refused: list[Refusal] = []
        """Tests end with `assert endpoint.refused == []`."""
        self._script: deque[Scripted] = deque()
        self._exchanges: list[Exchange] = []
        self._came = 0
        self._port = port
        self._keep_alive = keep_alive
        self._name = secrets.token_hex(4)
        self._exit = AsyncExitStack()

    @property
    def base_url(self) -> str:
        return f"http://{HOST}:{self._port}/v1"

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
        routes = [Route("/v1/chat/completions", self._complete, methods=["POST"])]
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

    async def _complete(self, request: Request) -> ASGIApp:
        raw = await request.body()
        self._came += 1
        number = self._came
        exchange = self._exchange(number)
        read = rules.read(raw)
        refusal = read if isinstance(read, Refusal) else rules.refusal(read)
        exchange.arrive({} if isinstance(read, Refusal) else read)
        if refusal:
            return self._refuse(exchange, refusal)
        turn = self._script.popleft() if self._script else self.default
        return Performance(_turn(turn, exchange.body), exchange, f"chatcmpl-{self._name}-{number}")

    def _refuse(self, exchange: Exchange, refusal: Refusal) -> ASGIApp:
        self.refused.append(refusal)
        exchange.refusal = refusal
        exchange.close(completed=True)
        return JSONResponse(refusal.body(), 400)

    def _exchange(self, number: int) -> Exchange:
        while len(self._exchanges) < number:
            self._exchanges.append(Exchange())
        return self._exchanges[number - 1]


def _turn(scripted: Scripted, body: Body) -> Turn:
    return scripted if isinstance(scripted, Reply | Fail) else scripted(body)

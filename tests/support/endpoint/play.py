"""Plays a turn to a connection, and watches whether the client stays."""

import asyncio

from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from tests.support.endpoint import wire
from tests.support.endpoint.exchange import Exchange
from tests.support.endpoint.script import (
    Break,
    CloseClean,
    Cut,
    Delay,
    Fail,
    Finish,
    Pause,
    Reply,
    Turn,
)
from tests.support.endpoint.serving import TRANSPORT
from tests.support.endpoint.wire import Envelope
from tests.support.endpoint.wires.wire import Wire, dumps


class CutError(Exception):
    """The script wants the connection closed as it is."""


class Performance:
    """An ASGI response: one turn, in answer to one exchange.

    The exchange is closed just before the last bytes leave, so a client that has seen the end of
    its answer finds it closed.
    """

    def __init__(self, turn: Turn, exchange: Exchange, answer: Wire) -> None:
        self._turn = turn
        self._exchange = exchange
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        playing = asyncio.create_task(self._play(scope, receive, send))
        leaving = asyncio.create_task(_disconnect(receive))
        try:
            await asyncio.wait((playing, leaving), return_when=asyncio.FIRST_COMPLETED)
            if playing.done():
                playing.result()
        except CutError:
            self._exchange.close(completed=True)
            scope["state"][TRANSPORT].close()
            await leaving
        finally:
            playing.cancel()
            leaving.cancel()
            await asyncio.gather(playing, leaving, return_exceptions=True)
            self._exchange.close(completed=False)

    async def _play(self, scope: Scope, receive: Receive, send: Send) -> None:
        if isinstance(self._turn, Reply) and self._streams:
            writer = Writer(send, self._answer.content_type)
            last = await self._stream(self._turn, writer)
            self._exchange.close(completed=True)
            await writer.end(last)
        else:
            response = await self._whole(self._turn)
            self._exchange.close(completed=True)
            await response(scope, receive, send)

    @property
    def _streams(self) -> bool:
        """Completions only if they are asked to."""
        asked = self._exchange.body.get("stream")
        return not isinstance(self._answer, Envelope) or bool(asked)

    async def _stream(self, reply: Reply, writer: "Writer") -> bytes:
        """The reply up to its last bytes, which it returns."""
        for step in self._answer.steps(reply):
            match step:
                case Pause() | Delay():
                    await writer.flush()
                    await _wait(step)
                case Cut():
                    await writer.flush()
                    raise CutError
                case CloseClean(done=done):
                    return self._answer.done if done else b""
                case Break():
                    return self._answer.broken(step)
                case Finish():
                    writer.add(self._answer.finish(step, reply))
                case _:
                    writer.add(self._answer.delta(step))
        return self._answer.done

    async def _whole(self, turn: Turn) -> Response:
        """The turn in one piece."""
        if isinstance(turn, Fail):
            return failing(self._answer, turn)
        for step in turn.complete_steps:
            match step:
                case Pause() | Delay():
                    await _wait(step)
                case Cut():
                    raise CutError
                case Break():
                    return JSONResponse(wire.error(step), 500)
        assert isinstance(self._answer, Envelope)
        return Response(self._answer.completion(turn), media_type="application/json")


def failing(answer: Wire, failure: Fail) -> Response:
    """What takes the place of a reply; in one wire a refusal of the prompt is an event."""
    status, body = answer.failure(failure)
    if status == 200:
        return Response(b"data: " + dumps(body) + b"\r\n\r\n", media_type=answer.content_type)
    return JSONResponse(body, status, headers=dict(failure.headers))


class Writer:
    """Gathers what may leave in one write; the headers leave with the first."""

    def __init__(self, send: Send, content_type: str) -> None:
        self._send = send
        self._headers = [
            (b"content-type", content_type.encode()),
            (b"cache-control", b"no-cache"),
        ]
        self._gathered: list[bytes] = []
        self._started = False

    def add(self, data: bytes) -> None:
        self._gathered.append(data)

    async def flush(self) -> None:
        if self._gathered:
            await self._write(more=True)

    async def end(self, last: bytes) -> None:
        self.add(last)
        await self._write(more=False)

    async def _write(self, *, more: bool) -> None:
        if not self._started:
            self._started = True
            await self._send(
                {"type": "http.response.start", "status": 200, "headers": self._headers}
            )
        body = b"".join(self._gathered)
        self._gathered.clear()
        await self._send({"type": "http.response.body", "body": body, "more_body": more})


async def _wait(step: Pause | Delay) -> None:
    if isinstance(step, Delay):
        await asyncio.sleep(step.seconds)
    else:
        step.reached.set()
        await step.event.wait()


async def _disconnect(receive: Receive) -> None:
    """Returns when the client has left, or has all of the answer."""
    while (await receive())["type"] != "http.disconnect":
        pass

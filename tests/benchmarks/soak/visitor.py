"""Somebody who uses the server, in all the ways that people and their clients do."""

import asyncio
import json
import socket
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from urllib.parse import urlsplit

import httpx

from tests.support.serving import Event, Stream

STORY = "Tell me a long story."
SUM = "What is 12 * 7?"
QUESTION = "Ask me to choose between red and blue."
MAX_THREADS, MAX_TURNS = 8, 6
"""Of one visitor; then the oldest thread is deleted, or a new one begun."""


class Surprise(Exception):
    """The server did not answer as it should."""


def expect(response: httpx.Response, status: int) -> None:
    if response.status_code != status:
        asked = f"{response.request.method} {response.request.url.path}"
        said = response.text if response.is_closed else ""
        raise Surprise(f"{asked}: {response.status_code} instead of {status}. {said}")


@dataclass
class Visitor:
    """Its threads are its own: what it does fails for nobody else's doing."""

    http: httpx.AsyncClient
    random: Random
    name: str
    keeps_threads: bool = False
    """Deletes none for having too many."""
    _threads: deque[str] = field(default_factory=deque)
    _turns: Counter[str] = field(default_factory=Counter)
    _begun: int = 0

    async def visit(self) -> str:
        """Do one thing, and say which. Raises Surprise."""
        name, _, act = self.random.choices(VISITS, weights=[weight for _, weight, _ in VISITS])[0]
        await act(self)
        return name

    async def talk(self) -> None:
        async with self._post(self._thread(), self.random.choice((STORY, SUM))) as stream:
            await whole(stream)

    async def answer(self) -> None:
        thread = self._thread()
        async with self._post(thread, QUESTION) as stream:
            asked = await whole(stream)
        [call] = [
            event.data["part"]["toolCallId"]
            for event in asked
            if event.type == "part-start" and "toolCallId" in event.data["part"]
        ]
        answers = [{"tool_call_id": call, "result": {"value": "red"}}]
        body = {"thread_id": thread, "tool_results": answers}
        async with self._stream("POST", "/chat", body) as stream:
            await whole(stream)

    async def stop(self) -> None:
        thread = self._thread()
        async with self._post(thread, STORY) as stream:
            await some(stream, self.random.randrange(1, 20))
            expect(await self.http.post(f"/chat/{thread}/stop"), 200)
            await whole(stream)

    async def cut(self) -> None:
        """The connection breaks; the client comes back with its cursor."""
        thread = self._thread()
        async with self._post(thread, STORY) as stream:
            before = await some(stream, self.random.randrange(1, 20))
        cursor = {"Last-Event-ID": str(before[-1].id)}
        async with self._stream("GET", f"/chat/{thread}/stream", headers=cursor) as stream:
            after = await whole(stream)
        numbers = [int(str(event.id).rpartition(":")[2]) for event in before + after if event.id]
        if numbers != list(range(1, len(numbers) + 1)):
            raise Surprise(f"a stream that was cut has the numbers {numbers}")

    async def attach(self) -> None:
        """A second reader of a live run."""
        thread = self._thread()
        async with self._post(thread, STORY) as stream:
            await some(stream, 5)
            async with self._stream("GET", f"/chat/{thread}/stream") as second:
                mine, its = await asyncio.gather(whole(stream), whole(second))
        if its[-len(mine) :] != mine:
            raise Surprise("two readers of a run got different events")

    async def leave(self) -> None:
        """The tab is closed; the run goes on."""
        async with self._post(self._thread(), STORY) as stream:
            await some(stream, self.random.randrange(1, 10))

    async def read_slowly(self) -> None:
        asked = {"thread_id": self._thread(), "message": STORY, "on_busy": "stop"}
        body = json.dumps(asked).encode()
        place = urlsplit(str(self.http.base_url))
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.setblocking(False)
        await asyncio.get_running_loop().sock_connect(connection, (place.hostname, place.port))
        reader, writer = await asyncio.open_connection(sock=connection, limit=1024)
        head = f"POST /chat HTTP/1.1\r\nHost: {place.netloc}\r\nConnection: close\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        seen = b""
        while piece := await reader.read(512):
            seen = seen[-512:] + piece
            await asyncio.sleep(0.02)
        writer.close()
        if b"[DONE]" not in seen:
            raise Surprise("a slow reader did not get its stream to the end")

    async def be_refused(self) -> None:
        """Mistakes of clients, each with the answer that it gets."""
        thread = self._thread()
        expect(await self.http.post("/chat", content=b'{"message": "Hello"}'), 415)
        kind = {"Content-Type": "application/json"}
        expect(await self.http.post("/chat", content=b'{"message": ', headers=kind), 400)
        expect(await self.http.post("/chat", json={"message": ""}), 422)
        expect(await self.http.get("/threads/unheard-of"), 404)
        async with self._post(thread, STORY) as stream:
            await some(stream, 1)
            busy = {"thread_id": thread, "message": "And?"}
            expect(await self.http.post("/chat", json=busy), 409)
            busy["on_busy"] = "stop"
            async with self._stream("POST", "/chat", busy) as next_one:
                await asyncio.gather(whole(stream), whole(next_one))

    async def look(self) -> None:
        """A page is loaded: the list, and a thread of it."""
        expect(await self.http.get("/threads?limit=30"), 200)
        if self._threads:
            thread = self.random.choice(self._threads)
            found = await self.http.get(f"/threads/{thread}?limit=50")
            if not (found.status_code == 404 and self.keeps_threads):  # it may have been too old
                expect(found, 200)

    async def delete(self) -> None:
        if self._threads:
            await self._forget(self._threads.popleft())

    async def delete_live(self) -> None:
        """Also a live run goes with its thread."""
        thread = f"{self.name}-deleted-{self._begun}"
        self._begun += 1
        async with self._post(thread, STORY) as stream:
            await some(stream, 3)
            await self._forget(thread)
            await whole(stream)

    async def make_room(self) -> None:
        """Delete what is too much; called between visits."""
        while len(self._threads) > MAX_THREADS:
            thread = self._threads.popleft()
            if not self.keeps_threads:
                await self._forget(thread)

    async def _forget(self, thread: str) -> None:
        expect(await self.http.delete(f"/threads/{thread}?at_once=true"), 204)

    def _thread(self) -> str:
        """A new one, or one that still takes turns."""
        known = [thread for thread in self._threads if self._turns[thread] < MAX_TURNS]
        if known and self.random.random() < 0.7:
            thread = self.random.choice(known)
        else:
            thread = f"{self.name}-{self._begun}"
            self._begun += 1
            self._threads.append(thread)
        self._turns[thread] += 1
        return thread

    def _post(self, thread: str, message: str) -> AbstractAsyncContextManager[Stream]:
        """A run that was left may be live still: it makes room."""
        body = {"thread_id": thread, "message": message, "on_busy": "stop"}
        return self._stream("POST", "/chat", body)

    @asynccontextmanager
    async def _stream(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> AsyncIterator[Stream]:
        asked = self.http.stream(method, path, json=body, headers=headers)
        async with asked as response:
            if response.status_code != 200:
                await response.aread()
            expect(response, 200)
            yield Stream(response)


async def some(stream: Stream, count: int) -> list[Event]:
    """So many events, or fewer if the stream has no more."""
    seen: list[Event] = []
    async for event in stream:
        seen.append(event)
        if len(seen) == count:
            break
    return seen


async def whole(stream: Stream) -> list[Event]:
    """The rest of a stream. Raises Surprise if it breaks off."""
    seen = [event async for event in stream]
    if not seen or seen[-1].type != "[DONE]":
        raise Surprise("a stream broke off")
    return seen


VISITS: Sequence[tuple[str, int, Callable[[Visitor], Awaitable[None]]]] = (
    ("talk", 8, Visitor.talk),
    ("answer", 3, Visitor.answer),
    ("stop", 3, Visitor.stop),
    ("cut", 3, Visitor.cut),
    ("attach", 2, Visitor.attach),
    ("leave", 2, Visitor.leave),
    ("read slowly", 1, Visitor.read_slowly),
    ("be refused", 2, Visitor.be_refused),
    ("look", 6, Visitor.look),
    ("delete", 1, Visitor.delete),
    ("delete a live one", 1, Visitor.delete_live),
)
"""What visitors do, and how often, relative to each other."""

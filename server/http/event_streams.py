"""Runs as event streams: a run's chunks are encoded once for all readers of the same format.

A frame is `data: <JSON on one line>` and a blank line. LF only, and `event:` in the format alone
whose payloads have names: a client of the others drops the stream on any name but `message`.
"""

import asyncio
from collections import Counter
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Hashable,
    Mapping,
    Sequence,
)
from contextlib import ExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from weakref import WeakKeyDictionary

from starlette.responses import Response

from turnstream.server.callers.rights import LimitExceeded, Rights
from turnstream.server.formats import WireFormat
from turnstream.server.formats.format import Encoder, NamedEvent, StreamContext, View
from turnstream.server.http.byte_budget import ByteBudget
from turnstream.server.http.cursors import LOST, Position
from turnstream.server.http.problems import SOON, Problem, limit_reached, problem
from turnstream.server.http.sse_response import JSON_PING, ServerSentEvents
from turnstream.server.http.unread import counted, joined
from turnstream.server.runs.lives import StreamLost
from turnstream.server.runs.reader import LoggedRun
from turnstream.server.runs.shutdown import ShuttingDown
from turnstream.server.storage.interfaces import StorageUnavailable
from turnstream.server.storage.run_logs import Batch, RunLog
from turnstream.server.turns.chunks import Chunk, Done, Error
from turnstream.server.turns.codec import Unknown
from turnstream.server.turns.requests import InvalidRequest
from turnstream.tools.threads import beside_loop

JSON = "application/json"
HEADERS = {"Cache-Control": "no-cache, no-transform"}
PROBES, MAX_PROBES = "probes of proxies", 8
"""The reader of the streams that nobody has to log in for, and how many of them are open at most.
"""
NO_HEADERS: Mapping[str, str] = {}
CURSOR_LOST = (
    "The stream cannot go on from here: its run is no longer held. Load the thread with "
    "GET /threads/{thread_id}, then attach to its live run, if there is one."
)


def frame(payloads: Sequence[str], event_id: str | None) -> bytes:
    """One frame a payload. The last carries the id: who has seen the id has seen them all."""
    if not payloads:
        return b""
    *ahead, last = payloads
    text = "".join([f"{_name(payload)}data: {payload}\n\n" for payload in ahead])
    if event_id is not None:
        text += f"id: {event_id}\n"
    # A lone surrogate has no UTF-8. Written `\ud800` it is a valid JSON escape, since it can only
    # stand inside a JSON string.
    return f"{text}{_name(last)}data: {last}\n\n".encode("utf-8", "backslashreplace")


def _name(payload: str) -> str:
    return f"event: {payload.event}\n" if isinstance(payload, NamedEvent) else ""


class Encoding:
    """The events of one run in one variant of one format, as bytes: each is made once."""

    def __init__(self, run_id: str, context: StreamContext, encoder: Encoder) -> None:
        self.context = context
        self._run_id = run_id
        self._encoder = encoder
        self._frames: list[bytes] = []

    async def frames(self, log: RunLog, batch: Batch) -> AsyncGenerator[bytes]:
        """Yield the events of a batch of the run's chunks, some at a time: a batch may be a whole
        log, and each of its readers may be slow."""
        (first, _), (last, _) = batch[0], batch[-1]
        while len(self._frames) < first - 1:
            # The encoder has to see every chunk: this reader begins further on.
            async with aclosing(log.read(len(self._frames))) as earlier:
                self._add(await anext(earlier))
        self._add(batch)
        for events in joined(self._frames[first - 1 : last]):
            yield events

    def _add(self, batch: Batch) -> None:
        for number, chunk in batch:
            if number == len(self._frames) + 1:
                # No event tells of what another version has said; the ones behind keep their ids.
                payloads = [] if isinstance(chunk, Unknown) else self._encoder.encode(chunk)
                self._frames.append(frame(payloads, f"{self._run_id}:{number}"))


class Place:
    """One open stream among those of all readers, until it is given back."""

    def __init__(self, taken: Counter[str], reader: str) -> None:
        self._taken = taken
        self._is_free = False
        self.reader = reader
        taken[reader] += 1

    def free(self) -> None:
        if self._is_free:
            return
        self._is_free = True
        self._taken[self.reader] -= 1
        if not self._taken[self.reader]:
            del self._taken[self.reader]


class EventStreams:
    """`max_open` is for the whole server; of each caller as many as their rights allow."""

    def __init__(self, ping_seconds: float, max_open: int, unread: ByteBudget) -> None:
        self.ping_seconds = ping_seconds
        self.unread = unread
        self._max_open = max_open
        self._open: Counter[str] = Counter()
        """By reader: the id of a principal."""
        self._encodings: WeakKeyDictionary[RunLog, dict[Hashable, Encoding]] = WeakKeyDictionary()

    async def open(
        self,
        run: LoggedRun,
        format: WireFormat,
        view: View,
        context: Callable[[], Awaitable[StreamContext]],
        rights: Rights,
        *,
        after: int,
        replay: bool,
    ) -> "EventStream":
        """The stream of a run for one reader, to be responded with at once; `context` is asked for
        once a run and variant. It begins behind the n-th event; 0 begins with the prologue.

        Raises Problem, LimitExceeded.
        """
        self.check(rights)
        known = self._encodings.setdefault(run.log, {})
        variant = (format.name, format.variant(view))
        if variant not in known:
            made = await context()
            encoder = await beside_loop(len(made.turns), partial(format.encoder, made, view))
            known.setdefault(variant, Encoding(run.header.run_id, made, encoder))
            self.check(rights)  # again: others have come meanwhile
        place = Place(self._open, rights.principal.id)
        stream = EventStream(run.log, format, known[variant], self, place, after)
        try:
            if not after:
                await stream.prepare(view, replay)
        except BaseException:
            place.free()
            await self._forget_unread(run.log)
            raise
        return stream

    def check(self, rights: Rights) -> None:
        """Raises Problem or LimitExceeded if there can be no further stream now."""
        if self._open.total() >= self._max_open:
            raise limit_reached("MAX_OPEN_STREAMS", self._max_open)
        rights.check_count("open_streams", self._open[rights.principal.id])

    @asynccontextmanager
    async def reading(self, log: RunLog) -> AsyncIterator[None]:
        """Forget the events of an ended run when its last reader leaves: a later reader has them
        encoded again."""
        try:
            yield
        finally:
            await self._forget_unread(log)

    async def _forget_unread(self, log: RunLog) -> None:
        """Forget the encoded events of an ended run that has no reader."""
        status = await log.status()
        if status.state != "live" and not status.readers:
            self._encodings.pop(log, None)

    def whole(self, format: WireFormat, payloads: Sequence[str], reader: str) -> Response:
        """A stream that ends as it begins, for clients that take no 204. Raises Problem."""
        data = frame(payloads, None)
        self.unread.take(counted(data), reader)
        response = _respond(_once(data), format, {}, self.ping_seconds)
        response.closed = partial(self.unread.give_back, counted(data), reader)
        return response

    def probe(self, first: str, last: bytes, place: str) -> Response:
        """Respond with two events that are as far apart as those of a run may be: to anybody, so
        some at a time. Raises Problem."""
        if self._open[PROBES] >= MAX_PROBES or self._open.total() >= self._max_open:
            raise problem("limit_reached", headers=SOON, limit="probes")

        async def events() -> AsyncIterator[bytes]:
            yield frame([first], None)
            await asyncio.sleep(self.ping_seconds)
            yield last

        headers = {**HEADERS, "Location": place}
        response = ServerSentEvents(events(), headers=headers, ping=2 * self.ping_seconds)
        response.closed = Place(self._open, PROBES).free
        return response

    def awaited(
        self,
        body: Callable[[], Awaitable[bytes]],
        rights: Rights,
        headers: Mapping[str, str],
        *,
        expires_at: float | None = None,
        left: Callable[[], None] | None = None,
    ) -> ServerSentEvents:
        """Respond with JSON that may take long; until it is there, line breaks keep the connection
        open. It counts as an open stream. Raises Problem, LimitExceeded."""
        self.check(rights)
        place = Place(self._open, rights.principal.id)

        async def whole() -> AsyncIterator[bytes]:
            yield JSON_PING  # The headers go with it: they say where to wait again.
            try:
                data = await body()
            except ShuttingDown:
                await response.stay_unfinished()
                return
            with self.unread.holding(counted(data), place.reader, is_refusable=False):
                yield data

        response = ServerSentEvents(
            whole(), headers={**HEADERS, **headers}, ping=self.ping_seconds, media_type=JSON
        )
        response.ping_bytes = JSON_PING
        response.expires_at, response.closed, response.left = expires_at, place.free, left
        return response

    def later(
        self,
        begun: Callable[[], Awaitable[LoggedRun]],
        opened: Callable[[LoggedRun], Awaitable["EventStream"]],
        format: WireFormat,
        rights: Rights,
        headers: Mapping[str, str],
        *,
        expires_at: float | None = None,
        left: Callable[[], None] | None = None,
    ) -> ServerSentEvents:
        """Respond with a stream whose run begins later; until then, pings keep the connection open.
        It counts as an open stream all the time. If the run does not begin, an error says why.
        Raises Problem, LimitExceeded."""
        self.check(rights)
        place = Place(self._open, rights.principal.id)
        closing = [place.free]

        async def events() -> AsyncIterator[bytes]:
            try:
                run = await begun()
                place.free()
                stream = await opened(run)
            except InvalidRequest as refused:
                yield _failed(format, refused.code, refused.message, None)
            except (StreamLost, Problem, LimitExceeded, StorageUnavailable):
                yield _lost(format)
            except ShuttingDown:
                await response.stay_unfinished()
            else:
                closing.append(stream.close)
                async with aclosing(stream.events()) as frames:
                    async for data in frames:
                        yield data

        def close() -> None:
            for each in closing:
                each()

        response = _respond(events(), format, headers, self.ping_seconds, expires_at)
        response.closed, response.left = close, left
        return response

    def following(
        self,
        runs: AsyncGenerator[Position],
        opened: Callable[[Position], Awaitable["EventStream"]],
        format: WireFormat,
        rights: Rights,
        headers: Mapping[str, str],
        *,
        expires_at: float | None = None,
    ) -> ServerSentEvents:
        """Respond with the streams of several runs, one after the other as they begin; pings keep
        the connection open between them. It counts as one open stream all the time. Raises
        Problem, LimitExceeded."""
        self.check(rights)
        closing = [Place(self._open, rights.principal.id).free]

        async def events() -> AsyncIterator[bytes]:
            try:
                async with aclosing(runs) as found:
                    async for place in found:
                        close()
                        stream = await opened(place)
                        closing[:] = [stream.close]
                        async with aclosing(stream.events()) as frames:
                            async for data in frames:
                                yield data
                        closing[:] = [Place(self._open, rights.principal.id).free]
            except (StreamLost, Problem, LimitExceeded, StorageUnavailable):
                yield _lost(format)
            except ShuttingDown:
                await response.stay_unfinished()

        def close() -> None:
            for each in closing:
                each()

        response = _respond(events(), format, headers, self.ping_seconds, expires_at)
        response.closed = close
        return response

    def cursor_lost(self, format: WireFormat, headers: Mapping[str, str] = NO_HEADERS) -> Response:
        """Tell a reader that it cannot go on from where it was, under an id that ends its tries."""
        return _respond(_once(_lost(format)), format, headers, self.ping_seconds)


@dataclass(frozen=True, slots=True)
class EventStream:
    """A run's log for one reader, from behind its `after`-th event."""

    log: RunLog
    format: WireFormat
    encoding: Encoding
    streams: EventStreams
    place: Place
    after: int
    _prologue: list[bytes] = field(default_factory=list)
    """At most one item, which the stream gives up when it sends it."""
    _room: ExitStack = field(default_factory=ExitStack)
    """The prologue's room among unread responses."""

    async def prepare(self, view: View, replay: bool) -> None:
        """Make the prologue and take its room, before the response begins. Raises Problem."""
        context = self.encoding.context
        made = partial(self.format.prologue, context, view, replay)
        prologue = await beside_loop(len(context.turns), lambda: frame(made(), None))
        room = self.streams.unread.holding(counted(prologue), self.place.reader)
        self._room.enter_context(room)
        if prologue:
            self._prologue.append(prologue)

    def response(
        self,
        headers: Mapping[str, str],
        *,
        expires_at: float | None = None,
        left: Callable[[], None] | None = None,
    ) -> ServerSentEvents:
        """Respond with the stream, which breaks off when the reader's credentials expire, at a Unix
        time. `left` is called if the reader leaves before the end."""
        ping = self.streams.ping_seconds
        response = _respond(self.events(), self.format, headers, ping, expires_at)
        response.closed = self.close
        response.left = left
        return response

    def close(self) -> None:
        self._room.close()
        self.place.free()

    async def events(self) -> AsyncGenerator[bytes]:
        async with self.streams.reading(self.log):
            if self._prologue:
                yield self._prologue.pop()
                self._room.close()
            last: Chunk | None = None
            async with aclosing(self.log.read(self.after)) as batches:
                async for batch in batches:
                    async for events in self.encoding.frames(self.log, batch):
                        yield events
                    last = batch[-1][1]
            if not isinstance(last, Done) and (await self.log.status()).state == "lost":
                yield _lost(self.format)
        # Before the client hears of the end: it can come again at once.
        self.place.free()


def _lost(format: WireFormat) -> bytes:
    return _failed(format, "cursor_lost", CURSOR_LOST, LOST)


def _failed(format: WireFormat, code: str, message: str, event_id: str | None) -> bytes:
    """The events of a stream that has nothing of its run."""
    encoder = format.encoder(StreamContext("", ""), None)
    chunks: tuple[Chunk, ...] = (Error(code, message, None), Done())
    return b"".join(frame(encoder.encode(chunk), event_id) for chunk in chunks)


def _respond(
    events: AsyncIterator[bytes],
    format: WireFormat,
    headers: Mapping[str, str],
    ping_seconds: float,
    expires_at: float | None = None,
) -> ServerSentEvents:
    response = ServerSentEvents(
        events, headers={**HEADERS, **format.headers, **headers}, ping=ping_seconds
    )
    response.expires_at = expires_at
    return response


async def _once(data: bytes) -> AsyncIterator[bytes]:
    yield data

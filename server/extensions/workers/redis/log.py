"""One run's log: written to Redis by its worker, read from memory by the readers of each."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from redis.exceptions import ResponseError

from turnstream.server.extensions.workers.redis.connection import (
    PATIENCE_SECONDS,
    Unanswered,
    described,
)
from turnstream.server.extensions.workers.redis.feed import Entry
from turnstream.server.extensions.workers.redis.scripts import APPEND, JOIN_THREAD, LIVE_SECONDS
from turnstream.server.extensions.workers.redis.shared import Shared
from turnstream.server.storage.interfaces import LeaseLost
from turnstream.server.storage.memory_logs import MemoryLog
from turnstream.server.storage.run_logs import Batch, LogStatus
from turnstream.server.turns.chunks import Chunk, Done
from turnstream.server.turns.codec import LogDecoder, LogItem, Unknown, to_json
from turnstream.server.turns.header import RunHeader

QUICK_SECONDS = 0.1
"""An append that takes no longer costs a run nothing of its patience."""
RECOVERY = 0.1
"""Seconds of patience that a run wins back in a second."""

logger = logging.getLogger(__name__)

_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def encoded(item: LogItem) -> bytes:
    return _encoder.encode(to_json(item)).encode("utf-8", "surrogatepass")


def decoded(data: bytes, decoder: LogDecoder) -> LogItem | Unknown:
    """Decode the next item of the decoder's log. Raises ValueError."""
    return decoder.decode(json.loads(data.decode("utf-8", "surrogatepass")))


class RedisLog:
    """Implements `RunLog`. What it has in memory is what Redis has confirmed, or has sent.

    `writes`: by this worker. Else, and once another worker has taken it over, it is a mirror.
    """

    def __init__(
        self, run_id: str, shared: Shared, grown: Callable[[int], None], *, writes: bool
    ) -> None:
        self.run_id = run_id
        self.writes = writes
        self.memory = MemoryLog(grown)
        self.stream = shared.keys.log(run_id).encode()
        self.uses = 0
        """The number of those who read it, or wait for something of it."""
        self.used_at = self.quiet_since = asyncio.get_running_loop().time()
        """When it was last used, and when something last came, by the loop's clock."""
        self._shared = shared
        self._decoder = LogDecoder()
        self._given = 0
        """The number of items that Redis was given."""
        self._patience = PATIENCE_SECONDS
        self._appended_at = self.used_at

    async def open(self, header: RunHeader) -> None:
        """Raises LeaseLost."""
        keys = self._shared.keys
        self._shared.commands.run_script(
            JOIN_THREAD, [keys.thread(header.key)], self.run_id, LIVE_SECONDS
        )
        await self._append([header], lambda: self.memory.begin(header))

    async def append(self, chunks: Sequence[Chunk]) -> None:
        """Raises LeaseLost if the log has ended, or another worker has taken it over. What is
        appended to a log that is lost is dropped: the run goes on."""
        if self.writes and not self._given:
            self._give_up("it has no header")
        elif chunks:
            await self._append(chunks, lambda: self.memory.add(chunks))

    async def header(self) -> RunHeader | None:
        with self._used():
            return await self.memory.header()

    async def read(self, after: int) -> AsyncGenerator[Batch]:
        with self._used(), self._shared.presence.reading(self):
            async with aclosing(self.memory.read(after)) as batches:
                async for batch in batches:
                    yield batch

    async def status(self) -> LogStatus:
        """Counts the readers of all workers, as far as Redis can be asked."""
        status = await self.memory.status()
        if status.state != "live":
            return status
        others, idle = await self._shared.presence.elsewhere(self.run_id)
        unread = status.unread_seconds if idle is None else min(status.unread_seconds, idle)
        return replace(
            status, readers=status.readers + others, unread_seconds=0.0 if others else unread
        )

    async def ended(self) -> None:
        with self._used():
            await self.memory.ended()

    async def reached(self, number: int) -> None:
        with self._used():
            await self.memory.reached(number)

    @property
    def last_id(self) -> bytes:
        return b"0-%d" % (self.memory.last + 1)

    @property
    def is_over(self) -> bool:
        return self.memory.is_over

    def feed(self, entries: Sequence[Entry]) -> None:
        """Take entries of a mirror's log from Redis. A gap ends it, and so does an entry that is no
        item of a log."""
        items: list[Any] = []
        number = self.memory.last
        for id, fields in entries:
            number += 1
            try:
                if id != b"0-%d" % (number + 1):
                    raise ValueError(f"item {number} has the id {id.decode()}")
                items.append(decoded(fields[1], self._decoder))
            except ValueError as error:
                if not id.startswith(b"0-"):
                    break  # it is lost, and says so
                named = {
                    "run": self.run_id,
                    "version": self._decoder.version,
                    "error": str(error),
                }
                text = "the log of run %(run)s, of version %(version)s, cannot be read: %(error)s"
                logger.error(text, named)
                break
        if items and isinstance(items[0], RunHeader):
            self.memory.begin(items.pop(0))
        if items:
            self.memory.add(items)
        self.quiet_since = asyncio.get_running_loop().time()
        if number != self.memory.last:
            self.lose()

    def lose(self) -> None:
        """Its readers come to their end."""
        if not self.memory.is_over:
            self.memory.discard()

    def write_from(self, number: int) -> None:
        """This worker writes it from now on: the item of this number is the last one yet."""
        self.writes, self._given = True, number + 1

    @contextmanager
    def _used(self) -> Iterator[None]:
        self.uses += 1
        try:
            if not self.writes and not self.is_over:
                self._shared.feed.attach(self)
            yield
        finally:
            self.uses -= 1
            self.used_at = asyncio.get_running_loop().time()

    async def _append(self, items: Sequence[LogItem], confirmed: Callable[[], None]) -> None:
        if self.memory.is_lost:
            return
        if not self.writes:
            raise LeaseLost(f"run {self.run_id} is another worker's")
        if self.is_over:
            raise LeaseLost(f"the log of run {self.run_id} has ended")
        clock = asyncio.get_running_loop().time
        began = clock()
        self._patience = min(
            PATIENCE_SECONDS, self._patience + RECOVERY * (began - self._appended_at)
        )
        keys, first, ends = self._shared.keys, self._given, isinstance(items[-1], Done)
        self._given += len(items)
        answer = self._shared.commands.run_script(
            APPEND,
            [keys.log(self.run_id), keys.state(self.run_id)],
            *(self._shared.worker, first, LIVE_SECONDS, "1" if ends else "0"),
            *map(encoded, items),
            patience=self._patience,
        )
        # Whoever waits here may be cancelled: what was given to Redis is in the log all the same.
        answer.add_done_callback(partial(self._answered, confirmed))
        try:
            reply = await asyncio.shield(answer)
        except (Unanswered, ResponseError):
            return
        finally:
            self._appended_at = clock()
            self._patience -= max(0.0, self._appended_at - began - QUICK_SECONDS)
        if reply == b"refused":
            raise LeaseLost(f"run {self.run_id} is another worker's")

    def _answered(self, confirmed: Callable[[], None], answer: asyncio.Future[Any]) -> None:
        fault = asyncio.CancelledError() if answer.cancelled() else answer.exception()
        reply = b"" if fault else answer.result()
        if self.memory.is_over:
            return
        if reply == b"appended":
            confirmed()
        elif reply == b"refused":
            self.writes = False
            self._shared.on_refused(self.run_id)
        else:
            self._give_up(described(fault) if fault else "Redis has lost it")

    def _give_up(self, cause: str) -> None:
        self.lose()
        named = {"run": self.run_id, "error": cause}
        logger.warning("run %(run)s goes on, and cannot be streamed: %(error)s", named)
        self._shared.on_lost(self.run_id)

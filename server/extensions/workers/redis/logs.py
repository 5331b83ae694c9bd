"""The logs of all workers' runs, in Redis, as one worker sees them."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

from redis.exceptions import ResponseError

from turnstream.server.extensions.workers.redis.connection import (
    PATIENCE_SECONDS,
    Commands,
    Unanswered,
    described,
)
from turnstream.server.extensions.workers.redis.feed import Feed
from turnstream.server.extensions.workers.redis.log import RedisLog
from turnstream.server.extensions.workers.redis.presence import Presence
from turnstream.server.extensions.workers.redis.scripts import (
    CREATE,
    DISCARD,
    KEEP,
    LIVE_SECONDS,
    LOOK,
    LOST_SECONDS,
    TAKE_OVER,
    UNOPENED_SECONDS,
    Keys,
    Script,
)
from turnstream.server.extensions.workers.redis.shared import Shared
from turnstream.server.storage.interfaces import StorageUnavailable
from turnstream.server.storage.memory_logs import DEFAULT_MAX_BYTES
from turnstream.server.turns.header import RunHeader, ThreadKey

ASK_SECONDS = 2.0
"""A request waits no longer for Redis to say whether it can be streamed."""
PROBE_SECONDS = 60

FAULTS = (Unanswered, ResponseError)


def unreachable(error: Exception) -> StorageUnavailable:
    kind = type(error).__name__
    return StorageUnavailable("streams_unavailable", described(error), store="redis", state=kind)


logger = logging.getLogger(__name__)


class RedisLogs:
    """Implements `SharedLogs`. `max_bytes` is for the logs that this process writes or has written:
    while they take more, those that have ended are dropped, the first one first; Redis still has
    them. A mirror goes with its readers."""

    def __init__(
        self,
        worker: str,
        keys: Keys,
        commands: Commands,
        feed: Feed,
        max_bytes: int = DEFAULT_MAX_BYTES,
    ) -> None:
        self.presence = Presence(worker, keys, commands)
        self._shared = Shared(
            worker, keys, commands, feed, self.presence, self._lost, self._refused
        )
        self._written: dict[str, RedisLog] = {}
        self._mirrors: WeakValueDictionary[str, RedisLog] = WeakValueDictionary()
        self._ended: dict[str, None] = {}
        """The ids of runs that have ended here, the first one first."""
        self._unmarked: set[str] = set()
        """The ids of runs whose logs are lost or discarded, and Redis has not answered to that."""
        self._max_bytes = max_bytes
        self._size = 0
        self._ask: Callable[[RunHeader], Awaitable[None]] | None = None

    async def create(self, run_id: str) -> RedisLog:
        """Raises StorageUnavailable."""
        keys = [self._shared.keys.state(run_id), self._shared.keys.log(run_id)]
        await self._needed(CREATE, keys, self._shared.worker, UNOPENED_SECONDS)
        log = self._written[run_id] = self._made(run_id, writes=True)
        return log

    async def get(self, run_id: str) -> RedisLog | None:
        """As far as Redis has it by now. None too if Redis cannot say."""
        log = self._written.get(run_id)
        if log and not log.is_over:
            return log
        try:
            last = await self.look(run_id)
        except FAULTS:
            return log
        if last is None:
            self._drop(run_id)
            return None
        return log or await self._caught_up(run_id, last)

    async def look(self, run_id: str) -> int | None:
        """The number of the last item that Redis has of a log; None: it is not held. Raises one of
        FAULTS."""
        keys = [self._shared.keys.log(run_id), self._shared.keys.state(run_id)]
        last: int | None = await self._shared.commands.run_script(LOOK, keys, patience=ASK_SECONDS)
        return last

    async def keep(self, run_id: str, seconds: float) -> None:
        if run_id in self._written:
            self._ended[run_id] = None
            asyncio.get_running_loop().call_later(seconds, self._forget, run_id)
        try:
            await self._on_run(KEEP, run_id, self._shared.worker, round(seconds * 1000))
        except FAULTS as error:
            named = {"run": run_id, "error": described(error)}
            logger.warning("the log of run %(run)s stays for a day: %(error)s", named)

    async def discard(self, run_id: str) -> None:
        """Unless another worker has taken it over."""
        if run_id in self._written:
            self._drop(run_id)
        with suppress(*FAULTS):  # it is told when it is back
            await self._mark(run_id)

    async def discard_thread(self, key: ThreadKey) -> None:
        """Raises StorageUnavailable."""
        thread = self._shared.keys.thread(key)
        try:
            listed = await self._shared.commands.submit(
                "ZRANGE", thread, 0, -1, patience=ASK_SECONDS
            )
            for run_id in map(bytes.decode, listed):
                self._drop(run_id)
                await self._on_run(DISCARD, run_id, LOST_SECONDS, "")
            if listed:
                await self._shared.commands.submit("ZREM", thread, *listed)
        except FAULTS as error:
            raise unreachable(error) from error

    async def take_over(self, run_id: str) -> RedisLog | None:
        """Raises StorageUnavailable."""
        written = self._written.get(run_id)
        if written:
            return written
        keys, worker = self._shared.keys, self._shared.worker
        last = await self._needed(
            TAKE_OVER,
            [keys.log(run_id), keys.state(run_id), keys.readers(run_id)],
            *(worker, LIVE_SECONDS, LOST_SECONDS),
        )
        if last is None:
            self._drop(run_id)
            return None
        log = await self._caught_up(run_id, last)
        if log is None or log.memory.last != last:
            raise StorageUnavailable("streams_unavailable", store="redis")
        self._shared.feed.detach(log)
        log.write_from(last)
        self._mirrors.pop(run_id, None)
        self._written[run_id] = log
        self._size += log.memory.size
        return log

    async def hand_over(self, run_id: str) -> None:
        """This worker writes the log no more: its readers get what another one writes."""
        log = self._written.get(run_id)
        if log and not log.is_over:
            log.writes = False
            self._refused(run_id)

    def on_silence(self, ask: Callable[[RunHeader], Awaitable[None]]) -> None:
        self._ask = ask

    async def ask_about(self, log: RedisLog) -> None:
        """Find out why a log that is read here is silent."""
        try:
            last = await self.look(log.run_id)
        except FAULTS:
            return
        if last is None or last < log.memory.last:
            # Redis was emptied, or has forgotten the newest of it.
            log.lose()
        elif last >= 0 and not log.is_over:
            header = await log.memory.header()
            if header and self._ask:
                await self._ask(header)

    async def check(self) -> None:
        """Raises StorageUnavailable if no run can be streamed now."""
        key = self._shared.keys.probe(self._shared.worker)
        try:
            await self._shared.commands.submit(
                "SET", key, 1, "EX", PROBE_SECONDS, patience=ASK_SECONDS
            )
        except FAULTS as error:
            raise unreachable(error) from error

    def mark(self) -> None:
        """Tell Redis of the logs that are lost, if it could not be told yet."""
        for run_id in [*self._unmarked]:
            self._mark(run_id)

    def _mark(self, run_id: str) -> asyncio.Future[Any]:
        self._unmarked.add(run_id)
        answer = self._on_run(DISCARD, run_id, LOST_SECONDS, self._shared.worker)

        def answered(done: asyncio.Future[Any]) -> None:
            if not done.cancelled() and not done.exception():
                self._unmarked.discard(run_id)

        answer.add_done_callback(answered)
        return answer

    def _lost(self, run_id: str) -> None:
        self._mark(run_id)

    def _refused(self, run_id: str) -> None:
        """Another worker has taken the log over: what that one writes is read."""
        log = self._written.pop(run_id, None)
        if log:
            self._size -= log.memory.size
            self._mirrors[run_id] = log
            self._shared.feed.attach(log)

    async def _caught_up(self, run_id: str, last: int) -> RedisLog | None:
        """A mirror that has what Redis has."""
        log = self._mirrors.get(run_id)
        if log is None:
            log = self._mirrors[run_id] = self._made(run_id, writes=False)
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await log.reached(last)
        except TimeoutError:
            return None
        return log

    def _made(self, run_id: str, *, writes: bool) -> RedisLog:
        return RedisLog(run_id, self._shared, partial(self._grow, run_id), writes=writes)

    def _on_run(self, script: Script, run_id: str, *args: str | int) -> asyncio.Future[Any]:
        keys = self._shared.keys
        names = [keys.log(run_id), keys.state(run_id), keys.readers(run_id)]
        return self._shared.commands.run_script(script, names, *args, patience=ASK_SECONDS)

    async def _needed(self, script: Script, keys: Sequence[str], *args: str | int) -> Any:
        try:
            return await self._shared.commands.run_script(script, keys, *args, patience=ASK_SECONDS)
        except FAULTS as error:
            raise unreachable(error) from error

    def _drop(self, run_id: str) -> None:
        """The log is gone: its readers come to their end."""
        log = self._forget(run_id) or self._mirrors.pop(run_id, None)
        if log:
            log.memory.discard()
            self._shared.feed.detach(log)

    def _forget(self, run_id: str) -> RedisLog | None:
        """Hold it here no longer; Redis may have it yet."""
        self._ended.pop(run_id, None)
        log = self._written.pop(run_id, None)
        if log:
            self._size -= log.memory.size
        return log

    def _grow(self, run_id: str, size: int) -> None:
        if run_id in self._written:
            self._size += size
        while self._size > self._max_bytes and self._ended:
            self._forget(next(iter(self._ended)))

"""The one blocked read of a process: over the logs that are read here, and its inbox."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from turnstream.server.extensions.workers.redis.connection import (
    PATIENCE_SECONDS,
    REPLY_SECONDS,
    Commands,
    Connection,
    Lasting,
    packed_command,
)
from turnstream.server.extensions.workers.redis.scripts import SEND

BLOCK_SECONDS = 2.0
AT_ONCE = 200
"""Items of one log in one read: what takes longer to decode would hold up the event loop."""
PAUSE_SECONDS = 0.004
"""From one read to the next: what comes meanwhile is one read, and nobody sees so short a time."""
WAKE_SECONDS = 60

Entry = tuple[bytes, Sequence[bytes]]
"""An id, and fields and values in turns."""

logger = logging.getLogger(__name__)


class Mirror(Protocol):
    """A log that is read here and written by another worker."""

    @property
    def stream(self) -> bytes:
        """Its key."""

    @property
    def last_id(self) -> bytes:
        """The id of the last item that it has."""

    @property
    def is_over(self) -> bool:
        """True if nothing more will come."""

    def feed(self, entries: Sequence[Entry]) -> None: ...

    def lose(self) -> None:
        """Nothing can come any more."""


class Feed:
    """`receive` gets the messages of the inbox."""

    def __init__(
        self,
        connection: Connection,
        commands: Commands,
        inbox: str,
        receive: Callable[[Mapping[bytes, bytes]], None],
    ) -> None:
        self._connection = connection
        self._commands = commands
        self._inbox = inbox.encode()
        self._receive = receive
        self._received = b"0-0"
        self._mirrors: dict[bytes, Mirror] = {}
        self._blocked = False
        self.link = Lasting(connection, self._work)
        self.link.on_failure(self._failed)

    @property
    def mirrors(self) -> Sequence[Mirror]:
        return [*self._mirrors.values()]

    def attach(self, mirror: Mirror) -> None:
        if mirror.stream in self._mirrors:
            return
        self._mirrors[mirror.stream] = mirror
        if self._blocked:
            self._blocked = False
            self._commands.run_script(SEND, [self._inbox.decode()], WAKE_SECONDS, "wake", 1)

    def detach(self, mirror: Mirror) -> None:
        self._mirrors.pop(mirror.stream, None)

    async def _work(self) -> None:
        # What was received once may come again; a Redis that was emptied begins anew.
        self._received = b"0-0"
        while True:
            most = await self._read()
            await asyncio.sleep(0 if most == AT_ONCE else PAUSE_SECONDS)

    async def _read(self) -> int:
        """Read once; how many items there were at the most of one log."""
        read = [mirror for mirror in self._mirrors.values() if not mirror.is_over]
        keys = [self._inbox, *(mirror.stream for mirror in read)]
        ids = [self._received, *(mirror.last_id for mirror in read)]
        block = round(BLOCK_SECONDS * 1000)
        packed = packed_command(
            *("XREAD", "COUNT", AT_ONCE, "BLOCK", block, "STREAMS"), *keys, *ids
        )
        try:
            async with asyncio.timeout(BLOCK_SECONDS + REPLY_SECONDS):
                self._blocked = True
                await self._connection.send_packed_command([packed], check_health=False)
                reply = await self._connection.read_response()
        finally:
            self._blocked = False
        self.link.progressed()
        for stream, entries in reply or ():
            self._deliver(stream, entries)
        return max((len(entries) for _, entries in reply or ()), default=0)

    def _deliver(self, stream: bytes, entries: Sequence[Any]) -> None:
        mirror = self._mirrors.get(stream)
        try:
            if mirror:
                mirror.feed(entries)
            elif stream == self._inbox:
                for id, fields in entries:
                    self._received = id
                    self._receive(dict(zip(fields[::2], fields[1::2], strict=True)))
        except Exception:
            # What one worker has written badly must not keep the others from being read.
            logger.exception("what Redis has sent cannot be taken")
            if mirror:
                mirror.lose()

    def _failed(self) -> None:
        if self.link.down_for(PATIENCE_SECONDS):
            for mirror in self.mirrors:
                mirror.lose()

"""One connection to Redis that a task of its own reads and writes.

Nobody who waits for an answer touches the connection: who is cancelled just does not hear of it.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, cast

from redis.asyncio import ConnectionPool
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, ReadOnlyError, RedisError, ResponseError

from turnstream.server.extensions.workers.redis.scripts import ALL, Script

CONNECT_SECONDS = 1.0
REPLY_SECONDS = 2.0
PATIENCE_SECONDS = 4.0
"""Seconds that a command is tried, over as many connections as it takes."""
BACKOFF_SECONDS = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0)
AT_ONCE = 256
"""Commands of one pipeline."""
_CLOSING = "the server is closing"

BROKEN = (RedisError, OSError, TimeoutError)
"""Errors after which a connection is of no more use."""


class Unanswered(Exception):
    """Redis did not answer in time; whether it did what was asked is not known."""


class Connection(Protocol):
    """The part of the client that is used here (redis-py 8.1)."""

    async def connect(self) -> None: ...

    async def disconnect(self, nowait: bool = False) -> None: ...

    async def send_packed_command(
        self, command: Sequence[bytes], check_health: bool = True
    ) -> None: ...

    async def read_response(self) -> Any: ...


def connections(url: str, name: str) -> Callable[[], Connection]:
    """Makes connections that are not open yet; Redis lists them under the name. Raises ValueError
    for a URL of another kind."""
    pool = ConnectionPool.from_url(
        url,
        protocol=2,
        client_name=name,
        socket_timeout=None,
        socket_connect_timeout=CONNECT_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )
    return cast(Callable[[], Connection], pool.make_connection)


class Lasting:
    """A connection that is made anew, for ever, when it breaks; `run` is its task.

    `use` has it to itself until it raises one of BROKEN.
    """

    def __init__(self, connection: Connection, use: Callable[[], Awaitable[None]]) -> None:
        self._connection = connection
        self._use = use
        self._on_failure: list[Callable[[], None]] = []
        self._failures = 0
        """In turn."""
        self.tried = asyncio.Event()
        """It has been tried to connect."""
        self.fault: BaseException | None = None
        """Why it is not connected."""
        self.down_since: float | None = None
        """By the loop's clock; None: it is connected, or was not tried yet."""

    def on_failure(self, call: Callable[[], None]) -> None:
        """`call` is called at each failure, to connect or later."""
        self._on_failure.append(call)

    def down_for(self, seconds: float) -> bool:
        since = self.down_since
        return since is not None and asyncio.get_running_loop().time() - since >= seconds

    async def run(self) -> None:
        try:
            while True:
                try:
                    await self._connect()
                    await self._use()
                except BROKEN as error:
                    await self._failed(error)
                last = len(BACKOFF_SECONDS) - 1
                await asyncio.sleep(BACKOFF_SECONDS[min(self._failures, last)])
                self._failures += 1
        finally:
            await self._connection.disconnect(nowait=True)

    def progressed(self) -> None:
        """It was of use: when it breaks, it is made anew at once."""
        self._failures = 0

    async def _connect(self) -> None:
        async with asyncio.timeout(REPLY_SECONDS):
            await self._connection.connect()
            await self._load_scripts()
        self.down_since, self.fault = None, None
        self.tried.set()

    async def _failed(self, error: BaseException) -> None:
        self.fault = error
        if self.down_since is None:
            self.down_since = asyncio.get_running_loop().time()
        self.tried.set()
        await self._connection.disconnect(nowait=True)
        for call in self._on_failure:
            call()

    async def _load_scripts(self) -> None:
        """A Redis that has restarted knows none."""
        packed = [packed_command("SCRIPT", "LOAD", script.source) for script in ALL]
        await self._connection.send_packed_command(packed, check_health=False)
        for _ in ALL:
            await self._connection.read_response()


def packed_command(*args: str | bytes | int) -> bytes:
    """A command as it is sent: the client's own way of packing costs several times as much."""
    parts = [b"*%d\r\n" % len(args)]
    for arg in args:
        data = arg if isinstance(arg, bytes) else str(arg).encode()
        parts.append(b"$%d\r\n%b\r\n" % (len(data), data))
    return b"".join(parts)


class _Command:
    __slots__ = ("answer", "deadline", "packed")

    def __init__(self, packed: bytes, deadline: float, answer: asyncio.Future[Any]) -> None:
        self.packed = packed
        self.deadline = deadline
        self.answer = answer


class Commands:
    """Commands over one connection, in the order in which they are given; what is given while
    others are on their way goes out in one pipeline.

    A command may be carried out twice, if its answer was lost.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._waiting: deque[_Command] = deque()
        self._given = asyncio.Event()
        self._is_closed = False
        self._loop = asyncio.get_running_loop()
        self.link = Lasting(connection, self._work)
        self.link.on_failure(self._give_up_late_ones)

    def submit(
        self, *args: str | bytes | int, patience: float = PATIENCE_SECONDS
    ) -> asyncio.Future[Any]:
        """The answer, or Unanswered, or what Redis refuses it with (ResponseError)."""
        answer: asyncio.Future[Any] = self._loop.create_future()
        if self._is_closed:
            _fail(answer, Unanswered(_CLOSING))
            return answer
        if self.link.down_for(patience):
            _fail(answer, Unanswered(described(self.link.fault)))
            return answer
        packed = packed_command(*args)
        self._waiting.append(_Command(packed, self._loop.time() + patience, answer))
        self._given.set()
        return answer

    def run_script(
        self,
        script: Script,
        keys: Sequence[str],
        *args: str | bytes | int,
        patience: float = PATIENCE_SECONDS,
    ) -> asyncio.Future[Any]:
        return self.submit("EVALSHA", script.digest, len(keys), *keys, *args, patience=patience)

    def close(self) -> None:
        """Nothing is answered any more."""
        self._is_closed = True
        while self._waiting:
            _fail(self._waiting.popleft().answer, Unanswered(_CLOSING))

    async def _work(self) -> None:
        while True:
            if not self._waiting:
                self._given.clear()
                await self._given.wait()
            await self._pipeline()

    async def _pipeline(self) -> None:
        sent = [self._waiting.popleft() for _ in range(min(AT_ONCE, len(self._waiting)))]
        done, began = 0, self._loop.time()
        try:
            async with asyncio.timeout(REPLY_SECONDS):
                packed = [command.packed for command in sent]
                await self._connection.send_packed_command(packed, check_health=False)
                for command in sent:
                    await self._settle(command)
                    done += 1
            self.link.progressed()
        finally:
            # Those without an answer go out again; they may have been carried out.
            self._waiting.extendleft(reversed(sent[done:]))
            # What took longer than it can was a process that stood still: no wait for Redis.
            paused = self._loop.time() - began - REPLY_SECONDS
            for command in self._waiting if paused > 0 else ():
                command.deadline += paused

    async def _settle(self, command: _Command) -> None:
        try:
            reply = await self._connection.read_response()
        except (NoScriptError, ReadOnlyError):
            raise  # it may know the script, or be the primary, after a new connection
        except ResponseError as error:
            _fail(command.answer, error)
        else:
            if not command.answer.done():
                command.answer.set_result(reply)

    def _give_up_late_ones(self) -> None:
        now, fault = self._loop.time(), Unanswered(described(self.link.fault))
        for command in [c for c in self._waiting if c.deadline <= now or c.answer.done()]:
            self._waiting.remove(command)
            _fail(command.answer, fault)


def _fail(answer: asyncio.Future[Any], error: Exception) -> None:
    if not answer.done():
        answer.set_exception(error)
        answer.exception()  # nobody has to look at it


def described(fault: BaseException | None) -> str:
    """On one line; the client's messages name host and port, and no password."""
    return "closed" if fault is None else " ".join(f"{type(fault).__name__}: {fault}".split())

"""What attacks cost one server process, each at a size and at four times that size.

At most what is sent grows: no cost may grow by more than the bytes do. A wait is that of a request
for /health beside the attack; what of it the server computed is its hold.
"""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.attacks.test_tools_schema_costs import ATTACKS as SCHEMAS
from tests.benchmarks.processes import SERVER, Process, started
from tests.support.hostile_bodies import BODIES
from tests.support.hostile_schemas import hostile
from tests.support.long_list import add_threads
from tests.support.raw_model import RawModel, call, finish, raw_model, say, stream
from tests.support.watchdog import JSON, Watchdog, watchdog
from turnstream.server.storage.store import open_store

GROWTH = 4
REPEATS = 3
"""The attack is made so often on each server: what is kept for a while adds up."""


@dataclass(frozen=True)
class Target:
    process: Process
    http: httpx.AsyncClient
    raw: RawModel

    async def post(self, body: Any, path: str = "/chat") -> int:
        """The bytes that were sent."""
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        await self.http.post(path, content=sent, headers=JSON)
        return len(sent)

    async def hears(self, answer: bytes, **fields: Any) -> int:
        """The bytes that client and model have sent."""
        self.raw.answers = [answer]
        return len(answer) + await self.post({"message": "Go", **fields})


Attack = Callable[[Target, int], Awaitable[int]]
"""Of a size; gives the bytes that were sent."""


@dataclass(frozen=True)
class Cost:
    sent: int
    cpu_seconds: float
    hold_seconds: float
    wait_seconds: float
    memory_bytes: int
    open_files: int
    log_bytes: int

    def line(self) -> str:
        return (
            f"sent {self.sent / 1e3:.0f} kB, server CPU {self.cpu_seconds * 1e3:.0f} ms, "
            f"longest wait {self.wait_seconds * 1e3:.0f} ms, "
            f"hold {self.hold_seconds * 1e3:.0f} ms, "
            f"memory {self.memory_bytes / 1e6:+.1f} MB, open files {self.open_files:+d}, "
            f"log {self.log_bytes} B"
        )


def body(name: str) -> Attack:
    return lambda target, size: target.post(BODIES[name](size))


async def message(target: Target, size: int) -> int:
    return await target.post({"message": ("draw a chart of apples 3 and " * size)[:size]})


async def schema(target: Target, size: int) -> int:
    tool = hostile(*SCHEMAS["items with allOf"](size))
    calls = [call(json.dumps(args), "probe", f"c{n}", n) for n, args in enumerate(tool.arguments)]
    probe = {"name": "probe", "parameters": tool.parameters}
    return await target.hears(stream(*calls[:10], finish("tool_calls")), client_tools=[probe])


async def words(target: Target, size: int) -> int:
    return await target.hears(stream(*[say("word ")] * size, finish()))


async def fragments(target: Target, size: int) -> int:
    args = '{"expression": "' + "(" * size
    pieces = (call(args[at : at + 4]) for at in range(0, len(args), 4))
    head = call("", "calculator", "call_1")
    return await target.hears(stream(head, *pieces, finish("tool_calls")))


async def one_fragment(target: Target, size: int) -> int:
    args = json.dumps({"expression": "1+" * (size // 2)})
    return await target.hears(stream(call(args, "calculator", "c1"), finish("tool_calls")))


async def values(target: Target, size: int) -> int:
    args = '{"expression": [' + "[]," * (size // 3) + "0]}"
    return await target.hears(stream(call(args, "calculator", "c1"), finish("tool_calls")))


async def result(target: Target, size: int) -> int:
    args = json.dumps({"shape": "objects", "size": size})
    await target.hears(stream(call(args, "large", "c1"), finish("tool_calls")))
    return size


async def images(target: Target, size: int) -> int:
    image = {"type": "image", "image": "data:image/png;base64,iVBORw0KGgo" + "A" * (size - 11)}
    return await target.post({"message": {"parts": [{"type": "text", "text": "Look"}, image]}})


async def connections(target: Target, size: int) -> int:
    port = int(target.process.url.rsplit(":", 1)[1])
    head = b"POST /chat HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000\r\n\r\n{"
    pairs = [await asyncio.open_connection("127.0.0.1", port) for _ in range(size)]
    for _, writer in pairs:
        writer.write(head)
        await writer.drain()
    await target.http.get("/health")
    for _, writer in pairs:
        writer.transport.abort()
    await target.http.get("/health")
    return size * len(head)


async def pages(target: Target, _threads: int) -> int:
    """The list is as long as it is: the requests are the same."""
    cursor: dict[str, str] = {}
    for _ in range(20):
        page = await target.http.get("/threads", params={"limit": "100", **cursor})
        cursor = {"cursor": page.json()["cursor"]}
    return 20 * 200


OFFLINE: dict[str, tuple[Attack, int]] = {
    "a body that is one text": (body("a text"), 3_900_000),
    "a body of objects": (body("objects"), 100_000),
    "a body of names": (body("names"), 400_000),
    "a body of long numbers": (body("long numbers"), 3_900_000),
    "a history": (body("a history of messages"), 400_000),
    "answers of tools": (body("answers"), 400_000),
    "a message to the offline model": (message, 7_900),
    "an image": (images, 1_900_000),
    "half-sent bodies": (connections, 100),
}
MODELLED: dict[str, tuple[Attack, int]] = {
    "schemas and calls": (schema, 100),
    "words of a model": (words, 2_000),
    "fragments of arguments": (fragments, 8_000),
    "arguments in one fragment": (one_fragment, 200_000),
    "arguments of arrays": (values, 200_000),
    "a large result": (result, 500_000),
}
LISTED: dict[str, tuple[Attack, int]] = {"pages of a list of threads": (pages, 12_500)}


@contextmanager
def server(folder: str, raw: RawModel | None) -> Iterator[Process]:
    arguments = ["--port", "0", "--database", str(Path(folder, "t.db"))]
    arguments += ["--model", "raw" if raw else "offline"]
    variables = {
        "TURNSTREAM_OFFLINE_WORD_SECONDS": "0",
        "TURNSTREAM_MAX_NEW_THREADS": "100000",
        "TURNSTREAM_GRAPH": "tests.support.heavy_graph:build",
    }
    if raw:
        variables |= {"OPENAI_BASE_URL": raw.url, "OPENAI_API_KEY": "test"}
    with started(SERVER, *arguments, **variables) as process:
        yield process


@asynccontextmanager
async def target(*, modelled: bool, threads: int) -> AsyncIterator[tuple[Target, Watchdog]]:
    with tempfile.TemporaryDirectory() as folder:
        if threads:
            async with open_store(Path(folder, "t.db"), 5000) as store:
                await store._writes.do(add_threads, threads)
        async with raw_model() as raw:
            with server(folder, raw if modelled else None) as process:
                async with (
                    httpx.AsyncClient(base_url=process.url, timeout=60) as http,
                    watchdog(process.url, process.pid) as dog,
                ):
                    yield Target(process, http, raw), dog


async def measured(attack: Attack, size: int, *, modelled: bool, threads: int) -> Cost:
    async with target(modelled=modelled, threads=threads) as (attacked, dog):
        process = attacked.process
        await attacked.post({"message": "Warm up."})
        await attack(attacked, max(1, size // 100))
        await dog.seen()
        before = (process.memory_bytes(), process.open_files(), process.said_bytes())
        cpu = process.cpu_seconds()
        sent = sum([await attack(attacked, size) for _ in range(REPEATS)])
        cpu = process.cpu_seconds() - cpu
        seen = await dog.seen()
        return Cost(
            sent,
            cpu,
            seen.hold,
            seen.wait,
            process.memory_bytes() - before[0],
            process.open_files() - before[1],
            process.said_bytes() - before[2],
        )


def growth(small: float, large: float, least: float) -> str:
    """Of a cost; what is less than `least` may be anything."""
    return f"{large / max(small, least):.1f}" if large > least else "-"


async def compare(name: str, attack: Attack, size: int, *, modelled: bool, listed: bool) -> None:
    sizes: Sequence[int] = (size, GROWTH * size)
    small, large = [
        await measured(attack, size, modelled=modelled, threads=size if listed else 0)
        for size in sizes
    ]
    for size, cost in zip(sizes, (small, large), strict=True):
        print(f"{name}, {size}: {cost.line()}", flush=True)
    print(
        f"{name}, growth: sent {large.sent / small.sent:.1f}, "
        f"server CPU {growth(small.cpu_seconds, large.cpu_seconds, 0.05)}, "
        f"hold {growth(small.hold_seconds, large.hold_seconds, 0.03)}, "
        f"memory {growth(small.memory_bytes, large.memory_bytes, 1e6)}, "
        f"log {growth(small.log_bytes, large.log_bytes, 1000)}",
        flush=True,
    )


async def main() -> None:
    for name, (attack, size) in OFFLINE.items():
        await compare(name, attack, size, modelled=False, listed=False)
    for name, (attack, size) in MODELLED.items():
        await compare(name, attack, size, modelled=True, listed=False)
    for name, (attack, size) in LISTED.items():
        await compare(name, attack, size, modelled=False, listed=True)


if __name__ == "__main__":
    asyncio.run(main())

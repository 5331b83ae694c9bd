"""What open streams, late readers and finished runs cost one server process."""

import asyncio
import json
import re
import resource
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from tests.benchmarks.clock_model import ClockModel, clock_model
from tests.benchmarks.processes import SERVER, Process, started
from tests.support.endpoint import Body, Call, Reply, StrictEndpoint, text_reply

STREAMS, STREAM_WORDS, STREAM_SECONDS, SPREAD_SECONDS = 1000, 14, 2.5, 20
READERS, READER_WORDS, READER_SECONDS = 50, 300, 0.02
STEPS, CALLS = 10, 100
RUNS, WARM_RUNS, RUNS_AT_ONCE = 1000, 100, 8
UNCAPPED = {"MAX_LIVE_RUNS": "2000", "MAX_NEW_THREADS": "100000"}
TIME = re.compile(rb"(\d+\.\d{4}) ")


@contextmanager
def server(model_url: str, **settings: str) -> Iterator[Process]:
    variables = {"OPENAI_BASE_URL": model_url, "OPENAI_API_KEY": "test"} if model_url else {}
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["--port", "0", "--database", str(Path(folder, "t.db"))]
        arguments += ["--model", "scripted" if model_url else "offline"]
        named = {f"TURNSTREAM_{name}": value for name, value in settings.items()}
        with started(SERVER, *arguments, **variables, **named) as process:
            yield process


@dataclass
class Reader:
    """A bare HTTP client: what it costs is not to hide what the server does."""

    url: str
    lags: list[float] = field(default_factory=list)
    received: int = 0
    opened: asyncio.Event = field(default_factory=asyncio.Event)

    async def get(self, path: str) -> None:
        await self._read(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")

    async def post(self, body: dict[str, str]) -> None:
        text = json.dumps(body)
        await self._read(
            "POST /chat HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(text)}\r\n\r\n{text}"
        )

    async def _read(self, request: str) -> None:
        place = urlsplit(self.url)
        reader, writer = await asyncio.open_connection(place.hostname, place.port, limit=2**24)
        writer.write(request.encode())
        ended = b""
        while b"[DONE]" not in ended and (data := await reader.read(2**20)):
            now = time.monotonic()
            self.received += len(data)
            self.lags += [now - float(said) for said in TIME.findall(data)]
            ended = ended[-8:] + data[-64:]
            self.opened.set()
        writer.close()


def say(name: str, value: float, unit: str = "") -> None:
    print(
        f"{name}: {value:.3g}{unit}" if value < 1000 else f"{name}: {value:.0f}{unit}", flush=True
    )


def say_lags(name: str, lags: list[float]) -> None:
    cuts = statistics.quantiles(lags, n=100)
    say(f"{name}: delivery lag p50", cuts[49] * 1000, " ms")
    say(f"{name}: delivery lag p99", cuts[98] * 1000, " ms")


async def warm_up(process: Process, model: ClockModel) -> None:
    """Caches, pools and threads that a server has once are not a stream's."""
    words, model.words = model.words, 1
    async with asyncio.timeout(60):
        readers = [Reader(process.url) for _ in range(WARM_RUNS)]
        await asyncio.gather(*(reader.post({"message": "Warm up."}) for reader in readers))
    model.words = words


async def many_streams() -> None:
    """So many runs at once, each with its reader, each saying a word a second."""
    async with clock_model(STREAM_WORDS, STREAM_SECONDS) as model:
        with server(model.url, **UNCAPPED) as process:
            await warm_up(process, model)
            before, cpu = process.memory_bytes(), process.cpu_seconds()
            readers = [Reader(process.url) for _ in range(STREAMS)]
            start = time.monotonic()
            reading = []
            for number, reader in enumerate(readers):
                body = {"thread_id": f"t{number}", "message": "What time is it?"}
                reading.append(asyncio.create_task(reader.post(body)))
                await asyncio.sleep(SPREAD_SECONDS / STREAMS)
            for reader in readers:
                await reader.opened.wait()
            say(f"{STREAMS} streams: all open after", time.monotonic() - start, " s")
            grown = process.memory_bytes() - before
            say(f"{STREAMS} streams: memory a stream", grown / STREAMS / 1024, " KiB")
            await asyncio.gather(*reading)
            say(f"{STREAMS} streams: server CPU a stream", (process.cpu_seconds() - cpu), " ms")
            # The first words come while other runs begin: that load is not a stream's.
            say_lags(f"{STREAMS} streams", [lag for r in readers for lag in r.lags[-5:]])


async def many_readers_of_a_word_a_while() -> None:
    """One run that as many read: what a further reader costs in memory."""
    async with clock_model(STREAM_WORDS, STREAM_SECONDS) as model:
        with server(model.url, **UNCAPPED) as process:
            await warm_up(process, model)
            readers = [Reader(process.url) for _ in range(STREAMS)]
            first = asyncio.create_task(readers[0].post({"thread_id": "t", "message": "Go."}))
            await readers[0].opened.wait()
            before, reading = process.memory_bytes(), [first]
            for reader in readers[1:]:
                reading.append(asyncio.create_task(reader.get("/chat/t/stream")))
                await asyncio.sleep(SPREAD_SECONDS / STREAMS)
            for reader in readers:
                await reader.opened.wait()
            grown = process.memory_bytes() - before
            say(f"{STREAMS} readers of a run: memory a reader", grown / STREAMS / 1024, " KiB")
            await asyncio.gather(*reading)
            say_lags(f"{STREAMS} readers of a run", [lag for r in readers for lag in r.lags[-5:]])


async def many_readers() -> None:
    """A run that many read, beside one that a single reader reads."""
    costs: dict[int, float] = {}
    async with clock_model(READER_WORDS, READER_SECONDS) as model:
        with server(model.url, **UNCAPPED) as process:
            for number, count in enumerate((1, 1, READERS)):  # the first warms up
                thread = f"readers-{number}"
                readers = [Reader(process.url) for _ in range(count)]
                cpu = process.cpu_seconds()
                first = asyncio.create_task(
                    readers[0].post({"thread_id": thread, "message": "What time is it?"})
                )
                await readers[0].opened.wait()
                others = [reader.get(f"/chat/{thread}/stream") for reader in readers[1:]]
                await asyncio.gather(first, *others)
                costs[count] = process.cpu_seconds() - cpu
                if count == READERS:
                    # What a late reader missed is late by design.
                    fresh = [lag for r in readers for lag in r.lags[READER_WORDS // 2 :]]
                    say_lags(f"{READERS} readers of a run", fresh)
    say(f"{READERS} readers of a run: server CPU, ratio to one", costs[READERS] / costs[1])
    each = (costs[READERS] - costs[1]) / (READERS - 1) / READER_WORDS
    say(f"{READERS} readers of a run: CPU a reader and event", each * 1e6, " us")


def many_calls(body: Body) -> Reply:
    """Calls of a tool that is not there, so many a step: five events each, and no pause."""
    step = sum(message["role"] == "assistant" for message in body["messages"])
    if step >= STEPS:
        return text_reply("Done.")
    calls = (
        Call(index, f"call_{step}_{index}", "missing", json.dumps({"n": [step, index]}))
        for index in range(CALLS)
    )
    return Reply(tuple(calls))


async def long_replay() -> None:
    """Attaching to a run of 5000 events that has ended."""
    async with StrictEndpoint() as endpoint:
        endpoint.default = many_calls
        with server(endpoint.base_url) as process:
            async with httpx.AsyncClient(base_url=process.url, timeout=60) as http:
                body = {"thread_id": "long", "message": "Go."}
                async with http.stream("POST", "/chat", json=body) as run:
                    events = (await run.aread()).count(b"\nid: ") + 1
                    start = f"/chat/long/stream?last_event_id={run.headers['x-run-id']}:0"
            say("long run: events", events)
            for name, path in (
                ("already encoded", start),
                ("another protocol", f"{start}&protocol=ui-message-stream"),
                ("another protocol again", f"{start}&protocol=ui-message-stream"),
            ):
                reader, begun = Reader(process.url), time.monotonic()
                await reader.get(path)
                say(f"long run: replay, {name}", (time.monotonic() - begun) * 1000, " ms")
            say("long run: bytes of the replay", reader.received)


@asynccontextmanager
async def client(process: Process) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=process.url, timeout=60) as http:
        yield http


async def finished_runs() -> None:
    """What so many finished runs leave behind, when none is kept for late readers."""
    with server("", **UNCAPPED, RUN_RETENTION_SECONDS="0", OFFLINE_WORD_SECONDS="0") as process:
        async with client(process) as http:
            waiting = iter(range(RUNS + WARM_RUNS))

            async def work(until: int) -> None:
                for number in waiting:
                    body = {"thread_id": f"t{number}", "message": "Hello"}
                    (await http.post("/chat", json=body)).raise_for_status()
                    if number >= until:
                        return

            await asyncio.gather(*(work(WARM_RUNS - RUNS_AT_ONCE) for _ in range(RUNS_AT_ONCE)))
            memory, files = process.memory_bytes(), process.open_files()
            await asyncio.gather(*(work(RUNS + WARM_RUNS) for _ in range(RUNS_AT_ONCE)))
            grown = (process.memory_bytes() - memory) / 1024
            say(f"{RUNS} finished runs: memory grown by", grown, " KiB")
            say(f"{RUNS} finished runs: memory a run", grown / RUNS, " KiB")
            say(f"{RUNS} finished runs: open files grown by", process.open_files() - files)


async def main() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    measures = (
        many_streams,
        many_readers_of_a_word_a_while,
        many_readers,
        long_replay,
        finished_runs,
    )
    for measure in measures:
        await measure()


if __name__ == "__main__":
    asyncio.run(main())

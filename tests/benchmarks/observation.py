"""What metrics, scraped every second, and traces cost a turn, beside a server without.

The turn is that of `tests.benchmarks.turns`; both servers ask one model server. Traces are those of
an SDK that hands them to nobody: what exporting them costs depends on the operator's choice.
"""

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Literal

import httpx

from tests.benchmarks.pairs import report_difference
from tests.benchmarks.processes import SERVER, Process, started
from tests.benchmarks.turns import cpu_of_turns
from turnstream.server.launch import listen

SCRAPE_SECONDS = 1

What = Literal["metrics", "traces"]


def free_port() -> int:
    with listen("127.0.0.1", 0) as listener:
        port: int = listener.getsockname()[1]
        return port


async def scraping(url: str) -> None:
    async with httpx.AsyncClient() as http:
        while True:
            (await http.get(url)).raise_for_status()
            await asyncio.sleep(SCRAPE_SECONDS)


async def compare(what: What, model: Process, at_once: int) -> None:
    scraped: list[str] = []
    """Of each start the server that has metrics. It is scraped while the other is measured too:
    what the scraper itself takes of the machine is in both figures."""

    @contextmanager
    def servers(start: int) -> Iterator[tuple[Process, Process]]:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            variables = {"OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "test"}
            common = ("--port", "0", "--model", "scripted", "--max-new-threads", "1000000")
            made: dict[bool, Process] = {}
            for on in (True, False) if start % 2 else (False, True):
                port = free_port()
                switch = {"metrics": ("--metrics-port", str(port)), "traces": ("--traces",)}[what]
                module = "tests.benchmarks.traced_server" if what == "traces" and on else SERVER
                named = ("--database", str(folder / f"{on}.db"), *common, *(switch if on else ()))
                made[on] = stack.enter_context(started(module, *named, **variables))
                if on and what == "metrics":
                    scraped.append(f"http://127.0.0.1:{port}/metrics")
            yield made[True], made[False]

    async def cpu_seconds(server: Process) -> float:
        scrapes = asyncio.create_task(scraping(scraped[-1])) if scraped else None
        try:
            return await cpu_of_turns(server, at_once)
        finally:
            if scrapes:
                scrapes.cancel()
                with suppress(asyncio.CancelledError):
                    await scrapes

    await report_difference(f"{what}, {at_once} at once", servers, cpu_seconds)


async def main() -> None:
    with started("tests.benchmarks.model") as model:
        for at_once in (1, 8):
            await compare("metrics", model, at_once)
            await compare("traces", model, at_once)


if __name__ == "__main__":
    asyncio.run(main())

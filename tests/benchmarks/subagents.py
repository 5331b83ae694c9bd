"""The cost of subagents: the words of one beside as many words of the answer, and a turn without
any where their words are shown beside one where they are hidden.

    make bench ARGS=subagents

Both servers of a pair serve one graph with the same model calls; eight turns go on at once.
"""

import asyncio
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx

from tests.benchmarks.pairs import Figures, Servers, compare
from tests.benchmarks.processes import PROJECT, SERVER, Process, started

STARTS, PAIRS, AT_ONCE = 4, 2, 8
GRAPH = PROJECT / "tests" / "benchmarks" / "subagents_graph.py"
Json = dict[str, Any]


def _said(**about: Any) -> Json:
    return {"id": uuid4().hex, "role": "user", **about}


FORMATS: Mapping[str, tuple[str, Callable[[], Json]]] = {
    "native": ("/chat", lambda: {"message": "Go"}),
    "AI SDK": (
        "/chat",
        lambda: {"id": uuid4().hex, "messages": [_said(parts=[{"type": "text", "text": "Go"}])]},
    ),
    "AG-UI 1.0": (
        "/ag-ui",
        lambda: {
            "threadId": uuid4().hex,
            "runId": uuid4().hex,
            "messages": [_said(content="Go")],
            "tools": [],
            "protocolVersion": "1.0",
        },
    ),
    "LangGraph SDK": (
        "/langgraph/runs/stream",
        lambda: {
            "assistant_id": GRAPH.stem,
            "input": {"messages": [{"role": "user", "content": "Go"}]},
            "stream_subgraphs": True,
        },
    ),
}
"""The address and a body, by format."""


async def cpu_of_turns(server: Process, *, format: str) -> Figures:
    """CPU seconds of the server for turns that go on at once."""
    path, body = FORMATS[format]
    async with httpx.AsyncClient(base_url=server.url, timeout=60) as http:
        before = server.cpu_seconds()
        answers = await asyncio.gather(*(http.post(path, json=body()) for _ in range(AT_ONCE)))
        cpu = server.cpu_seconds() - before
    assert all(answer.status_code == 200 for answer in answers), answers[0].text
    return {"cpu": cpu}


def pair(measured: Mapping[str, str], beside: Mapping[str, str]) -> Servers:
    """Two servers of the graph, with these variables."""

    @contextmanager
    def servers(start: int) -> Iterator[tuple[Process, Process]]:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            made: dict[bool, Process] = {}
            for is_measured in (True, False) if start % 2 else (False, True):
                variables = measured if is_measured else beside
                named = ("--port", "0", "--database", str(folder / f"{is_measured}.db"))
                options = ("--graph", f"{GRAPH}:graph", "--max-new-threads", "100000")
                process = started(SERVER, *named, *options, **variables)
                made[is_measured] = stack.enter_context(process)
            yield made[True], made[False]

    return servers


async def report(title: str, servers: Servers, formats: Mapping[str, object] = FORMATS) -> None:
    measures = [partial(cpu_of_turns, format=name) for name in formats]
    found = await compare(servers, measures, measures[0], STARTS, PAIRS)
    for name, compared in zip(formats, found, strict=True):
        print(f"{title}, {name}: server CPU, ratio: {compared.ratio('cpu')}", flush=True)


async def main() -> None:
    words = pair({"WORDS_OF": "subagent"}, {"WORDS_OF": "answer"})
    await report("a subagent's words beside the answer's", words)
    settings = ({"WORDS_OF": "none", "TURNSTREAM_SUBSTEPS": how} for how in ("show", "hide"))
    await report("a turn without subagents, shown beside hidden", pair(*settings), {"native": 0})


if __name__ == "__main__":
    asyncio.run(main())

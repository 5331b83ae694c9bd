"""No request, model or client costs the server: whatever they send, /health is answered, and
SIGTERM ends the process in time.

Each test is a class of attacks on one server process, which it ends when they are over.
"""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.raw_model import RawModel, call, finish, raw_model, stream
from tests.support.watchdog import MAX_HOLD_SECONDS, Attacked, attacked

MANY = {"MAX_NEW_THREADS": "100000", "MAX_LIVE_RUNS": "1000"}
HEAVY = "tests.support.heavy_graph:build"


@asynccontextmanager
async def modelled(path: Path, **environment: str) -> AsyncIterator[tuple[RawModel, Attacked]]:
    """A server whose model is another attacker."""
    async with raw_model() as raw:
        model = {"MODEL": "raw", "OPENAI_BASE_URL": raw.url, "OPENAI_API_KEY": "test"}
        async with attacked(path / "t.db", **MANY, **model, **environment) as server:
            yield raw, server


def chat(message: Any = "Go", **fields: Any) -> bytes:
    return json.dumps({"message": message, **fields}).encode()


def calls(name: str, arguments: Sequence[Any]) -> bytes:
    """A model's answer: calls of a tool."""
    made = [
        call(json.dumps(args), name, f"call_{index}", index) for index, args in enumerate(arguments)
    ]
    return stream(*made, finish("tool_calls"))


# The watchdog


@pytest.mark.parametrize("seconds", [0.0, 0.4])
async def test_the_watchdog_sees_a_loop_that_computes_too_long(
    tmp_path: Path, seconds: float
) -> None:
    async with modelled(tmp_path, GRAPH=HEAVY) as (raw, server):
        raw.answers = [calls("compute", [{"seconds": seconds}])]
        await server.dog.seen()
        assert (await server.post(chat())).status_code == 200
        seen = await server.dog.seen()
        assert seen.fault is None
        assert (seen.hold > MAX_HOLD_SECONDS) == bool(seconds)

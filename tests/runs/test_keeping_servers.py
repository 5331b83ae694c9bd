"""Every way to leave a turn with a server that wants back what it sent, and the messages after it.

`tests/runs/test_server_keys.py` has the servers that take a word in place of what is not there.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.backend import (
    Backend,
    answers,
    backend,
    chunks_of,
    chunks_until,
    key_of,
    message,
)
from tests.support.endpoint import Pause, Say, StrictEndpoint, call_reply, reply, text_reply
from tests.support.endpoint.refusal import Body, Refusal
from tests.support.endpoint.script import Scripted
from tests.support.keeping_servers import SECRET, KeepingServer, LiteLLM, OpenRouter
from tests.support.run_chunks import QUESTION, SELECTION, RunChunks, send_message
from tests.support.ways import CALCULATION, HELLO, WAYS
from turnstream.graphs.limits import Limits
from turnstream.graphs.model_options import ModelOptions
from turnstream.graphs.openai_model import openai_model
from turnstream.server.turns.chunks import TextDelta
from turnstream.server.turns.requests import Branch, TurnRequest

SERVERS: dict[str, Callable[[], KeepingServer]] = {"OpenRouter": OpenRouter, "LiteLLM": LiteLLM}
IN_TEXT = reply(Say("Well, "), Pause(asyncio.Event()))
Leave = Callable[[Backend, str], Awaitable[Any]]


async def stop_and_continue(inside: Backend, thread: str) -> None:
    run = await inside.start(message("Go"), thread)
    await chunks_until(run, lambda chunks: "Well, " in said_in(chunks))
    await inside.stop(thread)
    await chunks_of(run)
    assert RunChunks(await inside.turn(TurnRequest(continue_=True), thread)).text == HELLO


def said_in(chunks: Any) -> list[str]:
    return [chunk.text for chunk in chunks if isinstance(chunk, TextDelta)]


async def answer(inside: Backend, thread: str) -> None:
    asked = await send_message(inside, "Go", thread=thread)
    (call,) = asked.calls
    told = RunChunks(await inside.turn(answers((call.tool_call_id, "red")), thread))
    assert told.text == HELLO


async def edit(inside: Backend, thread: str) -> None:
    for words in ("Go", "Go on"):
        await send_message(inside, words, thread=thread)
    *_, user, _ = await inside.reader.turns(key_of(thread))
    request = message("No, stay", branch=Branch("edit", user.id))
    assert RunChunks(await inside.turn(request, thread)).text == HELLO


async def ask_again(inside: Backend, thread: str) -> None:
    await send_message(inside, "Go", thread=thread)
    again = TurnRequest(branch=Branch("regenerate", None))
    assert RunChunks(await inside.turn(again, thread)).text == HELLO


FURTHER: dict[str, tuple[tuple[Scripted, ...], Leave]] = {
    "a stop in mid-text": ((IN_TEXT,), stop_and_continue),
    "a stop after a tool": ((call_reply(CALCULATION), IN_TEXT), stop_and_continue),
    "an answered question": ((call_reply((SELECTION, QUESTION)),), answer),
    "an edit": ((call_reply(CALCULATION), text_reply("391")), edit),
    "a regeneration": ((call_reply(CALCULATION), text_reply("391")), ask_again),
}


async def go(inside: Backend, thread: str) -> None:
    await send_message(inside, "Go", thread=thread)


EXITS: dict[str, tuple[tuple[Scripted, ...], Leave]] = {
    **{name: (way.script, go) for name, way in WAYS.items()},
    **FURTHER,
}


class Threads:
    """A server with a thread of its own for each way."""

    def __init__(self, kind: Callable[[], KeepingServer]) -> None:
        self._kind = kind
        self._now = kind()
        self.endpoint = StrictEndpoint(further=self._refusal, has_own_keys=True)
        self.endpoint.default = lambda body: self._played(text_reply(HELLO), body)

    def begin(self, *script: Scripted) -> None:
        self._now = self._kind()
        self.endpoint.forget_script()
        self.endpoint.script(*map(self._now.played, script))

    def _refusal(self, body: Body) -> Refusal | None:
        return self._now.refusal(body)

    def _played(self, given: Scripted, body: Body) -> Any:
        played = self._now.played(given)
        return played(body) if callable(played) else played

    @asynccontextmanager
    async def served(self, path: Path, **values: Any) -> AsyncIterator[Backend]:
        seconds = values.pop("max_run_seconds", 60)
        limits = replace(Limits(), **values)
        opened = openai_model("some-model", ModelOptions("test", self.endpoint.base_url))
        async with backend(path, opened, limits=limits, max_run_seconds=seconds) as inside:
            yield inside


SETTINGS = [{}, *(way.settings for way in WAYS.values() if way.settings)]


@pytest.mark.full
@pytest.mark.parametrize("server", SERVERS)
async def test_however_a_turn_ends_the_next_messages_work(tmp_path: Path, server: str) -> None:
    threads = Threads(SERVERS[server])
    wrong: dict[str, Any] = {}
    async with threads.endpoint as endpoint:
        for settings in SETTINGS:
            async with threads.served(tmp_path / "t.db", **settings) as inside:
                for name, (script, leave) in EXITS.items():
                    if (WAYS[name].settings if name in WAYS else {}) != settings:
                        continue
                    threads.begin(*script)
                    await leave(inside, name)
                    endpoint.forget_script()
                    told = [
                        await send_message(inside, words, thread=name)
                        for words in ("And now?", "And then?")
                    ]
                    found = [(each.text, each.reason) for each in told]
                    if found != [(HELLO, "stop")] * 2 or endpoint.refused:
                        wrong[name] = (found, [*endpoint.refused])
                        endpoint.refused.clear()
                    assert SECRET not in str(await inside.reader.turns(key_of(name)))
    assert wrong == {}

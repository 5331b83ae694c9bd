"""npm's eventsource, on a line that breaks: each event once, in order, and an end to it."""

import asyncio
import json
import re
from pathlib import Path

import pytest

from tests.clients.driver import ClientProcess
from tests.clients.proxy import proxy
from tests.support.endpoint import Pause, Say, call_reply, reply, text_reply
from tests.support.scripted_server import ScriptedServer, scripted_server

WORDS = "The tide is high and it will be low again when the moon has gone round."
CUTS = (1, 300, 700, 40, 900)
"""Bytes of an answer's body after which the line breaks: also in the middle of a frame."""


async def started(server: ScriptedServer, protocol: str) -> str:
    """Start a run without a reader; where its stream is."""
    answer = await server.http.http.post(
        f"/chat?protocol={protocol}",
        json={"thread_id": "thread-1", "message": "Go on"},
        headers={"Prefer": "respond-async"},
    )
    assert answer.status_code == 202
    location: str = answer.headers["location"]
    return location


@pytest.mark.parametrize("protocol", ["assistant-transport", "ui-message-stream"])
async def test_a_line_that_breaks_again_and_again_costs_no_event_and_doubles_none(
    protocol: str, tmp_path: Path, event_source: ClientProcess
) -> None:
    pause = Pause(asyncio.Event())
    adding = call_reply(("add", '{"a":1,"b":2}'), ids=("call_1",))
    said = reply(Say("The sum "), pause, *text_reply(WORDS).steps)
    async with scripted_server(tmp_path, adding, said) as server:
        path = await started(server, protocol)
        async with proxy(server.http.http.base_url.port or 0, *CUTS) as line:
            await event_source.do("open", url=line.url + path)
            await event_source.do("saying", text="The sum ")
            pause.event.set()
            await event_source.do("closed")
            report = await event_source.report()
        events = report["events"]
        whole = (await server.http.http.get(path)).text
        assert [event["data"] for event in events] == re.findall(
            "^data: (.*)$", whole, re.MULTILINE
        )
        assert events[-1]["data"] == "[DONE]"
        assert len(line.requests) > len(CUTS)
        (cursor,) = re.findall(rb"(?i)^last-event-id: (.*)\r$", line.requests[-1], re.MULTILINE)
        assert cursor.decode() == events[-1]["id"]
        assert report["errors"][-1] == 204
        assert report["warnings"] == []


async def test_the_text_of_an_event_source_is_that_of_the_thread(
    tmp_path: Path, event_source: ClientProcess
) -> None:
    async with scripted_server(tmp_path, text_reply(WORDS)) as server:
        path = await started(server, "assistant-transport")
        async with proxy(server.http.http.base_url.port or 0, 400) as line:
            await event_source.do("open", url=line.url + path)
            await event_source.do("closed")
        chunks = [json.loads(e["data"]) for e in (await event_source.report())["events"][:-1]]
        said = "".join(chunk["textDelta"] for chunk in chunks if chunk["type"] == "text-delta")
        assert said == WORDS


async def test_a_thread_with_nothing_to_stream_closes_an_event_source_at_once(
    tmp_path: Path, event_source: ClientProcess
) -> None:
    async with scripted_server(tmp_path) as server:
        await event_source.do("open", url=f"{server.url}/chat/nobody/stream")
        await event_source.do("closed")
        report = await event_source.report()
        assert (report["events"], report["errors"]) == ([], [204])

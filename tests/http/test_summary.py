"""Usage and times, in streams, threads and the one line that the log has of a run."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.counting_tools import CountingTools
from tests.support.endpoint import (
    Finish,
    Pause,
    Say,
    StrictEndpoint,
    Usage,
    call_reply,
    failures,
    reply,
    text_reply,
)
from tests.support.endpoint.script import Reply
from tests.support.forked_server import forked_server
from tests.support.serving import Client, Event, endpoint_settings, parse_events, serving

WORDS = "a question about the secret garden"
PRIVATE = ("garden", "rosebud", "tulip")


@pytest.fixture
async def client(tmp_path: Path, endpoint: StrictEndpoint) -> AsyncIterator[Client]:
    own = endpoint_settings(tmp_path / "t.db", endpoint)
    async with serving(own, CountingTools().catalogue) as client:
        yield client


def line(caplog: pytest.LogCaptureFixture) -> dict[str, Any]:
    """What the log has of the one run."""
    [said] = [r.getMessage() for r in caplog.records if r.name == "turnstream.server.runs.lives"]
    assert not [secret for secret in PRIVATE if secret in said]
    found: dict[str, Any] = json.loads(said)
    return found


def using(turn: Reply, asked: int, answered: int) -> Reply:
    return Reply((*turn.steps, Finish(usage=Usage(asked, answered))))


TWO_STEPS = (
    using(call_reply(("nap", '{"word":"rosebud"}'), ("broken", '{"word":"b"}')), 100, 20),
    using(text_reply("It is a tulip."), 150, 30),
)


async def logged(client: Client, caplog: pytest.LogCaptureFixture) -> dict[str, Any]:
    caplog.set_level(logging.INFO, logger="turnstream.server.runs.lives")
    async with client.chat({"thread_id": "t1", "message": WORDS}) as stream:
        await stream.rest()
        run_id = stream.run_id
    found = line(caplog)
    assert (found["run"], found["thread"]) == (run_id, "t1")
    return found


async def test_a_run_is_one_line_of_ids_counts_and_durations(
    client: Client, endpoint: StrictEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint.script(*TWO_STEPS)
    found = await logged(client, caplog)
    counts = {key: value for key, value in found.items() if not key.endswith("_ms")}
    assert counts == {
        "run": found["run"],
        "thread": "t1",
        "graph": "chat",
        "model": "scripted",
        "setup": found["setup"],
        "state": "finished",
        "finish": "stop",
        "steps": 2,
        "tool_calls": 2,
        "failed_calls": 1,
        "input_tokens": 250,
        "output_tokens": 50,
        "chunks": found["chunks"],
    }
    times = {key for key in found if key.endswith("_ms")}
    assert times == {"first_token_ms", "model_ms", "tool_ms", "run_ms"}
    assert all(isinstance(found[key], int) and found[key] >= 0 for key in times)
    assert found["first_token_ms"] <= found["model_ms"] <= found["run_ms"] + 1


async def test_a_run_adds_that_one_line_to_the_servers_log(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("Hello."))
    model = {"MODEL": "m", "OPENAI_BASE_URL": endpoint.base_url, "OPENAI_API_KEY": "test"}
    async with forked_server(tmp_path / "t.db", **model) as server:
        thread_id, _ = await server.client.turn({"message": "Hi"})
        server.terminate()
        assert await server.exit_status() == 0
    at_start, runs = server.log[:5], server.log[5:]
    assert b" on http://" in at_start[0]
    assert [json.loads(line.removeprefix(b"INFO: "))["thread"] for line in runs] == [thread_id]


async def setup_of_a_run(
    database: Path, endpoint: StrictEndpoint, caplog: pytest.LogCaptureFixture, **values: Any
) -> str:
    endpoint.script(text_reply("Hello."))
    async with serving(endpoint_settings(database, endpoint, **values)) as client:
        setup: str = (await logged(client, caplog))["setup"]
    caplog.clear()
    return setup


async def test_the_line_tells_runs_before_and_after_a_change_of_the_prompt_apart(
    tmp_path: Path, endpoint: StrictEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    terse, again, kind = [
        await setup_of_a_run(tmp_path / f"{n}.db", endpoint, caplog, system_prompt=prompt)
        for n, prompt in enumerate(("Be terse.", "Be terse.", "Be kind."))
    ]
    assert terse == again != kind


async def test_the_line_of_a_run_that_failed_has_its_code(
    client: Client, endpoint: StrictEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint.script(failures.UNAUTHORIZED)
    caplog.set_level(logging.CRITICAL, logger="turnstream.server.runs.run")
    found = await logged(client, caplog)
    assert (found["state"], found["finish"]) == ("failed", "error")
    assert found["error"] == "model_unauthorized"
    assert "ended" not in found


async def test_the_line_of_a_run_that_was_stopped_says_so(
    client: Client, endpoint: StrictEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="turnstream.server.runs.lives")
    endpoint.script(reply(Say("One "), Pause(asyncio.Event())))
    async with client.chat({"thread_id": "t1", "message": WORDS}) as stream:
        await stream.until("text-delta")
        await client.http.post("/chat/t1/stop")
        await stream.rest()
    found = line(caplog)
    assert (found["state"], found["finish"]) == ("stopped", "other")
    assert found["ended"] == {"reason": "stopped"}
    assert (found["input_tokens"], found["output_tokens"]) == (0, 0)


async def test_the_line_of_a_run_that_spent_a_budget_names_it(
    tmp_path: Path, endpoint: StrictEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint.script(call_reply(("calculator", '{"expression":"1+1"}')))
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint, max_steps=1)) as client:
        found = await logged(client, caplog)
    assert found["ended"] == {"reason": "limit", "limit": "max_steps", "value": 1}


# in the stream and in the thread


def finish_of(events: list[Event], kind: str) -> list[dict[str, Any]]:
    return [event.data for event in events if event.type == kind]


async def test_steps_and_message_tell_tokens_and_times(
    client: Client, endpoint: StrictEndpoint
) -> None:
    endpoint.script(*TWO_STEPS)
    _, events = await client.turn({"thread_id": "t1", "message": WORDS})
    first, second = finish_of(events, "step-finish")
    [whole] = finish_of(events, "message-finish")
    assert first["usage"] == {"inputTokens": 100, "outputTokens": 20}
    assert second["usage"] == {"inputTokens": 150, "outputTokens": 30}
    assert whole["usage"] == {"inputTokens": 250, "outputTokens": 50}
    calls = call_ids(events)
    assert set(first["timing"]["toolMs"]) == set(calls), "also of the call that failed"
    assert first["timing"]["toolMs"][calls[0]] >= 10, "the nap"
    assert second["timing"]["toolMs"] == {}
    assert whole["timing"]["toolMs"] == first["timing"]["toolMs"]
    assert whole["timing"]["firstTokenMs"] == first["timing"]["firstTokenMs"]
    assert whole["timing"]["modelMs"] == first["timing"]["modelMs"] + second["timing"]["modelMs"]

    thread = (await client.thread("t1"))["messages"][-1]
    assert thread["usage"] == whole["usage"]
    assert thread["timing"] == whole["timing"]
    assert [step["timing"] for step in thread["steps"]] == [first["timing"], second["timing"]]
    assert [step["usage"] for step in thread["steps"]] == [first["usage"], second["usage"]]


def call_ids(events: list[Event]) -> list[str]:
    parts = [event.data["part"] for event in events if event.type == "part-start"]
    return [part["toolCallId"] for part in parts if part["type"] == "tool-call"]


async def test_the_ai_sdk_has_the_same_in_its_metadata(
    client: Client, endpoint: StrictEndpoint
) -> None:
    endpoint.script(*TWO_STEPS)
    query = {"protocol": "ui-message-stream"}
    async with client.chat({"thread_id": "t1", "message": WORDS}, params=query) as stream:
        await stream.rest()
        events = parse_events(bytes(stream.raw))
    [finish] = finish_of(events, "finish")
    metadata = finish["messageMetadata"]
    assert metadata["usage"] == {"inputTokens": 250, "outputTokens": 50}
    assert len(metadata["timing"]["toolMs"]) == 2
    thread = (await client.thread("t1", **query))["messages"][-1]
    assert thread["metadata"] == metadata
    assert (await client.thread("t1"))["messages"][-1]["timing"] == metadata["timing"]


async def test_a_turn_of_two_runs_adds_them_up(client: Client, endpoint: StrictEndpoint) -> None:
    ask = '{"kind":"single","prompt":"Which?","options":[{"value":"red"}]}'
    both = call_reply(("nap", '{"word":"a"}'), ("request_user_selection", ask))
    endpoint.script(using(both, 10, 1), using(text_reply("Red."), 20, 2))
    _, events = await client.turn({"thread_id": "t1", "message": WORDS})
    _, asked = call_ids(events)
    query = {"protocol": "ui-message-stream"}
    body = {"thread_id": "t1", "tool_results": [{"tool_call_id": asked, "result": "red"}]}
    async with client.chat(body, params=query) as stream:
        await stream.rest()
        [finish] = finish_of(parse_events(bytes(stream.raw)), "finish")
    thread = (await client.thread("t1"))["messages"][-1]
    assert thread["usage"] == {"inputTokens": 30, "outputTokens": 3}
    assert finish["messageMetadata"]["usage"] == thread["usage"]
    assert finish["messageMetadata"]["timing"] == thread["timing"]
    assert len(thread["timing"]["toolMs"]) == 1


async def test_a_replay_tells_the_very_same_times(client: Client, endpoint: StrictEndpoint) -> None:
    endpoint.script(*TWO_STEPS)
    async with client.chat({"thread_id": "t1", "message": WORDS}) as stream:
        live = await stream.rest()
        cursor = f"{stream.run_id}:0"
    answer = await client.http.get("/chat/t1/stream", params={"last_event_id": cursor})
    replay = parse_events(answer.content)
    assert finish_of(replay, "message-finish") == finish_of(live, "message-finish")
    assert finish_of(replay, "step-finish") == finish_of(live, "step-finish")

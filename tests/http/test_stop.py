"""Stopping a run over HTTP: from anywhere, as often as one likes."""

import asyncio
from pathlib import Path

from tests.support.endpoint import (
    Pause,
    Reply,
    Say,
    StrictEndpoint,
)
from tests.support.endpoint.script import Step
from tests.support.serving import endpoint_settings, serving, settings


def held(*steps: Step) -> tuple[Reply, Pause]:
    """A reply that stands still behind these steps."""
    pause = Pause(asyncio.Event())
    return Reply((*steps, pause, Say("Never said."))), pause


async def test_a_stop_ends_the_run_for_its_readers_and_closes_the_request_to_the_model(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    reply, _ = held(Say("So "), Say("far."))
    endpoint.script(reply)
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
        async with client.chat({"thread_id": "t1", "message": "Tell me."}) as stream:
            await stream.until("text-delta")
            answer = await client.http.post("/chat/t1/stop")
            assert answer.status_code == 200
            assert answer.json() == {
                "thread_id": "t1",
                "run_id": stream.run_id,
                "state": "stopped",
            }
            events = await stream.rest()
        assert [event.type for event in events[-3:]] == ["data", "message-finish", "[DONE]"]
        assert (await endpoint.closed(1)).completed is False
        thread = await client.thread("t1")
        assert thread["run_state"] == "stopped"
        said = thread["messages"][1]
        assert said["parts"] == [{"type": "text", "text": "So far."}]
        assert said["ended"] == {"reason": "stopped"}
        assert said["finishReason"] == "other"
        _, events = await client.turn({"thread_id": "t1", "message": "Go on."})
        assert events[-1].data == "[DONE]"


async def test_stops_at_once_and_again_have_one_answer(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    reply, pause = held(Say("So far."))
    endpoint.script(reply)
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
        async with client.chat({"thread_id": "t1", "message": "Tell me."}) as stream:
            await stream.until("text-delta")
            await pause.reached.wait()
            at_once = await asyncio.gather(*(client.http.post("/chat/t1/stop") for _ in range(5)))
        again = await client.http.post("/chat/t1/stop")
        answers = [(a.status_code, a.json()["run_id"], a.json()["state"]) for a in at_once]
        assert set(answers) == {(200, stream.run_id, "stopped")}
        assert again.json() == at_once[0].json()
        assert len((await client.thread("t1"))["messages"]) == 2


async def test_a_stop_that_meets_a_finished_run_says_so_and_changes_nothing(
    tmp_path: Path,
) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        async with client.chat({"thread_id": "t1", "message": "Hello"}) as stream:
            await stream.rest()
        before = await client.thread("t1")
        answer = await client.http.post("/chat/t1/stop")
        assert answer.json() == {"thread_id": "t1", "run_id": stream.run_id, "state": "finished"}
        assert await client.thread("t1") == before


async def test_there_is_nothing_to_stop_in_an_unknown_thread(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        answer = await client.http.post("/chat/nobody/stop")
        assert (answer.status_code, answer.json()["code"]) == (404, "thread_not_found")


async def test_a_stop_that_meets_a_request_about_to_be_refused_speaks_of_the_last_run(
    tmp_path: Path,
) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        await client.turn({"thread_id": "t1", "message": "Hello"})
        refused, stopped = await asyncio.gather(
            client.http.post("/chat", json={"thread_id": "t1", "continue": True}),
            client.http.post("/chat/t1/stop"),
        )
        assert refused.status_code == 409
        assert stopped.json()["state"] == "finished"

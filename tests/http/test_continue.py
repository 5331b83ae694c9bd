"""Going on, over HTTP, with a turn that was stopped or failed."""

import asyncio
from pathlib import Path

from tests.support.endpoint import Pause, Reply, Say, StrictEndpoint, call_reply, text_reply
from tests.support.endpoint.failures import SERVER_ERROR
from tests.support.serving import endpoint_settings, serving


async def test_a_continuation_keeps_the_ids_of_its_turn_over_http(tmp_path: Path) -> None:
    async with StrictEndpoint() as endpoint:
        endpoint.script(
            call_reply(("calculator", '{"expression":"6*7"}')),
            Reply((Say("It is "), Pause(asyncio.Event()))),
            text_reply("forty-two."),
        )
        async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
            async with client.chat({"thread_id": "t1", "message": "6*7?"}) as first:
                await first.until("result")
                await first.until("text-delta")
                await client.http.post("/chat/t1/stop")
                await first.rest()
            async with client.chat({"thread_id": "t1", "continue": True}) as second:
                events = await second.rest()
            ids = [stream.response.headers["x-message-id"] for stream in (first, second)]
            assert ids[0] == ids[1]
            thread = await client.thread("t1")
            assert [m["id"] for m in thread["messages"]] == [ids[0], events[0].data["messageId"]]
            assert thread["run_state"] == "finished"
            types = [part["type"] for part in thread["messages"][1]["parts"]]
            assert types == ["tool-call", "text", "text"]
            assert events[1].data == {"type": "part-start", "part": {"type": "text"}, "path": []}
        assert endpoint.refused == []
        assert len(endpoint.requests) == 3


async def test_a_turn_that_the_models_server_failed_goes_on(tmp_path: Path) -> None:
    async with StrictEndpoint() as endpoint:
        endpoint.script(SERVER_ERROR, SERVER_ERROR, SERVER_ERROR, text_reply("Here I am."))
        async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
            _, events = await client.turn({"thread_id": "t1", "message": "Hello"})
            assert "error" in [event.type for event in events]
            assert (await client.thread("t1"))["run_state"] == "failed"
            _, events = await client.turn({"thread_id": "t1", "continue": True})
            assert "error" not in [event.type for event in events]
            roles = [m["role"] for m in (await client.thread("t1"))["messages"]]
            assert roles == ["user", "assistant"]
        assert endpoint.refused == []

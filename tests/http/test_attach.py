"""Attaching to a run: live or ended, from the start or after a cursor, by any number of readers."""

import asyncio
import json
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.http.claims import claimed, dropped, free
from tests.support.counting_tools import CountingTools
from tests.support.endpoint import (
    Call,
    Finish,
    Pause,
    Reply,
    Say,
    StrictEndpoint,
    call_reply,
    text_reply,
)
from tests.support.protocol_readers import decoded_state
from tests.support.serving import (
    Client,
    Event,
    Stream,
    endpoint_settings,
    parse_events,
    serving,
    settings,
)
from tests.support.sse_frames import event_id, frames, frames_after, without_pings
from tests.support.waiting import WAIT_SECONDS, until
from turnstream.server.http import readers

QUESTION = {"thread_id": "t1", "message": "What is 17 * 23, and what time is it in Tokyo?"}


async def body_of(client: Client, path: str = "/chat/t1/stream", **request: Any) -> bytes:
    answer = await client.http.get(path, **request)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/event-stream")
    return without_pings(answer.content)


async def status_of(client: Client, path: str = "/chat/t1/stream", **request: Any) -> int:
    answer = await client.http.get(path, **request)
    return answer.status_code


def held_reply(gate: asyncio.Event) -> Reply:
    return Reply((Say("One "), Pause(gate), Say("two "), Say("three.")))


async def whole_turn(client: Client, body: dict[str, Any] = QUESTION, **request: Any) -> bytes:
    async with client.chat(body, **request) as stream:
        await stream.rest()
        return without_pings(bytes(stream.raw))


# without a cursor


async def test_a_live_run_is_read_from_its_first_event(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    gate = asyncio.Event()
    endpoint.script(held_reply(gate))
    async with (
        serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client,
        client.chat({"thread_id": "t1", "message": "Count."}) as first,
    ):
        await first.until("text-delta")
        async with client.stream("GET", "/chat/t1/stream") as second:
            assert second.run_id == first.run_id
            gate.set()
            await second.rest()
            await first.rest()
            assert without_pings(bytes(second.raw)) == without_pings(bytes(first.raw))


async def test_a_thread_at_rest_has_nothing_to_stream(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        await client.turn(QUESTION)
        assert await status_of(client) == 204


@pytest.mark.parametrize("query", ["", "?last_event_id=abcdefghijkl:3"])
async def test_an_unknown_thread_has_nothing_to_stream(tmp_path: Path, query: str) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        assert await status_of(client, f"/chat/nobody/stream{query}") == 204


async def test_who_attaches_while_a_run_is_being_accepted_gets_it_whole(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    gate = asyncio.Event()
    endpoint.script(held_reply(gate))
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
        posting = asyncio.create_task(whole_turn(client, {"thread_id": "t1", "message": "Hi"}))
        await claimed(client, "t1")
        async with client.stream("GET", "/chat/t1/stream") as reader:
            gate.set()
            await reader.rest()
            assert without_pings(bytes(reader.raw)) == await posting


async def test_who_attaches_while_a_request_is_refused_gets_nothing(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        await client.turn(QUESTION)
        refused, attached = await asyncio.gather(
            client.http.post("/chat", json={"thread_id": "t1", "continue": True}),
            status_of(client),
        )
        assert (refused.status_code, attached) == (409, 204)


# with a cursor


async def test_at_every_cursor_a_reader_gets_exactly_what_follows(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        whole = await whole_turn(client)
        ids = [id for id in map(event_id, frames(whole)) if id]
        assert ids == [f"{ids[0].split(':')[0]}:{n}" for n in range(1, len(ids) + 1)]
        for cursor in ids[:-1]:
            rest = await body_of(client, headers={"Last-Event-ID": cursor})
            assert rest == frames_after(whole, cursor)
        assert await status_of(client, headers={"Last-Event-ID": ids[-1]}) == 204


async def test_the_header_beats_the_query(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        whole = await whole_turn(client)
        early, late = (event_id(frames(whole)[n]) or "" for n in (0, 4))
        rest = await body_of(
            client, params={"last_event_id": early}, headers={"Last-Event-ID": late}
        )
        assert rest == frames_after(whole, late)
        assert await body_of(client, params={"last_event_id": early}) == frames_after(whole, early)


async def test_a_reader_that_comes_back_to_a_live_run_goes_on_where_it_was(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    gate = asyncio.Event()
    endpoint.script(held_reply(gate))
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
        async with client.chat({"thread_id": "t1", "message": "Count."}) as first:
            seen = await first.until("text-delta")
        cursor = {"Last-Event-ID": seen.id or ""}
        async with client.stream("GET", "/chat/t1/stream", headers=cursor) as second:
            gate.set()
            rest = await second.rest()
        said = [seen.data["textDelta"], *(e.data.get("textDelta", "") for e in rest[:-1])]
        assert "".join(said) == "One two three."
        assert rest[0].id == f"{first.run_id}:{int((seen.id or '').split(':')[1]) + 1}"


CURSOR_LOST_STATUS = 204


@pytest.mark.parametrize("protocol", ["assistant-transport", "ui-message-stream"])
@pytest.mark.parametrize(
    "cursor",
    [
        "abcdefghijkl:1",
        "{run}:9999",
        "{run}:-1",
        "{run}:",
        "{run}:x",
        "{run}:1:1",
        "nonsense",
        ":1",
    ],
)
async def test_a_cursor_that_nobody_holds_is_told_so_once(
    tmp_path: Path, cursor: str, protocol: str
) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        async with client.chat(QUESTION) as stream:
            await stream.rest()
        headers = {"Last-Event-ID": cursor.format(run=stream.run_id)}
        body = await body_of(client, headers=headers, params={"protocol": protocol})
        error, done = parse_events(body)
        assert error.type == "error"
        assert done.data == "[DONE]"
        assert "GET /threads/" in json.dumps(error.data)
        if protocol == "assistant-transport":
            assert error.data["code"] == "cursor_lost"
        assert error.id
        for event in (error, done):
            again = {"Last-Event-ID": event.id or error.id}
            assert await status_of(client, headers=again) == CURSOR_LOST_STATUS


async def test_a_cursor_of_another_thread_is_lost_here(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        await client.turn(QUESTION)
        async with client.chat({"thread_id": "t2", "message": "Hello"}) as other:
            await other.rest()
        body = await body_of(client, headers={"Last-Event-ID": f"{other.run_id}:1"})
        assert parse_events(body)[0].data["code"] == "cursor_lost"


async def test_a_run_can_be_read_after_its_end_until_its_retention_is_over(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db", run_retention_seconds=5)) as client:
        whole = await whole_turn(client)
        run_id = (event_id(frames(whole)[0]) or "").split(":")[0]
        start = {"Last-Event-ID": f"{run_id}:0"}
        assert await body_of(client, headers=start) == whole
        await dropped(client, "t1", run_id)
        lost = parse_events(await body_of(client, headers=start))
        assert lost[0].data["code"] == "cursor_lost"


async def test_respond_async_gives_an_address_of_the_whole_run_also_when_it_has_ended(
    tmp_path: Path,
) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        accepted = await client.http.post(
            "/chat", json=QUESTION, headers={"Prefer": "respond-async"}
        )
        assert accepted.status_code == 202
        assert accepted.headers["preference-applied"] == "respond-async"
        location = accepted.headers["location"]
        run_id = accepted.json()["run_id"]
        assert location == f"/chat/t1/stream?last_event_id={run_id}:0"
        await free(client, "t1")
        events = parse_events(await body_of(client, location))
        assert [e.id for e in events] == [f"{run_id}:{n}" for n in range(1, len(events) + 1)]
        assert events[0].type == "step-start"
        assert events[-1].data == "[DONE]"


async def test_head_tells_of_a_stream_and_opens_none(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db", max_open_streams=1)) as client:
        run_id = (event_id(frames(await whole_turn(client))[0]) or "").split(":")[0]
        path = f"/chat/t1/stream?last_event_id={run_id}:0"
        for _ in range(3):
            head = await client.http.head(path)
            assert (head.status_code, head.content) == (200, b"")
            assert head.headers["content-type"].startswith("text/event-stream")
        assert parse_events(await body_of(client, path))[-1].data == "[DONE]"


# many readers, slow readers, readers that leave


async def test_many_readers_at_their_own_pace_see_the_same_bytes(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    gates = [asyncio.Event() for _ in range(8)]
    steps = [step for gate in gates for step in (Say("word "), Pause(gate))]
    endpoint.script(Reply(tuple(steps)))
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:

        async def read(opened: asyncio.Event) -> bytes:
            async with client.stream("GET", "/chat/t1/stream") as stream:
                opened.set()
                await stream.rest()
                return without_pings(bytes(stream.raw))

        async with client.chat({"thread_id": "t1", "message": "Talk."}) as first:
            await first.until("text-delta")
            reading = []
            for gate in gates:
                opened = [asyncio.Event() for _ in range(3)]
                reading += [asyncio.create_task(read(each)) for each in opened]
                await asyncio.gather(*(each.wait() for each in opened))
                gate.set()
            await first.rest()
            for body in await asyncio.gather(*reading):
                assert body == without_pings(bytes(first.raw))


async def test_a_late_reader_gets_what_it_missed_in_one_write(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    gate = asyncio.Event()
    endpoint.script(
        Reply((Call(0, "c1", "calculator", '{"expression": "1 + 1"}'), Finish())),
        Reply((Say("It is "), Pause(gate), Say("two."))),
    )
    async with (
        serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client,
        client.chat({"thread_id": "t1", "message": "1 + 1?"}) as first,
    ):
        await first.until("result")
        await first.until("text-delta")
        async with client.stream("GET", "/chat/t1/stream") as late:
            missed = await anext(late.response.aiter_raw())
            assert [e.type for e in parse_events(missed)][-1] == "text-delta"
            assert "result" in [e.type for e in parse_events(missed)]
        gate.set()


async def test_a_reader_that_does_not_read_holds_up_nobody_and_is_cut_off(
    tmp_path: Path, endpoint: StrictEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers, "SEND_TIMEOUT_SECONDS", 1.5)
    gate = asyncio.Event()
    endpoint.script(Reply((Say("Much: "), Pause(gate), *[Say("x" * 100_000)] * 80)))
    async with (
        serving(
            endpoint_settings(tmp_path / "t.db", endpoint, max_message_bytes=10_000_000)
        ) as client,
        client.chat({"thread_id": "t1", "message": "Tell me much."}) as reader,
    ):
        with await idle_reader(client, "/chat/t1/stream") as idle:
            connected = client.connections
            gate.set()
            events = await reader.rest()
            assert events[-1].data == "[DONE]"
            assert sum(len(e.data.get("textDelta", "")) for e in events[:-1]) > 8_000_000
            await until(lambda: client.connections < connected)
            assert await rest_of(idle) < 8_000_000


async def test_a_reader_that_does_not_take_even_the_end_is_cut_off(
    tmp_path: Path, endpoint: StrictEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint.script(Reply((Say("x" * 8_000_000),)))
    async with serving(
        endpoint_settings(tmp_path / "t.db", endpoint, max_message_bytes=10_000_000)
    ) as client:
        async with client.chat({"thread_id": "t1", "message": "Tell me much."}) as reader:
            await reader.rest()
        # Not before: the reader that takes all would have to be as fast.
        monkeypatch.setattr(readers, "SEND_TIMEOUT_SECONDS", 0.2)
        path = f"/chat/t1/stream?last_event_id={reader.run_id}:0"
        with await idle_reader(client, path) as idle:
            await until(lambda: client.connections == 1)
            assert await rest_of(idle) < 8_000_000


async def idle_reader(client: Client, path: str) -> socket.socket:
    """A connection that asks for a stream and reads nothing but its first bytes."""
    loop, url = asyncio.get_running_loop(), client.http.base_url
    idle = socket.socket()
    idle.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    idle.setblocking(False)
    await loop.sock_connect(idle, (url.host, url.port))
    await loop.sock_sendall(idle, f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    assert b"200 OK" in await loop.sock_recv(idle, 100)
    return idle


async def rest_of(connection: socket.socket) -> int:
    """How many bytes come until the connection ends."""
    count = 0
    async with asyncio.timeout(WAIT_SECONDS):
        while piece := await asyncio.get_running_loop().sock_recv(connection, 1 << 20):
            count += len(piece)
    return count


async def test_leaving_the_page_does_not_stop_the_run(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    gate = asyncio.Event()
    endpoint.script(held_reply(gate))
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
        async with client.chat({"thread_id": "t1", "message": "Count."}) as stream:
            await stream.until("text-delta")
        gate.set()
        assert (await endpoint.closed(1)).completed
        await free(client, "t1")
        thread = await client.thread("t1")
        assert thread["run_state"] == "finished"
        assert thread["messages"][1]["parts"] == [{"type": "text", "text": "One two three."}]


async def test_a_run_that_nobody_reads_is_ended_if_the_server_is_set_so(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.script(held_reply(asyncio.Event()))
    values = endpoint_settings(tmp_path / "t.db", endpoint, unread_seconds=1.5)
    async with serving(values) as client:
        async with client.chat({"thread_id": "t1", "message": "Count."}) as stream:
            await stream.until("text-delta")
        await free(client, "t1")
        thread = await client.thread("t1")
        assert thread["messages"][1]["ended"] == {
            "reason": "limit",
            "limit": "unread_seconds",
            "value": 1.5,
        }
        assert (await endpoint.closed(1)).completed is False


async def test_a_run_that_somebody_reads_is_not_ended_as_unread(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    gate = asyncio.Event()
    endpoint.script(held_reply(gate))
    values = endpoint_settings(tmp_path / "t.db", endpoint, unread_seconds=1.5, ping_seconds=0.2)
    async with (
        serving(values) as client,
        client.chat({"thread_id": "t1", "message": "Count."}) as stream,
    ):
        await pings(stream, 10)
        gate.set()
        await free(client, "t1")
        thread = await client.thread("t1")
        assert thread["messages"][1]["parts"] == [{"type": "text", "text": "One two three."}]


# heartbeat


async def pings(stream: Stream, count: int, behind: bytes = b"") -> bytes:
    """Read until so many pings have come behind these bytes."""
    raw = b""
    async with asyncio.timeout(WAIT_SECONDS):
        async for piece in stream.response.aiter_raw():
            raw += piece
            if behind in raw and raw.count(b": ping", raw.index(behind)) >= count:
                return raw
    raise AssertionError(raw.decode())


async def test_pings_come_as_comments_before_the_first_event(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    gate = asyncio.Event()
    endpoint.script(Reply((Pause(gate), Say("Late."))))
    values = endpoint_settings(tmp_path / "t.db", endpoint, ping_seconds=0.02)
    async with (
        serving(values) as client,
        client.chat({"thread_id": "t1", "message": "Hello"}) as stream,
    ):
        assert parse_events(await pings(stream, 3)) == []
        gate.set()


async def test_pings_come_while_a_tool_runs(tmp_path: Path, endpoint: StrictEndpoint) -> None:
    endpoint.script(call_reply(("hold", '{"word": "tea"}')), text_reply("Done."))
    values = endpoint_settings(tmp_path / "t.db", endpoint, ping_seconds=0.02)
    counting_tools = CountingTools()
    async with (
        serving(values, counting_tools.catalogue) as client,
        client.chat({"thread_id": "t1", "message": "Hold it"}) as stream,
    ):
        raw = await pings(stream, 3, behind=b"tool-call-args-text-finish")
        assert counting_tools.calls == {"tea": 1}
        assert b'"type":"result"' not in raw
        counting_tools.release.set()


async def test_pings_come_while_a_replay_waits_for_more(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    gate = asyncio.Event()
    endpoint.script(held_reply(gate))
    values = endpoint_settings(tmp_path / "t.db", endpoint, ping_seconds=0.02)
    async with (
        serving(values) as client,
        client.chat({"thread_id": "t1", "message": "Count."}) as first,
    ):
        await first.until("text-delta")
        async with client.stream("GET", "/chat/t1/stream") as replay:
            raw = await pings(replay, 3)
        assert frames(raw)[-1].endswith(b'"path":[0]}\n\n')
        gate.set()


# clients of other kinds


def says_state(event: Event) -> bool:
    return event.type == "update-state"


async def test_a_client_that_posts_its_state_is_told_of_changes_to_it(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        command = {"role": "user", "parts": [{"type": "text", "text": "Hello"}]}
        body = {
            "commands": [{"type": "add-message", "message": command}],
            "state": {"thread_id": "t1", "messages": []},
        }
        _, events = await client.turn(body)
        assert says_state(events[0])
        assert events[0].id is None
        assert events[0].data["operations"][0]["value"]["content"] == "Hello"
        assert sum(map(says_state, events)) > 2
        start = {"Last-Event-ID": f"{(events[1].id or '').split(':')[0]}:0"}
        plain = parse_events(await body_of(client, headers=start))
        assert not any(map(says_state, plain))


async def test_a_post_without_commands_attaches_to_the_live_run(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    gate = asyncio.Event()
    endpoint.script(held_reply(gate))
    stale = {"thread_id": "t1", "messages": [{"type": "ai", "id": "x", "content": "Stale"}]}
    resume = {"commands": [], "state": stale, "threadId": "t1"}
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
        async with client.chat({"thread_id": "t1", "message": "Count."}) as first:
            await first.until("text-delta")
            async with client.chat(resume) as second:
                assert second.run_id == first.run_id
                gate.set()
                said = await second.rest()
        state = decoded_state(stale, [json.dumps(e.data) for e in said if says_state(e)])
        assert [(m["type"], m["content"]) for m in state["messages"]] == [
            ("human", "Count."),
            ("ai", "One two three."),
        ]
        assert len(endpoint.requests) == 1
        idle = await client.http.post("/chat", json=resume)
        caught_up, done = parse_events(idle.content)
        assert decoded_state(stale, [json.dumps(caught_up.data)]) == state
        assert done.data == "[DONE]"
        nothing = await client.http.post("/chat", json={**resume, "state": state})
        assert (nothing.status_code, nothing.content) == (200, b"data: [DONE]\n\n")


@pytest.mark.parametrize(
    ("body_protocol", "asked", "first"),
    [
        (None, None, "step-start"),
        (None, "ui-message-stream", "start"),
        ("ui-message-stream", None, "start"),
        ("ui-message-stream", "assistant-transport", "step-start"),
    ],
)
async def test_an_attach_is_answered_in_the_runs_own_format_unless_asked_otherwise(
    tmp_path: Path,
    endpoint: StrictEndpoint,
    body_protocol: str | None,
    asked: str | None,
    first: str,
) -> None:
    gate = asyncio.Event()
    endpoint.script(held_reply(gate))
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
        started = {"protocol": body_protocol} if body_protocol else {}
        body = {"thread_id": "t1", "message": "Count."}
        async with client.chat(body, params=started) as stream:
            await stream.until("text-delta")
            params = {"protocol": asked} if asked else {}
            async with client.stream("GET", "/chat/t1/stream", params=params) as reader:
                gate.set()
                events = await reader.rest()
        assert events[0].type == first
        ui = first == "start"
        assert (reader.response.headers.get("x-vercel-ai-ui-message-stream") == "v1") is ui


async def test_an_unknown_protocol_is_refused(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        answer = await client.http.get("/chat/t1/stream", params={"protocol": "xml"})
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_protocol")


async def test_the_parts_of_a_continued_message_come_again_to_a_ui_message_reader(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    """useChat replays a message from its own beginning, which lies in an earlier run."""
    options = [{"value": value, "label": value.upper()} for value in "ab"]
    question = json.dumps({"kind": "single", "prompt": "Which?", "options": options})
    gate = asyncio.Event()
    endpoint.script(
        call_reply(("request_user_selection", question), ids=("ask",)), held_reply(gate)
    )
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
        await client.turn({"thread_id": "t1", "message": "Ask me."})
        answer = {"tool_call_id": "ask", "result": {"value": "a"}}
        body = {"thread_id": "t1", "tool_results": [answer]}
        async with client.chat(body) as stream:
            await stream.until("text-delta")
            params = {"protocol": "ui-message-stream"}
            async with client.stream("GET", "/chat/t1/stream", params=params) as reader:
                gate.set()
                events = await reader.rest()
    types = [event.type for event in events]
    replayed = types.index("finish-step") + 1
    assert types[:2] == ["start", "start-step"]
    assert "tool-output-available" in types[:replayed]
    assert [event.id for event in events[: replayed + 1]] == [None] * replayed + [
        f"{reader.run_id}:1"
    ]


async def test_a_thread_that_another_model_answers_can_be_left_and_read_again(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("Hello there."))
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
        whole = await whole_turn(client, {"thread_id": "t1", "message": "Hi"})
        run_id = (event_id(frames(whole)[0]) or "").split(":")[0]
        assert await body_of(client, headers={"Last-Event-ID": f"{run_id}:0"}) == whole

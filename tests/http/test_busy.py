"""One live run a thread: what a second request gets, and a request that is sent again."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.http.claims import claimed, free
from tests.support.endpoint import Pause, Reply, Say, StrictEndpoint, text_reply
from tests.support.samples import sample
from tests.support.serving import Client, endpoint_settings, serving
from tests.support.sse_frames import without_pings
from tests.support.waiting import eventually

THREADS = sample(200, 40)
HELLO = {"thread_id": "t1", "message": "Hello"}


@pytest.fixture
def gate(endpoint: StrictEndpoint) -> asyncio.Event:
    """The model has begun its answer to the first request, and waits for this."""
    gate = asyncio.Event()
    endpoint.script(Reply((Say("One "), Pause(gate), Say("two."))))
    return gate


@pytest.fixture
async def client(tmp_path: Path, endpoint: StrictEndpoint) -> AsyncIterator[Client]:
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint, max_live_runs=500)) as client:
        yield client


def texts(thread: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        (message["role"], "".join(part.get("text", "") for part in message["parts"]))
        for message in thread["messages"]
    ]


async def test_a_second_request_is_told_of_the_live_run_and_changes_nothing(
    client: Client, gate: asyncio.Event
) -> None:
    async with client.chat(HELLO) as first:
        await first.until("text-delta")
        second = await client.http.post("/chat", json={"thread_id": "t1", "message": "Again"})
        assert second.status_code == 409
        assert second.headers["content-type"] == "application/problem+json"
        problem = second.json()
        assert problem["code"] == "run_in_progress"
        assert problem["run_id"] == first.run_id
        assert problem["stream_url"] == "/chat/t1/stream"
        assert problem["stop_url"] == "/chat/t1/stop"
        gate.set()
        await first.rest()
    assert texts(await client.thread("t1")) == [("user", "Hello"), ("assistant", "One two.")]


@pytest.mark.usefixtures("gate")
async def test_the_addresses_of_the_409_work(client: Client) -> None:
    async with client.chat(HELLO) as first:
        await first.until("text-delta")
        problem = (await client.http.post("/chat", json=HELLO)).json()
        async with client.stream("GET", problem["stream_url"]) as reader:
            stopped = await client.http.post(problem["stop_url"])
            assert stopped.json()["run_id"] == first.run_id
            assert (await reader.rest())[-1].data == "[DONE]"


@pytest.mark.usefixtures("gate")
@pytest.mark.parametrize(
    ("body", "query"), [({"on_busy": "stop"}, {}), ({}, {"on_busy": "stop"})], ids=["body", "query"]
)
async def test_a_request_may_stop_the_live_run_and_take_its_place(
    client: Client, endpoint: StrictEndpoint, body: dict[str, Any], query: dict[str, str]
) -> None:
    endpoint.script(text_reply("Something else."))
    async with client.chat(HELLO) as first:
        await first.until("text-delta")
        request = {"thread_id": "t1", "message": "Rather this.", **body}
        _, events = await client.turn(request, params=query)
        assert events[-1].data == "[DONE]"
        ends = [e.data["data"][0] for e in await first.rest() if e.type == "data"]
        assert ends == [{"name": "run-ended", "data": {"reason": "stopped"}}]
    assert (await endpoint.closed(1)).completed is False
    thread = await client.thread("t1")
    assert texts(thread) == [
        ("user", "Hello"),
        ("assistant", "One "),
        ("user", "Rather this."),
        ("assistant", "Something else."),
    ]
    assert thread["messages"][1]["ended"] == {"reason": "stopped"}


@pytest.mark.usefixtures("gate")
async def test_the_last_of_several_impatient_requests_wins(
    client: Client, endpoint: StrictEndpoint
) -> None:
    never = asyncio.Event()
    endpoint.default = Reply((Say("So "), Pause(never)))
    async with client.chat(HELLO) as first:
        await first.until("text-delta")
        posts = [
            client.http.post(
                "/chat",
                json={"thread_id": "t1", "message": f"No, {n}", "on_busy": "stop"},
                headers={"Prefer": "respond-async"},
            )
            for n in range(5)
        ]
        answers = await asyncio.gather(*posts)
    assert {answer.status_code for answer in answers} == {202}
    await client.http.post("/chat/t1/stop")
    said = [text for role, text in texts(await client.thread("t1")) if role == "user"]
    assert sorted(said[1:]) == [f"No, {n}" for n in range(5)]


@pytest.mark.parametrize("value", ["later", "", "STOP"])
async def test_an_unknown_way_to_deal_with_a_busy_thread_is_refused(
    client: Client, value: str
) -> None:
    answer = await client.http.post("/chat", json=HELLO, params={"on_busy": value})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_on_busy")


# a request that is sent again

KEY = {"Idempotency-Key": "3d1f"}


async def test_a_request_sent_again_joins_the_run_it_started(
    client: Client, endpoint: StrictEndpoint, gate: asyncio.Event
) -> None:
    async with client.chat(HELLO, headers=KEY) as first:
        await first.until("text-delta")
        async with client.chat(HELLO, headers=KEY) as second:
            assert second.run_id == first.run_id
            gate.set()
            await first.rest()
            await second.rest()
            assert without_pings(bytes(second.raw)) == without_pings(bytes(first.raw))
    async with client.chat(HELLO, headers=KEY) as third:
        await third.rest()
        assert without_pings(bytes(third.raw)) == without_pings(bytes(first.raw))
    assert len(endpoint.requests) == 1
    assert len((await client.thread("t1"))["messages"]) == 2


async def test_requests_sent_at_once_under_one_key_start_one_run_on_one_new_thread(
    client: Client, endpoint: StrictEndpoint, gate: asyncio.Event
) -> None:
    headers = {**KEY, "Prefer": "respond-async"}
    answers = await asyncio.gather(
        *(client.http.post("/chat", json={"message": "Hello"}, headers=headers) for _ in range(5))
    )
    assert [answer.status_code for answer in answers] == [202] * 5
    assert len({answer.headers["location"] for answer in answers}) == 1
    gate.set()
    await free(client, answers[0].headers["x-thread-id"])
    assert len(endpoint.requests) == 1
    threads = (await client.http.get("/threads")).json()["threads"]
    assert [thread["id"] for thread in threads] == [answers[0].headers["x-thread-id"]]


@pytest.mark.usefixtures("gate")
async def test_a_key_stands_for_one_body(client: Client) -> None:
    async with client.chat(HELLO, headers=KEY) as first:
        await first.until("text-delta")
        other = {"thread_id": "t2", "message": "Something else"}
        answer = await client.http.post("/chat", json=other, headers=KEY)
        assert (answer.status_code, answer.json()["code"]) == (422, "idempotency_key_reused")
        query = await client.http.post("/chat", json=HELLO, headers=KEY, params={"on_busy": "stop"})
        assert query.status_code == 422
        assert (await client.http.get("/threads/t2")).status_code == 404


async def test_an_attempt_that_failed_leaves_the_key_free(
    client: Client, gate: asyncio.Event
) -> None:
    body = {"thread_id": "t1", "message": "Later"}
    async with client.chat(HELLO) as first:
        await first.until("text-delta")
        early = await asyncio.gather(
            *(client.http.post("/chat", json=body, headers=KEY) for _ in range(2))
        )
        assert [answer.status_code for answer in early] == [409, 409]
        gate.set()
        await first.rest()
    _, events = await client.turn(body, headers=KEY)
    assert events[-1].data == "[DONE]"


async def test_a_key_outlives_the_log_of_its_run(tmp_path: Path, endpoint: StrictEndpoint) -> None:
    values = endpoint_settings(tmp_path / "t.db", endpoint, run_retention_seconds=0)
    async with serving(values) as client:
        await client.turn(HELLO, headers=KEY)

        async def accepted() -> bool:
            answer = await client.http.post("/chat", json=HELLO, headers=KEY)
            return "cursor_lost" in answer.text and answer.headers["location"] == "/threads/t1"

        await eventually(accepted)
        assert texts(await client.thread("t1"))[::2] == [("user", "Hello")]
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize("body", [HELLO, {"commands": []}])
@pytest.mark.parametrize("key", ["", "x" * 256])
async def test_a_key_that_is_none_is_refused(client: Client, key: str, body: Any) -> None:
    answer = await client.http.post("/chat", json=body, headers={"Idempotency-Key": key})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_idempotency_key")


# many at once


@pytest.mark.long
async def test_of_two_requests_at_once_on_each_of_many_threads_one_runs_and_one_is_refused(
    client: Client, endpoint: StrictEndpoint
) -> None:
    gate = asyncio.Event()
    endpoint.default = Reply((Pause(gate), Say("Hi.")))
    threads = [f"t{n}" for n in range(THREADS)]
    at_once = asyncio.Semaphore(20)

    async def post(thread_id: str, words: str) -> tuple[int, str, str]:
        body = {"thread_id": thread_id, "message": words}
        answer = await client.http.post("/chat", json=body, headers={"Prefer": "respond-async"})
        return answer.status_code, words, answer.json()["run_id"]

    async def two(thread_id: str) -> list[tuple[int, str, str]]:
        async with at_once:
            return await asyncio.gather(*(post(thread_id, words) for words in ("one", "two")))

    pairs = await asyncio.gather(*map(two, threads))
    assert Counter(status for pair in pairs for status, _, _ in pair) == {
        202: THREADS,
        409: THREADS,
    }
    gate.set()
    for thread_id in threads:
        await free(client, thread_id)
    for thread_id, pair in zip(threads, pairs, strict=True):
        (accepted,) = [words for status, words, _ in pair if status == 202]
        assert len({run_id for _, _, run_id in pair}) == 1
        thread = await client.thread(thread_id)
        assert texts(thread) == [("user", accepted), ("assistant", "Hi.")]
        assert thread["run_state"] == "finished"
    assert len(endpoint.requests) == THREADS


async def test_a_client_that_leaves_before_its_answer_has_its_run_all_the_same(
    client: Client, gate: asyncio.Event
) -> None:
    async with httpx.AsyncClient(base_url=client.http.base_url) as hasty:
        posting = asyncio.create_task(hasty.post("/chat", json=HELLO))
        await claimed(client, "t1")
        posting.cancel()
    gate.set()
    await free(client, "t1")
    assert texts(await client.thread("t1")) == [("user", "Hello"), ("assistant", "One two.")]

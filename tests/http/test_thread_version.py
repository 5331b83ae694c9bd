"""Requests that say which thread they were made on: one that must exist, and its version."""

import asyncio
from typing import Any

import pytest

from tests.support.endpoint import Pause, Reply, Say, StrictEndpoint, text_reply
from tests.support.serving import Client

Json = dict[str, Any]


async def problem(client: Client, status: int, **body: Any) -> Json:
    answer = await client.http.post("/chat", json={"thread_id": "t1", **body})
    assert answer.status_code == status, answer.text
    answered: Json = answer.json()
    return answered


async def said(client: Client) -> list[str]:
    return [
        "".join(part.get("text", "") for part in message["parts"])
        for message in (await client.thread("t1"))["messages"]
    ]


@pytest.mark.parametrize("more", [{"must_exist": True}, {"based_on": "run"}])
async def test_a_thread_that_must_exist_is_not_begun(client: Client, more: Json) -> None:
    refused = await problem(client, 404, message="Hello", **more)

    assert refused["code"] == "thread_not_found"
    assert (await client.http.get("/threads")).json()["threads"] == []
    assert (await client.http.get("/threads/t1")).status_code == 404


async def test_a_thread_that_exists_takes_what_asks_for_it(
    client: Client, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("A"), text_reply("B"))
    await client.turn({"thread_id": "t1", "message": "One", "must_exist": False})
    await client.turn({"thread_id": "t1", "message": "Two", "must_exist": True})
    assert await said(client) == ["One", "A", "Two", "B"]


async def test_a_deleted_thread_does_not_come_back(
    client: Client, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("A"))
    await client.turn({"thread_id": "t1", "message": "One"})
    assert (await client.http.delete("/threads/t1")).status_code == 204
    await problem(client, 404, message="Two", must_exist=True)
    assert (await client.http.get("/threads")).json()["threads"] == []


@pytest.mark.parametrize("kind", ["edit", "regenerate"])
async def test_what_was_made_on_an_earlier_version_is_refused_and_changes_nothing(
    client: Client, endpoint: StrictEndpoint, kind: str
) -> None:
    endpoint.script(text_reply("A"), text_reply("B"))
    await client.turn({"thread_id": "t1", "message": {"id": "m1", "parts": [part("One")]}})
    seen = (await client.thread("t1"))["run_id"]
    await client.turn({"thread_id": "t1", "message": {"id": "m2", "parts": [part("Two")]}})
    now = await client.thread("t1")

    asked = {"edit": {"message_id": "m1", "message": "Uno"}} if kind == "edit" else {kind: "m1.a"}
    refused = await problem(client, 409, **asked, based_on=seen)

    assert refused["code"] == "thread_changed"
    assert refused["new_messages"] == ["m2"]
    assert {key: refused[key] for key in ("run_id", "run_state", "updated_at")} == {
        key: now[key] for key in ("run_id", "run_state", "updated_at")
    }
    assert await client.thread("t1") == now


async def test_what_was_made_on_the_last_version_is_taken(
    client: Client, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("A"), text_reply("B"))
    await client.turn({"thread_id": "t1", "message": "One"})
    seen = (await client.thread("t1"))["run_id"]
    await client.turn({"thread_id": "t1", "regenerate": True, "based_on": seen})
    assert await said(client) == ["One", "B"]


async def test_of_a_version_that_the_thread_has_left_no_new_messages_are_known(
    client: Client, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("A"), text_reply("B"))
    await client.turn({"thread_id": "t1", "message": "One"})
    seen = (await client.thread("t1"))["run_id"]
    await client.turn({"thread_id": "t1", "regenerate": True})
    refused = await problem(client, 409, regenerate=True, based_on=seen)
    assert refused["code"] == "thread_changed"
    assert "new_messages" not in refused


async def test_a_live_run_that_the_client_does_not_know_is_not_stopped(
    client: Client, endpoint: StrictEndpoint
) -> None:
    gate = asyncio.Event()
    endpoint.script(text_reply("A"), Reply((Say("B "), Pause(gate), Say("b"))), text_reply("C"))
    await client.turn({"thread_id": "t1", "message": "One"})
    seen = (await client.thread("t1"))["run_id"]
    async with client.chat({"thread_id": "t1", "message": "Two"}) as live:
        await live.until("text-delta")
        refused = await problem(client, 409, regenerate=True, based_on=seen, on_busy="stop")
        assert refused["code"] == "thread_changed"
        assert refused["run_id"] == live.run_id
        gate.set()
        await live.rest()
    assert await said(client) == ["One", "A", "Two", "B b"]


async def test_the_run_that_the_request_was_made_on_is_stopped(
    client: Client, endpoint: StrictEndpoint
) -> None:
    endpoint.script(Reply((Say("A "), Pause(asyncio.Event()))), text_reply("B"))
    async with client.chat({"thread_id": "t1", "message": "One"}) as live:
        await live.until("text-delta")
        again = {"regenerate": True, "based_on": live.run_id, "on_busy": "stop"}
        await client.turn({"thread_id": "t1", **again})
        await live.rest()
    assert await said(client) == ["One", "B"]


async def test_a_retry_of_a_request_that_was_taken_is_not_refused(
    client: Client, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("A"), text_reply("B"))
    await client.turn({"thread_id": "t1", "message": "One"})
    seen = (await client.thread("t1"))["run_id"]
    body = {"thread_id": "t1", "regenerate": True, "based_on": seen}
    key = {"Idempotency-Key": "k1"}
    first = await client.http.post("/chat", json=body, headers=key)
    again = await client.http.post("/chat", json=body, headers=key)
    assert (first.status_code, again.status_code) == (200, 200)
    assert first.headers["x-run-id"] == again.headers["x-run-id"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (
            "/chat",
            {"commands": [{"type": "add-message", "message": {"role": "user", "parts": []}}]},
        ),
        ("/chat", {"messages": [], "trigger": "submit-message"}),
        ("/ag-ui", {"messages": [], "forwardedProps": {}}),
    ],
)
async def test_bodies_of_other_clients_say_it_too(client: Client, path: str, body: Json) -> None:
    id, words = "t1", [part("Hello")]
    if "commands" in body:
        body["commands"][0]["message"]["parts"] = words
        body = {**body, "threadId": id, "must_exist": True}
    elif path == "/ag-ui":
        message: Json = {"id": "m1", "role": "user", "content": "Hello"}
        of_run: Json = {"threadId": id, "runId": "r1", "state": None, "tools": [], "context": []}
        body = {**of_run, "messages": [message], "forwardedProps": {"must_exist": True}}
    else:
        message = {"id": "m1", "role": "user", "parts": words}
        body = {**body, "id": id, "messages": [message], "must_exist": True}
    answer = await client.http.post(path, json=body)
    assert (answer.status_code, answer.json()["code"]) == (404, "thread_not_found")


@pytest.mark.parametrize("wrong", [{"must_exist": "yes"}, {"must_exist": 1}, {"based_on": 7}])
async def test_other_values_are_refused(client: Client, wrong: Json) -> None:
    assert (await problem(client, 422, message="Hello", **wrong))["code"] == "invalid_body"


async def test_a_run_names_the_one_that_it_follows(
    client: Client, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("A"), text_reply("B"), text_reply("C"))
    body = {"thread_id": "t1", "message": "Hello"}
    first, second = [(await client.http.post("/chat", json=body)).headers for _ in "12"]
    assert "X-Previous-Run-Id" not in first
    assert second["X-Previous-Run-Id"] == first["X-Run-Id"]
    detached = await client.http.post("/chat", json=body, headers={"Prefer": "respond-async"})
    assert detached.headers["X-Previous-Run-Id"] == second["X-Run-Id"]


def part(words: str) -> Json:
    return {"type": "text", "text": words}


async def test_bodies_of_langgraphs_sdk_say_it_in_their_own_words(
    client: Client, endpoint: StrictEndpoint
) -> None:
    async def run(status: int, **more: Any) -> Json:
        messages = [{"type": "human", "content": "Hello"}]
        body = {"assistant_id": "chat", "input": {"messages": messages}, **more}
        answer = await client.http.post("/langgraph/threads/t1/runs/stream", json=body)
        assert answer.status_code == status, answer.text
        return dict(answer.json()) if status >= 400 else {"run_id": answer.headers["X-Run-Id"]}

    assert (await run(404, if_not_exists="reject"))["code"] == "thread_not_found"
    assert (await run(404, metadata={"based_on": "r1"}))["code"] == "thread_not_found"
    assert (await client.http.get("/threads/t1")).status_code == 404
    endpoint.script(text_reply("A"), text_reply("B"), text_reply("C"))
    first = await run(200, if_not_exists="create", metadata={"of": "a client"})
    second = await run(200, if_not_exists="reject", metadata={"based_on": first["run_id"]})
    refused = await run(409, metadata={"based_on": first["run_id"]})
    assert (refused["code"], refused["run_id"]) == ("thread_changed", second["run_id"])
    anew = {"checkpoint": {"checkpoint_id": "start"}, "metadata": {"based_on": first["run_id"]}}
    assert (await run(409, **anew))["code"] == "thread_changed"
    assert await said(client) == ["Hello", "A", "Hello", "B"]
    await run(200)

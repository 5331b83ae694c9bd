"""What clients of other servers post: it is carried out, refused, or named in a header."""

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.serving import Client, serving, settings

Json = dict[str, Any]
IGNORED = "x-turnstream-ignored"
TEXT = {"type": "text", "text": "Hi"}
USER = {"id": "u1", "role": "user", "parts": [TEXT]}
TOOL = {"name": "pick", "parameters": {"type": "object"}}
LANGGRAPH = "/langgraph/threads/c1/runs/stream"


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    async with serving(settings(tmp_path / "t.db", allowed_origins=("https://a.org",))) as client:
        yield client


async def post(client: Client, path: str, body: Json, **headers: str) -> httpx.Response:
    answer: httpx.Response = await client.http.post(path, json=body, headers=headers)
    return answer


async def accepted(client: Client, path: str, body: Json) -> httpx.Response:
    answer = await post(client, path, body)
    assert answer.status_code == 200, answer.text
    return answer


def ag_ui(**fields: Any) -> Json:
    said = {"id": "u1", "role": "user", "content": "Hi"}
    return {"threadId": "c1", "messages": [said], **fields}


def run(**fields: Any) -> Json:
    said = {"type": "human", "content": "Hi"}
    return {"assistant_id": "chat", "input": {"messages": [said]}, **fields}


@pytest.mark.parametrize(
    "body",
    [
        {"id": "c1", "message": USER},
        {"id": "c1", "message": USER, "trigger": "submit-message"},
        {"id": "c1", "message": USER, "trigger": None, "messages": None},
        {"id": "c1", "messages": [USER]},
    ],
)
async def test_an_ai_sdk_body_may_have_the_end_of_the_history_alone_and_no_trigger(
    client: Client, body: Json
) -> None:
    answer = await accepted(client, "/chat", body)
    assert answer.headers["x-vercel-ai-ui-message-stream"] == "v1"
    assert answer.headers["x-thread-id"] == "c1"
    assert IGNORED not in answer.headers
    asked, told = (await client.thread("c1"))["messages"]
    assert (asked["id"], asked["parts"], told["role"]) == ("u1", [TEXT], "assistant")


async def test_a_single_message_is_made_anew_by_its_trigger(client: Client) -> None:
    body = {"id": "c1", "message": USER}
    await accepted(client, "/chat", body)
    assert (await post(client, "/chat", body)).json()["code"] == "message_exists"
    await accepted(client, "/chat", {**body, "trigger": "regenerate-message"})
    assert len((await client.thread("c1"))["messages"]) == 2


async def test_two_histories_in_one_body_are_refused(client: Client) -> None:
    answer = await post(client, "/chat", {"id": "c1", "message": USER, "messages": [USER]})
    assert (answer.status_code, answer.json()["code"]) == (422, "conflicting_actions")


async def test_a_data_part_beside_text_has_no_effect_and_is_named(client: Client) -> None:
    data = {"type": "data-place", "data": {"city": "Oslo"}}
    body = {"id": "c1", "messages": [{**USER, "parts": [data, TEXT]}], "trigger": "submit-message"}
    answer = await accepted(client, "/chat", body)
    assert answer.headers[IGNORED] == "messages.parts.data-place"
    asked, _ = (await client.thread("c1"))["messages"]
    assert asked["parts"] == [TEXT]


NATIVE: Json = {
    "client_tools": [TOOL],
    "tool_results": [{"tool_call_id": "c", "result": 1}],
    "approvals": [{"tool_call_id": "c", "approved": False}],
    "continue": True,
    "regenerate": True,
    "edit": {"message_id": "u1", "message": "Hi"},
}
OF_ANY: Json = {"allowed_tools": [], "on_interrupt": "reject", "on_busy": "stop"}
FORMATS: dict[str, tuple[str, Json, Json]] = {
    "AI SDK": ("/chat", {"id": "c1", "messages": [USER]}, NATIVE),
    "assistant-transport": (
        "/chat",
        {"commands": [{"type": "add-message", "message": {"role": "user", "parts": [TEXT]}}]},
        NATIVE,
    ),
    "AG-UI": ("/ag-ui", ag_ui(), {**NATIVE, **OF_ANY, "must_exist": True, "version": "v"}),
    "LangGraph": (LANGGRAPH, run(), {**NATIVE, **OF_ANY, "resume": 1, "based_on": "r"}),
}


def misplaced() -> Iterator[Any]:
    for name, (path, body, keys) in FORMATS.items():
        for key, value in keys.items():
            yield pytest.param(path, {**body, key: value}, key, id=f"{name}: {key}")
    for key, value in NATIVE.items():
        if key != "edit":
            props = {"forwardedProps": {key: value}}
            yield pytest.param("/ag-ui", ag_ui(**props), key, id=f"forwardedProps: {key}")


@pytest.mark.parametrize(("path", "body", "key"), [*misplaced()])
async def test_a_native_key_that_another_format_does_not_read_is_refused(
    client: Client, path: str, body: Json, key: str
) -> None:
    answer = await post(client, path, body)
    assert (answer.status_code, answer.json()["code"]) == (422, "unknown_key")
    assert f"has {key}, which has no effect there: " in answer.json()["detail"]
    assert (await client.http.get("/threads")).json()["threads"] == []


async def test_a_refused_key_has_the_name_of_the_one_to_send(client: Client) -> None:
    for path, body, key, remedy in (
        ("/chat", {"id": "c1", "messages": [USER]}, "client_tools", "send tools, by name"),
        ("/ag-ui", ag_ui(), "client_tools", "send tools"),
        ("/ag-ui", ag_ui(), "allowed_tools", "send it in forwardedProps"),
        (LANGGRAPH, run(), "resume", "send it in command"),
    ):
        answer = await post(client, path, {**body, key: [TOOL]})
        assert answer.json()["detail"].endswith(f": {remedy}.")


async def test_a_thread_may_be_named_under_the_native_key_too_but_not_two(client: Client) -> None:
    bodies = [("/chat", "id", {"messages": [USER], "trigger": "submit-message"})]
    bodies += [("/ag-ui", "threadId", {"messages": ag_ui()["messages"]})]
    for path, key, body in bodies:
        answer = await post(client, path, {**body, key: "c1", "thread_id": "c2"})
        assert (answer.status_code, answer.json()["code"]) == (422, "conflicting_actions")
        for ids in ({"thread_id": f"c{path[1:]}"}, {"thread_id": "c3", key: "c3"}):
            answer = await accepted(client, path, {**body, **ids})
            assert answer.headers["x-thread-id"] == ids["thread_id"]
            assert IGNORED not in answer.headers
        await client.http.delete("/threads/c3?at_once=true")


async def test_every_body_may_say_what_a_live_run_means(client: Client) -> None:
    bodies = [("/chat", {"id": "c1", "messages": [USER]}), ("/ag-ui", ag_ui())]
    for path, body in bodies:
        wrong = {**body, "on_busy": "wait", "forwardedProps": {"on_busy": "wait"}}
        if path == "/ag-ui":
            del wrong["on_busy"]
        assert (await post(client, path, wrong)).json()["code"] == "invalid_on_busy"


SENT: dict[str, tuple[str, Json, str]] = {
    "useChat": (
        "/chat",
        {"id": "c1", "messages": [{**USER, "metadata": {"a": 1}}], "trigger": "submit-message"}
        | {"system": "Be kind", "callSettings": {}, "userTier": "gold", "config": None},
        "callSettings, messages.metadata, userTier",
    ),
    "assistant-ui": (
        "/chat",
        {
            "commands": [
                {
                    "type": "add-message",
                    "message": {"role": "user", "parts": [TEXT], "metadata": {}},
                    "parentId": "m1",
                    "sourceId": None,
                }
            ],
            "state": None,
            "parentId": "m1",
            "system": "Be kind",
        },
        "commands.parentId, parentId",
    ),
    "HttpAgent": (
        "/ag-ui",
        ag_ui(
            runId="r1",
            protocolVersion="1.0",
            state={"mood": "good"},
            context=[],
            tools=[],
            forwardedProps={
                "model": None,
                "tier": "gold",
                "runConfig": {"temperature": 1},
                "command": {"interruptEvent": "?"},
            },
        ),
        "forwardedProps.command.interruptEvent, forwardedProps.runConfig.temperature, "
        "forwardedProps.tier, state",
    ),
    "LangGraph's SDK": (
        LANGGRAPH,
        run(
            durability="exit",
            stream_subgraphs=True,
            config={"tags": ["a"], "configurable": {"__pregel_task_id": "1", "thread_id": "c1"}},
            metadata={"source": "page"},
        ),
        "config.configurable.__pregel_task_id, config.tags, durability.exit",
    ),
}


@pytest.mark.parametrize("name", SENT)
async def test_what_has_no_effect_is_named_in_a_header(client: Client, name: str) -> None:
    path, body, named = SENT[name]
    assert (await accepted(client, path, body)).headers[IGNORED] == named


@pytest.mark.parametrize(
    "given", [{"app_context": "ignore"}, {"graph": "docs/examples/own_graph.py:build"}]
)
async def test_texts_of_an_app_that_no_model_gets_are_named(given: Any, tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db", **given)) as client:
        path, body, _ = SENT["HttpAgent"]
        said = {**body, "context": [{"description": "The page", "value": "Orders"}]}
        assert "context" in (await accepted(client, path, said)).headers[IGNORED].split(", ")


async def test_a_run_that_is_not_streamed_names_it_too(client: Client) -> None:
    detached = {"Prefer": "respond-async"}
    body = {"id": "c1", "messages": [USER], "tier": 1}
    answer = await post(client, "/chat", body, **detached)
    assert (answer.status_code, answer.headers[IGNORED]) == (202, "tier")
    answer = await post(client, "/langgraph/threads/c2/runs", run(durability="exit"))
    assert answer.headers[IGNORED] == "durability.exit"
    for kept in ("sync", "async"):
        answer = await post(client, "/langgraph/threads/c2/runs/wait", run(durability=kept))
        assert (answer.status_code, IGNORED in answer.headers) == (200, False)
    answer = await accepted(client, "/chat", {"commands": [], "tier": 1})
    assert answer.headers[IGNORED] == "tier"


async def test_the_header_is_short_and_in_ascii_whatever_was_sent(client: Client) -> None:
    names = {f"k{n:03}": 1 for n in range(500)}
    odd = {"\u00e9, a\r\nb": 1, "x" * 10_000: 1, "\ud83d": 1}
    body = json.dumps({"id": "c1", "messages": [USER], **names, **odd})
    kind = {"Content-Type": "application/json"}
    answer = await client.http.post("/chat", content=body, headers=kind)
    header = answer.headers[IGNORED]
    assert answer.status_code == 200
    assert header.isascii()
    assert header.isprintable()
    assert header.split(", ")[:2] == ["?", "???a??b"]
    assert len(header.split(", ")) == 20
    assert len(header) <= 1000


async def test_a_page_of_another_origin_may_read_the_header(client: Client) -> None:
    body = {"id": "c1", "messages": [USER], "tier": 1}
    answer = await post(client, "/chat", body, Origin="https://a.org")
    exposed = answer.headers["access-control-expose-headers"].lower().split(", ")
    assert IGNORED in exposed


async def test_a_native_body_has_no_ignored_keys(client: Client) -> None:
    answer = await accepted(client, "/chat", {"message": "Hi", "thread_id": "c1"})
    assert IGNORED not in answer.headers
    assert (await post(client, "/chat", {"message": "Hi", "tier": 1})).status_code == 422


async def test_reserved_keys_of_configurable_are_no_values_for_the_graph(client: Client) -> None:
    kept = {"__pregel_checkpointer": {"a": 1}, "__pregel_runtime": "x"}
    await accepted(client, LANGGRAPH, run(config={"configurable": kept}))
    answer = await post(client, LANGGRAPH, run(config={"configurable": {**kept, "mood": 1}}))
    assert (answer.status_code, answer.json()["code"]) == (422, "value_not_allowed")

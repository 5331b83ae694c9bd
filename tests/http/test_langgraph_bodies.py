"""LangGraph SDK: what is refused, each with a clear code, and what is passed over."""

from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.support.gated_tools import GatedTools
from tests.support.langgraph_reader import LangGraphReader, named_frames
from tests.support.run_chunks import tool_call_message
from tests.support.scripted_model import ScriptedModel, finish, text
from tests.support.serving import Client, serving, settings
from tests.support.users import keys_settings, make_key

Json = dict[str, Any]

DONE, GATED = "thread-d", "thread-g"
HI: Json = {"type": "human", "content": "Hi", "id": "h-new"}


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    """A thread that has ended, and one whose two calls wait for an approval."""
    two = tool_call_message(("c1", "pay", '{"word":"a"}'), ("c2", "pay", '{"word":"b"}'))
    model = ScriptedModel.of([text("Hello."), finish()], two, [text("More."), finish()])
    async with serving(settings(tmp_path / "t.db"), GatedTools().catalogue, model) as client:
        for thread, id in ((DONE, "h1"), (GATED, "h2")):
            said = {"parts": [{"type": "text", "text": "Go on"}], "id": id}
            await client.turn({"thread_id": thread, "message": said})
        yield client


async def post(client: Client, body: Json, thread: str = DONE) -> Any:
    path = f"/langgraph/threads/{thread}/runs/stream"
    return await client.http.post(path, json={"assistant_id": "chat", **body})


def said(*messages: Any) -> Json:
    return {"input": {"messages": [*messages]}}


REFUSED: list[tuple[Json, int, str]] = [
    ({"assistant_id": None, **said(HI)}, 422, "invalid_body"),
    ({"assistant_id": 3, **said(HI)}, 422, "invalid_body"),
    ({"input": "Hi"}, 422, "invalid_body"),
    ({"input": {"messages": 3}}, 422, "invalid_body"),
    (said({"content": "Hi"}), 422, "invalid_body"),
    (said({"type": "system", "content": "Hi"}), 422, "unsupported_message"),
    (said({"type": "ai", "content": "Hi", "id": "made-up"}), 422, "unsupported_message"),
    (said({**HI, "id": "has a blank"}), 422, "invalid_message_id"),
    (said({**HI, "content": ""}), 422, "empty_message"),
    (said({**HI, "content": [{"type": "file", "data": "x"}]}), 422, "unsupported_part"),
    (said({**HI, "content": [{"type": "image", "url": "file:///x"}]}), 422, "invalid_image"),
    (said({**HI, "content": "x" * 40_000}), 422, "message_too_long"),
    ({**said(HI), "stream_mode": "everything"}, 422, "invalid_stream_mode"),
    ({**said(HI), "stream_mode": [[]]}, 422, "invalid_stream_mode"),
    ({**said(HI), "multitask_strategy": "undo"}, 422, "invalid_multitask_strategy"),
    ({**said(HI), "multitask_strategy": {}}, 422, "invalid_multitask_strategy"),
    ({**said(HI), "on_disconnect": "stay"}, 422, "invalid_body"),
    ({**said(HI), "on_disconnect": []}, 422, "invalid_body"),
    ({**said(HI), "if_not_exists": "ignore"}, 422, "invalid_body"),
    ({**said(HI), "metadata": {"based_on": 3}}, 422, "invalid_body"),
    ({**said(HI), "metadata": {"based_on": "no-such-run"}}, 409, "thread_changed"),
    ({**said(HI), "webhook": "http://x"}, 422, "unsupported_option"),
    ({**said(HI), "interrupt_before": "*"}, 422, "value_not_allowed"),
    ({**said(HI), "interrupt_after": 7}, 422, "invalid_body"),
    ({**said(HI), "config": {"recursion_limit": 0}}, 422, "invalid_body"),
    ({**said(HI), "webhook": "https://example.org"}, 422, "unsupported_option"),
    ({**said(HI), "after_seconds": 3_000_000}, 422, "invalid_body"),
    ({"command": {"update": {"topic": 1}}, "after_seconds": 5}, 422, "unsupported_option"),
    ({"checkpoint_id": "after-h1", "after_seconds": 5}, 422, "unsupported_option"),
    ({"command": {"goto": "agent"}}, 422, "unsupported_option"),
    ({"command": {"goto": {"node": "agent"}}}, 422, "unsupported_option"),
    ({"command": {"update": {"secret": 1}}}, 422, "value_not_allowed"),
    ({"command": {"update": [["secret", 1]]}}, 422, "value_not_allowed"),
    ({"command": {"update": 7}}, 422, "invalid_body"),
    ({**said(HI), "command": {"update": {"topic": 1}}}, 422, "conflicting_actions"),
    ({**said(HI), "durability": "never"}, 422, "invalid_body"),
    ({"command": "yes"}, 422, "invalid_body"),
    ({"command": {"resume": "yes"}}, 409, "unknown_interrupt"),
    ({**said(HI), "command": {"resume": "yes"}}, 422, "conflicting_actions"),
    ({**said(HI), "checkpoint": {"checkpoint_id": "after-x"}}, 409, "unknown_checkpoint"),
    ({**said(HI), "checkpoint": {"checkpoint_id": 3}}, 422, "invalid_body"),
    ({**said(HI), "checkpoint": "start"}, 422, "invalid_body"),
    ({"checkpoint": {"checkpoint_id": "start"}, "checkpoint_id": 3}, 422, "invalid_body"),
    ({**said(HI), "checkpoint_id": "after-h1"}, 422, "unsupported_checkpoint"),
    ({"checkpoint_id": "start"}, 409, "nothing_to_do"),
    ({"input": None}, 409, "nothing_to_continue"),
    (said(), 409, "nothing_to_continue"),
    (said({"type": "human", "id": "h1", "content": "Go on"}), 409, "message_exists"),
    (said(*[{"type": "human", "id": "h1", "content": "Go on"}] * 2), 409, "nothing_to_do"),
    (said({"type": "tool", "tool_call_id": "c9", "content": "x"}), 409, "nothing_to_do"),
    (said({"type": "tool", "tool_call_id": {}, "content": "x"}), 409, "nothing_to_do"),
    ({**said(HI), "context": {"secret": 1}}, 422, "value_not_allowed"),
    ({**said(HI), "config": {"configurable": {"secret": 1}}}, 422, "value_not_allowed"),
    ({"input": {"todos": []}}, 422, "value_not_allowed"),
    ({**said(HI), "config": []}, 422, "invalid_body"),
]


async def test_what_a_run_cannot_do_is_refused(client: Client) -> None:
    before = await client.thread(DONE)
    for body, status, code in REFUSED:
        answer = await post(client, body)
        assert (answer.status_code, answer.json()["code"]) == (status, code), body
        assert answer.headers["content-type"] == "application/problem+json"
        assert await client.thread(DONE) == before, body


def edit(name: str, args: Json) -> Json:
    return {"type": "edit", "edited_action": {"name": name, "args": args}}


DECISIONS: list[tuple[Any, int, str]] = [
    ("yes", 422, "invalid_body"),
    ({"decisions": [{"type": "approve"}]}, 422, "invalid_resume"),
    ({"type": "approve"}, 422, "invalid_resume"),
    ({"decisions": "approve"}, 422, "invalid_body"),
    ({"c1": {"type": "respond", "message": "x"}}, 422, "invalid_approval"),
    ({"c1": {"type": []}}, 422, "invalid_approval"),
    ({"c1": "approve"}, 422, "invalid_body"),
    ({"c1": edit("hold", {})}, 422, "invalid_approval"),
    ({"c1": {"type": "edit"}}, 422, "invalid_body"),
    ({"c1": edit("pay", {"w": 1})}, 422, "invalid_arguments"),
    ({"approval:c1": {"type": "approve"}}, 409, "unknown_interrupt"),
    ({}, 422, "invalid_resume"),
]


async def test_a_decision_that_does_not_fit_is_refused(client: Client) -> None:
    for resume, status, code in DECISIONS:
        answer = await post(client, {"command": {"resume": resume}}, GATED)
        assert (answer.status_code, answer.json()["code"]) == (status, code), resume
        assert len((await client.thread(GATED))["approvals"]) == 2


@pytest.mark.parametrize(
    "resume",
    [
        {"decisions": [{"type": "approve"}, {"approved": False, "reason": "No."}]},
        {"approval:c1,c2": {"decisions": [{"type": "approve"}, {"type": "reject"}]}},
        {"c1": {"type": "approve"}, "c2": {"type": "reject", "message": "No."}},
        {"approval:c1,c2": {"c1": {"type": "approve"}, "c2": {"type": "reject"}}},
    ],
)
async def test_decisions_are_taken_in_every_form(resume: Any, client: Client) -> None:
    answer = await post(client, {"command": {"resume": resume}}, GATED)
    assert answer.status_code == 200, answer.text
    reader = LangGraphReader().read(named_frames(answer.content))
    results = {m["tool_call_id"]: m for m in reader.values["messages"] if m["type"] == "tool"}
    assert results["c1"]["content"] == '{"paid":"a"}'
    assert '"declined"' in results["c2"]["content"]
    assert reader.interrupts is None


async def test_some_decisions_leave_the_others_open(client: Client) -> None:
    body: Json = {"command": {"resume": {"c2": {"type": "approve"}}}}
    reader = LangGraphReader().read(named_frames((await post(client, body, GATED)).content))
    assert reader.interrupts is not None
    assert [one["id"] for one in reader.interrupts] == ["approval:c1"]


async def test_messages_that_the_thread_has_are_passed_over(client: Client) -> None:
    """Some clients send their whole history."""
    state = (await client.http.get(f"/langgraph/threads/{DONE}/state")).json()
    answer = await post(client, said(*state["values"]["messages"], HI))
    told = LangGraphReader().read(named_frames(answer.content)).values["messages"]
    assert [m["content"] for m in told] == ["Go on", "Hello.", "Hi", "More."]


@pytest.mark.parametrize("form", ["Hi", HI, [HI], [{"role": "user", "content": "Hi"}], ["Hi"]])
async def test_one_message_may_stand_for_a_list(form: Any, client: Client) -> None:
    answer = await post(client, {"input": {"messages": form}})
    told = LangGraphReader().read(named_frames(answer.content)).values["messages"]
    assert [m["content"] for m in told][2:] == ["Hi", "More."]


ASKED: list[tuple[str, str, Any, int, str | None]] = [
    ("POST", "threads", {"thread_id": DONE}, 409, "thread_exists"),
    ("POST", "threads", {"thread_id": DONE, "if_exists": "do_nothing"}, 200, None),
    ("POST", "threads", {"thread_id": "no blank"}, 422, "invalid_thread_id"),
    ("POST", "threads", [], 422, "invalid_body"),
    ("POST", "threads/search", {"limit": 0}, 422, "invalid_limit"),
    ("POST", "threads/search", {"offset": -1}, 422, "invalid_limit"),
    ("POST", "threads/search", {"limit": True}, 422, "invalid_limit"),
    ("POST", "threads/search", {"limit": 1.5}, 422, "invalid_limit"),
    ("POST", "threads/search", {"limit": 10.0, "offset": 0.0}, 200, None),
    ("POST", "threads/search", {"offset": 1e300}, 422, "invalid_limit"),
    ("POST", "threads/search", {"metadata": []}, 200, None),
    ("POST", "threads/search", {"metadata": [1]}, 422, "invalid_body"),
    ("GET", "threads/none", None, 404, "thread_not_found"),
    ("GET", f"threads/{DONE}/state/after-x", None, 409, "unknown_checkpoint"),
    ("POST", f"threads/{DONE}/history", {"limit": 0}, 422, "invalid_limit"),
    ("POST", f"threads/{DONE}/history", {"before": "x"}, 409, "unknown_checkpoint"),
    ("GET", f"threads/{DONE}/runs/none", None, 404, "run_not_found"),
    ("GET", f"threads/{DONE}/runs/none/stream", None, 404, "run_not_found"),
    ("GET", "threads/none/runs/none/stream", None, 404, "thread_not_found"),
    ("POST", f"threads/{DONE}/runs/none/cancel", None, 404, "run_not_found"),
    ("GET", "assistants/none", None, 404, "assistant_not_found"),
    ("POST", "threads/no%20blank/runs/stream", {}, 422, "invalid_thread_id"),
]


async def test_a_search_that_cannot_be_read_is_refused_also_where_there_is_nothing_to_find(
    tmp_path: Path,
) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        answer = await client.http.post("/langgraph/threads/search", json={"metadata": [1]})
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_body")


async def test_an_image_is_taken_whichever_of_its_keys_is_null(client: Client) -> None:
    url, kind = "https://example.org/a.png", "image/png"
    for image in (
        {"data": None, "base64": None, "url": url},
        {"data": None, "base64": "iVBORw0KGgo=", "mime_type": None, "mimeType": kind},
    ):
        block = {"type": "image", **image}
        answer = await post(client, said({"type": "human", "content": [block]}))
        assert answer.status_code == 200, answer.text


async def test_what_cannot_be_answered_says_why(client: Client) -> None:
    for method, path, body, status, code in ASKED:
        asked = {} if body is None else {"json": body}
        answer = await client.http.request(method, f"/langgraph/{path}", **asked)
        assert answer.status_code == status, (path, answer.text)
        assert code is None or answer.json()["code"] == code, path


async def test_a_thread_that_no_run_has_begun_is_empty(client: Client) -> None:
    """As one that is not there: who made up an id and who got one see the same."""
    made = (await client.http.post("/langgraph/threads", json={})).json()
    for id in (made["thread_id"], "never-made"):
        state = (await client.http.get(f"/langgraph/threads/{id}/state")).json()
        assert (state["values"], state["checkpoint"]) == ({"messages": []}, None)
        history = await client.http.post(f"/langgraph/threads/{id}/history", json={})
        assert history.json() == []


async def test_a_cursor_of_another_run_is_lost_and_another_action_refused(client: Client) -> None:
    run_id = (await client.thread(DONE))["run_id"]
    run = f"/langgraph/threads/{DONE}/runs/{run_id}"
    for cursor in ("another:1", "nonsense", f"{run_id}:999"):
        answer = await client.http.get(f"{run}/stream", headers={"Last-Event-ID": cursor})
        (frame,) = named_frames(answer.content)
        assert (frame.event, frame.data["error"]) == ("error", "cursor_lost")
    answer = await client.http.post(f"{run}/cancel?action=undo")
    assert (answer.status_code, answer.json()["code"]) == (422, "unsupported_option")


async def test_a_history_has_one_state_a_message_and_pages_backwards(client: Client) -> None:
    for words in ("Two", "Three"):
        await post(client, said({"type": "human", "content": words}))
    path = f"/langgraph/threads/{DONE}/history"
    whole = (await client.http.post(path, json={"limit": 100})).json()
    counts = [len(state["values"]["messages"]) for state in whole]
    assert counts == [*range(counts[0], -1, -1)]
    for state, parent in pairwise(whole):
        assert state["parent_checkpoint"] == parent["checkpoint"]
    before = whole[1]["checkpoint"]["checkpoint_id"]
    page = (await client.http.post(path, json={"limit": 2, "before": before})).json()
    assert page == whole[2:4]
    one = await client.http.get(f"/langgraph/threads/{DONE}/state/{before}")
    assert one.json() == whole[1]


async def test_a_page_of_another_origin_reads_where_the_run_is(tmp_path: Path) -> None:
    page = "http://app.example"
    served = settings(tmp_path / "t.db", allowed_origins=page)
    async with serving(served) as client:
        body = {"assistant_id": "chat", **said(HI), "stream_mode": ["values", "messages-tuple"]}
        answer = await client.http.post(
            "/langgraph/threads/t1/runs/stream", json=body, headers={"Origin": page}
        )
        exposed = answer.headers["access-control-expose-headers"]
        assert {"Location", "Content-Location"} <= {*exposed.split(", ")}
        place = answer.headers["content-location"]
        assert place == f"/threads/t1/runs/{answer.headers['x-run-id']}"
        joined = await client.http.get(f"/langgraph{answer.headers['location']}")
        assert joined.content == answer.content


async def test_a_key_comes_as_these_clients_send_it(tmp_path: Path) -> None:
    """They know no other header. Where another says who calls, that one counts."""
    async with serving(keys_settings(tmp_path)) as client:
        key = await make_key(client, "ann")
        by_key = {"X-Api-Key": key}
        for headers, status in (
            ({}, 401),
            (by_key, 200),
            ({"X-Api-Key": "wrong"}, 401),
            ({"X-Api-Key": "lsv2_of_another_service", "Authorization": f"Bearer {key}"}, 200),
            ({**by_key, "Authorization": "Bearer wrong"}, 401),
        ):
            answer = await client.http.get("/langgraph/info", headers=headers)
            assert answer.status_code == status, headers
        assert (await client.http.get("/threads", headers=by_key)).status_code == 401

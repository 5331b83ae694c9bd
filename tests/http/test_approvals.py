"""Approvals over HTTP, as the owner of a thread has them."""

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.http.gated import (
    ASK,
    MORE,
    PAY,
    SLOWLY,
    THREAD,
    Json,
    Person,
    alone,
    approve,
    office,
    refused,
)
from tests.support.run_chunks import tool_call_message
from tests.support.scripted_model import finish, text
from tests.support.serving import Event, text_of
from turnstream.server.__main__ import main


def data(events: list[Event], name: str) -> list[Json]:
    """What the data chunks of this name say."""
    items = [item for event in events if event.type == "data" for item in event.data["data"]]
    return [item["data"] for item in items if item["name"] == name]


async def decide(ann: Person, *decisions: Json, **body: Any) -> list[Event]:
    """A run that decides, to its end: its events."""
    _, events = await ann.client.turn({"thread_id": THREAD, "approvals": list(decisions), **body})
    return events


def decision(call_id: str = "c1", approved: bool = True, **more: Any) -> Json:
    return {"tool_call_id": call_id, "approved": approved, **more}


async def test_a_call_waits_is_approved_runs_and_the_model_goes_on(tmp_path: Path) -> None:
    said = [text("Paid."), finish()]
    async with alone(tmp_path, tool_call_message(PAY), said) as (served, ann):
        _, events = await ann.client.turn(ASK)
        kinds = {event.type: event.data for event in events}
        assert kinds["tool-call-args-text-finish"]["disposition"] == "approval"
        assert kinds["message-finish"]["finishReason"] == "tool-calls"
        assert "result" not in kinds
        thread = await ann.client.thread(THREAD)
        assert (thread["run_state"], thread["pending"]) == ("waiting", [])
        [waiting] = thread["approvals"]
        assert (waiting["tool_call_id"], waiting["args"]) == ("c1", {"word": "rent"})
        assert (await ann.call())["approval"] == {"id": "c1"}
        assert not served.ledger

        events = await decide(ann, decision(reason="It is due."))
        given = {"id": "c1", "approved": True, "reason": "It is due."}
        assert data(events, "tool-approval") == [{"tool_call_id": "c1", "approval": given}]
        [settled] = data(events, "tool-settled")
        assert (settled["end"], settled["result"]) == ("result", {"paid": "rent"})
        assert text_of(events) == "Paid."
        thread = await ann.client.thread(THREAD)
        assert thread["run_state"] == "finished"
        assert "approvals" not in thread
        part = await ann.call()
        assert (part["state"], part["approval"]) == ("result", given)
        assert served.ledger == ["rent"]
        assert "for the model alone" not in json.dumps(thread)


async def test_a_declined_call_ends_with_the_reason_and_does_not_run(tmp_path: Path) -> None:
    async with alone(tmp_path, tool_call_message(PAY)) as (served, ann):
        await ann.ask()
        events = await decide(ann, decision(approved=False, reason="Too dear."))
        [settled] = data(events, "tool-settled")
        error = {"code": "declined", "message": "The user declined this call: Too dear."}
        assert (settled["end"], settled["result"]["error"]) == ("declined", error)
        assert text_of(events) == "Done."
        part = await ann.call()
        assert part["approval"] == {"id": "c1", "approved": False, "reason": "Too dear."}
        assert not served.ledger


async def test_a_call_runs_with_the_arguments_that_the_person_gave(tmp_path: Path) -> None:
    async with alone(tmp_path, tool_call_message(PAY)) as (served, ann):
        await ann.ask()
        await decide(ann, decision(args={"word": "half the rent"}))
        part = await ann.call()
        assert part["args"] == {"word": "rent"}
        assert part["approval"]["args"] == {"word": "half the rent"}
        assert served.ledger == ["half the rent"]


async def test_several_calls_are_decided_on_one_by_one_and_keep_their_places_in_the_list(
    tmp_path: Path,
) -> None:
    third = ("c3", "pay", '{"word": "tea"}')
    async with alone(tmp_path, tool_call_message(PAY, MORE, third)) as (served, ann):
        await ann.ask()
        ids = {one["tool_call_id"]: one["id"] for one in await ann.listed()}
        events = await decide(ann, decision("c2"))
        assert [item["tool_call_id"] for item in data(events, "tool-settled")] == ["c2"]
        assert text_of(events) == ""
        left = {one["tool_call_id"]: one["id"] for one in await ann.listed()}
        assert left == {"c1": ids["c1"], "c3": ids["c3"]}
        events = await decide(ann, decision("c1"), decision("c3", approved=False))
        assert text_of(events) == "Done."
        assert sorted(served.ledger) == ["food", "rent"]
        assert await ann.listed() == []


async def test_a_message_cancels_what_nobody_decided_on(tmp_path: Path) -> None:
    async with alone(tmp_path, tool_call_message(PAY)) as (served, ann):
        await ann.ask()
        id = await ann.waiting()
        await ann.client.turn({"thread_id": THREAD, "message": "Leave it."})
        part = await ann.call()
        assert part["result"]["error"]["code"] == "not_answered"
        assert await ann.listed() == []
        refused(await ann.post("/chat", approve()), 409, "already_answered")
        refused(await ann.decide(id), 409, "already_answered")
        assert not served.ledger


async def test_the_list_says_what_is_asked_since_when_and_in_which_thread(tmp_path: Path) -> None:
    async with alone(tmp_path, tool_call_message(PAY)) as (_served, ann):
        await ann.ask()
        [waiting] = await ann.listed()
        assert len(waiting.pop("id")) == 16
        assert waiting.pop("asked_at").endswith("+00:00")
        assert waiting == {
            "tool_call_id": "c1",
            "tool_name": "pay",
            "args": {"word": "rent"},
            "asked_by": {"id": "local", "name": "local"},
            "thread_id": THREAD,
        }


async def test_the_owner_may_decide_by_the_id_of_the_list(tmp_path: Path) -> None:
    async with alone(tmp_path, tool_call_message(PAY)) as (served, ann):
        await ann.ask()
        id = await ann.waiting()
        answer = await ann.decide(id, args={"word": "less"}, reason="Enough.")
        assert (answer.status_code, answer.json()) == (200, {"id": id, "approved": True})
        thread = await ann.settled()
        assert thread["run_state"] == "finished"
        assert served.ledger == ["less"]


async def test_an_owner_whose_thread_is_live_is_told_where_its_stream_is(tmp_path: Path) -> None:
    async with alone(tmp_path, tool_call_message(SLOWLY, MORE)) as (served, ann):
        await ann.ask()
        ids = {one["tool_call_id"]: one["id"] for one in await ann.listed()}
        async with ann.client.chat(approve()):
            await served.tools.begun("rent")
            refused(await ann.post("/chat", approve("c2")), 409, "run_in_progress")
            assert await ann.listed() == []
            served.tools.release.set()
        await ann.settled()
        assert (await ann.decide(ids["c2"])).status_code == 200
        await ann.settled()
        assert sorted(served.ledger) == ["food", "rent"]


async def test_the_same_key_gives_the_run_that_the_decision_has_begun(tmp_path: Path) -> None:
    async with alone(tmp_path, tool_call_message(PAY)) as (served, ann):
        await ann.ask()
        key = {"Idempotency-Key": "k1"}
        first = await ann.post("/chat", approve(), **key)
        again = await ann.post("/chat", approve(), **key)
        assert first.status_code == again.status_code == 200
        assert first.headers["x-run-id"] == again.headers["x-run-id"]
        assert first.content == again.content
        other = await ann.post("/chat", approve(approved=False), **key)
        refused(other, 422, "idempotency_key_reused")
        assert served.ledger == ["rent"]


async def test_a_decision_need_not_wait_for_its_stream(tmp_path: Path) -> None:
    async with alone(tmp_path, tool_call_message(PAY)) as (served, ann):
        await ann.ask()
        answer = await ann.post("/chat", approve(), Prefer="respond-async")
        assert answer.status_code == 202
        stream = await ann.http.get(answer.headers["location"])
        assert '"tool-approval"' in stream.text
        assert stream.text.endswith("data: [DONE]\n\n")
        assert served.ledger == ["rent"]


async def test_a_decision_that_stops_the_live_run_opens_the_question_again_and_is_refused(
    tmp_path: Path,
) -> None:
    async with alone(tmp_path, tool_call_message(SLOWLY)) as (served, ann):
        await ann.ask()
        async with ann.client.chat(approve()) as stream:
            await served.tools.begun("rent")
            answer = await ann.post("/chat?on_busy=stop", approve())
            refused(answer, 409, "already_answered")
            events = await stream.rest()
        asked = {"id": "c1.2", "mayHaveRun": True}
        assert data(events, "tool-approval")[-1]["approval"] == asked
        [waiting] = await ann.listed()
        assert waiting["may_have_run"] is True
        assert served.ledger == ["rent"]
        served.tools.release.set()
        body = approve(approval_id="c1.2") | {"on_busy": "stop"}
        assert (await ann.post("/chat", body)).status_code == 200
        assert served.ledger == ["rent", "rent"], "once for each approval"


@pytest.mark.parametrize("seconds", [3600, 3_153_600_000])
async def test_the_list_says_when_a_question_expires(seconds: float, tmp_path: Path) -> None:
    async with alone(tmp_path, tool_call_message(PAY), approval_seconds=seconds) as (_, ann):
        await ann.ask()
        [waiting] = await ann.listed()
        years = int(waiting["expires_at"][:4]) - int(waiting["asked_at"][:4])
        assert years == pytest.approx(seconds / (365.25 * 86_400), abs=1)


async def test_an_expired_question_is_not_listed_and_takes_no_decision(tmp_path: Path) -> None:
    async with alone(tmp_path, tool_call_message(PAY), approval_seconds=3600) as (served, ann):
        await ann.ask()
        id = await ann.waiting()
    async with alone(tmp_path, approval_seconds=1e-9) as (served, ann):
        refused(await ann.decide(id), 409, "approval_expired")
        refused(await ann.post("/chat", approve()), 409, "approval_expired")
        await ann.client.turn({"thread_id": THREAD, "message": "And now?"})
        assert (await ann.call())["state"] != "pending"
        assert await ann.listed() == []
        assert not served.ledger


async def test_what_expired_at_once_is_never_listed(tmp_path: Path) -> None:
    async with alone(tmp_path, tool_call_message(PAY), approval_seconds=1e-9) as (_served, ann):
        await ann.ask()
        assert await ann.listed() == []


POLICY = """
[roles.user]
approval = ["echo"]
approval_waived = ["pay_slowly"]

[roles.boss]
"""


async def test_the_tools_say_which_calls_of_the_caller_need_an_approval(tmp_path: Path) -> None:
    async with (
        office(tmp_path, policy=POLICY) as served,
        served.person("ann") as ann,
        served.person("bob", "boss") as bob,
    ):
        needs = []
        for person in (ann, bob):
            tools = (await person.http.get("/tools")).json()["tools"]
            needs.append({tool["name"]: tool["approval"] for tool in tools})
    anns = {"pay": "always", "pay_slowly": "never", "spend": "sometimes", "echo": "always"}
    bobs = {"pay": "always", "pay_slowly": "always", "spend": "sometimes", "echo": "never"}
    assert needs[0].items() >= anns.items()
    assert needs[1].items() >= bobs.items()
    assert needs[0]["request_user_selection"] == "never"


async def test_a_tool_alone_refuses_a_call_that_needs_an_approval(tmp_path: Path) -> None:
    async with (
        office(tmp_path, policy=POLICY) as served,
        served.person("ann") as ann,
        served.person("bob", "boss") as bob,
    ):
        served.tools.release.set()
        for person, name, args, status in (
            (ann, "pay", {"word": "rent"}, 403),
            (ann, "echo", {"word": "rent"}, 403),
            (ann, "spend", {"amount": 10}, 403),
            (ann, "spend", {"amount": -1}, 403),  # whose rule fails
            (bob, "pay_slowly", {"word": "rent"}, 403),
            (ann, "pay", {"words": "rent"}, 422),
            (ann, "spend", {"amount": 9}, 200),
            (ann, "pay_slowly", {"word": "waived"}, 200),
        ):
            answer = await person.post(f"/tools/{name}", args)
            assert answer.status_code == status, answer.text
            if status == 403:
                assert "secret" not in answer.text
                refused(answer, 403, "approval_required")
        assert served.ledger == ["9", "waived"]


async def test_a_thread_that_waits_is_found_by_its_state(tmp_path: Path) -> None:
    async with alone(tmp_path, tool_call_message(PAY)) as (_served, ann):
        await ann.ask()
        await ann.client.turn({"thread_id": "other", "message": "Hi"})

        async def waiting() -> list[str]:
            answer = await ann.http.get("/threads", params={"state": "waiting"})
            return [thread["id"] for thread in answer.json()["threads"]]

        assert await waiting() == [THREAD]
        await decide(ann, decision())
        assert await waiting() == []


async def test_an_export_has_the_question_and_the_decision(tmp_path: Path) -> None:
    async with (
        office(tmp_path, tool_call_message(PAY)) as served,
        served.person("ann") as ann,
        served.person("bob", "boss") as bob,
    ):
        await ann.ask()
        for _ in range(2):
            [line] = (await ann.http.get("/export")).text.splitlines()
            assert json.loads(line) == await ann.client.thread(THREAD)
            assert '"approval"' in line
            assert (await bob.http.get("/export")).text == ""
            await ann.post("/chat", approve(approved=False, reason="No."))


@pytest.mark.one_process  # a command on the file
async def test_who_is_deleted_leaves_no_call_in_anybodys_list(tmp_path: Path) -> None:
    async with (
        office(tmp_path, tool_call_message(PAY)) as served,
        served.person("ann") as ann,
        served.person("bob", "boss") as bob,
    ):
        await ann.ask()
        id = await bob.waiting()
        gone = await ann.http.request("DELETE", "/me", json={"confirm": "ann"})
        assert gone.status_code == 204
        assert await bob.listed() == []
        refused(await bob.decide(id), 404, "unknown_approval")
        with closing(sqlite3.connect(tmp_path / "t.db")) as database:
            assert database.execute("SELECT * FROM approvals").fetchall() == []
        assert not served.ledger


@pytest.mark.one_process  # a command on the file
async def test_the_audit_names_who_decided_and_how_each_call_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = tool_call_message(PAY, MORE, ("c3", "pay", '{"word": "tea"}'))
    async with (
        office(tmp_path, calls) as served,
        served.person("ann") as ann,
        served.person("bob", "boss") as bob,
    ):
        await ann.ask()
        ids = {one["tool_call_id"]: one["id"] for one in await bob.listed()}
        await bob.decide(ids["c1"], args={"word": "hush money"}, reason="a secret reason")
        await ann.settled()
        await ann.post("/chat", approve("c2"))
        await ann.settled()
        await ann.post("/chat", approve("c3", approved=False, reason="another secret"))
    monkeypatch.setenv("TURNSTREAM_DATABASE", str(tmp_path / "t.db"))
    assert await asyncio.to_thread(main, ["audit", "--json"]) == 0
    out = capsys.readouterr().out
    rows = [json.loads(line) for line in out.splitlines()]
    decided = [row for row in rows if row["event"] == "approval"]
    keys = ("principal", "thread_id", "tool_call_id", "name", "outcome")
    assert [tuple(row[key] for key in keys) for row in decided] == [
        ("bob", THREAD, "c1", "pay", "changed"),
        ("ann", THREAD, "c2", "pay", "approved"),
        ("ann", THREAD, "c3", "pay", "declined"),
    ]
    ended = {row["tool_call_id"]: row for row in rows if row["event"] == "tool_call"}
    assert {id: (row["principal"], row["outcome"]) for id, row in ended.items()} == {
        "c1": ("ann", "result"),
        "c2": ("ann", "result"),
        "c3": ("ann", "declined"),
    }
    begun = {row["run_id"]: row["principal"] for row in rows if row["event"] == "run_started"}
    assert [begun[row["run_id"]] for row in decided] == ["ann"] * 3
    assert "secret" not in out
    assert "hush" not in out

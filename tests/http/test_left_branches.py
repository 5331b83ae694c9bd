"""Branches that a thread has left, by edits: LangGraph's clients find them in its history, and
go on from them."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.clients.scripted_turns import QUESTION
from tests.support.endpoint import Fail, call_reply, text_reply
from tests.support.scripted_server import ScriptedServer, scripted_server
from turnstream.server.runs.checkpoints import MAX_LEFT_BRANCHES

Json = dict[str, Any]

ASK = call_reply(("request_user_selection", QUESTION), ids=("call_1",))


async def post(server: ScriptedServer, words: str | None, at: str | None = None) -> httpx.Response:
    body: Json = {"assistant_id": "chat"}
    if words is not None:
        body["input"] = {"messages": [{"type": "human", "content": words}]}
    if at is not None:
        body["checkpoint"] = {"checkpoint_id": at}
    return await server.http.http.post("/langgraph/threads/t/runs/stream", json=body)


async def history(
    server: ScriptedServer, limit: int = 1000, before: Json | None = None
) -> list[Json]:
    body = {"limit": limit, "before": before}
    answer = await server.http.http.post("/langgraph/threads/t/history", json=body)
    states: list[Json] = answer.json()
    return states


def said(state: Json) -> list[str]:
    return [message["content"] for message in state["values"]["messages"]]


def at(state: Json) -> str:
    return str(state["checkpoint"]["checkpoint_id"])


def ending_in(states: list[Json], words: str) -> Json:
    return next(state for state in states if said(state)[-1:] == [words])


async def test_a_history_has_the_branches_that_were_left_before_what_both_have(
    tmp_path: Path,
) -> None:
    async with scripted_server(tmp_path, *map(text_reply, ("A", "B", "C"))) as server:
        await post(server, "One")
        await post(server, "Two")
        await post(server, "Zwei", at(ending_in(await history(server), "A")))

        states = await history(server)

        assert [said(state) for state in states] == [
            ["One", "A", "Zwei", "C"],
            ["One", "A", "Zwei"],
            ["One", "A", "Two", "B"],
            ["One", "A", "Two"],
            ["One", "A"],
            ["One"],
            [],
        ]
        fork = states[4]["checkpoint"]
        assert states[1]["parent_checkpoint"] == states[3]["parent_checkpoint"] == fork
        one = await server.http.http.get(f"/langgraph/threads/t/state/{at(states[2])}")
        assert one.json() == states[2]
        assert (await post(server, None, at(states[2]))).json()["code"] == "nothing_to_do"


async def test_a_history_begins_with_the_thread_after_an_answer_made_anew_has_failed(
    tmp_path: Path,
) -> None:
    replies = (text_reply("A"), text_reply("B"), Fail(400, "Bad."), text_reply("C"))
    async with scripted_server(tmp_path, *replies) as server:
        await post(server, "One")
        await post(server, "Two")
        again = at(ending_in(await history(server), "Two"))
        await post(server, None, again)

        own = [["One", "A", "Two"], ["One", "A"], ["One"], []]
        assert [said(state) for state in await history(server)] == own

        await post(server, None, again)
        states = [said(state) for state in await history(server)]
        assert states[:2] == [["One", "A", "Two", "C"], ["One", "A", "Two", "B"]]


async def test_a_page_of_a_history_has_the_thread_before_the_branches_that_it_left(
    tmp_path: Path,
) -> None:
    async with scripted_server(tmp_path, *map(text_reply, ("A", "B", "C"))) as server:
        await post(server, "One")
        await post(server, "Two")
        await post(server, "Zwei", at(ending_in(await history(server), "A")))

        own = [["One", "A", "Zwei", "C"], ["One", "A", "Zwei"], ["One", "A"], ["One"], []]
        assert [said(state) for state in await history(server, limit=5)] == own
        left = [["One", "A", "Two", "B"], ["One", "A", "Two"]]
        with_one = [*own[:2], left[0], *own[2:]]
        assert [said(state) for state in await history(server, limit=6)] == with_one

        pages, before = list[Json](), None
        while page := await history(server, limit=2, before=before):
            pages += page
            before = page[-1]["checkpoint"]
        assert [said(state) for state in pages] == [*own, *left]


async def test_a_message_in_a_left_branch_is_edited_there(tmp_path: Path) -> None:
    async with scripted_server(tmp_path, *map(text_reply, "ABCDE")) as server:
        await post(server, "One")
        await post(server, "Two")
        await post(server, "Uno", "start")
        left = await history(server)
        await post(server, "Dos", at(ending_in(left, "A")))
        assert said((await history(server))[0]) == ["One", "A", "Dos", "D"]
        await post(server, None, at(ending_in(left, "Uno")))
        assert said((await history(server))[0]) == ["Uno", "E"]


async def test_a_question_of_a_left_branch_is_closed_when_the_branch_goes_on(
    tmp_path: Path,
) -> None:
    async with scripted_server(tmp_path, ASK, text_reply("B"), text_reply("C")) as server:
        await post(server, "One")
        await post(server, "Uno", "start")
        left = next(s for s in await history(server) if said(s)[:1] == ["One"])
        assert left["tasks"] == left["next"] == left["interrupts"] == []

        answer = await post(server, "Never mind", at(left))

        assert answer.status_code == 200, answer.text
        sent = server.endpoint.requests[-1]["messages"]
        assert [message["role"] for message in sent[-4:]] == ["user", "assistant", "tool", "user"]
        assert "did not answer" in sent[-2]["content"]
        assert said((await history(server))[0])[-2:] == ["Never mind", "C"]


@pytest.mark.parametrize("edits", [MAX_LEFT_BRANCHES + 3])
async def test_of_many_branches_the_latest_are_found(tmp_path: Path, edits: int) -> None:
    words = [f"A{number}" for number in range(edits + 1)]
    async with scripted_server(tmp_path, *map(text_reply, words)) as server:
        await post(server, "Q")
        for number in range(edits):
            await post(server, f"Q{number}", "start")
        ends = [said(state)[-1] for state in await history(server) if len(said(state)) == 2]
        assert ends == words[:1:-1][: MAX_LEFT_BRANCHES + 1]

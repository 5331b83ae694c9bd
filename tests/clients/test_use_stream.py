"""LangGraph's `useStream`: the version in use, and the one of the tag `latest`."""

import asyncio
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.clients.conftest import ClientOf
from tests.clients.driver import ClientProcess
from tests.clients.message_parts import parts_of_langchain_messages
from tests.clients.scripted_turns import (
    ASKED,
    QUESTION,
    TURNS,
    Turn,
    call,
    text,
)
from tests.support.cutting_proxy import cutting_proxy
from tests.support.endpoint import Fail, Pause, Say, call_reply, reply, text_reply
from tests.support.samples import sample
from tests.support.scripted_model import Piece, ScriptedModel, finish, reasoning
from tests.support.scripted_model import text as saying
from tests.support.scripted_server import scripted_server, server_with_model
from tests.support.serving import Client, serving, settings
from tests.support.waiting import eventually

Json = dict[str, Any]

ASK = call_reply(("request_user_selection", QUESTION), ids=("call_1",))
ERASE = call_reply(("erase", '{"name":"old"}'), ids=("call_1",))
ADD = call_reply(("add", '{"a":1,"b":2}'), ids=("call_1",))


@pytest.fixture
def page(client_of: ClientOf) -> ClientProcess:
    return client_of("use-stream.mjs")


async def state(http: Client, thread_id: str) -> Json:
    answer = await http.http.get(f"/langgraph/threads/{thread_id}/state")
    found: Json = answer.json()
    return found


async def clean_report(page: ClientProcess, http: Client) -> Json:
    """The report of a page that shows what the thread holds, and complained of nothing."""
    report = await page.report()
    assert report["warnings"] == []
    assert report["errors"] == []
    assert report["error"] is None
    assert report["isLoading"] is False
    held = await state(http, report["threadId"])
    assert report["messages"] == held["values"]["messages"]
    return report


async def is_in(http: Client, thread_id: str, run_state: str) -> bool:
    return bool((await http.thread(thread_id))["run_state"] == run_state)


def paths(report: Json) -> list[tuple[str, str, int]]:
    """Its requests, without the ids."""
    ids = {report["threadId"]: "T", **{run["run_id"]: "R" for run in report["created"]}}
    told = []
    for request in report["requests"]:
        path = request["path"].partition("?")[0].removeprefix("/langgraph")
        named = "/".join(ids.get(part, part) for part in path.split("/"))
        told.append((request["method"], named, request["status"]))
    return told


RUN = ("POST", "/threads/T/runs/stream", 200)


@pytest.mark.parametrize("turn", TURNS, ids=lambda turn: turn.name)
async def test_a_turn_reads_like_the_thread(
    turn: Turn, tmp_path: Path, page: ClientProcess
) -> None:
    async with scripted_server(
        tmp_path, *turn.replies, tool_timeout_seconds=turn.tool_timeout_seconds
    ) as server:
        await page.do("open", url=server.url)
        await page.do("send", text="Go on")
        report = await page.report()
        assert paths(report)[:2] == [("POST", "/threads", 200), RUN]
        assert parts_of_langchain_messages(report["messages"]) == turn.parts
        held = await state(server.http, report["threadId"])
        assert report["messages"] == held["values"]["messages"]
        assert report["errors"] == turn.errors
        assert turn.errors or (report["warnings"], report["error"]) == ([], None)
        assert report["interrupt"] is None


async def test_words_are_shown_as_they_come(tmp_path: Path, page: ClientProcess) -> None:
    pause = Pause(asyncio.Event())
    async with scripted_server(tmp_path, reply(Say("The tide "), pause, Say("is high."))) as server:
        await page.do("open", url=server.url)
        await page.do("send", text="Go on", wait=False)
        await page.do("saying", text="The tide ")
        pause.event.set()
        await page.do("settled")
        report = await clean_report(page, server.http)
        assert parts_of_langchain_messages(report["messages"]) == [text("The tide is high.")]
        assert paths(report) == [("POST", "/threads", 200), RUN]


async def test_a_question_is_answered_by_a_tool_message(
    tmp_path: Path, page: ClientProcess
) -> None:
    async with scripted_server(tmp_path, ASK, text_reply("Saturday it is.")) as server:
        await page.do("open", url=server.url)
        await page.do("send", text="Book a trip")
        answer = {"type": "tool", "tool_call_id": "call_1", "content": '{"value":"sat"}'}
        await page.do("post", messages=[answer])
        report = await clean_report(page, server.http)
        assert parts_of_langchain_messages(report["messages"]) == [
            call("request_user_selection", ASKED, {"value": "sat"}),
            text("Saturday it is."),
        ]


@pytest.mark.parametrize("history", [False, True], ids=["stream", "history"])
async def test_an_approved_call_runs_and_the_turn_goes_on(
    history: bool, tmp_path: Path, page: ClientProcess
) -> None:
    async with scripted_server(tmp_path, ERASE, text_reply("Erased.")) as server:
        await page.do("open", url=server.url, history=history)
        await page.do("send", text="Tidy up")
        report = await clean_report(page, server.http)
        asked = report["interrupt"]
        held = await state(server.http, report["threadId"])
        assert held["next"] == ["tools"]
        assert held["tasks"][0]["interrupts"][0]["id"] == asked["id"]
        assert asked["value"]["tool_call_id"] == "call_1"
        assert asked["value"]["action_requests"][0]["args"] == {"name": "old"}
        await page.do("resume", value={"decisions": [{"type": "approve"}]})
        report = await clean_report(page, server.http)
        assert report["interrupt"] is None
        assert parts_of_langchain_messages(report["messages"]) == [
            call("erase", {"name": "old"}, {"erased": "old"}),
            text("Erased."),
        ]


async def test_a_declined_call_does_not_run_and_the_model_reads_why(
    tmp_path: Path, page: ClientProcess
) -> None:
    async with scripted_server(tmp_path, ERASE, text_reply("As you like.")) as server:
        await page.do("open", url=server.url)
        await page.do("send", text="Tidy up")
        asked = (await page.report())["interrupt"]
        decision = {"type": "reject", "message": "Too risky."}
        await page.do("resume", value={asked["id"]: decision})
        report = await clean_report(page, server.http)
        assert report["interrupt"] is None
        (declined, said) = parts_of_langchain_messages(report["messages"])
        assert "error" in declined["result"]
        assert said == text("As you like.")
        (read,) = [m for m in server.endpoint.requests[-1]["messages"] if m["role"] == "tool"]
        assert "Too risky." in read["content"]


async def test_a_message_goes_past_an_approval(tmp_path: Path, page: ClientProcess) -> None:
    async with scripted_server(tmp_path, ERASE, text_reply("As you like.")) as server:
        await page.do("open", url=server.url)
        await page.do("send", text="Tidy up")
        await page.do("send", text="Never mind")
        report = await clean_report(page, server.http)
        assert report["interrupt"] is None
        assert report["messages"][-1]["content"] == "As you like."


AGENT = """
from tests.graphs.zoo.approval import approved, mail_two
from tests.graphs.zoo.model import ReplyingModel
from tests.graphs.zoo.subagents import delegate, delegating
from tests.http.test_interrupts import AGENT

exec(AGENT)


def reviewed():
    return approved(ReplyingModel(replies=mail_two), "batched")


def deep():
    return delegating(ReplyingModel(replies=delegate))
"""


def agent(folder: Path, name: str) -> Any:
    file = folder / "chat.py"
    file.write_text(AGENT)
    served = settings(folder / "t.db", graph=f"{file}:{name}", undeclared_results="show")
    return serving(served)


@pytest.mark.parametrize("history", [False, True], ids=["stream", "history"])
async def test_an_interrupt_of_a_graph_is_answered(
    history: bool, tmp_path: Path, page: ClientProcess
) -> None:
    async with agent(tmp_path, "asking") as http:
        await http.http.get("/health")
        await page.do("open", url=http.url, history=history)
        await page.do("send", text="Hello")
        report = await clean_report(page, http)
        assert report["interrupt"]["value"] == {"question": "Which colour?"}
        await page.do("resume", value="red")
        report = await clean_report(page, http)
        assert report["interrupt"] is None
        assert report["messages"][-1]["content"] == "Colour red."


async def test_subagents_of_deepagents_have_views_and_say_nothing_in_the_answer(
    tmp_path: Path, page: ClientProcess
) -> None:
    async with agent(tmp_path, "deep") as http:
        await http.http.get("/health")
        await page.do("open", url=http.url, subagents=["task"], history=True)
        await page.do("send", text="moss and fern", options={"streamSubgraphs": True})
        report = await clean_report(page, http)
        texts = ["I found facts of moss.", "I found facts of fern."]
        assert report["messages"][-1]["content"] == f"Written: {' '.join(texts)}"
        views = report["subagents"]
        assert [view["status"] for view in views] == ["complete", "complete"]
        assert [
            [message["content"] for message in view["messages"] if message["type"] == "ai"]
            for view in views
        ] == [["Looking.", text] for text in texts]
        await page.do("reload")
        await page.do("restore")
        views = (await page.report())["subagents"]
        assert [
            [message["content"] for message in view["messages"] if message["type"] == "ai"]
            for view in views
        ] == [["Looking.", text] for text in texts]


async def test_interrupts_at_once_are_answered_by_id(tmp_path: Path, page: ClientProcess) -> None:
    async with agent(tmp_path, "asking") as http:
        await http.http.get("/health")
        await page.do("open", url=http.url)
        await page.do("send", text="both")
        asked = (await clean_report(page, http))["interrupt"]
        held = await state(http, (await page.report())["threadId"])
        ids = {one["id"]: task["name"] for task in held["tasks"] for one in task["interrupts"]}
        assert set(ids.values()) == {"first", "second"}
        assert isinstance(asked, list) or asked["id"] in ids
        await page.do("resume", value={id: f"for {node}" for id, node in ids.items()})
        report = await clean_report(page, http)
        said = {message["content"] for message in report["messages"][1:]}
        assert said == {"Colour for first.", "Size for second."}


async def test_a_breakpoint_is_passed_without_input(tmp_path: Path, page: ClientProcess) -> None:
    async with agent(tmp_path, "after") as http:
        await http.http.get("/health")
        await page.do("open", url=http.url)
        await page.do("send", text="Hello")
        report = await clean_report(page, http)
        assert report["interrupt"] == {"when": "breakpoint"}
        assert report["messages"][-1]["content"] == "A draft."
        await page.do("post", messages=None)
        report = await clean_report(page, http)
        assert report["messages"][-1]["content"] == "Sent."


async def test_what_langchains_middleware_asks_is_answered_in_its_own_form(
    tmp_path: Path, page: ClientProcess
) -> None:
    async with agent(tmp_path, "reviewed") as http:
        await http.http.get("/health")
        await page.do("open", url=http.url)
        await page.do("send", text="Write.")
        asked = (await clean_report(page, http))["interrupt"]["value"]
        assert [one["args"]["to"] for one in asked["action_requests"]] == ["ann", "bob"]
        decisions = [{"type": "approve"}, {"type": "reject", "message": "Not her."}]
        await page.do("resume", value={"decisions": decisions})
        report = await clean_report(page, http)
        assert report["interrupt"] is None
        assert report["messages"][-1]["content"] == "Both are done."


@pytest.mark.parametrize("reconnects", [False, True], ids=["leaves", "cancels"])
async def test_stop_ends_the_run_and_what_was_said_is_kept(
    reconnects: bool, tmp_path: Path, page: ClientProcess
) -> None:
    """The hook leaves, with the order that this ends the run, or asks for it."""
    never = Pause(asyncio.Event())
    async with scripted_server(tmp_path, reply(Say("The tide "), never)) as server:
        await page.do("open", url=server.url, reconnects=reconnects)
        await page.do("send", text="Go on", wait=False)
        await page.do("saying", text="The tide ")
        thread_id = (await page.report())["threadId"]
        await page.do("stop")
        await page.do("idle")
        await eventually(partial(is_in, server.http, thread_id, "stopped"))
        held = await state(server.http, thread_id)
        assert parts_of_langchain_messages(held["values"]["messages"]) == [text("The tide ")]


CUTS = range(8)


@pytest.mark.long
@pytest.mark.parametrize("cut", sample(CUTS, CUTS[1::3]))
async def test_a_stream_that_is_cut_off_goes_on_where_it_was(
    cut: int, tmp_path: Path, page: ClientProcess
) -> None:
    async with (
        scripted_server(tmp_path, ADD, reply(Say("The sum "), Say("is 3."))) as server,
        cutting_proxy("127.0.0.1", int(server.url.rpartition(":")[2]), [cut]) as proxy,
    ):
        await page.do("open", url=proxy.url, reconnects=True)
        await page.do("send", text="Add")
        report = await clean_report(page, server.http)
        assert len(proxy.resumed) == 2
        assert parts_of_langchain_messages(report["messages"]) == [
            call("add", {"a": 1, "b": 2}, {"sum": 3}),
            text("The sum is 3."),
        ]


async def test_a_page_that_is_loaded_again_in_mid_run_goes_on(
    tmp_path: Path, page: ClientProcess
) -> None:
    pause = Pause(asyncio.Event())
    async with scripted_server(
        tmp_path, ADD, reply(Say("The sum "), pause, Say("is 3."))
    ) as server:
        await page.do("open", url=server.url, reconnects=True)
        await page.do("send", text="Add", wait=False)
        await page.do("saying", text="The sum ")
        await page.do("reload")
        await page.do("loading")
        await page.do("saying", text="The sum ")
        pause.event.set()
        await page.do("idle")
        report = await clean_report(page, server.http)
        assert parts_of_langchain_messages(report["messages"]) == [
            call("add", {"a": 1, "b": 2}, {"sum": 3}),
            text("The sum is 3."),
        ]


async def test_an_edit_and_an_answer_made_anew_begin_before_their_message(
    tmp_path: Path, page: ClientProcess
) -> None:
    replies = [text_reply(words) for words in ("First.", "Second.", "Anew.", "Again.")]
    async with scripted_server(tmp_path, *replies) as server:
        await page.do("open", url=server.url, history=True)
        await page.do("send", text="One")
        await page.do("send", text="Two")
        report = await clean_report(page, server.http)
        await page.do("edit", messageId=report["messages"][0]["id"], text="Uno")
        report = await clean_report(page, server.http)
        assert [m["content"] for m in report["messages"]] == ["Uno", "Anew."]
        await page.do("regenerate", messageId=report["messages"][1]["id"])
        report = await clean_report(page, server.http)
        assert [m["content"] for m in report["messages"]] == ["Uno", "Again."]


Step = tuple[str, int, str]
"""An action of a page, the index of the message that it is done to, and the new text."""


@pytest.mark.parametrize(
    ("steps", "shown"),
    [
        ([("edit", 2, "Zwei"), ("edit", 0, "Uno")], ["Uno", "D"]),
        ([("regenerate", 3, ""), ("edit", 2, "Zwei")], ["One", "A", "Zwei", "D"]),
        ([("edit", 2, "Zwei"), ("regenerate", 1, "")], ["One", "D"]),
        ([("edit", 2, "2"), ("edit", 2, "3"), ("edit", 2, "4")], ["One", "A", "4", "E"]),
        ([("edit", 2, "2"), ("regenerate", 3, ""), ("edit", 0, "1")], ["1", "E"]),
        ([("edit", 0, "1"), ("regenerate", 1, ""), ("edit", 0, "0")], ["0", "E"]),
    ],
)
async def test_edits_of_edits_replace_the_message_that_was_meant(
    steps: list[Step], shown: list[str], tmp_path: Path, page: ClientProcess
) -> None:
    replies = map(text_reply, "ABCDE"[: 2 + len(steps)])
    async with scripted_server(tmp_path, *replies) as server:
        await page.do("open", url=server.url, history={"limit": 100})
        await page.do("send", text="One")
        await page.do("send", text="Two")
        for action, index, words in steps:
            id = (await page.report())["messages"][index]["id"]
            await page.do(action, messageId=id, **({"text": words} if words else {}))
        assert said(await clean_report(page, server.http)) == shown


async def test_a_branch_that_was_left_is_picked_again_and_goes_on(
    tmp_path: Path, page: ClientProcess
) -> None:
    words = ("First.", "Second.", "Anew.", "Third.", "Last.")
    async with scripted_server(tmp_path, *map(text_reply, words)) as server:
        await page.do("open", url=server.url, history={"limit": 100})
        await page.do("send", text="One")
        await page.do("send", text="Two")
        first = (await page.report())["messages"][0]["id"]
        await page.do("edit", messageId=first, text="Uno")
        report = await clean_report(page, server.http)
        assert report["branches"] == [2, 0]

        await page.do("switch", messageId=report["messages"][0]["id"])
        left = await page.report()
        assert said(left) == ["One", "First.", "Two", "Second."]
        assert said(await state(server.http, report["threadId"])) == ["Uno", "Anew."]

        await page.do("send", text="Three")
        report = await clean_report(page, server.http)
        assert said(report) == ["One", "First.", "Two", "Second.", "Three", "Third."]
        assert [m["content"] for m in server.endpoint.requests[-1]["messages"][-5:]] == [
            *("One", "First.", "Two", "Second.", "Three")
        ]
        assert report["branches"][0] == 2

        await page.do("switch", messageId=first)
        report = await page.report()
        assert said(report) == ["Uno", "Anew."]
        await page.do("edit", messageId=report["messages"][0]["id"], text="Eins")
        assert said(await clean_report(page, server.http)) == ["Eins", "Last."]
        assert (await page.report())["branches"] == [3, 0]


def said(held: Json) -> list[str]:
    messages = held["messages"] if "messages" in held else held["values"]["messages"]
    return [message["content"] for message in messages]


async def test_a_failed_turn_says_why_and_the_next_message_works(
    tmp_path: Path, page: ClientProcess
) -> None:
    async with scripted_server(tmp_path, Fail(400, "Bad."), text_reply("Fine.")) as server:
        await page.do("open", url=server.url, history=True)
        await page.do("send", text="Go on")
        report = await page.report()
        sentence = "The model's server refused the request. The server's log says why."
        assert report["error"].startswith("The model")
        assert "Bad" not in report["error"], sentence
        await page.do("reload")
        assert (await page.report())["error"] == report["error"]
        await page.do("send", text="And on")
        report = await page.report()
        assert report["error"] is None
        assert report["messages"][-1]["content"] == "Fine."


async def test_a_refused_request_is_shown_with_its_code(
    tmp_path: Path, page: ClientProcess
) -> None:
    pause = Pause(asyncio.Event())
    async with scripted_server(tmp_path, reply(Say("Hold "), pause)) as server:
        await page.do("open", url=server.url, id="thread-1")
        async with server.http.chat({"thread_id": "thread-1", "message": "Go on"}) as other:
            await page.do("send", text="Mine", options={"multitaskStrategy": "reject"})
            (error,) = (await page.report())["errors"]
            assert error.startswith("HTTP 409")
            assert json.loads(error.partition(": ")[2])["code"] == "run_in_progress"
            pause.event.set()
            await other.rest()


async def test_a_message_to_a_busy_thread_is_answered_at_its_turn(
    tmp_path: Path, page: ClientProcess
) -> None:
    pause = Pause(asyncio.Event())
    replies = (reply(Say("Hold "), pause), text_reply("Mine too."))
    async with scripted_server(tmp_path, *replies) as server:
        await page.do("open", url=server.url, id="thread-1")
        async with server.http.chat({"thread_id": "thread-1", "message": "Go on"}) as other:
            await other.until("text-delta")
            await page.do("send", text="Mine", wait=False)

            async def is_queued() -> bool:
                return "queue" in await server.http.thread("thread-1")

            await eventually(is_queued)
            pause.event.set()
            await other.rest()

        async def is_answered() -> bool:
            said = (await page.report())["messages"]
            return bool(said) and said[-1]["content"] == "Mine too."

        await eventually(is_answered)
        assert (await page.report())["errors"] == []


async def test_progress_and_custom_events_come_to_those_who_listen(
    tmp_path: Path, page: ClientProcess
) -> None:
    counting = call_reply(("count", '{"to":2}'), ids=("call_1",))
    async with scripted_server(tmp_path, counting, text_reply("Two.")) as server:
        await page.do("open", url=server.url, listens=True)
        await page.do("send", text="Count")
        report = await clean_report(page, server.http)
        assert [[*update] for update in report["updates"]] == [["agent"], ["tools"], ["agent"]]
        assert [one["result"] for one in report["toolProgress"]] == [{"total": 2}]


async def test_reasoning_grows_in_a_block_of_its_own(tmp_path: Path, page: ClientProcess) -> None:
    gate = asyncio.Event()
    thinking: list[Piece] = [
        reasoning("The moon "),
        reasoning("pulls."),
        saying("It is "),
        gate,
        saying("high."),
    ]
    async with server_with_model(tmp_path, ScriptedModel.of([*thinking, finish()])) as http:
        await page.do("open", url=http.url)
        await page.do("send", text="Go on", wait=False)
        await page.do("saying", text="It is ")
        blocks = (await page.report())["messages"][-1]["content"]
        assert [block["type"] for block in blocks] == ["reasoning", "text"]
        assert blocks[0]["summary"][0]["text"] == "The moon pulls."
        gate.set()
        await page.do("settled")
        report = await clean_report(page, http)
        assert report["messages"][-1]["content"] == [
            {
                "type": "reasoning",
                "summary": [{"type": "summary_text", "text": "The moon pulls."}],
            },
            {"type": "text", "text": "It is high."},
        ]

"""AG-UI's HttpAgent, of both generations: what it holds at the end is what the thread shows."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.clients.conftest import ClientOf
from tests.clients.driver import ClientProcess
from tests.clients.proxy import proxy
from tests.clients.scripted_turns import ASKED, QUESTION, TURNS, Turn
from tests.support.ag_ui_reader import in_call_order
from tests.support.endpoint import Fail, Pause, Say, call_reply, reply, text_reply
from tests.support.endpoint.script import Scripted
from tests.support.samples import repeat
from tests.support.scripted_server import ScriptedServer, scripted_server

THREAD = "thread-1"
Json = dict[str, Any]
ASK = call_reply(("request_user_selection", QUESTION), ids=("call_1",))
ENDS = ("RUN_FINISHED", "RUN_ERROR")


@pytest.fixture(params=[pytest.param("ag-ui.mjs", id="1.0.0"), repeat("ag-ui.mjs v0", "0.0.59")])
def agent(request: pytest.FixtureRequest, client_of: ClientOf) -> ClientProcess:
    return client_of(request.param)


async def begin(agent: ClientProcess, server: ScriptedServer, **options: Any) -> None:
    await agent.do("open", url=server.url, threadId=THREAD, **options)


async def held(server: ScriptedServer) -> list[Json]:
    return await server.messages(THREAD, "ag-ui")


async def clean_report(agent: ClientProcess, server: ScriptedServer) -> Json:
    """The agent holds what the server holds, complained of nothing, and every run of it had one
    end."""
    report = await agent.report()
    assert report["warnings"] == []
    assert report["failures"] == []
    assert in_call_order(report["messages"]) == await held(server)
    runs = report["events"].count("RUN_STARTED")
    assert sum(type in ENDS for type in report["events"]) == runs == len(report["requests"])
    assert report["events"][-1] in ENDS
    return report


def is_old(agent: ClientProcess) -> bool:
    return agent.script.endswith(" v0")


def snapshots(report: Json) -> int:
    count: int = report["events"].count("MESSAGES_SNAPSHOT")
    return count


def results(messages: list[Json]) -> dict[str, Any]:
    return {
        message["toolCallId"]: json.loads(message["content"])
        for message in messages
        if message["role"] == "tool"
    }


@pytest.mark.parametrize("turn", TURNS, ids=lambda turn: turn.name)
async def test_a_turn_is_held_as_the_thread_has_it(
    turn: Turn, tmp_path: Path, agent: ClientProcess
) -> None:
    async with scripted_server(
        tmp_path, *turn.replies, tool_timeout_seconds=turn.tool_timeout_seconds
    ) as server:
        await begin(agent, server)
        await agent.do("send", text="Go on")
        report = await clean_report(agent, server)
        assert snapshots(report) == 0
        words = [
            m["content"] for m in report["messages"] if m["role"] == "assistant" and "content" in m
        ]
        assert words == [part["text"] for part in turn.parts if "text" in part]
        assert [e["message"].partition(" (")[0] for e in report["errors"]] == turn.errors


async def test_a_thread_goes_on_and_nothing_is_told_again(
    tmp_path: Path, agent: ClientProcess
) -> None:
    async with scripted_server(tmp_path, *map(text_reply, ("One.", "Two.", "Three."))) as server:
        await begin(agent, server)
        for word in ("First", "Second", "Third"):
            await agent.do("send", text=word)
        report = await clean_report(agent, server)
        assert snapshots(report) == 0
        assert len(report["messages"]) == 6


async def test_a_question_is_answered_and_the_turn_goes_on(
    tmp_path: Path, agent: ClientProcess
) -> None:
    async with scripted_server(tmp_path, ASK, text_reply("Saturday it is.")) as server:
        await begin(agent, server)
        assert await agent.do("send", text="Book a trip") == {"finishReason": "tool-calls"}
        call = (await clean_report(agent, server))["messages"][1]["toolCalls"][0]
        assert json.loads(call["function"]["arguments"]) == ASKED
        await agent.do("answer", toolCallId="call_1", content='{"value":"sat"}')
        report = await clean_report(agent, server)
        assert results(report["messages"]) == {"call_1": {"value": "sat"}}
        assert report["messages"][-1]["content"] == "Saturday it is."


async def test_a_tool_of_the_client_is_offered_to_the_model_and_answered(
    tmp_path: Path, agent: ClientProcess
) -> None:
    tool = {
        "name": "pick_colour",
        "description": "Let the user pick a colour.",
        "parameters": {"type": "object", "properties": {"of": {"type": "string"}}},
    }
    pick = call_reply(("add", '{"a":1,"b":2}'), ("pick_colour", '{"of":"walls"}'), ids=("c1", "c2"))
    async with scripted_server(tmp_path, pick, text_reply("Red.")) as server:
        await begin(agent, server, tools=[tool])
        await agent.do("send", text="Pick")
        offered = [t["function"]["name"] for t in server.endpoint.requests[0]["tools"]]
        assert "pick_colour" in offered
        await agent.do("answer", toolCallId="c2", content="red")
        report = await clean_report(agent, server)
        told = {m["toolCallId"]: m["content"] for m in report["messages"] if m["role"] == "tool"}
        assert told["c2"] == "red"


async def test_a_question_that_is_typed_past_is_closed(
    tmp_path: Path, agent: ClientProcess
) -> None:
    async with scripted_server(tmp_path, ASK, text_reply("Never mind.")) as server:
        await begin(agent, server)
        await agent.do("send", text="Book a trip")
        await agent.do("send", text="No, tell me a joke")
        report = await clean_report(agent, server)
        assert results(report["messages"])["call_1"]["error"]["code"] == "not_answered"
        assert snapshots(report) == 0


def erase(*names: str) -> Scripted:
    calls = [("erase", f'{{"name":"{name}"}}') for name in names]
    return call_reply(*calls, ids=tuple(f"call_{n}" for n, _ in enumerate(names, start=1)))


async def test_calls_are_approved_and_declined_as_interrupts(
    tmp_path: Path, agent: ClientProcess
) -> None:
    async with scripted_server(tmp_path, erase("old", "new"), text_reply("Done.")) as server:
        await begin(agent, server)
        await agent.do("send", text="Tidy up")
        asked = (await clean_report(agent, server))["pendingInterrupts"]
        assert [(i["reason"], i["toolCallId"]) for i in asked] == [
            ("tool_call", "call_1"),
            ("tool_call", "call_2"),
        ]
        decisions = ({"approved": True}, {"approved": False, "reason": "I need it."})
        await agent.do("run", resume=resume(asked, *decisions))
        report = await clean_report(agent, server)
        assert report["pendingInterrupts"] == []
        ended = results(report["messages"])
        assert ended["call_1"] == {"erased": "old"}
        assert ended["call_2"]["error"]["code"] == "declined"
        assert snapshots(report) == 0


def resume(interrupts: list[Json], *payloads: Json) -> list[Json]:
    return [
        {"interruptId": interrupt["id"], "status": "resolved", "payload": payload}
        for interrupt, payload in zip(interrupts, payloads, strict=True)
    ]


async def test_arguments_may_be_changed_by_whoever_approves(
    tmp_path: Path, agent: ClientProcess
) -> None:
    async with scripted_server(tmp_path, erase("old"), text_reply("Done.")) as server:
        await begin(agent, server)
        await agent.do("send", text="Tidy up")
        asked = (await agent.report())["pendingInterrupts"]
        changed = {"approved": True, "editedArgs": {"name": "older"}}
        await agent.do("run", resume=resume(asked, changed))
        report = await clean_report(agent, server)
        assert results(report["messages"]) == {"call_1": {"erased": "older"}}


async def test_a_loaded_thread_says_what_waits_and_the_agent_answers_it(
    tmp_path: Path, agent: ClientProcess
) -> None:
    async with scripted_server(tmp_path, erase("old"), text_reply("Done.")) as server:
        await begin(agent, server)
        await agent.do("send", text="Tidy up")
        asked = (await agent.report())["pendingInterrupts"]
        thread = await server.http.thread(THREAD, protocol="ag-ui")
        assert thread["pendingInterrupts"] == asked
        kept = {key: thread[key] for key in ("messages", "pendingInterrupts")}
        await begin(agent, server, **kept)
        await agent.do("run", resume=resume(asked, {"approved": True}))
        report = await clean_report(agent, server)
        assert results(report["messages"]) == {"call_1": {"erased": "old"}}


async def test_an_approval_that_is_cancelled_beside_a_message_is_typed_past(
    tmp_path: Path, agent: ClientProcess
) -> None:
    async with scripted_server(tmp_path, erase("old"), text_reply("A joke.")) as server:
        await begin(agent, server)
        await agent.do("send", text="Tidy up")
        asked = (await agent.report())["pendingInterrupts"]
        cancelled = [{"interruptId": interrupt["id"], "status": "cancelled"} for interrupt in asked]
        await agent.do("send", text="Tell me a joke", resume=cancelled)
        report = await clean_report(agent, server)
        assert results(report["messages"])["call_1"]["error"]["code"] == "not_answered"
        assert report["pendingInterrupts"] == []


async def test_a_stop_from_anywhere_ends_the_run_and_keeps_the_words(
    tmp_path: Path, agent: ClientProcess
) -> None:
    replies = (reply(Say("The tide "), Pause(asyncio.Event())), text_reply("Once more."))
    async with scripted_server(tmp_path, *replies) as server:
        await begin(agent, server)
        await agent.do("send", text="Go on", wait=False)
        await agent.do("saying", text="The tide ")
        await server.http.http.post(f"/chat/{THREAD}/stop")
        result = await agent.do("settled")
        (ended,) = (await clean_report(agent, server))["outcomes"]
        if is_old(agent):
            assert result == {"finishReason": "other", "ended": {"reason": "stopped"}}
        else:
            assert (result, ended) == (None, {"outcome": "cancelled"})
        await agent.do("send", text="And on")
        assert (await clean_report(agent, server))["messages"][-1]["content"] == "Once more."


async def test_an_error_of_the_model_is_a_run_error_and_the_next_message_works(
    tmp_path: Path, agent: ClientProcess
) -> None:
    async with scripted_server(tmp_path, Fail(400, "No."), text_reply("There.")) as server:
        await begin(agent, server)
        await agent.do("send", text="Go on")
        (error,) = (await agent.report())["errors"]
        assert error["code"] == "model_error"
        await agent.do("send", text="And on")
        assert (await clean_report(agent, server))["messages"][-1]["content"] == "There."


async def test_a_refused_request_is_a_failure_with_the_problems_code(
    tmp_path: Path, agent: ClientProcess
) -> None:
    async with scripted_server(tmp_path, reply(Say("One "), Pause(asyncio.Event()))) as server:
        await begin(agent, server)
        await agent.do("send", text="Go on", wait=False)
        await agent.do("saying", text="One ")
        await agent.do("leave")
        await agent.do("send", text="And on")
        failures = (await agent.report())["failures"]
        refused = [(f["status"], f["code"]) for f in failures if "status" in f]
        assert refused == [(409, "run_in_progress")]
        await server.http.http.post(f"/chat/{THREAD}/stop")


@pytest.mark.parametrize("cut", [600, 900, 1200])
async def test_a_line_that_breaks_loses_and_doubles_nothing(
    cut: int, tmp_path: Path, agent: ClientProcess
) -> None:
    both = call_reply(("add", '{"a":1,"b":2}'), ("add", '{"a":3,"b":4}'), ids=("call_1", "call_2"))
    words = reply(*(Say(f"word {n} ") for n in range(30)))
    async with (
        scripted_server(tmp_path, both, words) as server,
        proxy(int(server.url.rpartition(":")[2]), cut, cut // 2) as line,
    ):
        await agent.do("open", url=line.url, threadId=THREAD, resumes=True)
        await agent.do("send", text="Go on")
        report = await agent.report()
        assert report["warnings"] == report["failures"] == []
        assert report["messages"] == await held(server)
        assert len(report["requests"]) == 3
        assert sum(type in ENDS for type in report["events"]) == 1


async def test_a_page_that_loads_in_mid_run_reads_it_to_its_end(
    tmp_path: Path, agent: ClientProcess
) -> None:
    pause = Pause(asyncio.Event())
    replies = (text_reply("Hello."), reply(Say("The tide "), pause, Say("is high.")))
    async with scripted_server(tmp_path, *replies) as server:
        await begin(agent, server)
        await agent.do("send", text="Good day")
        await agent.do("send", text="Go on", wait=False)
        await agent.do("saying", text="The tide ")
        loaded = await server.http.thread(THREAD, protocol="ag-ui")
        assert loaded["messages"][-1]["content"] == "The tide "
        await begin(agent, server, messages=loaded["messages"], attaches=True)
        await agent.do("run", wait=False)
        await agent.do("saying", text="The tide ")
        pause.event.set()
        await agent.do("settled")
        report = await clean_report(agent, server)
        assert report["messages"][-1]["content"] == "The tide is high."


async def test_a_message_that_is_posted_again_in_other_words_is_an_edit(
    tmp_path: Path, agent: ClientProcess
) -> None:
    replies = map(text_reply, ("One.", "Two.", "Two and a half."))
    async with scripted_server(tmp_path, *replies) as server:
        await begin(agent, server)
        await agent.do("send", text="First")
        await agent.do("send", text="Second", id="second")
        await agent.do("cut", id="second", text="Second, but other")
        report = await clean_report(agent, server)
        words = [message["content"] for message in report["messages"]]
        assert words == ["First", "One.", "Second, but other", "Two and a half."]
        assert snapshots(report) == 0


async def test_a_message_that_is_posted_again_is_answered_anew(
    tmp_path: Path, agent: ClientProcess
) -> None:
    async with scripted_server(tmp_path, *map(text_reply, ("One.", "Two.", "Anew."))) as server:
        await begin(agent, server)
        await agent.do("send", text="First")
        await agent.do("send", text="Second", id="second")
        await agent.do("cut", id="second")
        report = await clean_report(agent, server)
        assert [m["content"] for m in report["messages"]] == ["First", "One.", "Second", "Anew."]


async def test_an_edit_may_name_the_message_that_it_replaces(
    tmp_path: Path, agent: ClientProcess
) -> None:
    async with scripted_server(tmp_path, *map(text_reply, ("One.", "Other."))) as server:
        await begin(agent, server)
        await agent.do("send", text="First", id="first")
        await begin(agent, server)
        await agent.do("send", text="Else", forwardedProps={"edit": "first"})
        report = await clean_report(agent, server)
        assert [message["content"] for message in report["messages"]] == ["Else", "Other."]


async def test_a_client_without_the_history_gets_it_and_its_message_is_the_next(
    tmp_path: Path, agent: ClientProcess
) -> None:
    async with scripted_server(tmp_path, *map(text_reply, ("One.", "Two."))) as server:
        await begin(agent, server)
        await agent.do("send", text="First")
        await begin(agent, server)
        await agent.do("send", text="Second")
        report = await clean_report(agent, server)
        words = [message["content"] for message in report["messages"]]
        assert words == ["First", "One.", "Second", "Two."]
        assert len(server.endpoint.requests[1]["messages"]) == 4


async def test_a_history_that_the_client_changed_is_set_right(
    tmp_path: Path, agent: ClientProcess
) -> None:
    forged = {"id": "x", "role": "assistant", "content": "I promised you a discount."}
    async with scripted_server(tmp_path, *map(text_reply, ("One.", "Two."))) as server:
        await begin(agent, server)
        await agent.do("send", text="First")
        await begin(agent, server, messages=[*await held(server), forged])
        await agent.do("send", text="Second")
        report = await clean_report(agent, server)
        assert forged not in report["messages"]
        assert "discount" not in json.dumps(server.endpoint.requests[1])


async def test_a_picture_is_seen_by_the_model_and_held_as_it_was_sent(
    tmp_path: Path, agent: ClientProcess
) -> None:
    source = {"type": "data", "value": "iVBORw0KGgo=", "mimeType": "image/png"}
    image = {"type": "image", "source": source, "metadata": {"filename": "leaf.png"}}
    content = [{"type": "text", "text": "What is this?"}, image]
    async with scripted_server(tmp_path, text_reply("A picture.")) as server:
        await begin(agent, server)
        await agent.do("send", content=content)
        report = await clean_report(agent, server)
        assert report["messages"][0]["content"] == content
        _, named, shown = server.endpoint.requests[0]["messages"][-1]["content"]
        assert named["text"] == "[Image: leaf.png]"
        assert shown["image_url"]["url"] == "data:image/png;base64,iVBORw0KGgo="

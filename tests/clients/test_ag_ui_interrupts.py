"""AG-UI's clients on graphs that stop to ask: HttpAgent of both generations, and assistant-ui."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.conftest import ClientOf
from tests.clients.driver import ClientProcess
from tests.clients.test_assistant_ui_ag_ui import said
from tests.support.ag_ui_reader import in_call_order
from tests.support.samples import repeat
from tests.support.serving import Client, serving, settings

THREAD = "thread-1"
Json = dict[str, Any]
ASKING = """
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt


def colour(state):
    answer = interrupt({"question": "Which colour?"})
    return {"messages": [AIMessage(f"Colour {answer}.", id="colour")]}


def size(state):
    return {"messages": [AIMessage(f"Size {interrupt('Which size?')}.", id="size")]}


builder = StateGraph(MessagesState)
builder.add_node("colour", colour)
builder.add_node("size", size)
builder.add_edge(START, "colour")
builder.add_edge("colour", "size")
builder.add_node("done", lambda state: {"messages": [AIMessage("Done.", id="done")]})
builder.add_edge("size", "done")
graph = builder.compile(interrupt_after=["size"])
"""
MAIL = """
from tests.graphs.zoo.approval import approved, mail_two
from tests.graphs.zoo.model import ReplyingModel


def make():
    return approved(ReplyingModel(replies=mail_two), "{mode}")
"""


THINKING = """
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from tests.graphs.zoo.model import ReplyingModel


def make():
    model = ReplyingModel(replies=lambda prompt, tools: f"A draft of {len(prompt)}.")

    async def draft(state):
        await model.ainvoke(state["messages"])

    async def speak(state):
        return {"messages": [await model.ainvoke([*state["messages"], AIMessage("So far.")])]}

    builder = StateGraph(MessagesState)
    for node in ("first", "second"):
        builder.add_node(node, draft)
        builder.add_edge(START, node)
    builder.add_node("speak", speak)
    builder.add_edge(["first", "second"], "speak")
    return builder.compile()
"""


@pytest.fixture(params=[pytest.param("ag-ui.mjs", id="1.0.0"), repeat("ag-ui.mjs v0", "0.0.59")])
def agent(request: pytest.FixtureRequest, client_of: ClientOf) -> ClientProcess:
    return client_of(request.param)


@pytest.fixture
def page(client_of: ClientOf) -> ClientProcess:
    return client_of("assistant-ui-ag-ui.mjs")


@pytest.fixture
async def asking(tmp_path: Path) -> AsyncIterator[Client]:
    file = tmp_path / "asking_graph.py"
    file.write_text(ASKING)
    async with serving(settings(tmp_path / "t.db", graph=f"{file}:graph")) as client:
        await client.http.get("/health")
        yield client


@pytest.fixture(params=["batched", "per_call"])
async def mailing(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Client]:
    file = tmp_path / "mailing_agent.py"
    file.write_text(MAIL.format(mode=request.param))
    served = settings(tmp_path / "t.db", graph=f"{file}:make", undeclared_results="show")
    async with serving(served) as client:
        await client.http.get("/health")
        yield client


async def clean_report(agent: ClientProcess, server: Client) -> Json:
    report = await agent.report()
    assert report["warnings"] == []
    assert report["failures"] == []
    thread = await server.thread(THREAD, protocol="ag-ui")
    assert in_call_order(report["messages"]) == thread["messages"]
    assert report["pendingInterrupts"] == thread.get("pendingInterrupts", [])
    return report


def resolved(interrupts: list[Json], *payloads: Any) -> list[Json]:
    return [
        {"interruptId": interrupt["id"], "status": "resolved", "payload": payload}
        for interrupt, payload in zip(interrupts, payloads, strict=True)
    ]


async def test_each_question_ends_its_run_and_the_answer_goes_on(
    asking: Client, agent: ClientProcess
) -> None:
    await agent.do("open", url=asking.url, threadId=THREAD)
    await agent.do("send", text="Hello")
    (first,) = (await clean_report(agent, asking))["pendingInterrupts"]
    assert first["reason"] == "input_required"
    assert first["metadata"]["value"] == {"question": "Which colour?"}
    await agent.do("run", resume=resolved([first], "red"))
    (second,) = (await clean_report(agent, asking))["pendingInterrupts"]
    assert second["message"] == "Which size?"
    await agent.do("run", resume=resolved([second], "small"))
    (third,) = (await clean_report(agent, asking))["pendingInterrupts"]
    assert third["reason"] == "confirmation"
    await agent.do("run", resume=resolved([third], True))
    report = await clean_report(agent, asking)
    words = [message["content"] for message in report["messages"]]
    assert words == ["Hello", "Colour red.", "Size small.", "Done."]


async def test_a_question_is_typed_past_with_a_message_that_cancels_it(
    asking: Client, agent: ClientProcess
) -> None:
    await agent.do("open", url=asking.url, threadId=THREAD)
    await agent.do("send", text="Hello")
    (asked,) = (await clean_report(agent, asking))["pendingInterrupts"]
    cancelled = [{"interruptId": asked["id"], "status": "cancelled"}]
    await agent.do("send", text="Never mind", resume=cancelled)
    report = await clean_report(agent, asking)
    assert [message["content"] for message in report["messages"]] == ["Hello", "Never mind"]
    assert report["pendingInterrupts"][0]["id"] != asked["id"]


async def test_a_question_that_is_cancelled_goes_on_with_that(
    asking: Client, agent: ClientProcess
) -> None:
    await agent.do("open", url=asking.url, threadId=THREAD)
    await agent.do("send", text="Hello")
    (asked,) = (await agent.report())["pendingInterrupts"]
    await agent.do("run", resume=resolved([asked], "red"))
    (asked,) = (await agent.report())["pendingInterrupts"]
    await agent.do("run", resume=[{"interruptId": asked["id"], "status": "cancelled"}])
    report = await clean_report(agent, asking)
    assert report["messages"][-1]["content"] == "Size {'cancelled': True}."


async def test_calls_that_a_graph_asks_about_are_approved_and_declined(
    mailing: Client, agent: ClientProcess
) -> None:
    await agent.do("open", url=mailing.url, threadId=THREAD)
    await agent.do("send", text="Write.")
    asked = (await clean_report(agent, mailing))["pendingInterrupts"]
    assert {interrupt["reason"] for interrupt in asked} == {"tool_call"}
    decisions = ({"approved": True}, {"approved": False, "reason": "Not her."})
    await agent.do("run", resume=resolved(asked, *decisions))
    report = await clean_report(agent, mailing)
    told = {m["toolCallId"]: m["content"] for m in report["messages"] if m["role"] == "tool"}
    assert told[asked[0]["toolCallId"]] == "Sent to ann."
    assert report["messages"][-1]["content"] == "Both are done."


async def test_assistant_ui_answers_a_question_of_the_graph(
    asking: Client, page: ClientProcess
) -> None:
    await page.do("open", url=asking.url, threadId=THREAD)
    await page.do("send", text="Hello")
    for answer in ("red", "small", True):
        assert len((await page.report())["interrupts"]) == 1
        await page.do("resolve", answers=[answer])
    report = await page.report()
    assert report["warnings"] == report["errors"] == report["interrupts"] == []
    text = "Colour red.Size small.Done."
    assert said(report["messages"]) == [["Hello"], {"text": text, "calls": {}}]


async def test_assistant_ui_shows_the_calls_that_a_graph_asks_about_as_approvals(
    mailing: Client, page: ClientProcess
) -> None:
    await page.do("open", url=mailing.url, threadId=THREAD)
    await page.do("send", text="Write.")
    message = (await page.report())["messages"][-1]
    first, second = (part for part in message["content"] if part["type"] == "tool-call")
    about = {"messageId": message["id"]}
    await page.do("decide", **about, toolCallId=first["toolCallId"], approved=True, wait=False)
    await page.do("decide", **about, toolCallId=second["toolCallId"], approved=False)
    report = await page.report()
    assert report["warnings"] == report["errors"] == []
    shown = said(report["messages"])[-1]
    assert shown["calls"][first["toolCallId"]] == "Sent to ann."
    assert shown["text"].endswith("Both are done.")


@pytest.fixture
async def thinking(tmp_path: Path) -> AsyncIterator[Client]:
    file = tmp_path / "thinking_graph.py"
    file.write_text(THINKING)
    async with serving(settings(tmp_path / "t.db", graph=f"{file}:make")) as client:
        await client.http.get("/health")
        yield client


async def test_what_the_thread_did_not_get_is_gone_at_the_end_of_the_run(
    thinking: Client, agent: ClientProcess
) -> None:
    await agent.do("open", url=thinking.url, threadId=THREAD)
    for word in ("Hello", "And on"):
        await agent.do("send", text=word)
    report = await clean_report(agent, thinking)
    words = [message["content"] for message in report["messages"]]
    assert words == ["Hello", "A draft of 2.", "And on", "A draft of 4."]
    assert report["events"].count("TEXT_MESSAGE_START") == 6


async def test_assistant_ui_loses_what_the_thread_did_not_get(
    thinking: Client, page: ClientProcess
) -> None:
    await page.do("open", url=thinking.url, threadId=THREAD)
    await page.do("send", text="Hello")
    report = await page.report()
    assert report["warnings"] == report["errors"] == []
    assert said(report["messages"]) == [["Hello"], {"text": "A draft of 2.", "calls": {}}]

"""The conditional edges, as a table: what a model's message leads to."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.graph import END
from langgraph.types import Send

from tests.support.sample_tools import add
from turnstream.graphs import stored
from turnstream.graphs.answers import answer, failed
from turnstream.graphs.classify import Classifier
from turnstream.graphs.routing import AGENT, TOOLS, after_agent, after_tools
from turnstream.graphs.stored import Ended
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.contract import Disposition
from turnstream.tools.ui import render_ui_component, request_user_selection

CLASSIFIER = Classifier(
    Catalogue(
        tuple(add.model_copy(update={"name": name}) for name in ("calculator", "clock")),
        (replace(request_user_selection, name="ask"), replace(render_ui_component, name="render")),
    )
)
CARRIED: dict[str, Disposition] = {
    "calculator": "server",
    "clock": "server",
    "ask": "client",
    "render": "shown",
}
ENDED: Ended = {"reason": "limit", "limit": "max_steps", "value": 1}


def calling(*calls: str, ended: bool = False) -> AIMessage:
    """A call of each name, its id the name and its place: `clock:0`."""
    return AIMessage(
        "",
        tool_calls=[
            {"type": "tool_call", "id": f"{name}:{place}", "name": name, "args": {}}
            for place, name in enumerate(calls)
        ],
        response_metadata={"ended": ENDED} if ended else {},
    )


def wrong(name: str, place: int) -> ToolMessage:
    call = calling(*[name] * (place + 1)).tool_calls[place]
    return failed(call, "invalid_json", "Not JSON.")


def shown(place: int) -> ToolMessage:
    return answer(calling(*["render"] * (place + 1)).tool_calls[place], "{}", "shown")


def done(name: str, place: int) -> ToolMessage:
    return answer(calling(*[name] * (place + 1)).tool_calls[place], "1", "result")


def carrying(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """The same history, its model's messages with the dispositions of their calls."""
    refused = {
        m.tool_call_id for m in messages if isinstance(m, ToolMessage) and m.status == "error"
    }

    def metadata(message: AIMessage) -> dict[str, Any]:
        return stored.ai_metadata(
            run_id="run-1",
            ended=stored.ended(message),
            dispositions=[
                "invalid" if call["id"] in refused else CARRIED[call["name"]]
                for call in message.tool_calls
            ],
        )

    return [
        m.model_copy(update={"response_metadata": metadata(m)}) if isinstance(m, AIMessage) else m
        for m in messages
    ]


StoredAs = Callable[[Sequence[AnyMessage]], list[AnyMessage]]
FORMS = pytest.mark.parametrize("stored_as", [list, carrying], ids=["without", "carrying"])
"""Messages that do not carry dispositions, and messages that do."""


def led(route: Sequence[Send] | str) -> list[str] | str:
    """The ids of the calls that run, or where it goes instead."""
    if isinstance(route, str):
        return route
    assert all(isinstance(send, Send) and send.node == TOOLS for send in route)
    assert all(len(send.arg) == 1 for send in route), "one task a call"
    return [send.arg[0]["id"] for send in route]


@pytest.mark.parametrize(
    ("messages", "wanted"),
    [
        ([AIMessage("Hi.")], END),
        ([calling("clock")], ["clock:0"]),
        ([calling("clock", "calculator", "clock")], ["clock:0", "calculator:1", "clock:2"]),
        ([calling("ask")], END),
        ([calling("render"), shown(0)], END),
        ([calling("clock"), wrong("clock", 0)], AGENT),
        ([calling("ask"), wrong("ask", 0)], AGENT),
        ([calling("unknown"), wrong("unknown", 0)], AGENT),
        ([calling("clock", "ask")], ["clock:0"]),
        ([calling("render", "clock"), shown(0)], ["clock:1"]),
        ([calling("clock", "calculator"), wrong("clock", 0)], ["calculator:1"]),
        ([calling("ask", "clock"), wrong("clock", 1)], END),
        ([calling("render", "clock"), shown(0), wrong("clock", 1)], END),
        ([calling("ask", "clock", "calculator"), wrong("clock", 1)], ["calculator:2"]),
        ([calling("clock", ended=True)], ["clock:0"]),
        ([calling("clock", ended=True), wrong("clock", 0)], END),
        ([], END),
        ([HumanMessage("Hi.")], END),
    ],
)
@FORMS
def test_a_message_leads_to_its_real_calls_or_the_model_or_the_end(
    stored_as: StoredAs, messages: list[AnyMessage], wanted: list[str] | str
) -> None:
    before: list[AnyMessage] = [HumanMessage("Go"), calling("ask"), HumanMessage("Go on")]
    history = [*before, *messages] if messages else []
    assert led(after_agent(stored_as(history), CLASSIFIER)) == wanted


@pytest.mark.parametrize(
    ("messages", "wanted"),
    [
        ([calling("clock"), done("clock", 0)], AGENT),
        ([calling("clock", "calculator"), done("clock", 0)], AGENT),
        ([calling("clock", "calculator"), done("clock", 0), wrong("calculator", 1)], AGENT),
        ([calling("clock", "ask"), done("clock", 0)], END),
        ([calling("clock", "ask"), done("clock", 0), wrong("ask", 1)], AGENT),
        ([calling("clock", "render"), shown(1), done("clock", 0)], END),
        ([calling("clock", ended=True), done("clock", 0)], END),
        ([], END),
    ],
)
@FORMS
def test_results_lead_back_to_the_model_unless_a_ui_call_ends_the_turn(
    stored_as: StoredAs, messages: list[AnyMessage], wanted: str
) -> None:
    history = [HumanMessage("Go"), *messages] if messages else []
    assert after_tools(stored_as(history), CLASSIFIER) == wanted


def test_what_a_message_carries_counts_whatever_its_calls_are_named() -> None:
    carried = stored.ai_metadata(run_id="run-1", dispositions=["server", "client", "invalid"])
    message = calling("render", "clock", "ask").model_copy(update={"response_metadata": carried})
    history: list[AnyMessage] = [HumanMessage("Go"), message]
    assert led(after_agent(history, CLASSIFIER)) == ["render:0"]
    assert after_tools([*history, done("render", 0)], CLASSIFIER) == END


def test_a_call_that_waits_for_an_approval_ends_the_turn_and_does_not_run() -> None:
    carried = stored.ai_metadata(run_id="run-1", dispositions=["approval"])
    message = calling("clock").model_copy(update={"response_metadata": carried})
    assert after_agent([HumanMessage("Go"), message], CLASSIFIER) == END

"""The conditional edges, as a table: what a model's message leads to."""

from collections.abc import Sequence

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.graph import END
from langgraph.types import Send

from graphs.answers import answer, failed
from graphs.routing import AGENT, ENDED, TOOLS, after_agent, after_tools

REAL = {"calculator", "clock"}


def calling(*calls: str, ended: bool = False) -> AIMessage:
    """A call of each name, its id the name and its place: `clock:0`."""
    return AIMessage(
        "",
        tool_calls=[
            {"type": "tool_call", "id": f"{name}:{place}", "name": name, "args": {}}
            for place, name in enumerate(calls)
        ],
        response_metadata={ENDED: {"reason": "limit"}} if ended else {},
    )


def wrong(name: str, place: int) -> ToolMessage:
    call = calling(*[name] * (place + 1)).tool_calls[place]
    return failed(call, "invalid_json", "Not JSON.")


def shown(place: int) -> ToolMessage:
    return answer(calling(*["render"] * (place + 1)).tool_calls[place], "{}", "shown")


def done(name: str, place: int) -> ToolMessage:
    return answer(calling(*[name] * (place + 1)).tool_calls[place], "1", "result")


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
def test_a_message_leads_to_its_real_calls_or_the_model_or_the_end(
    messages: list[AnyMessage], wanted: list[str] | str
) -> None:
    before: list[AnyMessage] = [HumanMessage("Go"), calling("ask"), HumanMessage("Go on")]
    history = [*before, *messages] if messages else []
    assert led(after_agent(history, REAL)) == wanted


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
def test_results_lead_back_to_the_model_unless_a_ui_call_ends_the_turn(
    messages: list[AnyMessage], wanted: str
) -> None:
    assert after_tools([HumanMessage("Go"), *messages] if messages else [], REAL) == wanted

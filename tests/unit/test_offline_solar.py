"""The offline model on the solar fleet: which question asks which tool, and second tries."""

import json
from datetime import date
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from tests.support.offline_model import RENDER, SELECT, TOOLS, answer, calls_for, result
from turnstream.graphs.no_data import QUESTION
from turnstream.graphs.offline.solar_days import find_days
from turnstream.tools.solar import SOLAR_TOOLS

ALL = [*TOOLS, *SOLAR_TOOLS]
NOW = {"status": "ok", "now": "2024-12-31T23:45", "count": 13, "sites": [1, 2]}
TUESDAY = date(2024, 12, 31)
LIST, CURVE, COMPARE = "list_loggers", "get_power_curve", "compare_loggers"
HEALTH, SAVINGS = "analyze_inverter_health", "calculate_financial_savings"
RATIO, FORECAST = "calculate_performance_ratio", "forecast_production"
ERRORS, OVERVIEW = "diagnose_error_codes", "get_fleet_overview"


@pytest.mark.parametrize(
    ("question", "tool", "args"),
    [
        ("How is the fleet doing?", OVERVIEW, {}),
        ("give me an overview of the fleet", OVERVIEW, {}),
        ("Fleet status", OVERVIEW, {}),
        ("Show the power curve of inverter 3", CURVE, {"logger": "inverter 3"}),
        (
            "power curve of logger 12 on 2024-06-01",
            CURVE,
            {"logger": "inverter 12", "start": "2024-06-01"},
        ),
        (
            "Plot the power of inverter 3 from 2024-06-01 to 2024-06-07",
            CURVE,
            {"logger": "inverter 3", "start": "2024-06-01", "end": "2024-06-07"},
        ),
        ("Compare site A and B", COMPARE, {"targets": ["site A", "site B"]}),
        ("compare sites A, B and C", COMPARE, {"targets": ["site A", "site B", "site C"]}),
        ("Compare inverters 3 and 4", COMPARE, {"targets": ["inverter 3", "inverter 4"]}),
        (
            "Compare Greensboro Depot with Miami Warehouse by energy",
            COMPARE,
            {"targets": ["Greensboro Depot", "Miami Warehouse"], "metric": "energy"},
        ),
        ("Compare the sites", COMPARE, {}),
        ("Site A versus site B?", COMPARE, {"targets": ["site A", "site B"]}),
        ("What did we save this year?", SAVINGS, {}),
        (
            "What did site A save in 2024?",
            SAVINGS,
            {"target": "site A", "start": "2024-01-01", "end": "2024-12-31"},
        ),
        ("How much CO2 did Miami avoid?", SAVINGS, {"target": "Miami"}),
        ("What does error 3105 mean?", ERRORS, {"codes": [3105]}),
        ("What do error codes 3105 and 1201 mean?", ERRORS, {"codes": [3105, 1201]}),
        ("Which errors did inverter 3 have?", ERRORS, {"target": "inverter 3"}),
        (
            "Which errors were there in 2024?",
            ERRORS,
            {"start": "2024-01-01", "end": "2024-12-31"},
        ),
        ("Is inverter 4 healthy?", HEALTH, {"logger": "inverter 4"}),
        ("What is wrong with inverter 11?", HEALTH, {"logger": "inverter 11"}),
        ("How is inverter 4 doing?", HEALTH, {"logger": "inverter 4"}),
        ("What is the performance ratio of site B?", RATIO, {"target": "site B"}),
        ("How is site A doing?", RATIO, {"target": "site A"}),
        ("How much will we produce tomorrow?", FORECAST, {"days": 1}),
        ("How much will site A produce next week?", FORECAST, {"target": "site A", "days": 7}),
        ("Forecast the next 3 days", FORECAST, {"days": 3}),
        ("List the inverters", LIST, {}),
        ("Which inverters does site C have?", LIST, {"site": "C"}),
        ("How many inverters are there?", LIST, {}),
    ],
)
async def test_questions_become_calls(question: str, tool: str, args: dict[str, Any]) -> None:
    assert await calls_for(question, ALL) == [(tool, args)]


@pytest.mark.parametrize(
    "text",
    [
        "Compare apples and pears",
        "Draw a curve of 1, 4, 9",
        "Save me a seat",
        "What is the curve of inverter noise?",
        "Is it healthy?",
        "Tell me about the error of my ways",
    ],
)
async def test_other_matters_are_left_alone(text: str) -> None:
    solar = {tool.name for tool in SOLAR_TOOLS}
    assert not solar & {name for name, _ in await calls_for(text, ALL)}


@pytest.mark.parametrize("question", ["How is the fleet doing?", "What does error 3105 mean?"])
async def test_nothing_is_asked_of_tools_that_are_not_bound(question: str) -> None:
    assert await calls_for(question, TOOLS) == []


@pytest.mark.parametrize(
    ("words", "days"),
    [
        ("on 2024-03-10", ("2024-03-10", "2024-03-10")),
        ("from 2024-03-10 to 2024-02-01", ("2024-02-01", "2024-03-10")),
        ("on 2024-02-30", ("2024-02-30", "2024-02-30")),
        ("last Tuesday", ("2024-12-24", "2024-12-24")),
        ("on Monday", ("2024-12-30", "2024-12-30")),
        ("on Wednesday", ("2024-12-25", "2024-12-25")),
        ("yesterday", ("2024-12-30", "2024-12-30")),
        ("today", ("2024-12-31", "2024-12-31")),
        ("over the last 7 days", ("2024-12-25", "2024-12-31")),
        ("this week", ("2024-12-30", "2024-12-31")),
        ("last week", ("2024-12-23", "2024-12-29")),
        ("this month", ("2024-12-01", "2024-12-31")),
        ("last month", ("2024-11-01", "2024-11-30")),
        ("this year", ("2024-01-01", "2024-12-31")),
        ("last year", ("2023-01-01", "2023-12-31")),
        ("in July", ("2024-07-01", "2024-07-31")),
        ("in February", ("2024-02-01", "2024-02-29")),
        ("in February 2023", ("2023-02-01", "2023-02-28")),
        ("on 4 July", ("2024-07-04", "2024-07-04")),
        ("on July 4th, 2023", ("2023-07-04", "2023-07-04")),
        ("on the 29th of February 2024", ("2024-02-29", "2024-02-29")),
        ("on 31 February", None),
        ("in 2023", ("2023-01-01", "2023-12-31")),
        ("some day", None),
        ("it may be", None),
    ],
)
def test_days_in_words_are_counted_from_the_end_of_the_data(
    words: str, days: tuple[str, str] | None
) -> None:
    assert find_days(words, TUESDAY) == days


@pytest.mark.parametrize("words", ["last Tuesday", "in July", "yesterday", "this month"])
def test_days_that_hang_on_today_are_none_without_it(words: str) -> None:
    assert find_days(words, None) is None
    assert find_days(words + " 2024-01-01", None) == ("2024-01-01", "2024-01-01")


async def test_which_day_it_is_is_asked_first() -> None:
    question = HumanMessage("Show the power curve of inverter 3 last Tuesday")
    first = await answer(question, tools=ALL)
    assert [call["name"] for call in first.tool_calls] == [LIST]
    second = await answer(question, first, result(first, NOW), tools=ALL)
    assert [call["args"] for call in second.tool_calls] == [
        {"logger": "inverter 3", "start": "2024-12-24"}
    ]


async def test_which_day_it_is_is_not_asked_twice() -> None:
    question = HumanMessage("List the loggers, then is inverter 4 healthy last month?")
    first = await answer(question, tools=ALL)
    second = await answer(question, first, result(first, NOW), tools=ALL)
    assert [(call["name"], call["args"]) for call in second.tool_calls] == [
        (HEALTH, {"logger": "inverter 4", "start": "2024-11-01", "end": "2024-11-30"})
    ]


# charts


def drawable(message: AIMessage, *draws: str, place: int = 0, **content: Any) -> ToolMessage:
    """A result as the server offers it for drawing."""
    call = message.tool_calls[place]
    offer = {"data_from": call["id"], "draws": draws, "status": "ok", **content}
    return result(message, offer, place)


SAVED: dict[str, Any] = {
    "window": {"start": "2024-01-01", "end": "2024-12-31"},
    "target": {"kind": "fleet", "name": "Fleet"},
    "energy_kwh": 1000.5,
    "savings": 130.25,
    "currency": "USD",
    "co2_avoided_kg": 373.0,
    "assumptions": {"tariff_per_kwh": 0.13},
}


async def shown_after(text: str, *draws: str) -> list[dict[str, Any]]:
    question = HumanMessage(text)
    first = await answer(question, tools=ALL)
    message = await answer(question, first, drawable(first, *draws, **SAVED), tools=ALL)
    return [call["args"] for call in message.tool_calls]


async def test_a_chart_names_its_data_and_repeats_no_number() -> None:
    [args] = await shown_after("What did we save this year?", "bar_chart", "table")
    assert args == {
        "component": "bar_chart",
        "props": {"title": "Savings, 2024-01-01 to 2024-12-31"},
        "data_from": "call_1",
    }


async def test_the_user_can_choose_how_it_is_shown() -> None:
    for text in (
        "What did we save this year? Show it as a table",
        "Show what we did save as a table",
    ):
        [args] = await shown_after(text, "bar_chart", "table")
        assert args == {"component": "table", "props": {}, "data_from": "call_1"}


async def test_a_component_without_points_gets_the_figures() -> None:
    [args] = await shown_after("What did we save this year? Show it as a card", "bar_chart")
    assert {"label": "Savings", "value": 130.25, "unit": "USD"} in args["props"]["cards"]


async def test_what_is_not_offered_is_not_drawn() -> None:
    assert await shown_after("What did we save this year?") == []
    assert await shown_after("What did we save this year?", "table") == []


async def test_two_questions_at_once_are_two_charts() -> None:
    question = HumanMessage("What did we save this year and what did site A save?")
    first = await answer(question, tools=ALL)
    assert [call["name"] for call in first.tool_calls] == [SAVINGS, SAVINGS]
    results = [drawable(first, "bar_chart", place=place, **SAVED) for place in (0, 1)]
    message = await answer(question, first, *results, tools=ALL)
    assert [call["args"]["data_from"] for call in message.tool_calls] == ["call_1", "call_2"]


async def test_the_savings_can_be_reckoned_on_with() -> None:
    question = HumanMessage("What did we save this year, then multiply it by 2")
    first = await answer(question, tools=ALL)
    message = await answer(question, first, drawable(first, "bar_chart", **SAVED), tools=ALL)
    assert [call["args"] for call in message.tool_calls] == [{"a": 130.25, "b": 2}]


async def test_a_chart_that_was_refused_is_not_drawn_again() -> None:
    question = HumanMessage("What did we save this year?")
    first = await answer(question, tools=ALL)
    history: list[BaseMessage] = [question, first, drawable(first, "bar_chart", **SAVED)]
    second = await answer(*history, tools=ALL)
    refused = result(second, {"error": {"code": "invalid_arguments", "message": "Too many."}})
    last = await answer(*history, second, refused, tools=ALL)
    assert not last.tool_calls
    assert "Too many." in last.text


# second tries


def missed(
    message: AIMessage, *, window: dict[str, str] | None = None, hinted: bool = True
) -> ToolMessage:
    """A result without data, as recovery leaves it."""
    content = {
        "status": "no_data_in_window",
        "message": "There is nothing.",
        "window": window or {"start": "2026-03-01", "end": "2026-03-01"},
    }
    hint = {"recovery": {"advice": "Try once more.", "available": []}} if hinted else {}
    return result(message, content | hint)


MISS = HumanMessage("Show the power curve of inverter 3 on 2026-03-01")


def question_of_the_server(value: Any) -> list[BaseMessage]:
    call = {"id": "q1", "name": SELECT, "args": {"kind": "single", "prompt": QUESTION}}
    asks = AIMessage("", tool_calls=[{"type": "tool_call", **call}])
    return [asks, ToolMessage(json.dumps(value), name=SELECT, tool_call_id="q1")]


async def through_two_misses() -> list[BaseMessage]:
    first = await answer(MISS, tools=ALL)
    history: list[BaseMessage] = [MISS, first, missed(first)]
    second = await answer(*history, tools=ALL)
    assert [call["args"] for call in second.tool_calls] == [
        {"logger": "inverter 3", "start": "2026-02-22", "end": "2026-03-08"}
    ]
    assert second.text == "There is nothing. Let me look a week around it."
    return [*history, second, missed(second)]


async def test_a_miss_is_tried_once_more_around_it_and_not_a_third_time() -> None:
    message = await answer(*await through_two_misses(), tools=ALL)
    assert (message.text, message.tool_calls) == ("There is nothing.", [])


async def test_what_is_found_around_it_is_shown() -> None:
    *history, second, _ = await through_two_misses()
    assert isinstance(second, AIMessage)
    figures = {
        "energy_kwh": 1.0,
        "expected_kwh": 2.0,
        "peak_kw": 3.0,
        "peak_at": "2026-02-23T12:00",
    }
    found = drawable(
        second,
        "line_chart",
        window={"start": "2026-02-22", "end": "2026-03-08"},
        target={"kind": "logger", "name": "Inverter 3"},
        figures=figures,
    )
    message = await answer(*history, second, found, tools=ALL)
    [call] = message.tool_calls
    assert (call["name"], call["args"]["data_from"]) == (RENDER, "call_2")


async def test_the_chosen_window_is_looked_at() -> None:
    history = [
        *await through_two_misses(),
        *question_of_the_server({"value": "2024-01-01/2024-06-30"}),
    ]
    message = await answer(*history, tools=ALL)
    assert message.text == "You chose 2024-01-01 to 2024-06-30. Let me look there."
    assert [call["args"] for call in message.tool_calls] == [
        {"logger": "inverter 3", "start": "2024-01-01", "end": "2024-06-30"}
    ]


@pytest.mark.parametrize(
    "reply",
    [{"cancelled": True}, {"error": {"code": "not_answered", "message": "."}}, {"value": 1}],
)
async def test_without_a_choice_the_turn_ends_in_words(reply: dict[str, Any]) -> None:
    history = [*await through_two_misses(), *question_of_the_server(reply)]
    message = await answer(*history, tools=ALL)
    assert not message.tool_calls
    assert message.text


async def test_without_a_hint_a_miss_is_told_and_left() -> None:
    first = await answer(MISS, tools=ALL)
    message = await answer(MISS, first, missed(first, hinted=False), tools=ALL)
    assert (message.text, message.tool_calls) == ("There is nothing.", [])


@pytest.mark.parametrize(
    "window", [{"start": "0001-01-01", "end": "0001-01-01"}, {"start": "x"}, {"start": 1, "end": 2}]
)
async def test_a_window_that_cannot_be_widened_is_left(window: dict[str, Any]) -> None:
    first = await answer(MISS, tools=ALL)
    message = await answer(MISS, first, missed(first, window=window), tools=ALL)
    assert not message.tool_calls


async def test_the_next_step_follows_after_the_second_try() -> None:
    question = HumanMessage(f"{MISS.content}, then what is 2 + 2?")
    first = await answer(question, tools=ALL)
    second = await answer(question, first, missed(first), tools=ALL)
    third = await answer(question, first, missed(first), second, missed(second), tools=ALL)
    assert [call["args"] for call in third.tool_calls] == [{"expression": "2 + 2"}]


async def test_a_refusal_names_what_is_near_or_allowed() -> None:
    question = HumanMessage("Show the power curve of inverter 99")
    first = await answer(question, tools=ALL)
    for details, said in (
        ({"near_matches": ["Inverter 9"], "allowed": ["a"]}, "Did you mean Inverter 9?"),
        (
            {"near_matches": [], "allowed": ["Inverter 1", "Inverter 2"]},
            "Inverter 1 and Inverter 2",
        ),
        ({"allowed": "1 to 7"}, "I need 1 to 7."),
    ):
        content = {"status": "invalid_argument", "message": "There is no such.", **details}
        message = await answer(question, first, result(first, content), tools=ALL)
        assert message.text.startswith("There is no such.")
        assert said in message.text

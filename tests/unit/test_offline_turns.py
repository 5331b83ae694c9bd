"""How the offline model goes on with a turn: results, chains, failures, answered questions."""

from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
)

from tests.support.offline_model import (
    CALCULATOR,
    MULTIPLY,
    RENDER,
    SELECT,
    answer,
    calls_for,
    failure,
    result,
    roll_dice,
)


async def test_results_are_put_into_words() -> None:
    question = HumanMessage("What is 17 * 23, and what time is it in Tokyo?")
    calls = await answer(question)
    time = {
        "timezone": "Asia/Tokyo",
        "iso": "2026-03-01T14:05:09+09:00",
        "weekday": "Sunday",
        "utc_offset": "+09:00",
    }
    message = await answer(
        question,
        calls,
        result(calls, {"expression": "17 * 23", "value": 391}),
        result(calls, time, 1),
    )
    assert not message.tool_calls
    assert message.text == "17 * 23 = 391. In Tokyo it is 14:05 on Sunday (UTC+09:00)."


async def test_a_result_of_an_unknown_shape_shows_its_main_fields() -> None:
    question = HumanMessage("Roll 2 dice")
    call = await answer(question, tools=[roll_dice])
    shown = await answer(question, call, result(call, {"rolls": [3, 5], "all_fair": True}))
    assert shown.text == "`roll_dice` says: rolls 3 and 5; all fair True."
    plain = await answer(question, call, result(call, "3, 5 [cut: the rest]"))
    assert plain.text == "`roll_dice` says: 3, 5 [cut: the rest]"


async def test_a_chain_takes_each_result_into_the_next_step() -> None:
    history: list[BaseMessage] = [
        HumanMessage("Multiply 6 by 7, then convert the result from km to miles, then add 2 to it")
    ]
    first = await answer(*history)
    assert [call["name"] for call in first.tool_calls] == [MULTIPLY]
    history += [first, result(first, {"product": 42})]
    second = await answer(*history)
    assert second.text.startswith("6 \u00d7 7 = 42.")
    assert [call["args"] for call in second.tool_calls] == [
        {"value": 42, "from_unit": "km", "to_unit": "miles"}
    ]
    history += [second, result(second, {"value": 42, "result": 26.5, "to_unit": "mile"})]
    third = await answer(*history)
    assert [call["args"] for call in third.tool_calls] == [{"expression": "26.5 + 2"}]
    history += [third, result(third, {"expression": "26.5 + 2", "value": 28.5})]
    last = await answer(*history)
    assert (last.text, last.tool_calls) == ("26.5 + 2 = 28.5.", [])


@pytest.mark.parametrize(
    "text",
    [
        "What is 17 * 23? Show it as a metric card",
        "Show 17 * 23 as a metric card",
        "Make a metric card of 17 * 23",
    ],
)
async def test_what_is_shown_comes_from_the_tool(text: str) -> None:
    first = await answer(HumanMessage(text))
    assert [call["name"] for call in first.tool_calls] == [CALCULATOR]
    done = result(first, {"expression": "17 * 23", "value": 391})
    second = await answer(HumanMessage(text), first, done)
    assert [call["args"] for call in second.tool_calls] == [
        {"component": "metric_cards", "props": {"cards": [{"label": "17 * 23", "value": 391}]}}
    ]


async def test_a_time_is_shown_as_it_was_told() -> None:
    question = HumanMessage("What time is it in Tokyo? Show it in a table")
    call = await answer(question)
    time = result(call, {"timezone": "Asia/Tokyo", "iso": "2026-03-01T14:05:09+09:00"})
    [shown] = (await answer(question, call, time)).tool_calls
    assert shown["args"]["props"]["rows"] == [{"name": "Tokyo", "value": "14:05"}]


async def test_them_means_all_results_and_it_the_last() -> None:
    steps = ["Multiply 2 by 3, then multiply the result by 4, then show {} in a table"]
    for word, rows in (("them", [6, 24]), ("it", [24])):
        history: list[BaseMessage] = [HumanMessage(steps[0].format(word))]
        for product in (6, 24):
            call = await answer(*history)
            history += [call, result(call, {"product": product})]
        [shown] = (await answer(*history)).tool_calls
        assert [row["value"] for row in shown["args"]["props"]["rows"]] == rows


@pytest.mark.parametrize(
    ("text", "expression", "told"),
    [
        ("What is 6 * 7, and draw a bar chart of apples 3, pears 5", "6 * 7", "6 * 7 = 42."),
        ("Draw a line chart of 1, 2, then what is 2 + 2?", "2 + 2", "2 + 2 = 42."),
    ],
)
async def test_a_result_is_told_before_a_component_ends_the_turn(
    text: str, expression: str, told: str
) -> None:
    question = HumanMessage(text)
    first = await answer(question)
    assert [call["name"] for call in first.tool_calls] == [CALCULATOR]
    done = result(first, {"expression": expression, "value": 42})
    second = await answer(question, first, done)
    assert second.text == f"{told} Here it is."
    assert [call["name"] for call in second.tool_calls] == [RENDER]


async def test_a_question_and_a_component_are_asked_in_one_message() -> None:
    calls = await calls_for("Let me choose between a and b, and draw a line chart of 1, 2, 3")
    assert [name for name, _ in calls] == [SELECT, RENDER]


async def test_the_next_message_can_point_back_at_what_was_found_and_shown() -> None:
    question = HumanMessage("Multiply 6 by 7")
    call = await answer(question)
    thread = [question, call, result(call, {"product": 42}), AIMessage("6 \u00d7 7 = 42.")]
    card = HumanMessage("Show it as a metric card")
    shown = await answer(*thread, card)
    args = shown.tool_calls[0]["args"]
    assert args["props"]["cards"] == [{"label": "6 \u00d7 7", "value": 42}]
    thread += [card, shown, result(shown, args)]
    again = await answer(*thread, HumanMessage("Show it in a table"))
    assert again.tool_calls[0]["args"]["props"]["rows"] == [{"name": "6 \u00d7 7", "value": 42}]
    told = await answer(*thread, HumanMessage("What did you show?"))
    assert told.text == "I showed you this: metric cards."


async def test_a_failed_call_is_told_and_not_tried_again() -> None:
    question = HumanMessage("What is 1 / 0, then multiply the result by 2")
    call = await answer(question)
    message = await answer(question, call, failure(call, "Division by zero."))
    assert message.text == "`calculator` did not work: Division by zero."
    assert not message.tool_calls


async def test_nothing_is_shown_of_a_failed_call() -> None:
    question = HumanMessage("What is 1 / 0? Show an alert saying the result is in")
    call = await answer(question)
    message = await answer(question, call, failure(call, "Division by zero."))
    assert not message.tool_calls


async def test_a_clause_that_points_back_waits_for_the_result() -> None:
    question = HumanMessage("Multiply 6 by 7 and add 3 to it, and what time is it in Oslo?")
    first = await answer(question)
    assert [call["name"] for call in first.tool_calls] == [MULTIPLY]
    second = await answer(question, first, result(first, {"product": 42}))
    assert [call["args"] for call in second.tool_calls] == [
        {"expression": "42 + 3"},
        {"timezone": "Europe/Oslo"},
    ]


async def test_a_step_that_needs_nothing_from_a_failed_one_is_still_taken() -> None:
    question = HumanMessage("What is 1 / 0, then what is 2 + 2")
    call = await answer(question)
    message = await answer(question, call, failure(call, "Division by zero."))
    assert "Division by zero." in message.text
    assert [call["args"] for call in message.tool_calls] == [{"expression": "2 + 2"}]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ({"value": "Sat"}, "You chose Sat."),
        ({"values": ["ham", "basil", "olives"]}, "You chose ham, basil and olives."),
        ({"values": []}, "You chose nothing."),
        ({"date": "2026-01-05"}, "You chose 2026-01-05."),
        ({"start": "2026-01-05", "end": "2026-01-09"}, "You chose 2026-01-05 to 2026-01-09."),
        ({"cancelled": True}, "You chose nothing, which is fine too."),
        (
            {"error": {"code": "cancelled", "message": "Nobody answered."}},
            "The question was left unanswered, so I go on without it.",
        ),
    ],
)
async def test_a_selection_is_answered_in_words(content: dict[str, Any], text: str) -> None:
    question = HumanMessage("Let me choose between Fri and Sat")
    call = await answer(question)
    message = await answer(question, call, result(call, content))
    assert (message.text, message.tool_calls) == (text, [])


async def test_the_turn_goes_on_with_what_was_chosen() -> None:
    question = HumanMessage(
        "Let me choose between Tokyo and Paris, then tell me the time in my choice"
    )
    call = await answer(question)
    message = await answer(question, call, result(call, {"value": "Paris"}))
    assert message.text.startswith("You chose Paris.")
    assert [call["args"] for call in message.tool_calls] == [{"timezone": "Europe/Paris"}]


async def test_an_answer_that_came_with_a_message_is_acknowledged() -> None:
    call = await answer(HumanMessage("Let me choose between Fri and Sat"))
    chosen = result(call, {"value": "Sat"})
    message = await answer(HumanMessage("x"), call, chosen, HumanMessage("What is 2 + 2?"))
    assert message.text == "You chose Sat. Let me work that out."
    assert [call["name"] for call in message.tool_calls] == [CALCULATOR]


async def test_a_result_beside_a_question_is_told_with_the_next_message() -> None:
    question = HumanMessage("What is 6 * 7, and let me choose between Fri and Sat")
    calls = await answer(question)
    assert [call["name"] for call in calls.tool_calls] == [CALCULATOR, SELECT]
    done = result(calls, {"expression": "6 * 7", "value": 42})
    chosen = result(calls, {"value": "Sat"}, 1)
    message = await answer(question, calls, done, chosen, HumanMessage("Thanks!"))
    assert message.text == "6 * 7 = 42. You chose Sat. You are welcome."


async def test_a_question_typed_past_is_not_spoken_of() -> None:
    call = await answer(HumanMessage("Let me choose between Fri and Sat"))
    closed = failure(call, "The call was left unanswered.")
    message = await answer(HumanMessage("x"), call, closed, HumanMessage("What is 2 + 2?"))
    assert message.text == "Let me work that out."

"""Which words lead the offline model to which calls, or to plain talk."""

from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
)

from tests.support.offline_model import (
    CALCULATOR,
    MULTIPLY,
    RENDER,
    SELECT,
    TIME,
    TOOLS,
    UNITS,
    answer,
    assert_valid,
    calls_for,
    roll_dice,
    stream,
)
from turnstream.tools.calculator import multiply
from turnstream.tools.clock import get_current_time


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("What is 17 * 23", [(CALCULATOR, {"expression": "17 * 23"})]),
        ("(2+3)^4", [(CALCULATOR, {"expression": "(2+3)^4"})]),
        ("sqrt(2)", [(CALCULATOR, {"expression": "sqrt(2)"})]),
        ("12% of 80", [(CALCULATOR, {"expression": "12 / 100 * 80"})]),
        ("What is 17 x 23 plus 2?", [(CALCULATOR, {"expression": "17 * 23 + 2"})]),
        ("Calculate max(3, 4) * 2", [(CALCULATOR, {"expression": "max(3, 4) * 2"})]),
        ("Multiply 6 by -7.5", [(MULTIPLY, {"a": 6, "b": -7.5})]),
        ("what is 6 times 7?", [(MULTIPLY, {"a": 6, "b": 7})]),
        ("What time is it in New York?", [(TIME, {"timezone": "America/New_York"})]),
        (
            "what time is it in San Francisco, Beijing and india",
            [
                (TIME, {"timezone": "America/Los_Angeles"}),
                (TIME, {"timezone": "Asia/Shanghai"}),
                (TIME, {"timezone": "Asia/Kolkata"}),
            ],
        ),
        ("the time in Europe/Paris now", [(TIME, {"timezone": "Europe/Paris"})]),
        ("What time is it in Atlantis?", [(TIME, {"timezone": "Atlantis"})]),
        ("What time is it?", [(TIME, {"timezone": "UTC"})]),
        ("Convert 5 km to miles", [(UNITS, {"value": 5, "from_unit": "km", "to_unit": "miles"})]),
        (
            "how many miles is 10.5 km",
            [(UNITS, {"value": 10.5, "from_unit": "km", "to_unit": "miles"})],
        ),
        (
            "-40 degrees fahrenheit in celsius",
            [(UNITS, {"value": -40, "from_unit": "fahrenheit", "to_unit": "celsius"})],
        ),
        (
            "What is 2 + 2, what is 3 km in miles, and what time is it in Oslo?",
            [
                (CALCULATOR, {"expression": "2 + 2"}),
                (UNITS, {"value": 3, "from_unit": "km", "to_unit": "miles"}),
                (TIME, {"timezone": "Europe/Oslo"}),
            ],
        ),
    ],
)
async def test_questions_become_calls(text: str, calls: list[tuple[str, dict[str, Any]]]) -> None:
    assert await calls_for(text) == calls


@pytest.mark.parametrize(
    "text",
    [
        "I have 2 cats and 3 dogs.",
        "What is special on 2024-10-11?",
        "What's a graph?",
        "How do I make a table in HTML?",
        "Draw a chart of the weather",
        "Let me choose.",
        "Once upon a time",
        "",
    ],
)
async def test_other_words_call_nothing(text: str) -> None:
    message = await answer(HumanMessage(text))
    assert not message.tool_calls
    assert "OPENAI_API_KEY" in message.text


@pytest.mark.parametrize(
    ("text", "component", "props"),
    [
        (
            "Draw a line chart of 1, 4, 9, 16",
            "line_chart",
            {"x": [1, 2, 3, 4], "series": [{"name": "Value", "data": [1, 4, 9, 16]}]},
        ),
        (
            'Draw a bar chart titled "Fruit" of apples 3, pears 5',
            "bar_chart",
            {
                "title": "Fruit",
                "categories": ["apples", "pears"],
                "series": [{"name": "Value", "data": [3, 5]}],
            },
        ),
        (
            "plot sales: Q1 10, Q2 12.5",
            "line_chart",
            {"x": ["Q1", "Q2"], "series": [{"name": "Value", "data": [10, 12.5]}]},
        ),
        (
            "Show me a table of apples 3, pears 5",
            "table",
            {
                "columns": [
                    {"key": "name", "label": "Name"},
                    {"key": "value", "label": "Value", "align": "right"},
                ],
                "rows": [{"name": "apples", "value": 3}, {"name": "pears", "value": 5}],
            },
        ),
        (
            "Show metric cards for revenue 12 EUR, cost 7 EUR",
            "metric_cards",
            {
                "cards": [
                    {"label": "revenue", "value": 12, "unit": "EUR"},
                    {"label": "cost", "value": 7, "unit": "EUR"},
                ]
            },
        ),
        (
            'Show an alert saying "Save your work. Then leave."',
            "alert",
            {"message": "Save your work. Then leave.", "tone": "info"},
        ),
        (
            "Show a warning that says the disk is full",
            "alert",
            {"message": "the disk is full", "tone": "warning"},
        ),
    ],
)
async def test_what_is_to_be_shown_is_rendered(
    text: str, component: str, props: dict[str, Any]
) -> None:
    args = {"component": component, "props": props}
    assert await calls_for(text) == [(RENDER, args)]
    assert_valid(RENDER, args)


async def test_a_report_lists_the_figures_it_was_given() -> None:
    [(_, args)] = await calls_for("Write a short report of apples 3, pears 5")
    assert_valid(RENDER, args)
    assert "- **pears**: 5" in args["props"]["markdown"]


async def test_a_chart_of_nothing_is_called_a_sample() -> None:
    [(_, args)] = await calls_for("Draw a chart.")
    assert_valid(RENDER, args)
    assert args["props"]["title"] == "Sample data"


def options(*values: str) -> list[dict[str, str]]:
    return [{"value": value} for value in values]


@pytest.mark.parametrize(
    ("text", "args"),
    [
        (
            "Let me choose between red, green and blue",
            {"kind": "single", "prompt": "Choose one.", "options": options("red", "green", "blue")},
        ),
        (
            "Ask me which colour I like: red or green",
            {"kind": "single", "prompt": "Which colour?", "options": options("red", "green")},
        ),
        (
            "Ask me to pick a day: Fri or Sat",
            {"kind": "single", "prompt": "Pick a day.", "options": options("Fri", "Sat")},
        ),
        (
            "Pick two toppings: ham, basil, olives",
            {
                "kind": "multiple",
                "prompt": "Pick two toppings.",
                "options": options("ham", "basil", "olives"),
                "min_selected": 2,
                "max_selected": 2,
            },
        ),
        (
            "Let me choose several: a, b",
            {
                "kind": "multiple",
                "prompt": "Choose several.",
                "options": options("a", "b"),
                "min_selected": 1,
            },
        ),
        (
            "Let me pick up to 9: a, b, c",
            {
                "kind": "multiple",
                "prompt": "Pick up to 9.",
                "options": options("a", "b", "c"),
                "min_selected": 1,
                "max_selected": 3,
            },
        ),
        ("Help me pick a date", {"kind": "date", "prompt": "Pick a date."}),
        ("Help me pick a date range", {"kind": "date_range", "prompt": "Pick a date range."}),
        (
            "Pick a date between 2026-01-01 and 2026-01-31",
            {
                "kind": "date",
                "prompt": "Pick a date.",
                "min_date": "2026-01-01",
                "max_date": "2026-01-31",
            },
        ),
    ],
)
async def test_what_the_user_wants_to_choose_is_asked(text: str, args: dict[str, Any]) -> None:
    assert await calls_for(text) == [(SELECT, args)]
    assert_valid(SELECT, args)


@pytest.mark.parametrize(
    ("text", "args"),
    [
        ("Roll 3 dice with 20 sides", {"count": 3, "sides": 20}),
        ("Roll 2 dice", {"count": 2}),
        ('Call roll_dice with {"count": 4}', {"count": 4}),
        (
            "Use roll_dice with sides 8, count=2 and label lucky",
            {"count": 2, "sides": 8, "label": "lucky"},
        ),
    ],
)
async def test_a_tool_that_it_never_saw_is_called_by_its_name(
    text: str, args: dict[str, Any]
) -> None:
    assert await calls_for(text, tools=[*TOOLS, roll_dice]) == [("roll_dice", args)]


async def test_broken_arguments_are_sent_as_they_were_written() -> None:
    chunks = await stream(HumanMessage('Call multiply with {"a": 1, "b'))
    deltas = [delta for chunk in chunks for delta in chunk.tool_call_chunks]
    assert "".join(delta["args"] or "" for delta in deltas) == '{"a": 1, "b'


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("What is 2 + 2?", CALCULATOR),
        ("Draw a line chart of 1, 2", RENDER),
        ('Call fly_me with {"to": "the moon"}', "fly_me"),
    ],
)
async def test_what_no_bound_tool_can_do_is_said_in_words(text: str, missing: str) -> None:
    message = await answer(HumanMessage(text), tools=[get_current_time])
    assert not message.tool_calls
    assert missing in message.text
    assert "cannot" in message.text


async def test_what_can_be_done_is_done_beside_what_cannot() -> None:
    text = "What is 2 + 2, and what time is it in Oslo?"
    message = await answer(HumanMessage(text), tools=[get_current_time])
    assert [call["name"] for call in message.tool_calls] == [TIME]
    assert "calculator" in message.text


async def test_a_forbidden_tool_choice_leaves_the_tools_alone() -> None:
    message = await answer(HumanMessage("What is 2 + 2?"), tool_choice="none")
    assert not message.tool_calls


async def test_it_remembers_the_thread() -> None:
    thread = [HumanMessage("My name is Ada"), AIMessage("Nice to meet you, Ada.")]
    name = await answer(*thread, HumanMessage("What is my name?"))
    first = await answer(*thread, HumanMessage("Hi"), HumanMessage("What did I say first?"))
    last = await answer(*thread, HumanMessage("Hi"), HumanMessage("What did I just say?"))
    stranger = await answer(HumanMessage("What is my name?"))
    assert name.text == "Your name is Ada."
    assert first.text == 'First you said: "My name is Ada"'
    assert last.text == 'Before this you said: "Hi"'
    assert stranger.text == "You have not told me your name."


async def test_it_names_the_tools_that_are_bound() -> None:
    text = (await answer(HumanMessage("What can you do?"), tools=[multiply, roll_dice])).text
    assert "`multiply`" in text
    assert "`roll_dice`" in text
    assert "`calculator`" not in text


@pytest.mark.parametrize("count", [1, 7, 200])
async def test_a_text_is_as_long_as_it_was_ordered(count: int) -> None:
    text = (await answer(HumanMessage(f"Write {count} words"))).text
    assert len(text.split()) == count


async def test_an_image_is_honestly_not_seen() -> None:
    image = {"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}}
    message = await answer(HumanMessage([{"type": "text", "text": "Which animal?"}, image]))
    assert message.text.startswith("You have sent an image. I cannot look at images.")

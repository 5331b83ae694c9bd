"""The offline model on maintenance: which words plan, list and cancel visits, and what it says of
the results, also where a person decided on the call."""

import json
from datetime import date
from functools import partial
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from tests.support.offline_model import RENDER, TOOLS, answer, calls_for, result
from turnstream.graphs.approvals import CHANGED
from turnstream.graphs.execution import execute
from turnstream.graphs.limits import Limits
from turnstream.graphs.offline.coming_days import find_coming_day, needs_today
from turnstream.graphs.offline.examples import PLANNING
from turnstream.graphs.offline.history import read
from turnstream.tools.solar import SOLAR_TOOLS

ALL = [*TOOLS, *SOLAR_TOOLS]
BY_NAME = {tool.name: tool for tool in SOLAR_TOOLS}
LOGGERS = "list_loggers"
SCHEDULE, LIST, CANCEL = "schedule_maintenance", "list_maintenance", "cancel_maintenance"
TUESDAY = date(2024, 12, 31)
"""The fleet's today."""
NOW = {"status": "ok", "now": f"{TUESDAY}T23:45", "count": 13, "sites": [1, 2]}


def visit(logger: int, work: str, **rest: Any) -> tuple[str, dict[str, Any]]:
    return SCHEDULE, {"logger": f"inverter {logger}", "date": "2026-12-01", "work": work, **rest}


@pytest.mark.parametrize(
    ("words", "calls"),
    [
        (PLANNING, [visit(3, "inspection")]),
        ("Please schedule maintenance for inverter 3 on 2026-12-01", [visit(3, "service")]),
        ("I'd like to book a repair of logger 4 for 2026-12-01.", [visit(4, "repair")]),
        ("Clean the panels of inverter 12 on December 1st, 2026", [visit(12, "cleaning")]),
        ("Can you inspect inverter 7 on the first of December 2026?", [visit(7, "inspection")]),
        (
            'Schedule a repair of inverter 3, "not cleaned since 2020-01-01", on 2026-12-01',
            [visit(3, "repair", note="not cleaned since 2020-01-01")],
        ),
        (
            "Book an inspection of inverters 3, 4 and 5, 1 December 2026",
            [visit(number, "inspection") for number in (3, 4, 5)],
        ),
        (
            "Repair inverter 3 on 2026-12-01 and clean the panels of inverter 4 on 2026-12-01",
            [visit(3, "repair"), visit(4, "cleaning")],
        ),
        ("Which maintenance is planned?", [(LIST, {})]),
        ("What is planned for inverter 3?", [(LIST, {"target": "inverter 3"})]),
        ("Show the maintenance schedule of site A", [(LIST, {"target": "site A"})]),
        ("Are there any cleanings in Miami?", [(LIST, {"target": "Miami"})]),
        ("Which visits were cancelled?", [(LIST, {"state": "cancelled"})]),
        (
            "List the inspections in December 2026",
            [(LIST, {"start": "2026-12-01", "end": "2026-12-31"})],
        ),
        ("Cancel visit M-3", [(CANCEL, {"visit": "M-3"})]),
        ("please call off m-12.", [(CANCEL, {"visit": "M-12"})]),
        ("Cancel visits M-3 and M-4", [(CANCEL, {"visit": "M-3"}), (CANCEL, {"visit": "M-4"})]),
        ("Cancel the repair of inverter 3", [(LIST, {"target": "inverter 3"})]),
    ],
)
async def test_words_become_calls(words: str, calls: list[tuple[str, dict[str, Any]]]) -> None:
    assert await calls_for(words, ALL) == calls


@pytest.mark.parametrize(
    "words",
    [
        "Don't schedule an inspection of inverter 3 on 2026-12-01",
        "Did you schedule an inspection of inverter 3 on 2026-12-01?",
        "Do not cancel visit M-3",
        "Is inverter 3 clean?",
        "What services do you offer?",
        "Plan my weekend",
        "Clean up your act",
        "Which repairs does error 3105 need?",
        "Show a table of repairs 3, cleanings 5",
        "Cancel it",
    ],
)
async def test_other_words_are_left_alone(words: str) -> None:
    message = await answer(HumanMessage(words), tools=ALL)
    assert not {call["name"] for call in message.tool_calls} & {SCHEDULE, LIST, CANCEL}
    assert "I need an inverter and a day" not in message.text


@pytest.mark.parametrize("words", [PLANNING, "Which maintenance is planned?", "Cancel visit M-3"])
async def test_nothing_is_asked_of_tools_that_are_not_bound(words: str) -> None:
    message = await answer(HumanMessage(words), tools=TOOLS)
    assert message.tool_calls == []
    assert "I need an inverter and a day" not in message.text


@pytest.mark.parametrize(
    "words",
    ["Schedule an inspection of inverter 3", "Book a repair tomorrow", "Clean inverter 3"],
)
async def test_a_visit_without_an_inverter_or_a_day_is_asked_for_in_words(words: str) -> None:
    message = await answer(HumanMessage(words), tools=ALL)
    assert message.tool_calls == []
    assert message.text.endswith(f"I need an inverter and a day, as in: {PLANNING}")


@pytest.mark.parametrize(
    ("words", "day"),
    [
        ("on 2026-12-01", "2026-12-01"),
        ("on 2024-02-30", "2024-02-30"),
        ("today", "2024-12-31"),
        ("tomorrow", "2025-01-01"),
        ("the day after tomorrow", "2025-01-02"),
        ("next Tuesday", "2025-01-07"),
        ("on Wednesday", "2025-01-01"),
        ("in a week", "2025-01-07"),
        ("in two weeks", "2025-01-14"),
        ("in 10 days", "2025-01-10"),
        ("next week", "2025-01-06"),
        ("on the first of December", "2025-12-01"),
        ("on the 1st of December 2026", "2026-12-01"),
        ("on 31 December", "2024-12-31"),
        ("on December the third", "2025-12-03"),
        ("on May 5, 2027", "2027-05-05"),
        ("on 31 February", "31 February"),
        ("some day", None),
        ("it may be", None),
    ],
)
def test_days_in_words_are_the_next_ones(words: str, day: str | None) -> None:
    assert find_coming_day(words, TUESDAY) == day


@pytest.mark.parametrize(
    ("words", "day"),
    [("next Tuesday", "next Tuesday"), ("in two weeks", "in two weeks"), ("5 May", "5 May")],
)
def test_a_day_that_depends_on_an_unknown_today_stays_as_it_is_said(words: str, day: str) -> None:
    assert needs_today(words)
    assert find_coming_day(words, None) == day
    assert not needs_today(f"{words} 2026-12-01")


async def test_which_day_it_is_is_asked_first() -> None:
    words = HumanMessage("Schedule maintenance for inverter 3 next Tuesday")
    first = await answer(words, tools=ALL)
    assert [(call["name"], call["args"]) for call in first.tool_calls] == [(LOGGERS, {})]
    second = await answer(words, first, result(first, NOW), tools=ALL)
    assert [(call["name"], call["args"]) for call in second.tool_calls] == [
        (SCHEDULE, {"logger": "inverter 3", "date": "2025-01-07", "work": "service"})
    ]


@pytest.mark.parametrize(
    "words", [PLANNING, "Which maintenance is planned?", 'Clean inverter 3 on 2026-12-01 "today"']
)
async def test_which_day_it_is_is_not_asked_without_need(words: str) -> None:
    assert LOGGERS not in [name for name, _ in await calls_for(words, ALL)]


async def told(words: str) -> AIMessage:
    """What the model says of what the tools themselves answer."""
    question = HumanMessage(words)
    calls = await answer(question, tools=ALL)
    results = [
        await execute(call, partial(BY_NAME[call["name"]].ainvoke, call), Limits())
        for call in calls.tool_calls
    ]
    return await answer(question, calls, *results, tools=ALL)


async def test_what_was_done_is_told_in_sentences() -> None:
    assert (await told("Which maintenance is planned?")).text == "No visit is planned."
    assert (await told(PLANNING)).text == (
        "The inspection of Inverter 3 on 2026-12-01 is planned as visit M-1. "
        'To call it off, say "Cancel visit M-1".'
    )
    assert "is planned already: M-1, " in (await told(PLANNING)).text
    listed = await told("Which maintenance is planned for inverter 3?")
    assert listed.text.startswith(
        "1 visit is planned for Inverter 3: M-1, inspection of Inverter 3 on 2026-12-01."
    )
    assert [(call["name"], call["args"]["component"]) for call in listed.tool_calls] == [
        (RENDER, "table")
    ]
    assert (await told("Cancel visit M-1")).text == (
        "Visit M-1, the inspection of Inverter 3 on 2026-12-01, is cancelled."
    )
    assert "is cancelled already" in (await told("Cancel visit M-1")).text


async def test_of_many_visits_the_first_are_named() -> None:
    for day in range(1, 6):
        await told(f"Clean inverter 3 on 2026-12-0{day}")
    text = (await told("Which maintenance is planned?")).text
    assert text.startswith("5 visits are planned: M-1, cleaning of Inverter 3 on 2026-12-01; ")
    assert text.endswith("M-3, cleaning of Inverter 3 on 2026-12-03; and 2 more. Here it is.")


# what a person decided


async def after(content: Any, words: str = PLANNING, tools: Any = ALL) -> AIMessage:
    question = HumanMessage(words)
    call = await answer(question, tools=tools)
    return await answer(question, call, result(call, content), tools=tools)


@pytest.mark.parametrize(
    ("words", "error", "said"),
    [
        (
            PLANNING,
            {"message": "A person declined this call: the crew is on holiday."},
            "Nothing was scheduled. A person declined this call: the crew is on holiday.",
        ),
        (PLANNING, {}, "Nothing was scheduled. A person declined it."),
        (
            "Cancel visit M-3",
            {"message": "A person declined this call."},
            "Nothing was cancelled. A person declined this call.",
        ),
        (
            "Multiply 6 by 7",
            {"message": "A person declined this call."},
            "`multiply` was not called. A person declined this call.",
        ),
    ],
)
async def test_a_call_that_was_declined_is_told_with_its_reason_and_not_made_again(
    words: str, error: dict[str, str], said: str
) -> None:
    message = await after({"error": {"code": "declined", **error}}, words)
    assert (message.text, message.tool_calls) == (said, [])


PLANNED = {
    "status": "ok",
    "now": "2024-12-31T23:45",
    "visit": {"id": "M-1", "logger": "Inverter 4", "work": "inspection", "date": "2026-12-02"},
}


def changed(arguments: Any, content: Any) -> str:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return f"{CHANGED}{text}.\n{json.dumps(content)}"


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ({"logger": 4, "date": "2026-12-02", "work": "inspection"}, "logger and date"),
        ({**visit(3, "inspection")[1], "note": "Ring. the\nbell."}, "note"),
        (visit(3, "inspection")[1], "arguments"),
    ],
)
async def test_arguments_that_a_person_changed_are_mentioned_beside_the_result(
    arguments: dict[str, Any], what: str
) -> None:
    message = await after(changed(arguments, PLANNED))
    assert message.text == (
        "The inspection of Inverter 4 on 2026-12-02 is planned as visit M-1. "
        'To call it off, say "Cancel visit M-1". '
        f"A person changed the {what} of this call before it ran."
    )


async def test_a_failure_after_a_change_is_a_failure() -> None:
    error = {"error": {"code": "tool_error", "message": "There is no such inverter."}}
    message = await after(changed({**visit(3, "inspection")[1], "logger": 99}, error))
    assert message.text == (
        "`schedule_maintenance` did not work: There is no such inverter. "
        "A person changed the logger of this call before it ran."
    )


async def test_a_changed_result_is_built_on_and_shown() -> None:
    question = HumanMessage("Multiply 6 by 7, then add 2 to it")
    first = await answer(question)
    text = changed({"a": 6, "b": 8}, {"product": 48})
    second = await answer(question, first, result(first, text))
    assert [call["args"] for call in second.tool_calls] == [{"expression": "48 + 2"}]


@pytest.mark.parametrize("arguments", ["{", "[1]", "nothing", ""])
async def test_a_line_that_has_no_arguments_is_part_of_the_result(arguments: str) -> None:
    message = await after(changed(arguments, PLANNED))
    assert CHANGED in message.text
    assert "before it ran" not in message.text


def test_a_result_keeps_its_points_behind_the_line() -> None:
    call = {"id": "call_1", "name": LIST, "args": {}}
    offer = {"data_from": "call_1", "draws": ["table"], "count": 1}
    messages = [
        HumanMessage("Go"),
        AIMessage("", tool_calls=[call]),
        ToolMessage(changed({"state": "all"}, offer), name=LIST, tool_call_id="call_1"),
    ]
    [[found]] = read(messages).steps
    assert (found.draws, found.content, found.changed) == (
        ("table",),
        {"count": 1},
        {"state": "all"},
    )

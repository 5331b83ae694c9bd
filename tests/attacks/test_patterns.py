"""No text costs more than its size: regular expressions, and what the offline model makes of it."""

import re
from collections import deque
from collections.abc import Callable
from pathlib import Path
from re import Pattern
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from tests.support.growth import fault_of_growth, is_suspicious
from tests.support.offline_model import BY_NAME
from tests.support.patterns import (
    MAX_TEXTS,
    Pumped,
    held_patterns,
    worst_texts,
)
from tests.support.samples import sample
from turnstream.graphs.offline.ask import Facts
from turnstream.graphs.offline.clauses import points_back, resolve, steps
from turnstream.graphs.offline.history import Turn
from turnstream.graphs.offline.intents import asks_of
from turnstream.graphs.offline.plan import plan
from turnstream.graphs.offline.series import inline_figures
from turnstream.graphs.offline.talk import talk
from turnstream.tools.builtin import CATALOGUE

PROJECT = Path(__file__).parent.parent.parent
USES: tuple[Callable[[Pattern[str], str], Any], ...] = (
    lambda pattern, text: pattern.search(text),
    lambda pattern, text: pattern.fullmatch(text),
    lambda pattern, text: deque(pattern.finditer(text), maxlen=0),
)


def fault_of(pattern: Pattern[str], texts: int) -> str | None:
    for text in worst_texts(pattern)[:texts]:
        for use in USES:

            def work(size: int, text: Pumped = text, use: Any = use) -> None:
                use(pattern, text.text(size))

            fault = fault_of_growth(work) if is_suspicious(work) else None
            if fault:
                return f"{text}: {fault}"
    return None


@pytest.mark.long
def test_every_pattern_takes_time_in_proportion_to_its_text() -> None:
    patterns = held_patterns()
    assert len(patterns) > 100
    texts = sample(MAX_TEXTS, MAX_TEXTS // 12, MAX_TEXTS // 36)
    faults = {place: fault_of(pattern, texts) for place, pattern in patterns.items()}
    assert {place: fault for place, fault in faults.items() if fault} == {}


@pytest.mark.parametrize(
    "pattern",
    [
        r"\s+$",
        r"\s*(?:,|\band\b)\s*",
        r"\bwrite\b.*?\bwords\b",
        r"“[^”]*”",
        r"min\([^()]*,[^()]*\)",
        r"it\s*[,.]*\s*$",
        r"(?:inverter|logger)s?\s*(?:no)?\s*\d",
        r"\s*[,.;:]?\s*\b(?:and\s+)?(?:(?:then|afterwards|after that)\b|next,),?\s+",
    ],
)
def test_a_pattern_that_reads_a_text_over_and_over_is_found(pattern: str) -> None:
    assert fault_of(re.compile(pattern), MAX_TEXTS)


TEXTS = [
    *(Pumped("", pump, "") for pump in (" ", "\n", "\t ", "1", ",", ", ", "and ", "( ", '"', "“")),
    *(Pumped("", pump, "x") for pump in (" ", "1 ", "1.", "1e", "1*", "**", "-1a", "it ", "?! ")),
    Pumped("draw a chart of ", "1, ", ""),
    Pumped("draw a chart of ", "apples 3 and ", "pears"),
    Pumped("draw a chart of a", " ", "b"),
    Pumped("draw", " ", "a chart"),
    Pumped("", "draw a chart ", ""),
    Pumped("", "show a as a table ", ""),
    Pumped("", "show 1, ", "as a table"),
    Pumped("what is it", " ", "x"),
    Pumped("show it", ",", "x"),
    Pumped("what is min(", ",", ""),
    Pumped("what is ", "1 + (", "1"),
    Pumped("what time is it in ", "Tokyo, ", ""),
    Pumped("what time is it in Tokyo", " ", "x"),
    Pumped("let me ", "pick ", "between a, b"),
    Pumped("let me pick between ", "a, ", ""),
    Pumped("let me pick between a", " ", "b"),
    Pumped("how many km are 3 ", "km/", ""),
    Pumped("convert ", "3 km ", "to"),
    Pumped("compare site A", " ", "."),
    Pumped("compare ", "site A and ", "B!"),
    Pumped("show the power curve of inverter", " ", "x"),
    Pumped("", "did we save ", ""),
    Pumped("schedule ", "an inspection ", "of inverter 3"),
    Pumped("", "please ", "clean"),
    Pumped("book a repair of inverters 3", ", 4", " tomorrow"),
    Pumped("", "maintenance ", ""),
    Pumped("cancel ", "M-1 ", ""),
    Pumped("", "how is the fleet ", ""),
    Pumped("", "what did I say ", ""),
    Pumped("", "write ", ""),
    Pumped("", "my name is ", ""),
    Pumped("call", " ", "1"),
    Pumped("roll ", "dice ", ""),
    Pumped("roll dice count", " ", "x"),
    Pumped("", "roll 3 dice. ", ""),
    Pumped("titled", " ", "!"),
    Pumped("", "then ", ""),
    Pumped("", "please ", ""),
]

TOOLS: dict[str, Any] = {
    **{tool["name"]: tool["parameters"] for tool in CATALOGUE.describe()},
    **BY_NAME,
    "roll_dice": {
        "properties": {
            "count": {"type": "integer"},
            "label": {"type": "string"},
            "colour": {"enum": ["red", "dark green"]},
        },
        "required": ["count"],
    },
}


def reads(text: str) -> Any:
    return plan([HumanMessage(text)], TOOLS)


def cuts(text: str) -> Any:
    return steps(text, lambda clause: bool(asks_of(clause, Facts(TOOLS))))


def answers_in_words(text: str) -> Any:
    return talk(Turn(text, said=(text,)), TOOLS)


def takes_in_a_choice(text: str) -> Any:
    call = {"id": "call_1", "name": "request_user_selection", "args": {"kind": "single"}}
    return plan(
        [
            HumanMessage("let me pick one of a, b, then show it as a card and it as a table"),
            AIMessage("", tool_calls=[call]),
            ToolMessage(f'{{"value": "{text}"}}', tool_call_id="call_1", name=call["name"]),
        ],
        TOOLS,
    )


@pytest.mark.long
@pytest.mark.parametrize("text", TEXTS, ids=lambda text: repr("".join(text)))
def test_a_message_takes_time_in_proportion_to_its_length(text: Pumped) -> None:
    whole_and_parts = [
        reads,
        cuts,
        points_back,
        inline_figures,
        answers_in_words,
        takes_in_a_choice,
    ]
    for does in whole_and_parts[: sample(len(whole_and_parts), 1)]:

        def work(size: int, does: Callable[[str], Any] = does) -> None:
            does(text.text(size))

        assert fault_of_growth(work) is None, does.__name__


def test_a_long_result_in_many_places_takes_no_more_than_its_length() -> None:
    assert resolve("show it as a table", "red") == "show red as a table"
    assert fault_of_growth(lambda size: resolve("it as " * (size // 6), "a" * size)) is None


def client_tools(size: int) -> dict[str, Any]:
    """Tools that each clause "a" names, whose schemas have so many characters altogether."""
    names = [f"p{number}" for number in range(size // 8 // 40)]
    schema = {"properties": {name: {"enum": ["x", name]} for name in names}, "required": ["b"]}
    return {f"a{number}": schema for number in range(8)}


def test_a_message_and_the_tools_that_it_names_take_no_more_than_their_length() -> None:
    def work(size: int) -> None:
        plan([HumanMessage("a. " * (size // 3))], client_tools(size * 8))

    assert fault_of_growth(work) is None


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: repr("".join(text)))
def test_the_longest_message_is_answered(text: Pumped) -> None:
    planned = reads(text.text(32_000))
    assert planned.text or planned.calls

"""The conversation of tests/data/protocol-examples as chunks and as a history: a turn with a real
tool and a UI tool, a turn that ends waiting for the user, and the answer to it."""

from pathlib import Path
from typing import Any

from turnstream.server.turns.chunks import (
    ArgsFinish,
    Chunk,
    Disposition,
    Done,
    MessageFinish,
    PartFinish,
    PartStart,
    Result,
    StepFinish,
    StepStart,
    TextDelta,
    TextPart,
    ToolCallPart,
    Usage,
)
from turnstream.server.turns.messages import AssistantTurn, Step, Text, ToolCall, Turn, UserTurn
from turnstream.server.turns.requests import TextContent

EXAMPLES = Path(__file__).parent.parent / "data" / "protocol-examples"

WEATHER = {"temp_c": -3, "sky": "clear"}
CARD = {"component": "WeatherCard", "props": {"city": "Oslo", "temp_c": -3}}
CARD_TEXT = '{"component":"WeatherCard","props":{"city":"Oslo","temp_c":-3}}'
QUESTION = {"question": "Which day?", "options": ["Fri", "Sat"]}
QUESTION_TEXT = '{"question":"Which day?","options":["Fri","Sat"]}'


def text(number: int, *deltas: str, step: str = "m1a") -> list[Chunk]:
    path = (number,)
    said = [TextDelta(step, path, delta) for delta in deltas]
    return [PartStart(step, path, TextPart()), *said, PartFinish(step, path)]


def call(
    number: int,
    part: ToolCallPart,
    deltas: list[str],
    args: Any,
    *results: Result,
    disposition: Disposition | None = None,
    step: str = "m1a",
) -> list[Chunk]:
    """`disposition`: the final one; None: what the part lets expect."""
    path = (number,)
    said = [TextDelta(step, path, delta) for delta in deltas]
    finish = ArgsFinish(step, path, args, disposition or part.disposition)
    return [PartStart(step, path, part), *said, finish, *results, PartFinish(step, path)]


def ending(reason: Any, usage: Usage) -> list[Chunk]:
    return [MessageFinish(reason, usage), Done()]


T1: list[Chunk] = [
    StepStart("m1", "m1a"),
    *text(0, "Let me ", "look."),
    *call(
        1,
        ToolCallPart("call_1", "get_weather"),
        ['{"city":', '"Oslo"}'],
        {"city": "Oslo"},
        Result("m1a", (1,), WEATHER, "result", "r1"),
    ),
    StepFinish("m1a", "tool-calls", Usage(20, 9)),
    StepStart("m1", "m1b"),
    *text(2, "It is -3 °C and clear.", step="m1b"),
    *call(
        3,
        ToolCallPart("call_2", "render_ui_component", "shown"),
        [CARD_TEXT],
        CARD,
        Result("m1b", (3,), CARD, "shown", "r2"),
        step="m1b",
    ),
    StepFinish("m1b", "stop", Usage(45, 21)),
    *ending("stop", Usage(65, 30)),
]
T2: list[Chunk] = [
    StepStart("m2", "m2a"),
    *call(
        0,
        ToolCallPart("call_3", "request_user_selection", "client"),
        [QUESTION_TEXT],
        QUESTION,
        step="m2a",
    ),
    StepFinish("m2a", "tool-calls", Usage(30, 8)),
    *ending("tool-calls", Usage(30, 8)),
]
T3: list[Chunk] = [
    StepStart("m2", "m2b"),
    *text(0, "Saturday it is.", step="m2b"),
    StepFinish("m2b", "stop", Usage(40, 5)),
    *ending("stop", Usage(40, 5)),
]

U1 = UserTurn("u1", (TextContent("Weather in Oslo?"),))
M1 = AssistantTurn(
    "m1",
    (
        Step(
            "m1a",
            (
                Text("Let me look."),
                ToolCall(
                    "call_1",
                    "get_weather",
                    '{"city":"Oslo"}',
                    {"city": "Oslo"},
                    end="result",
                    result=WEATHER,
                    result_id="r1",
                ),
            ),
            "tool-calls",
            Usage(20, 9),
        ),
        Step(
            "m1b",
            (
                Text("It is -3 °C and clear."),
                ToolCall(
                    "call_2",
                    "render_ui_component",
                    CARD_TEXT,
                    CARD,
                    "shown",
                    end="shown",
                    result=CARD,
                    result_id="r2",
                ),
            ),
            "stop",
            Usage(45, 21),
        ),
    ),
    "stop",
)
U2 = UserTurn("u2", (TextContent("Book a trip."),))


def asked(**answer: Any) -> Step:
    question = ToolCall(
        "call_3", "request_user_selection", QUESTION_TEXT, QUESTION, disposition="client", **answer
    )
    return Step("m2a", (question,), "tool-calls", Usage(30, 8))


M2_PENDING = AssistantTurn("m2", (asked(),), "tool-calls")
M2_ANSWERED = AssistantTurn("m2", (asked(end="result", result="Sat", result_id="r3"),))
M2 = AssistantTurn(
    "m2",
    (*M2_ANSWERED.steps, Step("m2b", (Text("Saturday it is."),), "stop", Usage(40, 5))),
    "stop",
)

RUNS: dict[str, tuple[str, tuple[Turn, ...], list[Chunk]]] = {
    "t1": ("m1", (U1,), T1),
    "t2": ("m2", (U1, M1, U2), T2),
    "t3": ("m2", (U1, M1, U2, M2_ANSWERED), T3),
}
"""A run: its message, the thread when it starts, its chunks."""

AFTER: dict[str, tuple[Turn, ...]] = {
    "t1": (U1, M1),
    "t2": (U1, M1, U2, M2_PENDING),
    "t3": (U1, M1, U2, M2),
}
"""The thread when the run has ended."""

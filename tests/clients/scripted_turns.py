"""Turns of one request: what the model is scripted to say, and what every client has to hold."""

from dataclasses import dataclass, field
from typing import Any

from tests.support.endpoint import CloseClean, Say, call_reply, reply, text_reply
from tests.support.endpoint.script import Args, Call, Scripted
from tests.support.sample_tools import REFUSAL

QUESTION = '{"kind":"single","prompt":"Which day?","options":[{"value":"fri"},{"value":"sat"}]}'
ASKED = {
    "kind": "single",
    "prompt": "Which day?",
    "options": [{"value": "fri"}, {"value": "sat"}],
}
ALERT = '{"component":"alert","props":{"message":"High tide"}}'
SHOWN = {"component": "alert", "props": {"message": "High tide"}}
MALFORMED = "The arguments were not one whole JSON object. Call again with valid JSON."

PENDING = "pending"
Part = dict[str, Any]


def text(words: str) -> Part:
    return {"text": words}


def call(name: str, args: Any, result: Any) -> Part:
    """`args` is None when their text is no JSON object; `result` may be `PENDING`."""
    return {"tool": name, "args": args, "result": result}


def failure(sentence: str) -> Part:
    return {"error": sentence}


@dataclass(frozen=True)
class Turn:
    name: str
    replies: tuple[Scripted, ...]
    parts: list[Part]
    finish: str = "stop"
    errors: list[str] = field(default_factory=list)
    tool_timeout_seconds: float = 10


TURNS = [
    Turn("text", (text_reply("The tide is high."),), [text("The tide is high.")]),
    Turn(
        "steps",
        (
            reply(
                Say("Let me "),
                Say("add."),
                Call(0, "call_1", "add", '{"a":'),
                Args(0, "1,"),
                Args(0, '"b":2}'),
            ),
            call_reply(("add", '{"a":3,"b":4}'), ids=("call_2",)),
            text_reply("Three and seven."),
        ),
        [
            text("Let me add."),
            call("add", {"a": 1, "b": 2}, {"sum": 3}),
            call("add", {"a": 3, "b": 4}, {"sum": 7}),
            text("Three and seven."),
        ],
    ),
    Turn(
        "parallel calls",
        (
            reply(
                Call(0, "call_1", "add", '{"a":1'),
                Call(1, "call_2", "add", '{"a":10'),
                Args(0, ',"b":2}'),
                Args(1, ',"b":20}'),
            ),
            text_reply("Both."),
        ),
        [
            call("add", {"a": 1, "b": 2}, {"sum": 3}),
            call("add", {"a": 10, "b": 20}, {"sum": 30}),
            text("Both."),
        ],
    ),
    Turn(
        "malformed arguments",
        (
            call_reply(("add", '{"a":1,"b"'), ids=("call_1",)),
            call_reply(("add", '{"a":1,"b":2}'), ids=("call_2",)),
            text_reply("At last."),
        ),
        [
            call(
                "add",
                None,
                failure(
                    "The arguments were not one whole JSON object. Call again with valid JSON."
                ),
            ),
            call("add", {"a": 1, "b": 2}, {"sum": 3}),
            text("At last."),
        ],
    ),
    Turn(
        "tool error",
        (call_reply(("find_bridge", '{"name":"Tower"}'), ids=("call_1",)), text_reply("None.")),
        [call("find_bridge", {"name": "Tower"}, failure(REFUSAL)), text("None.")],
    ),
    Turn(
        "timeout",
        (call_reply(("hang", ""), ids=("call_1",)), text_reply("Too slow.")),
        [
            call("hang", {}, failure("The tool did not finish within 0.1 seconds.")),
            text("Too slow."),
        ],
        tool_timeout_seconds=0.1,
    ),
    Turn(
        "render",
        (call_reply(("render_ui_component", ALERT), ids=("call_1",)),),
        [call("render_ui_component", SHOWN, SHOWN)],
    ),
    Turn(
        "selection",
        (call_reply(("request_user_selection", QUESTION), ids=("call_1",)),),
        [call("request_user_selection", ASKED, PENDING)],
        finish="tool-calls",
    ),
    Turn(
        "mixed",
        (
            call_reply(
                ("add", '{"a":1,"b":2}'),
                ("render_ui_component", ALERT),
                ("request_user_selection", QUESTION),
                ids=("call_1", "call_2", "call_3"),
            ),
        ),
        [
            call("add", {"a": 1, "b": 2}, {"sum": 3}),
            call("render_ui_component", SHOWN, SHOWN),
            call("request_user_selection", ASKED, PENDING),
        ],
        finish="tool-calls",
    ),
    Turn(
        "model error",
        (reply(Say("The tide "), CloseClean()),),
        [text("The tide ")],
        finish="error",
        errors=["The model could not be reached, or broke off. Try again."],
    ),
]

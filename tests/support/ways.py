"""Every way to leave a turn, as a script of the strict endpoint."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from tests.support.endpoint import (
    Args,
    Break,
    Call,
    CloseClean,
    Cut,
    Fail,
    Finish,
    Pause,
    Say,
    call_reply,
    failures,
    reply,
    text_reply,
)
from tests.support.endpoint.script import Scripted
from tests.support.run_chunks import ALERT, COMPONENT, QUESTION, SELECTION

NO_RETRY = {"x-should-retry": "false"}
CALCULATION = ("calculator", '{"expression":"17 * 23"}')
HELLO = "Hello from the endpoint."


@dataclass(frozen=True)
class Way:
    """A way to leave a turn: what the model does, and how the turn ends."""

    script: tuple[Scripted, ...]
    finish: str
    error: str | None = None
    call_errors: tuple[str, ...] = ()
    text: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)


WAYS = {
    "an answer": Way((text_reply("It is so."),), "stop", text="It is so."),
    "an ignored question": Way((call_reply((SELECTION, QUESTION)),), "tool-calls"),
    "a component": Way((call_reply((COMPONENT, ALERT)),), "stop"),
    "a question beside a tool": Way(
        (call_reply((SELECTION, QUESTION), CALCULATION),), "tool-calls"
    ),
    "malformed arguments": Way(
        (call_reply(("calculator", "{bad")),), "stop", call_errors=("invalid_json",), text=HELLO
    ),
    "malformed arguments beside a question": Way(
        (call_reply((SELECTION, QUESTION), ("calculator", "{bad")),),
        "tool-calls",
        call_errors=("invalid_json",),
    ),
    "truncated arguments": Way(
        (reply(Call(0, "c1", "calculator", '{"expression": "1'), Finish("length")),),
        "stop",
        call_errors=("invalid_json",),
        text=HELLO,
    ),
    "arguments that do not fit": Way(
        (call_reply(("calculator", '{"formula":"1"}')),),
        "stop",
        call_errors=("invalid_arguments",),
        text=HELLO,
    ),
    "a tool that refuses": Way(
        (call_reply(("calculator", '{"expression":"1/0"}')),),
        "stop",
        call_errors=("tool_error",),
        text=HELLO,
    ),
    "a tool that takes too long": Way(
        (call_reply(CALCULATION),),
        "stop",
        call_errors=("tool_timeout",),
        text=HELLO,
        settings={"tool_timeout_seconds": 1e-9},
    ),
    "a tool that is not there": Way(
        (call_reply(("get current time", "{}")),),
        "stop",
        call_errors=("unknown_tool",),
        text=HELLO,
    ),
    "no call ids": Way((reply(Call(0, None, *CALCULATION)),), "stop", text=HELLO),
    "the same call id twice": Way(
        (call_reply(CALCULATION, CALCULATION, ids=("call_0", "call_0")),), "stop", text=HELLO
    ),
    "an error before the first word": Way(
        (Fail(500, "The server had an error.", headers=NO_RETRY),), "error", "model_unavailable"
    ),
    "an error in mid-text": Way(
        (reply(Say("Well, "), Break()),), "error", "model_unavailable", text="Well, "
    ),
    "an error in mid-arguments": Way(
        (reply(Call(0, "c1", "calculator"), Args(0, '{"expr'), Break()),),
        "error",
        "model_unavailable",
        call_errors=("run_failed",),
    ),
    "an error after a question": Way(
        (reply(Call(0, "c1", SELECTION, QUESTION), Break()),),
        "error",
        "model_unavailable",
        call_errors=("run_failed",),
    ),
    "an error after a tool": Way(
        (call_reply(CALCULATION), Fail(500, "It broke.", headers=NO_RETRY)),
        "error",
        "model_unavailable",
    ),
    "a connection that is cut": Way(
        (reply(Say("Well, "), Cut()),), "error", "model_unavailable", text="Well, "
    ),
    "a stream that ends without a finish reason": Way(
        (reply(Say("Well, "), CloseClean()),), "error", "model_unavailable", text="Well, "
    ),
    "a stream without anything": Way((reply(CloseClean()),), "error", "model_unavailable"),
    "arguments without a finish reason": Way(
        (reply(Call(0, "c1", *CALCULATION), CloseClean()),),
        "error",
        "model_unavailable",
        call_errors=("run_failed",),
    ),
    "content that is filtered": Way(
        (reply(Say("Well, "), Finish("content_filter")),), "content-filter", text="Well, "
    ),
    "content that is filtered at once": Way((reply(Finish("content_filter")),), "content-filter"),
    "a prompt that is filtered": Way((failures.CONTENT_FILTERED,), "error", "content_filter"),
    "an answer that is too long": Way(
        (reply(Say("Well, "), Finish("length")),), "length", text="Well, "
    ),
    "an answer without words": Way((reply(Finish("stop")),), "other", text=""),
    "a rate limit": Way((failures.rate_limited(0),) * 3, "error", "model_rate_limited"),
    "a key that is refused": Way((failures.UNAUTHORIZED,), "error", "model_unauthorized"),
    "a model that is not there": Way((failures.MODEL_NOT_FOUND,), "error", "model_not_found"),
    "a context that is too long": Way(
        (failures.CONTEXT_LENGTH_EXCEEDED,), "error", "context_too_long"
    ),
    "too many steps": Way(
        (call_reply(CALCULATION), call_reply(("calculator", '{"expression":"2"}'))),
        "other",
        settings={"max_steps": 2},
    ),
    "too many identical calls": Way(
        (call_reply(CALCULATION), call_reply(CALCULATION)),
        "other",
        call_errors=("limit_reached",),
        settings={"max_identical_calls": 1},
    ),
    "too much time": Way(
        (reply(Say("Well, "), Pause(asyncio.Event())),),
        "other",
        text="Well, ",
        settings={"max_run_seconds": 1.5},
    ),
}

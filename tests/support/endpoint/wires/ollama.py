"""Ollama's /api/chat: JSON objects, a line each.

https://docs.ollama.com/api/chat. Calls come whole; one whose arguments are no JSON object is an
error in the place of the rest.
"""

import base64
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from tests.support.endpoint.refusal import Body, Refusal
from tests.support.endpoint.script import Break, Call, Delta, Fail, Finish, Reply, Say, Step, Think
from tests.support.endpoint.wires.seals import Seals
from tests.support.endpoint.wires.wire import args_of, dumps, usage_of, whole_calls

KEYS = {"role", "content", "images", "tool_calls", "tool_name", "tool_call_id", "thinking"}
ROLES = ("system", "user", "assistant", "tool")
THINK = (None, True, False, "low", "medium", "high")


class OllamaAnswer:
    content_type: ClassVar[str] = "application/x-ndjson"

    def __init__(self, body: Body, seals: Seals, number: int) -> None:
        del seals, number
        self._model = body.get("model")
        self._thinks = bool(body.get("think"))

    @staticmethod
    def refusal(body: Body, seals: Seals) -> Refusal | None:
        del seals
        return next(_faults(body), None)

    @staticmethod
    def failure(failure: Fail | Refusal) -> tuple[int, Mapping[str, Any]]:
        status = 400 if isinstance(failure, Refusal) else failure.status
        return status, {"error": failure.message}

    def steps(self, reply: Reply) -> tuple[Step, ...]:
        steps: list[Step] = []
        for step in whole_calls(reply):
            if isinstance(step, Call) and args_of(step) is None:
                return (*steps, Break("error parsing tool call: invalid character"))
            steps.append(step)
        return tuple(steps)

    def delta(self, step: Delta) -> bytes:
        match step:
            case Say(text):
                return self._line({"content": text})
            case Think(text):
                return self._line({"content": "", "thinking": text}) if self._thinks else b""
            case Call(name=name):
                function = {"name": name or "", "arguments": args_of(step)}
                return self._line({"content": "", "tool_calls": [{"function": function}]})
        return b""

    def finish(self, step: Finish, reply: Reply) -> bytes:
        usage = usage_of(step)
        reason = "length" if (step.reason or reply.finish_reason) == "length" else "stop"
        counts = {"prompt_eval_count": usage.prompt_tokens, "eval_count": usage.completion_tokens}
        return self._line({"content": ""}, done=True, done_reason=reason, **counts)

    @property
    def done(self) -> bytes:
        return b""

    def broken(self, step: Break) -> bytes:
        return dumps({"error": step.message}) + b"\n"

    def _line(self, message: Mapping[str, Any], *, done: bool = False, **end: Any) -> bytes:
        value = {
            "model": self._model,
            "created_at": "2026-11-23T00:00:00Z",
            "message": {"role": "assistant", **message},
            "done": done,
            **end,
        }
        return dumps(value) + b"\n"


def _faults(body: Body) -> Iterator[Refusal]:
    if not isinstance(body.get("model"), str) or not body["model"]:
        yield Refusal("model is required")
    if body.get("think") not in THINK:
        yield Refusal('think must be a boolean or string ("high", "medium", "low", true, or false)')
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        yield Refusal("messages must not be empty")
        return
    pending = 0
    for message in messages:
        yield from _message_faults(message)
        if message["role"] == "tool":
            pending -= 1
            if pending < 0:
                yield Refusal("a tool message answers no call")
        elif pending > 0:
            yield Refusal(f"{pending} tool calls have no answer")
        else:
            pending = len(message.get("tool_calls") or [])
    if pending > 0:
        yield Refusal(f"{pending} tool calls have no answer")


def _message_faults(message: Any) -> Iterator[Refusal]:
    if message.keys() - KEYS:
        yield Refusal(f"unknown keys: {message.keys() - KEYS}")
    if message.get("role") not in ROLES:
        yield Refusal(f"invalid role: {message.get('role')!r}")
    if not isinstance(message.get("content", ""), str):  # the client leaves out an empty one
        yield Refusal("content is a string")
    if not isinstance(message.get("thinking", ""), str):
        yield Refusal("thinking is a string")
    for call in message.get("tool_calls") or []:
        if not isinstance(call["function"]["arguments"], dict):
            yield Refusal("arguments are an object")
    for image in message.get("images") or []:
        try:
            base64.b64decode(image, validate=True)
        except ValueError:
            yield Refusal("illegal base64 data")

"""A reply as JSON objects, a line each.

Calls come whole; one whose arguments are no JSON object is an error in the place of the rest.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from tests.support.endpoint.refusal import Refusal
from tests.support.endpoint.script import Break, Call, Delta, Fail, Finish, Reply, Say, Step, Think
from tests.support.endpoint.wires.asked import Asked
from tests.support.endpoint.wires.ollama import rules
from tests.support.endpoint.wires.wire import args_of, dumps, usage_of, whole_calls


class OllamaAnswer:
    content_type: ClassVar[str] = "application/x-ndjson"

    def __init__(self, asked: Asked, number: int) -> None:
        del number
        self._body = asked.body

    @staticmethod
    def refusal(asked: Asked) -> Refusal | None:
        return rules.refusal(asked)

    @staticmethod
    def failure(failure: Fail | Refusal) -> tuple[int, Mapping[str, Any]]:
        return failure.status, {"error": failure.message}

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
                return (
                    self._line({"content": "", "thinking": text})
                    if self._body.get("think")
                    else b""
                )
            case Call(name=name):
                function = {"name": name or "", "arguments": args_of(step)}
                return self._line({"content": "", "tool_calls": [{"function": function}]})
        return b""

    def finish(self, step: Finish, reply: Reply) -> bytes:
        usage = usage_of(reply, self._body)
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
            "model": self._body["model"],
            "created_at": "2026-11-23T00:00:00Z",
            "message": {"role": "assistant", **message},
            "done": done,
            **end,
        }
        return dumps(value) + b"\n"

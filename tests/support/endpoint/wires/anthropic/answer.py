"""A reply as the events of the Messages API.

    message_start ping (content_block_start delta* content_block_stop)* message_delta message_stop

Text, thinking and each call are blocks; thinking is signed where its block ends.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from tests.support.endpoint.refusal import Refusal
from tests.support.endpoint.script import (
    Args,
    Break,
    Call,
    Delta,
    Fail,
    Finish,
    Reply,
    Say,
    Step,
    Think,
    Usage,
)
from tests.support.endpoint.wires.anthropic import rules
from tests.support.endpoint.wires.asked import Asked
from tests.support.endpoint.wires.wire import dumps, grouped, usage_of

REASONS = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
}
TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}


class AnthropicAnswer:
    content_type: ClassVar[str] = "text/event-stream; charset=utf-8"

    def __init__(self, asked: Asked, number: int) -> None:
        self._body, self._seals, self._number = asked.body, asked.seals, number
        self._usage = Usage(0, 0)
        self._begun = False
        self._index = -1
        self._open = ""
        self._thought = ""

    @staticmethod
    def refusal(asked: Asked) -> Refusal | None:
        return rules.refusal(asked)

    @staticmethod
    def failure(failure: Fail | Refusal) -> tuple[int, Mapping[str, Any]]:
        if isinstance(failure, Refusal):
            return failure.status, _error(failure.status, failure.message)
        if failure.code == "context_length_exceeded":
            return 400, _error(400, "prompt is too long: 208310 tokens > 200000 maximum")
        if failure.code == "content_filter":
            return 400, _error(400, "Output blocked by content filtering policy")
        status = 529 if failure.status == 503 else failure.status
        return status, _error(status, failure.message)

    def steps(self, reply: Reply) -> tuple[Step, ...]:
        self._usage = usage_of(reply, self._body)
        return grouped(reply)

    def delta(self, step: Delta) -> bytes:
        match step:
            case Say(text):
                opened = self._block("text", {"type": "text", "text": ""})
                return opened + self._delta({"type": "text_delta", "text": text})
            case Think(text):
                opened = self._block(
                    "thinking", {"type": "thinking", "thinking": "", "signature": ""}
                )
                self._thought += text
                return opened + self._delta({"type": "thinking_delta", "thinking": text})
            case Call(index, id, name, args):
                id = id or f"toolu_{self._number}_{index}"
                use = {"type": "tool_use", "id": id, "name": name or ""}
                return self._block(f"call {index}", {**use, "input": {}}) + self._args(args)
            case Args(_, fragment):
                return self._args(fragment)
        return self._start()

    def finish(self, step: Finish, reply: Reply) -> bytes:
        reason = REASONS[step.reason or reply.finish_reason]
        last = {"stop_reason": reason, "stop_sequence": None}
        return (
            self._start()
            + self._close()
            + _event(
                {
                    "type": "message_delta",
                    "delta": last,
                    "usage": self._counts(self._usage.completion_tokens),
                }
            )
            + _event({"type": "message_stop"})
        )

    @property
    def done(self) -> bytes:
        return b""

    def broken(self, step: Break) -> bytes:
        return self._start() + _event(_error(529, step.message))

    def _counts(self, output_tokens: int) -> dict[str, Any]:
        """The API leaves what was read from the cache out of `input_tokens`."""
        usage = self._usage
        counts: dict[str, Any] = {
            "input_tokens": usage.prompt_tokens - usage.cached_tokens,
            "output_tokens": output_tokens,
            "cache_read_input_tokens": usage.cached_tokens,
            "cache_creation_input_tokens": 0,
        }
        if usage.reasoning_tokens and output_tokens == usage.completion_tokens:
            counts["output_tokens_details"] = {"thinking_tokens": usage.reasoning_tokens}
        return counts

    def _start(self) -> bytes:
        if self._begun:
            return b""
        self._begun = True
        message = {
            "id": f"msg_{self._number}",
            "type": "message",
            "role": "assistant",
            "model": self._body["model"],
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": self._counts(1),
        }
        return _event({"type": "message_start", "message": message}) + _event({"type": "ping"})

    def _block(self, kind: str, start: Mapping[str, Any]) -> bytes:
        if kind == self._open:
            return b""
        closed = self._start() + self._close()
        self._open, self._index = kind, self._index + 1
        begun = {"type": "content_block_start", "index": self._index, "content_block": start}
        return closed + _event(begun)

    def _close(self) -> bytes:
        if not self._open:
            return b""
        signed = b""
        if self._open == "thinking":
            signature = self._seals.sign(self._thought)
            signed = self._delta({"type": "signature_delta", "signature": signature})
            self._thought = ""
        self._open = ""
        return signed + _event({"type": "content_block_stop", "index": self._index})

    def _args(self, text: str) -> bytes:
        return self._delta({"type": "input_json_delta", "partial_json": text})

    def _delta(self, delta: Mapping[str, Any]) -> bytes:
        return _event({"type": "content_block_delta", "index": self._index, "delta": delta})


def _event(value: Mapping[str, Any]) -> bytes:
    return f"event: {value['type']}\n".encode() + b"data: " + dumps(value) + b"\n\n"


def _error(status: int, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": TYPES.get(status, "api_error"), "message": message}}

"""A reply as bytes: `chat.completion.chunk` events, or one `chat.completion`."""

import itertools
import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from tests.support.endpoint import rules
from tests.support.endpoint.refusal import Body, Refusal
from tests.support.endpoint.script import (
    Args,
    Break,
    Call,
    Delta,
    Fail,
    Finish,
    Nothing,
    Raw,
    Reply,
    Say,
    Step,
    Think,
    Together,
    Usage,
)
from tests.support.endpoint.wires.asked import Asked

CREATED = 1_700_000_000
NAME = secrets.token_hex(4)
"""Of this process: no two answers have one id."""
_NUMBERS = itertools.count(1)
DONE = b"data: [DONE]\n\n"
OPENING = b'{"role":"assistant","content":""}'


class Envelope:
    """The chunks of one answer; what is the same in all of them is encoded once.

    It counts the deltas that it is given, so an answer needs its own.
    """

    content_type: ClassVar[str] = "text/event-stream; charset=utf-8"

    def __init__(self, asked: Asked, number: int) -> None:
        del number
        self._body = body = asked.body
        id = f"chatcmpl-{NAME}-{next(_NUMBERS)}"
        self._about = {"id": id, "created": CREATED, "model": body["model"]}
        self._wants_usage = bool((body.get("stream_options") or {}).get("include_usage"))
        about = _dumps({**self._about, "object": "chat.completion.chunk"})
        self._head = b"data: " + about[:-1] + b',"choices":[{"index":0,"delta":'
        self._tail = b',"usage":null}\n\n' if self._wants_usage else b"}\n\n"
        self._open = b',"logprobs":null,"finish_reason":null}]' + self._tail
        self._unsaid = self._head + OPENING + self._open
        self._tokens = 0

    @staticmethod
    def refusal(asked: Asked) -> Refusal | None:
        return rules.refusal(asked.body)

    @staticmethod
    def failure(failure: Fail | Refusal) -> tuple[int, dict[str, Any]]:
        if isinstance(failure, Refusal):
            return 400, failure.body()
        return failure.status, error(failure)

    def steps(self, reply: Reply) -> tuple[Step, ...]:
        return reply.complete_steps

    @property
    def done(self) -> bytes:
        return DONE

    def broken(self, step: Break) -> bytes:
        return event(error(step))

    def delta(self, step: Delta) -> bytes:
        self._tokens += 1
        return self._opening() + self._head + _encoded(step) + self._open

    def finish(self, step: Finish, reply: Reply) -> bytes:
        reason = _dumps(step.reason or reply.finish_reason)
        last = b'{},"logprobs":null,"finish_reason":' + reason + b"}]"
        chunk = self._opening() + self._head + last + self._tail
        if not self._wants_usage:
            return chunk
        about = {**self._about, "object": "chat.completion.chunk", "choices": []}
        return chunk + event({**about, "usage": self._usage(step.usage)})

    def completion(self, reply: Reply) -> bytes:
        """The whole answer to a request that wants no stream."""
        said = CompleteReply.of(reply)
        finish = said.finish or Finish()
        self._tokens = said.deltas
        choice = {
            "index": 0,
            "message": said.message(),
            "logprobs": None,
            "finish_reason": said.finish and (said.finish.reason or reply.finish_reason),
        }
        about = {**self._about, "object": "chat.completion", "choices": [choice]}
        return _dumps({**about, "usage": self._usage(finish.usage)})

    def _opening(self) -> bytes:
        """The chunk that names the role; it goes ahead of the first."""
        opening, self._unsaid = self._unsaid, b""
        return opening

    def _usage(self, usage: Usage | None) -> dict[str, Any]:
        """As told, or counted: a token a delta, a token every four letters of the prompt."""
        usage = usage or Usage(prompt_tokens(self._body), self._tokens)
        counts: dict[str, Any] = {
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        }
        if usage.cached_tokens:
            counts["prompt_tokens_details"] = {"cached_tokens": usage.cached_tokens}
        if usage.reasoning_tokens:
            counts["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning_tokens}
        return counts


@dataclass
class CompleteReply:
    """The deltas of a reply put together."""

    content: str
    reasoning: str
    calls: dict[int, dict[str, Any]]
    deltas: int
    finish: Finish | None

    @classmethod
    def of(cls, reply: Reply) -> "CompleteReply":
        steps = reply.complete_steps
        said = cls(
            content="".join(step.text for step in steps if isinstance(step, Say)),
            reasoning="".join(step.text for step in steps if isinstance(step, Think)),
            calls={},
            deltas=sum(isinstance(step, Delta) for step in steps),
            finish=next((step for step in steps if isinstance(step, Finish)), None),
        )
        for step in steps:
            for fragment in step.calls if isinstance(step, Together) else (step,):
                if isinstance(fragment, Call | Args):
                    said._add(fragment)
        return said

    def _add(self, step: Call | Args) -> None:
        function = {"name": None, "arguments": ""}
        call = self.calls.setdefault(
            step.index, {"id": None, "type": "function", "function": function}
        )
        if isinstance(step, Call):
            call["id"], call["function"]["name"] = step.id, step.name
        call["function"]["arguments"] += step.args if isinstance(step, Call) else step.fragment

    def message(self) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": self.content, "refusal": None}
        if self.reasoning:
            message["reasoning_content"] = self.reasoning
        if self.calls:
            message["content"] = self.content or None
            message["tool_calls"] = [self.calls[index] for index in sorted(self.calls)]
        return message


def prompt_tokens(body: Body) -> int:
    return len(json.dumps(body["messages"])) // 4


def event(data: dict[str, Any]) -> bytes:
    return b"data: " + _dumps(data) + b"\n\n"


def error(failure: Fail | Break) -> dict[str, Any]:
    return {
        "error": {
            "message": failure.message,
            "type": failure.type,
            "param": None,
            "code": failure.code,
        }
    }


def _call(step: Call) -> dict[str, Any]:
    function: dict[str, str] = {"arguments": step.args}
    if step.name is not None:
        function = {"name": step.name, **function}
    call = {"index": step.index, "type": "function", "function": function}
    return call if step.id is None else {**call, "id": step.id}


def _args(step: Args) -> dict[str, Any]:
    return {"index": step.index, "function": {"arguments": step.fragment}}


def _together(step: Together) -> dict[str, Any]:
    return {"tool_calls": [DELTAS[type(call)](call)["tool_calls"][0] for call in step.calls]}


DELTAS: dict[type, Callable[[Any], dict[str, Any]]] = {
    Say: lambda step: {"content": step.text},
    Think: lambda step: {"reasoning_content": step.text},
    Call: lambda step: {"tool_calls": [_call(step)]},
    Args: lambda step: {"tool_calls": [_args(step)]},
    Together: _together,
    Raw: lambda step: dict(step.delta),
    Nothing: lambda _: {},
}


@lru_cache(maxsize=4096)
def _encoded(step: Delta) -> bytes:
    return _dumps(DELTAS[type(step)](step))


def _dumps(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()

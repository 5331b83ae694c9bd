"""OpenAI's Responses API, as a stream of events, for requests that store nothing.

https://platform.openai.com/docs/api-reference/responses
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from tests.support.endpoint import wire as completions
from tests.support.endpoint.refusal import Body, Refusal
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
)
from tests.support.endpoint.wires.asked import Asked
from tests.support.endpoint.wires.seals import Seals
from tests.support.endpoint.wires.wire import dumps, grouped, is_blank, usage_of

INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}


class ResponsesAnswer:
    content_type: ClassVar[str] = "text/event-stream; charset=utf-8"

    def __init__(self, asked: Asked, number: int) -> None:
        self._body, self._seals, self._number = asked.body, asked.seals, number
        self._begun = False
        self._index = -1
        self._open = ""
        self._thought = ""

    @staticmethod
    def refusal(asked: Asked) -> Refusal | None:
        return next(_faults(asked.body, asked.seals), None)

    @staticmethod
    def failure(failure: Fail | Refusal) -> tuple[int, Mapping[str, Any]]:
        if isinstance(failure, Refusal):
            return 400, failure.body()
        return failure.status, completions.error(failure)

    def steps(self, reply: Reply) -> tuple[Step, ...]:
        return grouped(reply)

    def delta(self, step: Delta) -> bytes:
        match step:
            case Say(text):
                item = {"type": "message", "role": "assistant", "content": []}
                opened = self._item("message", item)
                return opened + self._said("response.output_text.delta", text, content_index=0)
            case Think(text):
                opened = self._item("reasoning", {"type": "reasoning", "summary": []})
                self._thought += text
                kind = "response.reasoning_summary_text.delta"
                return opened + self._said(kind, text, summary_index=0)
            case Call(index, id, name, args):
                item = {"type": "function_call", "name": name or "", "arguments": ""}
                item["call_id"] = id or f"call_{self._number}_{index}"
                return self._item(f"call {index}", item) + self._args(args)
            case Args(_, fragment):
                return self._args(fragment)
        return self._start()

    def finish(self, step: Finish, reply: Reply) -> bytes:
        usage = usage_of(reply, self._body)
        counts = {
            "input_tokens": usage.prompt_tokens,
            "output_tokens": usage.completion_tokens,
            "total_tokens": usage.prompt_tokens + usage.completion_tokens,
            "input_tokens_details": {"cached_tokens": usage.cached_tokens},
            "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        }
        reason = INCOMPLETE.get(step.reason or reply.finish_reason)
        details = {"incomplete_details": {"reason": reason}} if reason else {}
        status = "incomplete" if reason else "completed"
        last = {**self._response(status), "usage": counts, **details}
        end = self._event(f"response.{status}", response=last)
        return self._start() + self._close() + end

    @property
    def done(self) -> bytes:
        return b""

    def broken(self, step: Break) -> bytes:
        error = {"code": "server_error", "message": step.message}
        failed = {**self._response("failed"), "error": error}
        return self._start() + self._event("response.failed", response=failed)

    def _start(self) -> bytes:
        if self._begun:
            return b""
        self._begun = True
        return self._event("response.created", response=self._response("in_progress"))

    def _response(self, status: str) -> dict[str, Any]:
        return {
            "id": f"resp_{self._number}",
            "object": "response",
            "created_at": completions.CREATED,
            "model": self._body["model"],
            "output": [],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "status": status,
        }

    def _item(self, kind: str, item: dict[str, Any]) -> bytes:
        if kind == self._open:
            return b""
        closed = self._start() + self._close()
        self._open, self._index = kind, self._index + 1
        added = {**item, "id": self._item_id}
        return closed + self._event("response.output_item.added", item=added)

    def _close(self) -> bytes:
        """Reasoning is sealed when it is whole."""
        kind, self._open = self._open, ""
        if kind != "reasoning":
            return b""
        thought, self._thought = self._thought, ""
        item = {
            "type": "reasoning",
            "id": self._item_id,
            "summary": [{"type": "summary_text", "text": thought}],
            "encrypted_content": self._seals.sign(thought),
        }
        return self._event("response.output_item.done", item=item)

    @property
    def _item_id(self) -> str:
        return f"item_{self._number}_{self._index}"

    def _said(self, kind: str, text: str, **place: int) -> bytes:
        return self._event(kind, item_id=self._item_id, delta=text, logprobs=[], **place)

    def _args(self, text: str) -> bytes:
        kind = "response.function_call_arguments.delta"
        return self._event(kind, item_id=self._item_id, delta=text)

    def _event(self, kind: str, **values: Any) -> bytes:
        place = {} if "response" in values else {"output_index": self._index}
        event = {"type": kind, "sequence_number": 0, **place, **values}
        return f"event: {kind}\n".encode() + b"data: " + dumps(event) + b"\n\n"


def _faults(body: Body, seals: Seals) -> Iterator[Refusal]:
    if body.get("store") is not False:
        yield Refusal("store: nothing is to be stored")
    items = body.get("input")
    if not isinstance(items, list) or not items:
        yield Refusal("input: empty array")
        return
    yield from _order_faults(items)
    for place, item in enumerate(items):
        match item.get("type", "message"):
            case "message":
                yield from _message_faults(item, f"input[{place}]")
            case "reasoning":
                summary = "".join(part["text"] for part in item["summary"])
                if not seals.holds(item.get("encrypted_content"), summary):
                    yield Refusal("The encrypted content could not be verified.")
            case "function_call" if not isinstance(json.loads(item["arguments"]), dict):
                yield Refusal("arguments: expected a JSON object")
            case kind if kind not in ("function_call", "function_call_output"):
                yield Refusal(f"input[{place}].type: {kind!r}")


def _order_faults(items: list[Any]) -> Iterator[Refusal]:
    """Outputs directly behind the calls of their step."""
    pending: list[str] = []
    for item in items:
        match item.get("type"):
            case "function_call":
                pending.append(item["call_id"])
            case "function_call_output" if item["call_id"] in pending:
                pending.remove(item["call_id"])
            case "function_call_output":
                yield Refusal(f"No tool call found for output with id {item['call_id']}.")
            case _ if pending:
                break
    if pending:
        yield Refusal(f"No tool output found for function call {pending[0]}.")


def _message_faults(item: Mapping[str, Any], where: str) -> Iterator[Refusal]:
    content = item.get("content")
    if item.get("role") not in ("system", "developer", "user", "assistant"):
        yield Refusal(f"{where}.role: {item.get('role')!r}")
    if "id" in item:
        yield Refusal(f"{where}: Item with id {item['id']!r} not found: it was not stored.")
    if isinstance(content, str):
        return
    if not isinstance(content, list) or not content:
        yield Refusal(f"{where}.content: expected a string or an array")
        return
    for block in content:
        kinds = (
            ("output_text", "refusal")
            if item["role"] == "assistant"
            else (
                "input_text",
                "input_image",
            )
        )
        if not isinstance(block, dict) or block.get("type") not in kinds:
            yield Refusal(f"{where}.content: {block!r}")
        elif block["type"] == "output_text" and is_blank(block.get("text")):
            yield Refusal(f"{where}.content: empty text")

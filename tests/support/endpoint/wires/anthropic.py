"""Anthropic's Messages API, as a stream of events.

https://docs.claude.com/en/api/messages, and what the API is known to refuse.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

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
from tests.support.endpoint.wires.seals import Seals
from tests.support.endpoint.wires.wire import dumps, grouped, is_blank, usage_of

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
BLOCKS: Mapping[str, Mapping[str, set[str]]] = {
    "user": {
        "text": {"text"},
        "image": {"source"},
        "tool_result": {"tool_use_id", "content", "is_error"},
    },
    "assistant": {
        "text": {"text"},
        "thinking": {"thinking", "signature"},
        "redacted_thinking": {"data"},
        "tool_use": {"id", "name", "input"},
    },
}
MEDIA = ("image/jpeg", "image/png", "image/gif", "image/webp")
MIN_BUDGET = 1024
_ID = re.compile(r"[a-zA-Z0-9_-]+")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")


class AnthropicAnswer:
    content_type: ClassVar[str] = "text/event-stream; charset=utf-8"

    def __init__(self, body: Body, seals: Seals, number: int) -> None:
        self._body, self._seals, self._number = body, seals, number
        self._begun = False
        self._index = -1
        self._open = ""
        self._thought = ""

    @staticmethod
    def refusal(body: Body, seals: Seals) -> Refusal | None:
        return next(_faults(body, seals), None)

    @staticmethod
    def failure(failure: Fail | Refusal) -> tuple[int, Mapping[str, Any]]:
        if isinstance(failure, Refusal):
            return 400, _error(400, failure.message)
        if failure.code == "context_length_exceeded":
            return 400, _error(400, "prompt is too long: 208310 tokens > 200000 maximum")
        if failure.code == "content_filter":
            return 400, _error(400, "Output blocked by content filtering policy")
        status = 529 if failure.status == 503 else failure.status
        return status, _error(status, failure.message)

    def steps(self, reply: Reply) -> tuple[Step, ...]:
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
        usage = usage_of(step)
        reason = REASONS[step.reason or reply.finish_reason]
        counts = {
            "input_tokens": usage.prompt_tokens,
            "output_tokens": usage.completion_tokens,
            "cache_read_input_tokens": 0,
            "cache_creation_input_tokens": 0,
        }
        last = {"stop_reason": reason, "stop_sequence": None}
        return (
            self._start()
            + self._close()
            + _event({"type": "message_delta", "delta": last, "usage": counts})
            + _event({"type": "message_stop"})
        )

    @property
    def done(self) -> bytes:
        return b""

    def broken(self, step: Break) -> bytes:
        return self._start() + _event(_error(529, step.message))

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
            "usage": {"input_tokens": 7, "output_tokens": 1},
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


def _faults(body: Body, seals: Seals) -> Iterator[Refusal]:
    """Later rules trust the shapes that earlier ones have checked."""
    if not isinstance(body.get("max_tokens"), int) or body["max_tokens"] < 1:
        yield Refusal("max_tokens: Field required")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        yield Refusal("messages: at least one message is required")
        return
    yield from _system_faults(body.get("system", "none"))
    for place, message in enumerate(messages):
        yield from _message_faults(message, f"messages.{place}")
    if messages[0]["role"] != "user":
        yield Refusal('messages: first message must use the "user" role')
    if messages[-1]["role"] == "assistant":
        yield Refusal("This model does not support assistant message prefill.")
    yield from _call_faults(messages)
    for message in messages:
        for block in _blocks(message):
            if block["type"] == "thinking" and not seals.holds(
                block.get("signature"), block.get("thinking", "")
            ):
                yield Refusal("Invalid `signature` in `thinking` block")
    yield from _thinking_faults(body, messages)
    yield from _tool_faults(body)


def _system_faults(system: Any) -> Iterator[Refusal]:
    texts = [system] if isinstance(system, str) else [block.get("text") for block in system]
    if not texts or any(map(is_blank, texts)):
        yield Refusal("system: text content blocks must be non-empty")


def _blocks(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _message_faults(message: Any, where: str) -> Iterator[Refusal]:
    if not isinstance(message, dict) or message.keys() != {"role", "content"}:
        yield Refusal(f"{where}: a message has a role and content")
        return
    if message["role"] not in BLOCKS:
        yield Refusal(f"{where}: Unexpected role {message['role']!r}")
        return
    blocks = _blocks(message)
    if not blocks:
        yield Refusal(f"{where}: all messages must have non-empty content")
    known = BLOCKS[message["role"]]
    for block in blocks:
        if not isinstance(block, dict) or block.get("type") not in known:
            yield Refusal(f"{where}.content: Input should be a block of {', '.join(known)}")
            return
        kind = block["type"]
        extra = block.keys() - known[kind] - {"type", "cache_control"}
        if extra:
            yield Refusal(f"{where}.content.{kind}: Extra inputs are not permitted: {extra}")
        if kind == "text" and is_blank(block.get("text")):
            yield Refusal("messages: text content blocks must be non-empty")
        if kind == "thinking" and not block.get("signature"):
            yield Refusal(f"{where}.content.thinking.signature: Field required")
        if kind == "image":
            yield from _image_faults(block["source"], where)


def _image_faults(source: Any, where: str) -> Iterator[Refusal]:
    match source:
        case {"type": "base64", "media_type": kind, "data": str(data)} if kind in MEDIA and data:
            return
        case {"type": "url", "url": str(url)} if url.startswith("https://"):
            return
    yield Refusal(f"{where}.content.image.source: not an image")


def _call_faults(messages: list[Any]) -> Iterator[Refusal]:
    pending: list[str] = []
    seen: set[str] = set()
    for message in messages:
        blocks = _blocks(message)
        results = [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"]
        kinds = [block["type"] for block in blocks]
        if sorted(results) != sorted(pending):
            yield Refusal(
                "`tool_use` ids were found without `tool_result` blocks immediately after, or the "
                f"other way round: {pending} and {results}"
            )
        if results and "tool_result" in kinds[kinds.count("tool_result") :]:
            yield Refusal("tool_result blocks must come first in the content")
        calls = [block for block in blocks if block["type"] == "tool_use"]
        pending = [call["id"] for call in calls]
        for call in calls:
            if call["id"] in seen:
                yield Refusal("messages: `tool_use` ids must be unique")
            seen.add(call["id"])
            if not _ID.fullmatch(call["id"]) or not _NAME.fullmatch(call["name"]):
                yield Refusal("messages.tool_use: String should match pattern")
            if not isinstance(call["input"], dict):
                yield Refusal("messages.tool_use.input: Input should be a valid dictionary")
    if pending:
        yield Refusal(f"`tool_use` ids were found without `tool_result`: {pending}")


def _thinking_faults(body: Body, messages: list[Any]) -> Iterator[Refusal]:
    thinking = body.get("thinking") or {}
    if thinking.get("type") != "enabled":
        return
    budget = thinking.get("budget_tokens", 0)
    if not MIN_BUDGET <= budget < body["max_tokens"]:
        yield Refusal("thinking.budget_tokens: at least 1024, and less than max_tokens")
    if body.get("temperature") not in (None, 1):
        yield Refusal("`temperature` may only be set to 1 when thinking is enabled.")
    for message in reversed(messages):
        kinds = [block["type"] for block in _blocks(message)]
        if message["role"] == "user" and "tool_result" not in kinds:
            return
        if "tool_use" in kinds and kinds[0] not in ("thinking", "redacted_thinking"):
            yield Refusal("Expected `thinking` or `redacted_thinking`, but found `tool_use`.")


def _tool_faults(body: Body) -> Iterator[Refusal]:
    names = [tool.get("name", "") for tool in body.get("tools", [])]
    if len(set(names)) < len(names):
        yield Refusal("tools: Tool names must be unique.")
    if any(not _NAME.fullmatch(name) for name in names):
        yield Refusal("tools.name: String should match pattern")
    if any(tool["input_schema"].get("type") != "object" for tool in body.get("tools", [])):
        yield Refusal("tools.input_schema.type: Field required")

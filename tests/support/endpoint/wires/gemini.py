"""Gemini's streamGenerateContent, as server-sent events.

https://ai.google.dev/api/generate-content, and its page on thought signatures. Calls come whole: of
one whose arguments are no JSON object nothing comes but the finish reason MALFORMED_FUNCTION_CALL.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from tests.support.endpoint.refusal import Body, Refusal
from tests.support.endpoint.script import Break, Call, Delta, Fail, Finish, Reply, Say, Step, Think
from tests.support.endpoint.wires.seals import Seals
from tests.support.endpoint.wires.wire import args_of, dumps, usage_of, whole_calls

REASONS = {
    "stop": "STOP",
    "tool_calls": "STOP",
    "length": "MAX_TOKENS",
    "content_filter": "SAFETY",
}
STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}
DATA = ("text", "inlineData", "fileData", "functionCall", "functionResponse")
SKIP = "skip_thought_signature_validator"
VERSION = "gemini-3.5-flash"
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")


class GeminiAnswer:
    content_type: ClassVar[str] = "text/event-stream"

    def __init__(self, body: Body, seals: Seals, number: int) -> None:
        del body, number
        self._seals = seals
        self._is_signed = False
        self._is_malformed = False

    @staticmethod
    def refusal(body: Body, seals: Seals) -> Refusal | None:
        return next(_faults(body, seals), None)

    @staticmethod
    def failure(failure: Fail | Refusal) -> tuple[int, Mapping[str, Any]]:
        if isinstance(failure, Refusal):
            return 400, _error(400, failure.message)
        if failure.code == "context_length_exceeded":
            sentence = "The input token count (1200000) exceeds the maximum number of tokens "
            return 400, _error(400, f"{sentence}allowed (1048576).")
        if failure.status == 401:  # as the API says it of a wrong key
            body = _error(400, "API key not valid. Please pass a valid API key.")
            info = "type.googleapis.com/google.rpc.ErrorInfo"
            body["error"]["details"] = [{"@type": info, "reason": "API_KEY_INVALID"}]
            return 400, body
        if failure.code == "content_filter":
            return 200, {"promptFeedback": {"blockReason": "SAFETY"}, "modelVersion": VERSION}
        return failure.status, _error(failure.status, failure.message)

    def steps(self, reply: Reply) -> tuple[Step, ...]:
        return whole_calls(reply)

    def delta(self, step: Delta) -> bytes:
        match step:
            case Say(text) if text:
                return _chunk([{"text": text}])
            case Think(text) if text:
                return _chunk([{"text": text, "thought": True}])
            case Call():
                return self._call(step)
        return b""

    def finish(self, step: Finish, reply: Reply) -> bytes:
        usage = usage_of(step)
        reason = REASONS[step.reason or reply.finish_reason]
        if self._is_malformed:
            reason = "MALFORMED_FUNCTION_CALL"
        counts = {
            "promptTokenCount": usage.prompt_tokens,
            "candidatesTokenCount": usage.completion_tokens,
            "totalTokenCount": usage.prompt_tokens + usage.completion_tokens,
        }
        return _chunk([], finishReason=reason, usage=counts)

    @property
    def done(self) -> bytes:
        return b""

    def broken(self, step: Break) -> bytes:
        return b"data: " + dumps(_error(503, step.message)) + b"\r\n\r\n"

    def _call(self, call: Call) -> bytes:
        """Only the first of a step is signed."""
        args = args_of(call)
        if args is None:
            self._is_malformed = True
            return b""
        part: dict[str, Any] = {"functionCall": {"name": call.name or "", "args": args}}
        if not self._is_signed:
            self._is_signed = True
            part["thoughtSignature"] = self._seals.sign(call.name or "")
        return _chunk([part])


def _chunk(
    parts: list[dict[str, Any]], usage: Mapping[str, int] | None = None, **end: str
) -> bytes:
    candidate = {"content": {"role": "model", "parts": parts}, "index": 0, **end}
    counted = {"usageMetadata": usage} if usage else {}
    value = {"candidates": [candidate], **counted, "modelVersion": VERSION}
    return b"data: " + dumps(value) + b"\r\n\r\n"


def _error(status: int, message: str) -> dict[str, Any]:
    known = STATUSES.get(status, "UNKNOWN")
    return {"error": {"code": status, "message": message, "status": known}}


def _faults(body: Body, seals: Seals) -> Iterator[Refusal]:
    contents = body.get("contents")
    if not isinstance(contents, list) or not contents:
        yield Refusal("contents is not specified")
        return
    for place, content in enumerate(contents):
        yield from _content_faults(content, f"contents[{place}]", seals)
    system = body.get("systemInstruction")
    if system is not None:
        yield from _content_faults({"role": "user", **system}, "systemInstruction", seals)
    if contents[0]["role"] != "user":
        yield Refusal("Please ensure that the first content has the role user.")
    if contents[-1]["role"] != "user":
        yield Refusal("Please ensure that the last content has the role user.")
    yield from _order_faults(contents)
    yield from _signature_faults(contents)
    for tool in body.get("tools", []):
        for function in tool.get("functionDeclarations", []):
            if not _NAME.fullmatch(function.get("name", "")):
                yield Refusal(f"Invalid function name {function.get('name')!r}.")


def _content_faults(content: Any, where: str, seals: Seals) -> Iterator[Refusal]:
    if content.get("role") not in ("user", "model"):
        yield Refusal("Please use a valid role: user, model.")
    parts = content.get("parts")
    if not isinstance(parts, list) or not parts:
        yield Refusal(f"{where}.parts must not be empty")
        return
    for part in parts:
        if not isinstance(part, dict):
            yield Refusal(f"{where}.parts: a part is an object")
            return
        data = [key for key in DATA if key in part]
        if len(data) != 1 or part.keys() - {*DATA, "thought", "thoughtSignature"}:
            yield Refusal(f"{where}.parts: contents.parts must have one initialized field.")
            return
        signature = part.get("thoughtSignature")
        if signature is not None and signature != SKIP and seals.text_of(signature) is None:
            yield Refusal("Corrupted thought signature.")
        yield from _part_faults(part, data[0], bool(signature), where)


def _part_faults(part: Any, kind: str, is_signed: bool, where: str) -> Iterator[Refusal]:
    value = part[kind]
    match kind, value:
        case "text", str() if value or is_signed:
            return
        case "functionCall", {"name": str(name), "args": dict()} if _NAME.fullmatch(name):
            return
        case "functionResponse", {"name": str(), "response": dict()}:
            return
        case "inlineData", {"mimeType": str(), "data": str(data)} if data:
            return
        case "inlineData", {"mime_type": str(), "data": str(data)} if data:
            return  # the API takes both spellings
    yield Refusal(f"{where}.parts: Invalid value at {kind}")


def _named(content: Mapping[str, Any], kind: str) -> list[str]:
    return [part[kind]["name"] for part in content["parts"] if kind in part]


def _order_faults(contents: list[Any]) -> Iterator[Refusal]:
    pending: list[str] = []
    for content in contents:
        responses = _named(content, "functionResponse")
        if sorted(responses) != sorted(pending):
            yield Refusal(
                "Please ensure that the number of function response parts is equal to the number "
                f"of function call parts of the function call turn: {pending}, {responses}"
            )
        pending = _named(content, "functionCall")
    if pending:
        yield Refusal(f"function calls without responses: {pending}")


def _signature_faults(contents: list[Any]) -> Iterator[Refusal]:
    """Of the current turn: what comes after the user's last words."""
    for content in reversed(contents):
        if content["role"] == "user" and not _named(content, "functionResponse"):
            return
        calls = [part for part in content["parts"] if "functionCall" in part]
        if calls and not calls[0].get("thoughtSignature"):
            yield Refusal("Function call is missing a thought_signature in functionCall parts.")

"""A reply as server-sent events of GenerateContentResponse.

Calls come whole: of one whose arguments are no JSON object nothing comes but the finish reason
MALFORMED_FUNCTION_CALL. The first call of a step is signed, or the end of an answer without calls.
Counts are of all that was said so far: each event's replace those before.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from tests.support.endpoint.refusal import Refusal
from tests.support.endpoint.script import (
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
from tests.support.endpoint.wires.asked import Asked
from tests.support.endpoint.wires.gemini import rules
from tests.support.endpoint.wires.gemini.sealed import call_text
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
VERSION = "gemini-3.5-flash"


class GeminiAnswer:
    content_type: ClassVar[str] = "text/event-stream"

    def __init__(self, asked: Asked, number: int) -> None:
        self._body, self._seals, self._number = asked.body, asked.seals, number
        self._version = asked.model.removeprefix("models/")
        self._usage = Usage(0, 0)
        self._is_signed = False
        self._thought = ""
        self._is_malformed = False

    @staticmethod
    def refusal(asked: Asked) -> Refusal | None:
        return rules.refusal(asked)

    @staticmethod
    def failure(failure: Fail | Refusal) -> tuple[int, Mapping[str, Any]]:
        if isinstance(failure, Refusal):
            return failure.status, _error(failure.status, failure.message)
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
        self._usage = usage_of(reply, self._body)
        return whole_calls(reply)

    def delta(self, step: Delta) -> bytes:
        match step:
            case Say(text) if text:
                return self._chunk([{"text": text}])
            case Think(text) if text:
                self._thought += text
                return self._chunk([{"text": text, "thought": True}])
            case Call():
                return self._call(step)
        return b""

    def finish(self, step: Finish, reply: Reply) -> bytes:
        reason = REASONS[step.reason or reply.finish_reason]
        if self._is_malformed:
            reason = "MALFORMED_FUNCTION_CALL"
        usage = self._usage
        counts = {
            "promptTokenCount": usage.prompt_tokens,
            "cachedContentTokenCount": usage.cached_tokens,
            "candidatesTokenCount": usage.completion_tokens - usage.reasoning_tokens,
            "thoughtsTokenCount": usage.reasoning_tokens,
            "totalTokenCount": usage.prompt_tokens + usage.completion_tokens,
        }
        said = {key: count for key, count in counts.items() if count}
        return self._chunk(self._seal(), said, finishReason=reason)

    @property
    def done(self) -> bytes:
        return b""

    def broken(self, step: Break) -> bytes:
        return b"data: " + dumps(_error(503, step.message)) + b"\r\n\r\n"

    def _seal(self) -> list[dict[str, Any]]:
        """Behind an answer that was thought about and calls nothing: an empty text, signed."""
        if self._is_signed or not self._thought:
            return []
        return [{"text": "", "thoughtSignature": self._seals.sign(self._thought)}]

    def _call(self, call: Call) -> bytes:
        """Only the first of a step is signed."""
        args = args_of(call)
        if args is None:
            self._is_malformed = True
            return b""
        part: dict[str, Any] = {"functionCall": {"name": call.name or "", "args": args}}
        if not self._is_signed:
            self._is_signed = True
            part["thoughtSignature"] = self._seals.sign(call_text(call.name or "", args))
        return self._chunk([part])

    def _chunk(
        self, parts: list[dict[str, Any]], counts: Mapping[str, int] | None = None, **end: str
    ) -> bytes:
        prompt = self._usage.prompt_tokens
        value = {
            "candidates": [{"content": {"role": "model", "parts": parts}, "index": 0, **end}],
            "usageMetadata": counts or {"promptTokenCount": prompt, "totalTokenCount": prompt},
            "modelVersion": self._version,
            "responseId": f"response-{self._number}",
        }
        return b"data: " + dumps(value) + b"\r\n\r\n"


def _error(status: int, message: str) -> dict[str, Any]:
    known = STATUSES.get(status, "UNKNOWN")
    return {"error": {"code": status, "message": message, "status": known}}

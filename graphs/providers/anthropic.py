"""Claude, by langchain-anthropic. Read in its version 1.7.7 and in anthropic 2.12."""

import os
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cached_property
from typing import Any, ClassVar

import anthropic
import httpx2
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import AIMessageChunk, ToolCallChunk
from langchain_core.messages.tool import tool_call_chunk
from pydantic import PrivateAttr, SecretStr

from turnstream.graphs.answer_bounds import PLAIN, bounding_hook
from turnstream.graphs.model_options import ModelOptions, Reasoning, possible_reasoning
from turnstream.graphs.providers.bounded import BoundedChat
from turnstream.graphs.stored import PROVIDER

BUDGETS: Mapping[Reasoning, int] = {"on": 4096, "low": 2048, "medium": 8192, "high": 16_384}
"""Tokens of thinking, of models that take a budget."""
MIN_BUDGET = 1024
"""The API refuses a smaller one."""
TIMEOUT_SECONDS = 600.0
_TAKES_BUDGET = re.compile(r"claude-3|claude-(opus|sonnet|haiku)-4(-[0-6])?(-\d{8})?$")
"""Models that think by a budget of tokens; later ones decide for themselves, by an effort."""


class BoundedChatAnthropic(BoundedChat, ChatAnthropic):
    provider: ClassVar[str] = "anthropic"
    _http: httpx2.AsyncClient = PrivateAttr()

    @cached_property
    def _async_client(self) -> anthropic.AsyncClient:
        return anthropic.AsyncClient(**self._client_params, http_client=self._http)

    def _get_request_payload(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """A step that goes on from calls which another model has made, or this one without
        thinking, cannot think by a budget: the API wants the turn's own thinking ahead of them."""
        payload: dict[str, Any] = super()._get_request_payload(*args, **kwargs)
        thinking = payload.get("thinking") or {}
        if thinking.get("type") == "enabled" and _lacks_thinking(payload["messages"]):
            del payload["thinking"]
        return payload

    def _make_message_chunk_from_anthropic_event(
        self, event: Any, *, block_start_event: Any = None, **options: Any
    ) -> tuple[AIMessageChunk | None, Any]:
        calls = _calls_in(event, block_start_event)
        if calls is None:
            return super()._make_message_chunk_from_anthropic_event(
                event, block_start_event=block_start_event, **options
            )
        chunk = AIMessageChunk(content=[], response_metadata={PROVIDER: self.provider})
        # Not when it is made: that would parse them. Nor once more among the content.
        chunk.tool_call_chunks = calls
        return chunk, event if event.type == "content_block_start" else block_start_event


@asynccontextmanager
async def open_model(name: str, options: ModelOptions) -> AsyncIterator[BoundedChatAnthropic]:
    http = anthropic.DefaultAsyncHttpxClient(
        follow_redirects=False,
        headers=PLAIN,
        event_hooks={
            "response": [bounding_hook(httpx2.AsyncByteStream, options.max_message_bytes)]
        },
    )
    async with http:
        model = BoundedChatAnthropic(
            model_name=name,
            max_message_bytes=options.max_message_bytes,
            # A server of one's own wants no key; the client wants a string.
            api_key=SecretStr(os.environ.get("ANTHROPIC_API_KEY") or "none"),
            timeout=TIMEOUT_SECONDS,
            stop=None,
        )
        wanted = possible_reasoning(model, name, options.reasoning)
        for field, value in reasoning(name, wanted, model.max_tokens).items():
            setattr(model, field, value)
        model._http = http
        yield model


def reasoning(name: str, wanted: Reasoning, max_tokens: int | None) -> dict[str, Any]:
    """The fields of ChatAnthropic that ask for it."""
    if wanted == "off":
        return {}
    if _TAKES_BUDGET.match(name):
        budget = max(MIN_BUDGET, min(BUDGETS[wanted], (max_tokens or BUDGETS[wanted] * 2) // 2))
        return {"thinking": {"type": "enabled", "budget_tokens": budget}}
    thinking = {"thinking": {"type": "adaptive", "display": "summarized"}}
    return thinking if wanted == "on" else {**thinking, "reasoning_effort": wanted}


def _calls_in(event: Any, block_start: Any) -> list[ToolCallChunk] | None:
    """The tool call that an event begins or continues; None if it does neither."""
    match event.type:
        case "content_block_start" if getattr(event.content_block, "type", "") == "tool_use":
            block = event.content_block
            if block.input:
                return None  # Whole already.
            return [tool_call_chunk(index=event.index, id=block.id, name=block.name, args="")]
        case "content_block_delta" if event.delta.type == "input_json_delta":
            started = getattr(block_start, "content_block", None)
            if getattr(started, "type", "") != "tool_use":
                return None  # A tool that the provider runs.
            args = event.delta.partial_json
            return [tool_call_chunk(index=event.index, id=None, name=None, args=args)]
    return None


def _lacks_thinking(messages: list[dict[str, Any]]) -> bool:
    """Check that a call of the turn that goes on has no thinking ahead of it."""
    for message in reversed(messages):
        content = message["content"]
        kinds = [block["type"] for block in content] if isinstance(content, list) else ["text"]
        if message["role"] == "user" and "tool_result" not in kinds:
            return False
        if "tool_use" in kinds and kinds[0] not in ("thinking", "redacted_thinking"):
            return True
    return False

"""The tokens that model calls use: as the models report them, else estimated.

A model that is cut off reports nothing, and some servers never do. The estimate is four characters
a token, `langchain_core.messages.utils.count_tokens_approximately`.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.outputs import ChatGeneration, LLMResult

from turnstream.tools.threads import beside_loop

CHARS_PER_TOKEN = 4


@dataclass
class _Call:
    """A model call without a report."""

    prompt: Sequence[BaseMessage]
    chars: int = 0
    """Characters of the output so far."""
    message_id: str | None = None


class TokenCount(BaseCallbackHandler):
    """Counts all model calls of one run, also those in subgraphs and in tools."""

    run_inline = True
    ignore_agent = True
    ignore_chain = True
    ignore_retriever = True
    ignore_retry = True
    ignore_custom_event = True

    def __init__(self) -> None:
        self._reported: dict[object, int] = {}
        """By message id: a model that wraps another passes its message on."""
        self._calls: dict[UUID, _Call] = {}

    async def total(self) -> int:
        """Return the tokens of all calls so far, input and output."""
        # A thread of a run that was cancelled may go on meanwhile.
        calls, reported = [*self._calls.values()], {**self._reported}
        unreported = {
            call.message_id or id(call): call for call in calls if call.message_id not in reported
        }
        messages = sum(len(call.prompt) for call in calls)
        estimate = partial(_estimate, [*unreported.values()])
        return sum(reported.values()) + await beside_loop(messages, estimate)

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        **kwargs: Any,
    ) -> None:
        del serialized, kwargs
        self._calls[run_id] = _Call([message for prompt in messages for message in prompt])

    def on_llm_start(
        self, serialized: dict[str, Any], prompts: list[str], *, run_id: UUID, **kwargs: Any
    ) -> None:
        del serialized, kwargs
        self._calls[run_id] = _Call([HumanMessage(prompt) for prompt in prompts])

    def on_llm_new_token(
        self, token: Any, *, chunk: Any = None, run_id: UUID, **kwargs: Any
    ) -> None:
        del kwargs
        call = self._calls.get(run_id)
        if call:
            message = getattr(chunk, "message", None)
            if isinstance(message, AIMessage):
                call.chars += _chars(message)
                call.message_id = message.id
            else:
                call.chars += len(str(token))

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        del kwargs
        messages = [
            generation.message
            for generations in response.generations
            for generation in generations
            if isinstance(generation, ChatGeneration) and isinstance(generation.message, AIMessage)
        ]
        usages = [message.usage_metadata for message in messages if message.usage_metadata]
        tokens = sum(usage["input_tokens"] + usage["output_tokens"] for usage in usages)
        call = self._calls.get(run_id)
        if tokens > 0:
            self._reported[messages[0].id or run_id] = tokens
            self._calls.pop(run_id, None)
        elif call:
            call.chars = max(call.chars, sum(map(_chars, messages)))

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Forget a call that its server has refused; one that was cut off stays."""
        del kwargs
        cut_off = isinstance(error, asyncio.CancelledError | GeneratorExit)
        call = self._calls.get(run_id)
        if call and not call.chars and not cut_off:
            del self._calls[run_id]


def _estimate(calls: Sequence[_Call]) -> int:
    return sum(
        count_tokens_approximately(call.prompt) + ceil(call.chars / CHARS_PER_TOKEN)
        for call in calls
    )


def _chars(message: AIMessage) -> int:
    """Count the characters of text, reasoning and tool calls."""
    calls = getattr(message, "tool_call_chunks", None) or message.tool_calls
    reasoning = message.additional_kwargs.get("reasoning_content")
    return _chars_in([message.content, reasoning, [call["args"] for call in calls]])


def _chars_in(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(map(_chars_in, value.values()))
    return sum(map(_chars_in, value)) if isinstance(value, list) else 0

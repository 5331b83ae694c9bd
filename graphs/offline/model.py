"""The offline model as LangChain sees it: plans streamed word by word, calls in fragments."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from itertools import pairwise, zip_longest
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.language_models.chat_models import generate_from_stream
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ToolCallChunk,
)
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from turnstream.graphs.offline.plan import Call, Plan, Tools, plan

NAME = "offline"
FRAGMENT_CHARS = 8
BREATH = 16
"""Without a pace the loop gets its turn after so many chunks."""


class OfflineChatModel(BaseChatModel):
    """A deterministic chat model: the same history and tools, the same chunks, run ids aside.

    Callbacks are left to `BaseChatModel`, which tells them of every chunk that `_astream` yields.
    """

    word_seconds: float = 0.02
    """Seconds before each word or fragment; 0: no waiting, though still chunk by chunk."""

    @property
    def _llm_type(self) -> str:
        return NAME

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """`tool_choice="none"` keeps the tools unused; any other choice is the model's own."""
        formatted = [convert_to_openai_tool(tool) for tool in tools]
        return self.bind(tools=formatted, tool_choice=tool_choice, **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,
    ) -> ChatResult:
        return generate_from_stream(_chunks(messages, kwargs))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,
    ) -> ChatResult:
        return self._generate(messages, stop, **kwargs)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002
        run_manager: AsyncCallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for place, chunk in enumerate(_chunks(messages, kwargs), start=1):
            if self.word_seconds or place % BREATH == 0:
                await asyncio.sleep(self.word_seconds)
            yield chunk


def _chunks(
    messages: Sequence[BaseMessage], options: Mapping[str, Any]
) -> Iterator[ChatGenerationChunk]:
    planned = plan(messages, _bound(options))
    for word in _words(planned.text):
        yield ChatGenerationChunk(message=AIMessageChunk(content=word))
    for delta in _call_deltas(planned.calls):
        yield ChatGenerationChunk(message=AIMessageChunk(content="", tool_call_chunks=[delta]))
    yield ChatGenerationChunk(
        message=AIMessageChunk(
            content="",
            response_metadata={
                "finish_reason": "tool_calls" if planned.calls else "stop",
                "model_name": NAME,
            },
            usage_metadata=_usage(messages, planned),
            chunk_position="last",
        )
    )


def _bound(options: Mapping[str, Any]) -> Tools:
    if options.get("tool_choice") == "none":
        return {}
    functions = [tool["function"] for tool in options.get("tools") or () if "function" in tool]
    return {function["name"]: function.get("parameters", {}) for function in functions}


def _words(text: str) -> Iterator[str]:
    """Each word with the space behind it; together the very text."""
    start = 0
    for end, (this, following) in enumerate(pairwise(text), start=1):
        if this.isspace() and not following.isspace():
            yield text[start:end]
            start = end
    if text:
        yield text[start:]


def _call_deltas(calls: Sequence[Call]) -> Iterator[ToolCallChunk]:
    """First the head of each call, then its arguments; those of parallel calls by turns."""
    for index, call in enumerate(calls):
        yield tool_call_chunk(index=index, id=call.id, name=call.name, args="")
    for fragments in zip_longest(*(_fragments(call.args_text) for call in calls)):
        for index, fragment in enumerate(fragments):
            if fragment:
                yield tool_call_chunk(index=index, args=fragment)


def _fragments(text: str) -> list[str]:
    return [text[i : i + FRAGMENT_CHARS] for i in range(0, len(text), FRAGMENT_CHARS)]


def _usage(messages: Sequence[BaseMessage], planned: Plan) -> UsageMetadata:
    """A word counts as a token."""
    read = sum(
        _count(str(message.text), *(str(call["args"]) for call in _calls(message)))
        for message in messages
    )
    written = _count(planned.text, *(call.args_text for call in planned.calls))
    return UsageMetadata(input_tokens=read, output_tokens=written, total_tokens=read + written)


def _calls(message: BaseMessage) -> Sequence[Mapping[str, Any]]:
    return message.tool_calls if isinstance(message, AIMessage) else ()


def _count(*texts: str) -> int:
    return sum(len(text.split()) for text in texts)

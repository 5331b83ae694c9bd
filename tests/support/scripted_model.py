"""A chat model that streams what a test tells it to, chunk by chunk."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any, Self

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from pydantic import PrivateAttr

Piece = AIMessageChunk | asyncio.Event | Exception
"""A chunk to stream, an event to wait for, or what to raise."""

Script = Sequence[Piece] | Callable[[list[BaseMessage]], Sequence[Piece]]


def text(words: str, **fields: Any) -> AIMessageChunk:
    return AIMessageChunk(content=words, **fields)


def reasoning(words: str) -> AIMessageChunk:
    return AIMessageChunk(content=[{"type": "reasoning", "reasoning": words, "index": 0}])


def call(
    args: str | None, *, name: str | None = None, id: str | None = None, index: int | None = 0
) -> AIMessageChunk:
    """One delta of a tool call: `name` and `id` in the first, argument text in each."""
    chunk = tool_call_chunk(name=name, args=args, id=id, index=index)
    return AIMessageChunk(content="", tool_call_chunks=[chunk])


def finish(reason: str = "stop", *, tokens: tuple[int, int] = (7, 5)) -> AIMessageChunk:
    return AIMessageChunk(
        content="",
        response_metadata={"finish_reason": reason},
        usage_metadata={
            "input_tokens": tokens[0],
            "output_tokens": tokens[1],
            "total_tokens": sum(tokens),
        },
        chunk_position="last",
    )


class ScriptedModel(BaseChatModel):
    """Plays its scripts one a model call, then says "Done." for ever.

    `prompts` are the histories that it was called with.
    """

    _scripts: list[Script] = PrivateAttr(default_factory=list)
    _prompts: list[list[BaseMessage]] = PrivateAttr(default_factory=list)

    @classmethod
    def of(cls, *scripts: Script) -> Self:
        model = cls()
        model._scripts = list(scripts)
        return model

    @property
    def prompts(self) -> list[list[BaseMessage]]:
        return self._prompts

    def script(self, *scripts: Script) -> None:
        self._scripts += scripts

    def script_anew(self, *scripts: Script) -> None:
        """What was not played is dropped."""
        self._scripts = list(scripts)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(
        self, tools: Sequence[Any], **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        del tools, kwargs
        return self

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        del stop, run_manager, kwargs
        self._prompts.append(messages)
        script = self._scripts.pop(0) if self._scripts else [text("Done."), finish()]
        for piece in script(messages) if callable(script) else script:
            if isinstance(piece, asyncio.Event):
                await piece.wait()
            elif isinstance(piece, Exception):
                raise piece
            else:
                # Each stream needs objects of its own: LangChain gives them the stream's id.
                yield ChatGenerationChunk(message=piece.model_copy(deep=True))

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        raise NotImplementedError("the server is asynchronous throughout")

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        raise NotImplementedError("the server is asynchronous throughout")

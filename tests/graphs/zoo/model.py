"""A chat model whose answer depends on its prompt alone.

A graph that calls it several times at once, or runs again from a checkpoint, gets the same words.
It is as strict with its prompts as OpenAI is.
"""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any
from uuid import uuid4

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.language_models.chat_models import generate_from_stream
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field, PrivateAttr

from tests.support.endpoint import Refusal
from tests.support.provider_refusal import provider_refusal
from tests.support.scripted_model import call, finish, text

Replies = Callable[[Sequence[BaseMessage], Sequence[str]], str | AIMessage]
"""The answer to a prompt, with the names of the tools that may be called: words, or a message of
words and calls."""


def calls(*named: tuple[str, dict[str, Any]], words: str = "") -> AIMessage:
    """Calls of `(tool, arguments)`; they get their ids when the message is said."""
    made = [{"name": n, "args": a, "id": "", "type": "tool_call"} for n, a in named]
    return AIMessage(words, tool_calls=made)


def question(prompt: Sequence[BaseMessage]) -> str:
    """The last message of the user."""
    return next((m.text for m in reversed(prompt) if isinstance(m, HumanMessage)), "")


def since_question(prompt: Sequence[BaseMessage]) -> Sequence[BaseMessage]:
    """The messages after the user's last one."""
    last = max((i for i, m in enumerate(prompt) if isinstance(m, HumanMessage)), default=-1)
    return prompt[last + 1 :]


def results(prompt: Sequence[BaseMessage]) -> list[str]:
    """The results of the tools that were called since the user's last message."""
    return [m.text for m in since_question(prompt) if m.type == "tool"]


class Gate:
    """Holds a model before one of its deltas, counted over all its calls."""

    def __init__(self, hold_at: int | None = None) -> None:
        self.deltas = 0
        self.reached = asyncio.Event()
        self._hold_at = hold_at
        self._open = asyncio.Event()
        self._open_for_threads = threading.Event()
        self._loop = asyncio.get_running_loop()

    async def wait(self) -> None:
        self.deltas += 1
        number = self.deltas
        await asyncio.sleep(0)
        if number == self._hold_at:  # not `deltas`: another call may have counted on meanwhile
            self.reached.set()
            await self._open.wait()

    def wait_in_thread(self) -> None:
        """The same for a model that is called in a thread."""
        self.deltas += 1
        if self.deltas == self._hold_at:
            self._loop.call_soon_threadsafe(self.reached.set)
            self._open_for_threads.wait()

    def open(self) -> None:
        """Let the model go on."""
        self._open.set()
        self._open_for_threads.set()


class ReplyingModel(BaseChatModel):
    replies: Replies
    gate: Any = Field(default_factory=Gate)
    _refused: list[Refusal] = PrivateAttr(default_factory=list)

    def held_at(self, delta: int) -> "ReplyingModel":
        """The same model, which stands still before one of its deltas."""
        return ReplyingModel(replies=self.replies, gate=Gate(delta))

    @property
    def refused(self) -> Sequence[Refusal]:
        """What a strict endpoint would have refused."""
        return self._refused

    @property
    def _llm_type(self) -> str:
        return "replying"

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: str | None = None, **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        bound = [convert_to_openai_tool(tool) for tool in tools]
        return self.bind(tools=bound, tool_choice=tool_choice, **kwargs)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        del stop, run_manager
        for delta in self._deltas(messages, kwargs):
            await self.gate.wait()
            yield ChatGenerationChunk(message=delta)

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        del stop, run_manager
        for delta in self._deltas(messages, kwargs):
            self.gate.wait_in_thread()
            yield ChatGenerationChunk(message=delta)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return generate_from_stream(self._stream(messages, stop, run_manager, **kwargs))

    def _deltas(self, prompt: list[BaseMessage], bound: dict[str, Any]) -> list[AIMessageChunk]:
        refusal = provider_refusal(prompt)
        if refusal:
            self._refused.append(refusal)
            raise ValueError(refusal.message)
        tools = bound.get("tools") or ()
        offered = [tool.get("function", {"name": tool["type"]})["name"] for tool in tools]
        answer = self.replies(prompt, offered)
        return deltas(AIMessage(answer) if isinstance(answer, str) else answer)


def deltas(message: AIMessage) -> list[AIMessageChunk]:
    """A word a delta, then each call in three."""
    words = [text(word) for word in _words(message.text)]
    fragments = [
        delta
        for index, made in enumerate(message.tool_calls)
        for delta in _fragments(index, made["name"], compact(made["args"]))
    ]
    return [*words, *fragments, finish("tool_calls" if fragments else "stop")]


def _words(said: str) -> list[str]:
    *words, last = said.split(" ")
    return [f"{word} " for word in words] + [last] * bool(last)


def compact(args: dict[str, Any]) -> str:
    """JSON as OpenAI's models write it."""
    return json.dumps(args, separators=(",", ":"))


def _fragments(index: int, name: str, args: str) -> list[AIMessageChunk]:
    half = len(args) // 2
    return [
        call("", name=name, id=f"call_{uuid4().hex[:24]}", index=index),
        call(args[:half], index=index),
        call(args[half:], index=index),
    ]

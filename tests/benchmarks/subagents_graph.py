"""An agent with an agent as its tool. The words are said by the one that `WORDS_OF` names, `answer`
or `subagent`; the other says one. With `none` the tool calls no model."""

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.tools import BaseTool, tool

WORDS_OF = os.environ.get("WORDS_OF", "answer")
WORDS = 300
PACE_SECONDS = 0.0125
"""Longer than words of an answer are gathered for: each is an event."""


class Speaker(BaseChatModel):
    words: int
    calls: str | None = None
    """The name of the tool that is called first."""

    @property
    def _llm_type(self) -> str:
        return "speaker"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        del tools
        return self.bind(**kwargs)

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        raise NotImplementedError

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        del stop, run_manager, kwargs
        if self.calls and messages[-1].type != "tool":
            id = f"call-{os.urandom(8).hex()}"
            call = tool_call_chunk(name=self.calls, args="{}", id=id, index=0)
            said = AIMessageChunk(content="", tool_call_chunks=[call])
            yield ChatGenerationChunk(message=said)
            return
        for _ in range(self.words):
            await asyncio.sleep(PACE_SECONDS)
            yield ChatGenerationChunk(message=AIMessageChunk(content="word "))


def _tool() -> BaseTool:
    words = WORDS if WORDS_OF == "subagent" else 1
    agent: Any = create_agent(Speaker(words=words), name="researcher")

    @tool
    async def research() -> str:
        """Research."""
        if WORDS_OF == "none":
            return "Done."
        await agent.ainvoke({"messages": [("user", "Go")]})
        return "Done."

    return research


answering = 1 if WORDS_OF == "subagent" else WORDS
graph = create_agent(Speaker(words=answering, calls="research"), tools=[_tool()])

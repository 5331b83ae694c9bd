"""A graph of your own: one node asks the model, one runs tools; a question ends the turn.

TURNSTREAM_GRAPH=docs.examples.own_graph:build make run
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command, Send

from turnstream.graphs.execution import execute
from turnstream.graphs.history import for_model, pending_calls
from turnstream.graphs.limits import Limits
from turnstream.graphs.state import ChatState
from turnstream.tools.catalogue import Catalogue


def build(
    model: BaseChatModel,
    catalogue: Catalogue,
    *,
    checkpointer: BaseCheckpointSaver[Any],
    limits: Limits,
    system_prompt: str,
) -> Any:
    asking = [tool.function for tool in catalogue.ui if tool.awaits_client]
    thinker = model.bind_tools([*catalogue.real, *asking])

    async def think(state: ChatState) -> dict[str, Any]:
        prompt = for_model(state["messages"], system_prompt, limits.max_history_tokens)
        return {"messages": [await thinker.ainvoke(prompt)]}

    async def run_one(
        request: ToolCallRequest,
        run: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage:
        return await execute(request.tool_call, partial(run, request), limits)

    def is_real(call: ToolCall) -> bool:
        return call["name"] in catalogue.real_by_name

    def after_think(state: ChatState) -> list[Send] | str:
        said = state["messages"][-1]
        calls = said.tool_calls if isinstance(said, AIMessage) else []
        return [Send("tools", [call]) for call in calls if is_real(call)] or END

    def after_tools(state: ChatState) -> str:
        """A question to the user ends the turn, also beside real calls."""
        return "think" if all(map(is_real, pending_calls(state["messages"]))) else END

    graph = StateGraph(ChatState)
    graph.add_node("think", think)
    graph.add_node("tools", ToolNode(catalogue.real, awrap_tool_call=run_one))
    graph.add_edge(START, "think")
    graph.add_conditional_edges("think", after_think, ["tools", END])
    graph.add_conditional_edges("tools", after_tools, ["think", END])
    return graph.compile(checkpointer=checkpointer)

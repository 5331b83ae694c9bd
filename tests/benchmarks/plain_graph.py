"""The built-in tools in a graph as LangGraph's documentation writes it."""

from typing import Any

from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from turnstream.tools.builtin import CATALOGUE

# The watchdog over the chunks is off: it doubles the cost of a chunk.
model = ChatOpenAI(model="scripted", stream_usage=True, stream_chunk_timeout=0)
bound = model.bind_tools(list(CATALOGUE.real))


async def agent(state: MessagesState) -> dict[str, Any]:
    return {"messages": [await bound.ainvoke(state["messages"])]}


graph = StateGraph(MessagesState)
graph.add_node("agent", agent)
graph.add_node("tools", ToolNode(list(CATALOGUE.real)))
graph.add_edge(START, "agent")
graph.add_conditional_edges("agent", tools_condition)
graph.add_edge("tools", "agent")

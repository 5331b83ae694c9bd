"""The tools that a graph runs in its `ToolNode`s."""

from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import RunnableBinding
from langchain_core.tools import BaseTool
from langgraph.prebuilt import ToolNode
from langgraph.pregel import Pregel


def tools_of(graph: Pregel[Any, Any, Any, Any]) -> Mapping[str, BaseTool]:
    """By name, of the graph and its subgraphs."""
    tools: dict[str, BaseTool] = {}
    for _, subgraph in graph.get_subgraphs(recurse=True):
        tools |= _own(subgraph)
    return tools | _own(graph)


def _own(graph: Any) -> dict[str, BaseTool]:
    tools: dict[str, BaseTool] = {}
    for node in graph.nodes.values():
        bound = node.bound
        while isinstance(bound, RunnableBinding):
            bound = bound.bound
        if isinstance(bound, ToolNode):
            tools |= bound.tools_by_name
    return tools

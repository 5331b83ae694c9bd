"""The graph by setting: a function that builds it, named as `module:function`.

It is called as `build(model, catalogue, checkpointer=, limits=, system_prompt=)` and returns a
compiled graph whose state has `messages`. The built-in one is `graphs.chat:build`.
"""

from collections.abc import Callable
from pkgutil import resolve_name
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START
from langgraph.pregel import Pregel

BUILT_IN = "graphs.chat:build"

Build = Callable[..., Pregel[Any, Any, Any, Any]]


class GraphError(Exception):
    """The setting names nothing that builds a graph for this server; the message is one line."""


def build_function(name: str) -> Build:
    """Raises GraphError if there is no such function."""
    try:
        found = resolve_name(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise GraphError(
            f"TURNSTREAM_GRAPH cannot be {name!r}: {error}. Name a function that builds the graph, "
            f"as module:function; the built-in one is {BUILT_IN}."
        ) from None
    if isinstance(found, Pregel) or not callable(found):
        raise GraphError(
            f"TURNSTREAM_GRAPH cannot be {name!r}: that is a {type(found).__name__}. Name the "
            "function that builds the graph: it is given the model, the tools and the checkpointer."
        )
    build: Build = found
    return build


def checked(name: str, graph: object, checkpointer: BaseCheckpointSaver[Any]) -> None:
    """Raises GraphError if what a build function made cannot be served."""
    if not isinstance(graph, Pregel):
        fault = f"it made a {type(graph).__name__}; return what graph.compile() gives"
    elif "messages" not in graph.channels:
        fault = "its graph's state has no messages"
    elif _first_edges_depend(graph):
        fault = "its first edge is conditional; put a node before it"
    elif graph.checkpointer is not checkpointer:
        fault = "compile the graph with the checkpointer that it is given"
    else:
        return
    raise GraphError(f"TURNSTREAM_GRAPH cannot be {name!r}: {fault}.")


def _first_edges_depend(graph: Pregel[Any, Any, Any, Any]) -> bool:
    """To store messages outside a run is to enter the graph anew: that must not ask a router."""
    return any(edge.conditional for edge in graph.get_graph().edges if edge.source == START)

"""The storage that a graph brings along for its state and items, beside the server's: told at the
start."""

import logging
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.pregel import Pregel
from langgraph.store.base import BaseStore

logger = logging.getLogger(__name__)

REPLACED = "graph %(graph)s: its own %(what)s (%(kind)s) is replaced by the server's"
KEPT = (
    "graph %(graph)s: its subgraph %(subgraph)s has a checkpointer of its own (%(kind)s); what is "
    "called under another thread_id is kept there, and not listed or deleted with the thread"
)


def announce_own_storage(
    name: str,
    graph: Pregel[Any, Any, Any, Any],
    checkpointer: BaseCheckpointSaver[Any],
    store: BaseStore | None,
) -> None:
    """Say in the log what the server's checkpointer and store replace, and what they do not.

    Read in LangGraph 1.2.22: a subgraph gets its parent's checkpointer unless it is called under a
    `thread_id` of its own, and its parent's store always. One that only a tool or a helper calls
    is not found.
    """
    if graph.checkpointer and graph.checkpointer is not checkpointer:
        _replaced(name, "checkpointer", graph.checkpointer)
    if store and graph.store and graph.store is not store:
        _replaced(name, "store", graph.store)
    for path, subgraph in graph.get_subgraphs(recurse=True):
        own = getattr(subgraph, "checkpointer", None)
        if isinstance(own, BaseCheckpointSaver) and own is not checkpointer:
            named = {"graph": name, "subgraph": path, "kind": type(own).__name__}
            logger.warning(KEPT, named)


def _replaced(name: str, what: str, own: object) -> None:
    logger.warning(REPLACED, {"graph": name, "what": what, "kind": type(own).__name__})

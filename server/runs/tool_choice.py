"""The tools that a request or a thread chooses of those that its caller may use."""

from collections.abc import Collection, Sequence
from difflib import get_close_matches

from turnstream.graphs.attached import AttachedGraph
from turnstream.server.callers.rights import Rights
from turnstream.server.storage.interfaces import ThreadEntry
from turnstream.server.turns.requests import InvalidRequest, TurnRequest
from turnstream.tools.catalogue import Catalogue


def narrowed(
    rights: Rights,
    request: TurnRequest,
    thread: ThreadEntry | None,
    graph: AttachedGraph,
    catalogue: Catalogue,
) -> Rights:
    """The rights that the request and its thread leave. Raises InvalidRequest."""
    if request.allowed_tools is not None:
        brought = [tool.name for tool in request.client_tools]
        check_choice(request.allowed_tools, [graph], catalogue, rights, brought)
        rights = rights.narrowed(request.allowed_tools)
    return rights.narrowed(thread.allowed_tools) if thread else rights


def check_choice(
    names: Sequence[str],
    graphs: Sequence[AttachedGraph],
    catalogue: Catalogue,
    rights: Rights,
    client_tools: Collection[str] = (),
) -> None:
    """Raises InvalidRequest: 422 for a name that is no tool's of any of the graphs, 403 for a tool
    that the caller may not use."""
    known = {name for graph in graphs for name in known_tools(graph, catalogue)}
    for name in names:
        if name not in known and name not in client_tools:
            near = get_close_matches(name, [n for n in known if rights.decide(n) != "deny"])
            hint = f"Did you mean {', '.join(near)}?" if near else "GET /tools lists them."
            raise InvalidRequest(
                "unknown_tool", f"allowed_tools has {name[:64]!r}, which is no tool. {hint}"
            )
        if name in known and rights.decide(name) == "deny":
            raise InvalidRequest(
                "tool_not_allowed",
                f"allowed_tools has {name[:64]!r}, which you may not use; GET /tools lists yours.",
                403,
            )


def known_tools(graph: AttachedGraph, catalogue: Catalogue) -> Collection[str]:
    """The names of the tools that a graph can call on the server, and of our UI tools where it has
    them."""
    ours = {*catalogue.real_by_name, *catalogue.ui_by_name} if graph.context.is_ours else set()
    return ours if graph.is_built_in else {*ours, *graph.tool_names}

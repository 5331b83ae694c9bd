"""The values that a client may set of a graph's context, configurable values and input."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from turnstream.graphs.app_context import of_state
from turnstream.graphs.attached import AttachedGraph
from turnstream.graphs.client_state import HIDDEN
from turnstream.server.runs.plan import Plan
from turnstream.server.turns.requests import GraphValues, InvalidRequest, TurnRequest


def check_values(request: TurnRequest, graph: AttachedGraph, allowed: Collection[str]) -> None:
    """Raises InvalidRequest for a name that the graph does not have or a client may not set, for a
    context that cannot be made, for input beside an answer to a call, for a node that there is not,
    and for tools that the graph does not take and the client cannot do without."""
    if request.needs_tools and not graph.takes_client_tools:
        raise InvalidRequest(
            "client_tools_not_supported",
            "The graph of this server takes no tools of a client; send none.",
        )
    _check_messages(request, graph)
    _check_nodes(request, graph)
    values = request.values
    for place, names in allowed_names(graph, allowed).items():
        wrong = [name for name in getattr(values, place) if name not in names]
        if wrong:
            free = ", ".join(names) or "nothing"
            raise InvalidRequest(
                "value_not_allowed",
                f"{place} has {', '.join(map(repr, wrong[:3]))}: a client may set {free} there "
                "(TURNSTREAM_CLIENT_CONTEXT).",
            )
    goes_with = (request.message, request.branch, request.update, request.resume)
    if values.input and not (any(goes_with) or request.is_input_alone):
        raise InvalidRequest(
            "value_not_allowed",
            "input goes alone, or with a message, an edit, a regenerated answer or a resume.",
        )
    _check_input(values.input)
    if request.update:
        return
    try:
        graph.context.check(values.context)
    except ValueError:
        missing = graph.context.missing(values.context)
        if missing:
            raise InvalidRequest(
                "invalid_context",
                f"The graph needs {', '.join(map(repr, sorted(missing)))}: send it in context.",
            ) from None
        # Its words may hold values of the settings.
        given_names = ", ".join(map(repr, values.context))
        raise InvalidRequest(
            "invalid_context",
            f"The graph does not take these values of its context: {given_names}.",
        ) from None


def _check_input(values: Mapping[str, Any]) -> None:
    """Raises InvalidRequest for a value with which LangGraph goes past a reducer."""
    if any(_overwrites(value) for value in values.values()):
        raise InvalidRequest(
            "value_not_allowed",
            "input has a value that overwrites what the thread has.",
        )


def _check_messages(request: TurnRequest, graph: AttachedGraph) -> None:
    """Raises InvalidRequest for messages that the graph has no place for."""
    brings = request.message is not None or request.branch is not None
    writes = request.update is not None and bool(request.update.messages)
    if (brings and not graph.takes_messages) or (writes and not graph.has_messages):
        names = ", ".join(sorted(graph.input_names)) or "nothing"
        raise InvalidRequest(
            "value_not_allowed",
            f"The graph takes no messages: send input alone. Its input has {names}.",
        )


def _check_nodes(request: TurnRequest, graph: AttachedGraph) -> None:
    """Raises InvalidRequest for nodes that a client may not name."""
    if request.options.has_breakpoints and graph.is_built_in:
        raise InvalidRequest(
            "value_not_allowed",
            "interrupt_before and interrupt_after are for graphs of one's own: leave them out.",
        )
    node = request.update.as_node if request.update else None
    if node is not None and node not in graph.node_names:
        nodes = ", ".join(graph.node_names) or "none of this graph"
        raise InvalidRequest(
            "value_not_allowed",
            f"as_node is {node[:64]!r}: leave it out, or name a node ({nodes}).",
        )


def with_app_context(request: TurnRequest, graph: AttachedGraph) -> TurnRequest:
    """Return the request with the app's texts where its graph takes them: the built-in one in its
    prompt, one of somebody's own in a key of its input."""
    if graph.is_built_in or not request.app_context:
        return request
    has_input = request.message or request.branch or request.values.input
    keys = graph.app_context_keys if has_input else ()
    given = request.values.input
    said = {key: {**_object(given.get(key)), **of_state(request.app_context)} for key in keys}
    values = replace(request.values, input={**given, **said})
    return replace(request, app_context=(), values=values)


def shared_names(graph: AttachedGraph, allowed: Collection[str]) -> frozenset[str]:
    """Return the keys of a graph's state that a client sees and may set."""
    return graph.input_names.intersection(allowed, graph.client_state.names)


def with_posted_state(
    request: TurnRequest, plan: Plan, graph: AttachedGraph, allowed: Collection[str]
) -> GraphValues:
    """Return the request's values, and of its client's state what is not as the thread has it. An
    answer goes without, since a graph that goes on takes no input, and so does an edit, which goes
    back to the values that were there. Raises InvalidRequest."""
    posted, before = request.posted_state or {}, plan.before.graph_state or {}
    if request.message is None or plan.point is not None:
        return request.values
    names = shared_names(graph, allowed) & posted.keys()
    changed = {name: posted[name] for name in names if is_changed(posted[name], before.get(name))}
    _check_input(changed)
    return replace(request.values, input={**request.values.input, **changed})


def is_changed(posted: Any, before: Any) -> bool:
    """Compare a value that a client posts with the one that it was given. One that the client did
    not see is not changed by it."""
    return posted != HIDDEN and not _is_same(posted, before)


def _is_same(posted: Any, before: Any) -> bool:
    """Compare JSON as a browser does, which has all numbers as floats."""
    if isinstance(posted, dict) and isinstance(before, dict):
        return posted.keys() == before.keys() and all(
            _is_same(posted[key], before[key]) for key in posted
        )
    if isinstance(posted, list) and isinstance(before, list):
        return len(posted) == len(before) and all(map(_is_same, posted, before))
    if _is_number(posted) and _is_number(before):
        return float(posted) == float(before)
    return type(posted) is type(before) and bool(posted == before)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def allowed_names(graph: AttachedGraph, allowed: Collection[str]) -> Mapping[str, list[str]]:
    """Return the names that a client may set of a graph: `{"context", "configurable", "input"}`,
    each a list."""
    return {
        "context": sorted(graph.context.names.intersection(allowed)),
        "configurable": sorted(allowed),
        "input": sorted(graph.input_names.intersection(allowed)),
    }


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _overwrites(value: Any) -> bool:
    """The forms of JSON that LangGraph takes for its Overwrite."""
    return isinstance(value, dict) and ("__overwrite__" in value or "__overwrite__" in _type(value))


def _type(value: dict[str, Any]) -> str:
    return str(value.get("type", ""))

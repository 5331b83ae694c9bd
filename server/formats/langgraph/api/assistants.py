"""LangGraph SDK: what the server is, and its assistants: the graphs, and those that clients keep.

A kept assistant is a graph under a name, with values that its runs get. It belongs to who made it.
"""

import re
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple, TypeVar
from uuid import uuid4

from pydantic import AfterValidator
from starlette.responses import JSONResponse, Response
from typing_extensions import TypedDict

from turnstream.server.callers.reach import MetadataFilter
from turnstream.server.formats import fields
from turnstream.server.formats.fields import Fault, Fields, Text, shown
from turnstream.server.formats.langgraph.api.bodies import (
    LISTED,
    METADATA,
    NEXT,
    Limit,
    Offset,
    Order,
    Select,
    bounded,
    has,
    read_body,
    selected,
    some_of,
)
from turnstream.server.http import chat, operations
from turnstream.server.http.operations import Answer, Operation, Parameter, says
from turnstream.server.http.problems import Problem
from turnstream.server.http.state import ApiRequest, owner, principal
from turnstream.server.runs.reach import ruled_changes, ruled_metadata
from turnstream.server.storage.assistants import (
    MAX_ASSISTANT_CHARS,
    MAX_ASSISTANTS,
    MAX_VERSIONS,
    Assistant,
    AssistantTooLarge,
    Content,
    TooManyAssistants,
)
from turnstream.server.turns.problem_codes import STORAGE, pick
from turnstream.server.turns.requests import InvalidRequest

_EPOCH = "1970-01-01T00:00:00+00:00"
"""Graphs are code: nobody has made them at a time."""
OF_SYSTEM = {"created_by": "system"}
"""The metadata of graphs, as LangGraph's own server has it."""
_ID = re.compile(fields.THREAD_ID)
A = TypeVar("A", bound="LangGraphAssistantCountBody")


class LangGraphFlagsJson(TypedDict):
    assistants: bool
    crons: bool
    langsmith: bool


class LangGraphInfoJson(TypedDict):
    version: str
    flags: LangGraphFlagsJson


class LangGraphOkJson(TypedDict):
    ok: Literal[True]


class LangGraphAssistantVersionJson(TypedDict):
    assistant_id: str
    graph_id: str
    name: str
    description: str | None
    created_at: operations.Time
    config: dict[str, Any]
    context: dict[str, Any]
    metadata: dict[str, Any]
    version: int


class LangGraphAssistantJson(LangGraphAssistantVersionJson):
    updated_at: operations.Time


def _config(value: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(value.get("configurable"), dict | None):
        raise Fault("invalid_body", "has a configurable that is no object: send a JSON object.")
    return value


Config = Annotated[
    fields.JsonObject,
    AfterValidator(_config),
    says("Values that each run gets; those of the run come before them."),
]
Context = Annotated[fields.JsonObject, says("The same.")]
Kept = Annotated[dict[str, Any] | None, *METADATA, fields.FITTING_JSON]
AssistantId = Annotated[
    str,
    fields.Field(pattern=fields.THREAD_ID),
    fields.Otherwise("invalid_body", "use 1 to 128 of A-Z, a-z, 0-9, _ and -, or leave it out"),
]


class LangGraphNewAssistantBody(Fields):
    graph_id: Annotated[Text, says("A graph, or the id that LangGraph gives it.")]
    assistant_id: AssistantId | None = None
    name: Annotated[Text | None, says("The graph's name without it.")] = None
    description: Text | None = None
    config: Config | None = None
    context: Context | None = None
    metadata: Kept = None
    if_exists: (
        Annotated[
            Literal["raise", "do_nothing"],
            fields.Otherwise("invalid_body"),
            says("With `do_nothing` an existing assistant is the answer."),
        ]
        | None
    ) = None


class LangGraphAssistantChangesBody(Fields):
    graph_id: Text | None = None
    name: Text | None = None
    description: Text | None = None
    config: Config | None = None
    context: Context | None = None
    metadata: Annotated[Kept, says("Each value takes its place.")] = None


class LangGraphAssistantCountBody(Fields):
    graph_id: Annotated[Text | None, says("The graph of the ones that are wanted.")] = None
    name: Annotated[Text | None, says("Part of a name.")] = None
    metadata: Annotated[
        dict[str, Any] | None, *METADATA, says("Values that an assistant's metadata has.")
    ] = None


class LangGraphAssistantSearchBody(LangGraphAssistantCountBody):
    limit: Limit | None = None
    offset: Offset | None = None
    sort_by: (
        Annotated[
            Literal["assistant_id", "graph_id", "name", "created_at", "updated_at"],
            fields.Otherwise("invalid_body"),
            says("Without it the graphs come first, then the assistants that clients keep."),
        ]
        | None
    ) = None
    sort_order: Order | None = None
    select: Select | None = None


class LangGraphVersionsBody(Fields):
    limit: Limit | None = None
    offset: Offset | None = None
    metadata: Annotated[
        dict[str, Any] | None, *METADATA, says("Values that a version's metadata has.")
    ] = None


class LangGraphLatestBody(Fields):
    version: Annotated[int, *bounded(1, 1_000_000, 1)]


_KEPT = (
    STORAGE
    | pick("invalid_body", "invalid_text", "invalid_json_value", "value_too_long")
    | pick("assistant_not_found")
)
_FOUND = STORAGE | pick("assistant_not_found")
_MAY = (chat.IGNORED,)


@Operation(
    "langgraphInfo",
    Answer("The version, and the parts of LangGraph's server that there are.", LangGraphInfoJson),
)
async def info(_request: ApiRequest) -> Response:
    """Describe the server."""
    flags = LangGraphFlagsJson(assistants=True, crons=False, langsmith=False)
    return JSONResponse(LangGraphInfoJson(version=version("turnstream"), flags=flags))


@Operation("langgraphOk", Answer("It is.", LangGraphOkJson))
async def ok(_request: ApiRequest) -> Response:
    """Say that the server answers."""
    return JSONResponse(LangGraphOkJson(ok=True))


@Operation(
    "langgraphCreateAssistant",
    Answer("The assistant.", LangGraphAssistantJson, may_have=_MAY),
    _KEPT | pick("assistant_exists", "too_many_assistants"),
    body=LangGraphNewAssistantBody,
    examples={
        "one of a graph": {"graph_id": "chat"},
        "one with an id": {"graph_id": "chat", "assistant_id": "a1", "metadata": {"team": 1}},
    },
)
async def create_assistant(request: ApiRequest) -> Response:
    """Keep an assistant: a graph, with values that its runs get.

    The values are checked when a run gets them.
    """
    asked, headers = await read_body(request, LangGraphNewAssistantBody)
    graph, id = graph_named(request, asked.graph_id), asked.assistant_id or str(uuid4())
    content = Content(
        graph,
        graph if asked.name is None else asked.name,
        asked.description,
        asked.config or {},
        asked.context or {},
        asked.metadata or {},
    )
    filter, metadata = await _filter(
        request,
        "create",
        id,
        content.metadata,
        graph_id=graph,
        name=content.name,
        config=content.config,
        context=content.context,
        if_exists=asked.if_exists or "raise",
    )
    if request.state["graphs"].find(id) is None:
        content = replace(content, metadata=metadata)
        with _bounds():
            made = await request.state["store"].create_assistant(owner(request), id, content)
        if made is not None:
            return JSONResponse(_kept(made), headers=headers)
    there = _shown(request, await find_assistant(request, id))
    if asked.if_exists != "do_nothing" or not filter.matches(there["metadata"]):
        raise Problem(409, "assistant_exists", f"There is an assistant {id!r} already.")
    return JSONResponse(there, headers=headers)


@Operation(
    "langgraphSearchAssistants",
    Answer(
        "The graphs, the default first, then the assistants that clients keep, newest first.",
        list[some_of(LangGraphAssistantJson)],  # type: ignore[misc]
        may_have=(NEXT, *_MAY),
    ),
    STORAGE | pick("invalid_body", "invalid_limit", "invalid_text"),
    body=LangGraphAssistantSearchBody,
    examples={
        "all": {},
        "one that there is not": {"graph_id": "none"},
        "names": {"sort_by": "name", "sort_order": "asc", "select": ["assistant_id", "name"]},
    },
)
async def search_assistants(request: ApiRequest) -> Response:
    """List the graphs and the caller's assistants.

    `X-Pagination-Next` is the `offset` of the next page, if there is one.
    """
    asked, headers, found = await _matching(request, LangGraphAssistantSearchBody)
    if (by := asked.sort_by) is not None:
        is_falling = asked.sort_order != "asc"
        found.sort(key=lambda one: (one[by], one["assistant_id"]), reverse=is_falling)
    start = asked.offset or 0
    end = start + (asked.limit or LISTED)
    if end < len(found):
        headers[NEXT] = str(end)
    page = [selected(one, asked.select) for one in found[start:end]]
    return JSONResponse(page, headers=headers)


@Operation(
    "langgraphCountAssistants",
    Answer("The number of assistants that match.", int, may_have=_MAY),
    STORAGE | pick("invalid_body", "invalid_text"),
    body=LangGraphAssistantCountBody,
    examples={"all": {}, "those of a name": {"name": "chat"}},
)
async def count_assistants(request: ApiRequest) -> Response:
    """Count the graphs and the caller's assistants."""
    _, headers, found = await _matching(request, LangGraphAssistantCountBody)
    return JSONResponse(len(found), headers=headers)


async def _matching(
    request: ApiRequest, model: type[A]
) -> tuple[A, dict[str, str], list[LangGraphAssistantJson]]:
    """Read a body, and find the assistants that it asks for."""
    asked, headers = await read_body(request, model)
    part, wanted = (asked.name or "").lower(), asked.metadata or {}
    filter, searched = await _filter(request, "search", None, wanted, graph_id=asked.graph_id)
    filter = filter.also(ruled_changes(wanted, searched))
    kept = await request.state["store"].assistants(owner(request))
    graphs = request.state["graphs"]
    graph = asked.graph_id and graphs.find(asked.graph_id)
    all = [*(_of_graph(request, name) for name in graphs.by_name), *map(_kept, kept)]
    found = [
        one
        for one in all
        if (asked.graph_id is None or one["graph_id"] == graph)
        and part in one["name"].lower()
        and has(one["metadata"], wanted)
        and filter.matches(one["metadata"])
    ]
    return asked, headers, found


@Operation("langgraphGetAssistant", Answer("The assistant.", LangGraphAssistantJson), _FOUND)
async def get_assistant(request: ApiRequest) -> Response:
    """Load an assistant."""
    return JSONResponse(_shown(request, await named_assistant(request)))


@Operation(
    "langgraphUpdateAssistant",
    Answer("The assistant.", LangGraphAssistantJson, may_have=_MAY),
    _KEPT | pick("assistant_is_graph"),
    body=LangGraphAssistantChangesBody,
    path={"assistant_id": "ThreadId"},
    examples={"another name": {"name": "Ann's"}},
)
async def update_assistant(request: ApiRequest) -> Response:
    """Make a new version of an assistant: what the body does not name stays."""
    asked, headers = await read_body(request, LangGraphAssistantChangesBody)
    given = asked.metadata or {}
    id, metadata = await _own(request, "update", given, graph_id=asked.graph_id, name=asked.name)
    changes = asked.model_dump(exclude_none=True)
    if metadata != given:
        changes["metadata"] = metadata
    if asked.graph_id is not None:
        changes["graph"] = graph_named(request, changes.pop("graph_id"))
    with _bounds():
        made = await request.state["store"].update_assistant(owner(request), id, changes)
    if made is None:
        raise _unknown(request, id)
    return JSONResponse(_kept(made), headers=headers)


@Operation(
    "langgraphDeleteAssistant",
    {204: Answer("The assistant is deleted, with its versions.")},
    _FOUND | pick("assistant_is_graph", "unsupported_option"),
    path={"assistant_id": "ThreadId"},
    query={
        "delete_threads": Parameter("Left out: threads stay.", operations.one_of(["", "false"]))
    },
)
async def delete_assistant(request: ApiRequest) -> Response:
    """Delete an assistant. Threads and live runs that it has begun stay."""
    if request.query_params.get("delete_threads", "").lower() not in ("", "0", "false"):
        raise InvalidRequest(
            "unsupported_option",
            "delete_threads is not supported: threads belong to their graph. Leave it out.",
        )
    id, _ = await _own(request, "delete")
    if not await request.state["store"].delete_assistant(owner(request), id):
        raise _unknown(request, id)
    return Response(status_code=204)


@Operation(
    "langgraphListAssistantVersions",
    Answer(
        f"The versions, the newest first: the last {MAX_VERSIONS} of an assistant, one of a graph.",
        list[LangGraphAssistantVersionJson],
        may_have=_MAY,
    ),
    _FOUND | pick("invalid_body", "invalid_limit"),
    body=LangGraphVersionsBody,
    examples={"all": {}},
)
async def list_versions(request: ApiRequest) -> Response:
    """List the versions of an assistant."""
    asked, headers = await read_body(request, LangGraphVersionsBody)
    found = await named_assistant(request)
    if found.kept is None:
        versions = [_of_graph(request, found.graph)]
    else:
        store = request.state["store"]
        versions = [*map(_kept, await store.assistant_versions(owner(request), found.id))]
    start = asked.offset or 0
    matching = [_version(one) for one in versions if has(one["metadata"], asked.metadata or {})]
    return JSONResponse(matching[start : start + (asked.limit or LISTED)], headers=headers)


@Operation(
    "langgraphSetLatestVersion",
    Answer("The assistant.", LangGraphAssistantJson, may_have=_MAY),
    _FOUND | pick("invalid_body", "invalid_limit", "assistant_is_graph"),
    body=LangGraphLatestBody,
    path={"assistant_id": "ThreadId"},
    examples={"the first one": {"version": 1}},
)
async def set_latest(request: ApiRequest) -> Response:
    """Make an earlier version of an assistant the one that runs get."""
    asked, headers = await read_body(request, LangGraphLatestBody)
    (id, _), number = await _own(request, "update", version=asked.version), asked.version
    chosen = await request.state["store"].choose_version(owner(request), id, number)
    if chosen is None:
        raise Problem(
            404, "assistant_not_found", f"There is no version {number} of an assistant {shown(id)}."
        )
    return JSONResponse(_kept(chosen), headers=headers)


class FoundAssistant(NamedTuple):
    id: str
    graph: str
    kept: Assistant | None
    """None: it is a graph."""


async def find_assistant(request: ApiRequest, assistant_id: str) -> FoundAssistant:
    """Find a graph, or an assistant of the caller. Raises Problem, StorageUnavailable."""
    graphs = request.state["graphs"]
    if (graph := graphs.find(assistant_id)) is not None:
        return FoundAssistant(graph, graph, None)
    kept = None
    if _ID.match(assistant_id):
        kept = await request.state["store"].assistant(owner(request), assistant_id)
    if kept is None:
        raise _unknown(request, assistant_id)
    if graphs.find(kept.content.graph) is None:
        raise Problem(
            404,
            "assistant_not_found",
            f"The graph {shown(kept.content.graph)} of the assistant {assistant_id!r} is not "
            f"served any more; there {graphs.listed}.",
        )
    return FoundAssistant(assistant_id, kept.content.graph, kept)


def graph_named(request: ApiRequest, name: str) -> str:
    """Find the graph that a client names. Raises Problem."""
    if (graph := request.state["graphs"].find(name)) is None:
        raise _unknown(request, name)
    return graph


async def named_assistant(request: ApiRequest) -> FoundAssistant:
    """Find the assistant of the address, if the caller may read it. Raises Problem, Refusal."""
    found = await find_assistant(request, request.path_params["assistant_id"])
    filter, _ = await _filter(request, "read", found.id, {})
    if not filter.matches(_shown(request, found)["metadata"]):
        raise _unknown(request, found.id)
    return found


async def _filter(
    request: ApiRequest, action: str, id: str | None, metadata: Mapping[str, Any], **asked: Any
) -> tuple[MetadataFilter, Mapping[str, Any]]:
    """Ask the rules about an assistant. Return their filter, and the metadata as they have changed
    it. Raises Refusal, GuardFailed."""
    value = {"metadata": {**metadata}, **asked, **({} if id is None else {"assistant_id": id})}
    hooks = request.state["hooks"]
    filter = await hooks.filter(principal(request), "assistants", action, value)
    is_changed = value.get("metadata") != metadata
    return filter, ruled_metadata(value) if is_changed else metadata


async def _own(
    request: ApiRequest,
    action: str,
    metadata: Mapping[str, Any] = MappingProxyType({}),
    **asked: Any,
) -> tuple[str, Mapping[str, Any]]:
    """Return the id of the address if an assistant of the caller may have it and the rules match
    it; and the metadata as they have changed it. Raises Problem, Refusal."""
    id: str = request.path_params["assistant_id"]
    if request.state["graphs"].find(id) is not None:
        raise Problem(
            409,
            "assistant_is_graph",
            f"{shown(id)} is a graph of the server, which clients cannot change: make an assistant "
            "of it.",
        )
    if not _ID.match(id):
        raise _unknown(request, id)
    filter, metadata = await _filter(request, action, id, metadata, **asked)
    if not filter.is_empty:
        found = await request.state["store"].assistant(owner(request), id)
        if found is None or not filter.matches(found.content.metadata):
            raise _unknown(request, id)
    return id, metadata


def _unknown(request: ApiRequest, id: str) -> Problem:
    graphs = ", ".join(request.state["graphs"].by_name)
    places = f"not found among the graphs ({graphs}) and your own"
    said = f"No assistant found for {shown(id)}: {places}."
    return Problem(404, "assistant_not_found", said)


@contextmanager
def _bounds() -> Any:
    """Raises Problem, InvalidRequest for an assistant that cannot be kept."""
    try:
        yield
    except AssistantTooLarge:
        said = f"An assistant has at most {MAX_ASSISTANT_CHARS} characters as JSON."
        raise InvalidRequest("value_too_long", said) from None
    except TooManyAssistants:
        said = f"You keep {MAX_ASSISTANTS} assistants: delete one first."
        raise Problem(409, "too_many_assistants", said) from None


def _shown(request: ApiRequest, found: FoundAssistant) -> LangGraphAssistantJson:
    return _of_graph(request, found.graph) if found.kept is None else _kept(found.kept)


def _of_graph(request: ApiRequest, name: str) -> LangGraphAssistantJson:
    """Clients see of the values of a graph's runs those that they may set."""
    attached = request.state["graphs"].by_name[name].attached
    may_set = request.state["client_values"]
    values = {key: value for key, value in attached.configurable.items() if key in may_set}
    return {
        "assistant_id": name,
        "graph_id": name,
        "name": name,
        "description": attached.description or None,
        "created_at": _EPOCH,
        "updated_at": _EPOCH,
        "config": {"configurable": values} if values else {},
        "context": {},
        "metadata": {**OF_SYSTEM},
        "version": 1,
    }


def _kept(one: Assistant) -> LangGraphAssistantJson:
    content = one.content
    return {
        "assistant_id": one.id,
        "graph_id": content.graph,
        "name": content.name,
        "description": content.description,
        "created_at": one.created_at,
        "updated_at": one.updated_at,
        "config": {**content.config},
        "context": {**content.context},
        "metadata": {**content.metadata},
        "version": one.version,
    }


def _version(one: LangGraphAssistantJson) -> LangGraphAssistantVersionJson:
    return {
        "assistant_id": one["assistant_id"],
        "graph_id": one["graph_id"],
        "name": one["name"],
        "description": one["description"],
        "created_at": one["updated_at"],
        "config": one["config"],
        "context": one["context"],
        "metadata": one["metadata"],
        "version": one["version"],
    }

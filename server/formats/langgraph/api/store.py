"""LangGraph SDK: the items that graphs keep in LangGraph's store.

An item belongs to nobody: its namespace is a matter of its graph. So clients reach items only where
callers are not told apart: without `TURNSTREAM_AUTH`, which is on loopback alone; or where rules
say which namespaces a caller reaches.
"""

import logging
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, NotRequired

from pydantic import Field
from starlette.responses import JSONResponse, Response
from typing_extensions import TypedDict

from turnstream.server.formats import fields
from turnstream.server.formats.fields import Fields, Text, read
from turnstream.server.formats.langgraph.api.bodies import (
    LISTED,
    MAX_LISTED,
    Limit,
    Offset,
    bounded,
)
from turnstream.server.http import operations
from turnstream.server.http.operations import Answer, Operation, Parameter
from turnstream.server.http.problems import Problem
from turnstream.server.http.state import ApiRequest, principal
from turnstream.server.runs.hooks import GuardFailed
from turnstream.server.turns.problem_codes import pick
from turnstream.server.turns.requests import InvalidRequest

logger = logging.getLogger(__name__)

NO_STORE = (
    "Clients reach no store here: the built-in graph has none, and where callers are told apart an "
    "item belongs to nobody."
)
MAX_LABELS, MAX_LABEL_CHARS = 20, 200
NAMESPACES = 100
"""Namespaces of an answer; LangGraph's own default."""

Label = Annotated[
    Text,
    Field(min_length=1, max_length=MAX_LABEL_CHARS, pattern=r"^[^.]+$"),
    fields.Otherwise("invalid_body", f"send 1 to {MAX_LABEL_CHARS} characters without a dot"),
]
Key = Annotated[
    Text,
    Field(min_length=1, max_length=MAX_LABEL_CHARS),
    fields.Otherwise("invalid_body", f"send 1 to {MAX_LABEL_CHARS} characters"),
]
_LABELS = fields.Otherwise("invalid_body", f"send a JSON array of at most {MAX_LABELS} labels")
Namespace = Annotated[list[Label], Field(min_length=1, max_length=MAX_LABELS), _LABELS]
Prefix = Annotated[list[Label], Field(max_length=MAX_LABELS), _LABELS]
_LABEL = f"[^.]{{1,{MAX_LABEL_CHARS}}}"
_DOTTED = {"type": "string", "pattern": rf"^{_LABEL}(?:\.{_LABEL}){{0,{MAX_LABELS - 1}}}$"}
_KEY = {"type": "string", "minLength": 1, "maxLength": MAX_LABEL_CHARS}


class LangGraphItemJson(TypedDict):
    namespace: list[str]
    key: str
    value: dict[str, Any]
    created_at: operations.Time
    updated_at: operations.Time
    score: NotRequired[float | None]


class LangGraphItemsJson(TypedDict):
    items: list[LangGraphItemJson]


class LangGraphNamespacesJson(TypedDict):
    namespaces: list[list[str]]


class LangGraphItemPlaceBody(Fields):
    namespace: Namespace
    key: Key


class LangGraphItemBody(LangGraphItemPlaceBody):
    value: fields.JsonObject
    index: bool | list[Text] | None = None


class LangGraphItemSearchBody(Fields):
    namespace_prefix: Prefix | None = None
    filter: fields.JsonObject | None = None
    query: Text | None = None
    limit: Limit | None = None
    offset: Offset | None = None


class LangGraphPrefix(Fields):
    prefix: Prefix


class LangGraphNamespaceSearchBody(Fields):
    prefix: Prefix | None = None
    suffix: Prefix | None = None
    max_depth: Annotated[int, *bounded(1, MAX_LABELS, MAX_LABELS)] | None = None
    limit: Annotated[int, *bounded(1, MAX_LISTED, NAMESPACES)] | None = None
    offset: Offset | None = None


_FIELDS = pick("no_store", "invalid_body", "invalid_text", "invalid_json_value", "value_too_long")
_PLACE = {"namespace": ["memories", "ann"], "key": "colour"}


@Operation(
    "langgraphPutItem",
    {204: Answer("The item is kept, in the place of one of the same key.")},
    _FIELDS,
    body=LangGraphItemBody,
    examples={"an item": {**_PLACE, "value": {"is": "blue"}}},
)
async def put_item(request: ApiRequest) -> Response:
    """Keep an item."""
    asked = await _read(request, LangGraphItemBody)
    index = None if asked.index is True else asked.index
    store, labels = await _store(
        request, "put", asked.namespace, key=asked.key, value=asked.value, index=index
    )
    await store.aput(labels, asked.key, asked.value, index=index)
    return Response(status_code=204)


@Operation(
    "langgraphGetItem",
    Answer("The item; null: there is none.", LangGraphItemJson | None),
    pick("no_store", "invalid_body"),
    query={
        "namespace": Parameter("The labels, with dots between them.", _DOTTED, is_required=True),
        "key": Parameter("The key of the item.", _KEY, is_required=True),
    },
)
async def get_item(request: ApiRequest) -> Response:
    """Load an item."""
    query = request.query_params
    given = {"namespace": query.get("namespace", "").split("."), "key": query.get("key")}
    asked = read(LangGraphItemPlaceBody, given)
    store, labels = await _store(request, "get", asked.namespace, key=asked.key)
    item = await store.aget(labels, asked.key)
    return JSONResponse(item and item.dict())


@Operation(
    "langgraphDeleteItem",
    {204: Answer("There is no such item, or no more.")},
    _FIELDS,
    body=LangGraphItemPlaceBody,
    examples={"an item": _PLACE},
)
async def delete_item(request: ApiRequest) -> Response:
    """Delete an item."""
    asked = await _read(request, LangGraphItemPlaceBody)
    store, labels = await _store(request, "delete", asked.namespace, key=asked.key)
    await store.adelete(labels, asked.key)
    return Response(status_code=204)


@Operation(
    "langgraphSearchItems",
    Answer("The items that match.", LangGraphItemsJson),
    _FIELDS | pick("invalid_limit"),
    body=LangGraphItemSearchBody,
    examples={"all": {}, "those of a namespace": {"namespace_prefix": ["memories"], "limit": 5}},
)
async def search_items(request: ApiRequest) -> Response:
    """List items; with `query`, the most similar first, where the store has an index."""
    asked = await _read(request, LangGraphItemSearchBody)
    wanted = {
        "query": asked.query,
        "filter": asked.filter,
        "limit": asked.limit or LISTED,
        "offset": asked.offset or 0,
    }
    store, labels = await _store(request, "search", asked.namespace_prefix or (), **wanted)
    found = await store.asearch(labels, **wanted)
    return JSONResponse({"items": [item.dict() for item in found]})


@Operation(
    "langgraphListNamespaces",
    Answer("The namespaces that have items.", LangGraphNamespacesJson),
    _FIELDS | pick("invalid_limit"),
    body=LangGraphNamespaceSearchBody,
    examples={"all": {}, "those below one": {"prefix": ["memories"], "max_depth": 2}},
)
async def list_namespaces(request: ApiRequest) -> Response:
    """List the namespaces of items."""
    asked = await _read(request, LangGraphNamespaceSearchBody)
    wanted = {
        "suffix": _namespace(asked.suffix or ()) or None,
        "max_depth": asked.max_depth,
        "limit": asked.limit or NAMESPACES,
        "offset": asked.offset or 0,
    }
    store, labels = await _store(request, "list_namespaces", asked.prefix or (), **wanted)
    found = await store.alist_namespaces(prefix=labels or None, **wanted)
    return JSONResponse({"namespaces": [[*labels] for labels in found]})


async def _read(request: ApiRequest, model: Any) -> Any:
    reading = partial(read, model, limits=request.state["body_limits"])
    asked, _ = await request.state["bodies"].read(request, reading)
    return asked


async def _store(
    request: ApiRequest, action: str, labels: Sequence[str], **asked: Any
) -> tuple[Any, tuple[str, ...]]:
    """LangGraph's store of the graphs, and the namespace, as rules have changed it. Raises Problem
    if clients reach none, Refusal, GuardFailed."""
    graphs, hooks = request.state["graphs"], request.state["hooks"]
    store = graphs.by_name[graphs.default].attached.graph.store
    if store is None or (request.state["knows_callers"] and not hooks.has_rules("store")):
        raise Problem(404, "no_store", NO_STORE)
    value = {"namespace": _namespace(labels), **asked}
    filter = await hooks.filter(principal(request), "store", action, value)
    if not filter.is_empty:
        logger.error("rules filter items by metadata, and items have none: change the namespace")
        raise GuardFailed
    return store, _ruled(value.get("namespace"))


def _ruled(labels: Any) -> tuple[str, ...]:
    """Check a namespace that rules have changed. Raises GuardFailed."""
    try:
        return _namespace(read(LangGraphPrefix, {"prefix": [*(labels or ())]}).prefix)
    except (InvalidRequest, TypeError):
        logger.error("rules give a namespace that no item can have")
        raise GuardFailed from None


def _namespace(labels: Sequence[str]) -> tuple[str, ...]:
    """Raises InvalidRequest for the root that is LangGraph's own."""
    if labels and labels[0] == "langgraph":
        raise InvalidRequest("invalid_body", "A namespace cannot begin with 'langgraph'.")
    return tuple(labels)

"""The list of threads: the parameters of a request, and the list as JSON."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal, NotRequired, cast, get_args

from typing_extensions import TypedDict

from turnstream.server.http.operations import (
    FLAG,
    TEXT,
    Parameter,
    Time,
    one_of,
    whole_number,
)
from turnstream.server.http.problems import Problem
from turnstream.server.http.state import ApiRequest, owner, principal
from turnstream.server.storage.interfaces import ThreadEntry, ThreadRunState
from turnstream.server.storage.sealed_places import CURSOR
from turnstream.server.storage.search import Search
from turnstream.server.turns.problem_codes import pick

STATES: tuple[str, ...] = get_args(ThreadRunState)
PAGE_SIZE, MAX_PAGE_SIZE = 30, 100
MAX_QUERY_CHARS = 200
PAGE_QUERY = {
    "limit": Parameter("Threads of a page.", whole_number(1, MAX_PAGE_SIZE, PAGE_SIZE)),
    "cursor": Parameter("The cursor of the page.", {**TEXT, "pattern": f"^({CURSOR})?$"}),
    "state": Parameter("Only threads whose last run is in this state.", one_of(STATES)),
    "archived": Parameter(
        "Only archived threads, or only others; without `q` false is the default.", FLAG
    ),
    "q": Parameter(
        "Only threads that have these words in their title and texts; the last may be the "
        "beginning of a word.",
        {**TEXT, "minLength": 1, "maxLength": MAX_QUERY_CHARS},
    ),
}
PAGE_PROBLEMS = pick(
    "invalid_limit",
    "invalid_state",
    "invalid_cursor",
    "invalid_query",
    "invalid_flag",
    "search_off",
)


class ListedThreadJson(TypedDict):
    """A thread in the list; `graph` is there if several are served and the thread has one."""

    id: str
    title: str
    created_at: Time
    updated_at: Time
    run_id: str
    run_state: ThreadRunState
    pinned: bool
    archived: bool
    graph: NotRequired[str]


class ThreadEntryJson(ListedThreadJson):
    """The entry of a thread; `allowed_tools` is there if the thread is narrowed."""

    allowed_tools: NotRequired[list[str]]


class SegmentJson(TypedDict):
    text: str
    is_match: NotRequired[Literal[True]]


class FoundJson(TypedDict):
    title: list[SegmentJson]
    text: NotRequired[list[SegmentJson]]
    message_id: NotRequired[str]


class FoundThreadJson(ListedThreadJson):
    found: NotRequired[FoundJson]


class ThreadListJson(TypedDict):
    threads: list[FoundThreadJson]
    cursor: NotRequired[str]


async def page(request: ApiRequest) -> ThreadListJson:
    """Raises Problem, StorageUnavailable."""
    query = request.query_params
    limit = number(query.get("limit", str(PAGE_SIZE)), MAX_PAGE_SIZE)
    state = query.get("state")
    if state is not None and state not in STATES:
        raise Problem(
            422, "invalid_state", f"state is {state[:20]!r}: ask for {' or '.join(STATES)}."
        )
    search = _search(request, query["q"]) if "q" in query else None
    archived = flag(request, "archived", default=None if search else False)
    reach = request.state["runs"].reach
    try:
        found = await reach.page(
            owner(request),
            await reach.search(principal(request)),
            limit,
            query.get("cursor"),
            state,  # type: ignore[arg-type]
            archived=archived,
            search=search,
        )
    except ValueError as error:
        raise Problem(422, "invalid_cursor", f"{error}; begin without one.") from None
    listed: ThreadListJson = {
        "threads": [cast("FoundThreadJson", _listed(request, one)) for one in found.entries]
    }
    if search is not None:
        marking = partial(_mark, listed["threads"], found.found, search)
        await asyncio.to_thread(marking)  # The texts may be long.
    if found.cursor:
        listed["cursor"] = found.cursor
    return listed


def shown(request: ApiRequest, entry: ThreadEntry) -> ThreadEntryJson:
    shown = cast("ThreadEntryJson", _listed(request, entry))
    if entry.allowed_tools is not None:
        shown["allowed_tools"] = [*entry.allowed_tools]
    return shown


def _listed(request: ApiRequest, entry: ThreadEntry) -> ListedThreadJson:
    graphs = request.state["graphs"]
    listed: ListedThreadJson = {
        "id": entry.id,
        "title": entry.title,
        "created_at": entry.created_at,
        "updated_at": entry.updated_at,
        "run_id": entry.run_id,
        "run_state": entry.run_state,
        "pinned": entry.pinned,
        "archived": entry.archived,
    }
    if graphs.are_several and (graph := graphs.name_of(entry)):
        listed["graph"] = graph
    return listed


def number(text: str, most: int) -> int:
    """Raises Problem."""
    is_number = text.isascii() and text.isdecimal() and len(text) < 10
    if not (is_number and 1 <= int(text) <= most):
        raise Problem(422, "invalid_limit", f"limit is {text[:20]!r}: ask for 1 to {most}.")
    return int(text)


def flag(request: ApiRequest, name: str, default: bool | None) -> bool | None:
    """A parameter that is `true` or `false`. Raises Problem."""
    given = request.query_params.get(name)
    if given is None:
        return default
    if given not in ("true", "false"):
        raise Problem(422, "invalid_flag", f"{name} is {given[:20]!r}: ask for true or false.")
    return given == "true"


def _search(request: ApiRequest, text: str) -> Search:
    """Raises Problem."""
    parse = request.state["search"]
    if parse is None:
        raise Problem(
            422, "search_off", "Nothing searches on this server: leave q out, and look at the list."
        )
    if len(text) > MAX_QUERY_CHARS:
        raise Problem(
            422, "invalid_query", f"q has {len(text)} characters: send at most {MAX_QUERY_CHARS}."
        )
    try:
        return parse(text)
    except ValueError as error:
        raise Problem(422, "invalid_query", f"q is {text[:20]!r}: {error}.") from None


def _mark(threads: Sequence[FoundThreadJson], places: Mapping[str, Any], search: Search) -> None:
    """Add to each thread where the words were found."""
    for thread in threads:
        thread["found"] = search.shown(thread["title"], places.get(thread["id"]))

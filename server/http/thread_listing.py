"""What a request asks of the list of threads, and how the list is shown."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any, get_args

from turnstream.server.http.problems import Problem
from turnstream.server.http.state import ApiRequest, owner
from turnstream.server.storage.excerpts import Segment, excerpt, marked
from turnstream.server.storage.interfaces import ThreadEntry, ThreadRunState
from turnstream.server.storage.searching import Found
from turnstream.server.storage.words import MAX_WORDS, Wanted, wanted

STATES: tuple[str, ...] = get_args(ThreadRunState)
PAGE_SIZE, MAX_PAGE_SIZE = 30, 100
MAX_QUERY_CHARS = 200


async def page(request: ApiRequest) -> dict[str, Any]:
    """Raises Problem, StorageUnavailable."""
    query = request.query_params
    limit = number(query.get("limit", str(PAGE_SIZE)), MAX_PAGE_SIZE)
    state = query.get("state")
    if state is not None and state not in STATES:
        raise Problem(
            422, "invalid_state", f"state is {state[:20]!r}: ask for {' or '.join(STATES)}."
        )
    words = _words(query["q"]) if "q" in query else None
    archived = flag(request, "archived", default=None if words else False)
    try:
        found = await request.state["store"].page(
            owner(request),
            limit,
            query.get("cursor"),
            state,  # type: ignore[arg-type]
            archived=archived,
            wanted=words,
        )
    except ValueError as error:
        raise Problem(422, "invalid_cursor", f"{error}; begin without one.") from None
    entries = [shown(request, entry) for entry in found.entries]
    if words is not None:
        marking = partial(_marked, entries, found.found, words)
        entries = await asyncio.to_thread(marking)  # The texts may be long.
    return {"threads": entries, **({"cursor": found.cursor} if found.cursor else {})}


def shown(request: ApiRequest, entry: ThreadEntry) -> dict[str, Any]:
    shown, graphs = asdict(entry), request.state["graphs"]
    del shown["graph"]
    if entry.allowed_tools is None:
        del shown["allowed_tools"]
    graph = graphs.name_of(entry) if graphs.are_several else None
    return {**shown, "graph": graph} if graph else shown


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


def _words(text: str) -> Wanted:
    if len(text) > MAX_QUERY_CHARS:
        raise Problem(
            422, "invalid_query", f"q has {len(text)} characters: send at most {MAX_QUERY_CHARS}."
        )
    try:
        return wanted(text)
    except ValueError as error:
        raise Problem(
            422, "invalid_query", f"q is {text[:20]!r}: {error}. Search for 1 to {MAX_WORDS} words."
        ) from None


def _marked(
    entries: Sequence[dict[str, Any]], found: Mapping[str, Found], words: Wanted
) -> list[dict[str, Any]]:
    """The entries with what was found in each."""
    return [
        {**entry, "found": {"title": _segments(marked(entry["title"], words)), **text}}
        for entry in entries
        for text in (_text(found.get(entry["id"]), words),)
    ]


def _text(found: Found | None, words: Wanted) -> dict[str, Any]:
    if found is None:
        return {}
    return {"text": _segments(excerpt(found.text, words)), "message_id": found.message_id}


def _segments(segments: tuple[Segment, ...]) -> list[dict[str, Any]]:
    return [{"text": one.text, **({"is_match": True} if one.is_match else {})} for one in segments]

"""The calls of Python's `langgraph_sdk`, and which of them `/langgraph` answers: a table of
docs/clients.md.

    python -m tests.support.langgraph_sdk_calls    prints it
"""

import asyncio
import inspect
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Any

import httpx
from langgraph_sdk import get_client
from starlette.routing import Match

from tests.support.routes import ROUTES
from turnstream.server.http.operations import OPERATION

CLIENTS = ("assistants", "threads", "runs", "crons", "store")
PREFIX = "/langgraph"
VALUES: dict[str, Any] = {
    "namespace": ("a",),
    "namespace_prefix": ("a",),
    "value": {},
    "values": {},
    "metadata": {},
    "payloads": [],
}
"""Arguments that are no text, by their names."""
OTHER_PROTOCOL = {"threads.stream"}
"""Calls of LangGraph's newer protocol, which open no request of their own."""


async def requests() -> dict[str, tuple[str, str]]:
    """The method and the path of the request that each call makes."""
    found: dict[str, tuple[str, str]] = {}
    made: list[tuple[str, str]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        made.append((request.method, request.url.path))
        return httpx.Response(200, json={})

    transport = httpx.MockTransport(answer)
    async with (
        get_client(url="http://server", api_key=None) as client,
        httpx.AsyncClient(transport=transport, base_url="http://server") as http,
    ):
        real, client.http.client = client.http.client, http
        for part in CLIENTS:
            for name, call in _calls(getattr(client, part)):
                if f"{part}.{name}" not in OTHER_PROTOCOL:
                    await _make(call)
                    found[f"{part}.{name}"] = made.pop()
        client.http.client = real
    return found


def _calls(part: Any) -> Iterator[tuple[str, Any]]:
    for name, function in inspect.getmembers(type(part), inspect.isfunction):
        if not name.startswith("_"):
            yield name, getattr(part, function.__name__)


async def _make(call: Any) -> None:
    needed = [
        one
        for one in inspect.signature(call).parameters.values()
        if one.default is one.empty and one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)
    ]
    given = [(one, VALUES.get(one.name, "x")) for one in needed]
    named = {one.name: value for one, value in given if one.kind is one.KEYWORD_ONLY}
    answer = call(*(value for one, value in given if one.name not in named), **named)
    with suppress(httpx.TransportError):  # The answer is no event stream.
        if inspect.isawaitable(answer):
            answer = await answer
        if isinstance(answer, AsyncIterator):
            await anext(answer, None)


def answer_of(method: str, path: str) -> int:
    """Return the column of the table: 0 for a call that works, 1 for one that is refused."""
    endpoint = endpoint_of(method, path)
    if endpoint is None:
        return 2
    return 0 if getattr(endpoint, OPERATION).answers else 1


def endpoint_of(method: str, path: str) -> Any:
    """The function that answers a call; None: there is none."""
    scope = {"type": "http", "method": method, "path": PREFIX + path, "headers": []}
    for route in ROUTES:
        match, _ = route.matches(scope)
        endpoint = getattr(getattr(route, "endpoint", None), method.lower(), None)
        if match is not Match.NONE and endpoint is not None:
            return endpoint
    return None


def table(made: dict[str, tuple[str, str]]) -> str:
    by_client: dict[str, list[list[str]]] = defaultdict(lambda: [[], [], []])
    for name, (method, path) in sorted(made.items()):
        client, _, call = name.partition(".")
        by_client[client][answer_of(method, path)].append(f"`{call}`")
    rows = [
        " | ".join((f"| `client.{client}`", *(", ".join(some) or "none" for some in found))) + " |"
        for client, found in ((one, by_client[one]) for one in CLIENTS)
    ]
    head = "| | works | is refused by a sentence | is a 404 or 405 |"
    return "\n".join((head, "|---|---|---|---|", *rows))


if __name__ == "__main__":
    print(table(asyncio.run(requests())))  # noqa: T201

"""Callers of a server in a test: by keys in its database, by the headers of a proxy."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import httpx

from tests.support.serving import Client, http_client, settings
from turnstream.server.extensions.built_in import ServerSettings as Settings
from turnstream.server.extensions.users.credential_store import SqlCredentialStore
from turnstream.server.extensions.users.keys import new_key
from turnstream.server.storage.store import SqliteStore

COOKIE = "turnstream_session"


def keys_settings(folder: Path, **values: Any) -> Settings:
    """Settings of a server that recognises API keys."""
    return settings(folder / "t.db", **{"auth": "keys", **values})


def authenticating(database: Path, **values: Any) -> Settings:
    """Settings of a server that recognises API keys, and the headers of the test as its proxy."""
    given = {"auth": ("keys", "header"), "trusted_proxies": ("127.0.0.1",)}
    return settings(database, **{**given, **values})


def named(id: str) -> dict[str, str]:
    """Headers of that proxy."""
    return {"X-Forwarded-User": id}


def credentials_of(client: Client) -> SqlCredentialStore:
    """What a server in this process has stored of credentials."""
    assert client.state is not None
    return SqlCredentialStore(cast(SqliteStore, client.state["store"]))


async def make_key(
    client: Client, principal: str, role: str | None = None, expires_at: float | None = None
) -> str:
    """A key in the server's database."""
    text, key = new_key(principal, role, expires_at)
    await credentials_of(client).add_key(key)
    return text


def bearer(credential: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {credential}"}


@asynccontextmanager
async def client_of(client: Client, principal: str, **key: Any) -> AsyncIterator[Client]:
    """The same server as a caller reaches it who has a new key."""
    text = await make_key(client, principal, **key)
    async with http_client(client.url) as http:
        http.headers.update(bearer(text))
        yield Client(http, client.state, client.server)


async def log_in(http: httpx.AsyncClient, credential: str) -> httpx.Response:
    """As the page does it. The client keeps the cookie."""
    http.headers["Origin"] = str(http.base_url).rstrip("/")
    answer = await http.post("/login", json={"credential": credential})
    assert answer.status_code == 200, answer.text
    return answer


@asynccontextmanager
async def browser_of(client: Client, principal: str, **key: Any) -> AsyncIterator[Client]:
    """The same server as the page of a person reaches it who has logged in with a new key."""
    text = await make_key(client, principal, **key)
    async with http_client(client.url) as http:
        await log_in(http, text)
        yield Client(http, client.state, client.server)


def cookie_of(http: httpx.AsyncClient) -> str:
    cookie = http.cookies.get(COOKIE)
    assert cookie is not None
    return cookie


def set_cookies(answer: httpx.Response) -> Iterator[tuple[str, str, list[str]]]:
    """The cookies that an answer sets: name, value and attributes, the latter in lowercase."""
    for header in answer.headers.get_list("set-cookie"):
        pair, *attributes = header.split("; ")
        name, _, value = pair.partition("=")
        yield name, value, sorted(attribute.lower() for attribute in attributes)

"""Callers of a server that authenticates them: people whom a trusted proxy names, and API keys."""

from pathlib import Path
from typing import Any

from server.settings import Settings
from server.storage.credential_store import SqliteCredentialStore
from server.storage.store import SqliteStore
from server.users.keys import new_key
from tests.support.serving import Client, settings

Headers = dict[str, str]


def authenticating(database: Path, **values: Any) -> Settings:
    given = {"auth": ("keys", "header"), "trusted_proxies": ("127.0.0.1",)}
    return settings(database, **{**given, **values})


def named(id: str) -> Headers:
    """Headers of the trusted proxy, which is the test itself."""
    return {"X-Forwarded-User": id}


async def key_of(client: Client, id: str) -> str:
    """A new API key."""
    assert client.state is not None
    store = client.state["store"]
    assert isinstance(store, SqliteStore)
    text, key = new_key(id)
    await SqliteCredentialStore(store).add_key(key)
    return text


def bearer(credential: str) -> Headers:
    return {"Authorization": f"Bearer {credential}"}

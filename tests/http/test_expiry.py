"""A login that ends in mid-stream: the run goes on, and its reader comes back for the rest."""

import asyncio
import time
from pathlib import Path

import httpx
import pytest

from tests.support.issuer import AUDIENCE, LocalIssuer
from tests.support.scripted_model import ScriptedModel, finish, text
from tests.support.serving import Client, Event, Stream, serving, settings, text_of
from tests.support.users import bearer, make_key
from turnstream.server.extensions.users.credential_store import SqlCredentialStore
from turnstream.server.extensions.users.keys import new_key
from turnstream.server.extensions.users.tokens import TokenSettings
from turnstream.server.storage.store import SqliteStore


async def read_until_broken(stream: Stream) -> list[Event]:
    """Reads what comes until the server ends the answer: as HTTP has it, without an error."""
    events = await stream.rest()
    assert "[DONE]" not in [event.data for event in events]
    return events


async def goes_on_elsewhere(
    client: Client, before: list[Event], held: asyncio.Event, headers: dict[str, str]
) -> None:
    """With new credentials the reader gets just what it has not had."""
    cursor = before[-1].id
    assert cursor
    held.set()
    request = {"headers": {**headers, "Last-Event-ID": cursor}}
    async with client.stream("GET", "/chat/t1/stream", **request) as stream:
        after = await stream.rest()
    assert after[-1].data == "[DONE]"
    assert text_of([*before, *after]) == "One two."
    ids = [event.id for event in [*before, *after]]
    assert ids == [f"{cursor.partition(':')[0]}:{number + 1}" for number in range(len(ids))]


async def test_a_session_that_expires_breaks_the_stream_off_and_not_the_run(
    tmp_path: Path,
) -> None:
    held = asyncio.Event()
    model = ScriptedModel.of([text("One "), held, text("two."), finish()])
    given = settings(tmp_path / "t.db", auth="keys", session_seconds=5)
    async with serving(given, model=model) as client:
        key = await make_key(client, "ann")
        assert (await client.http.post("/login", json={"credential": key})).status_code == 200
        own = {"Origin": client.url}
        body = {"thread_id": "t1", "message": "Count."}
        async with client.chat(body, headers=own) as stream:
            before = await read_until_broken(stream)
        assert text_of(before) == "One "
        assert (await client.http.get("/threads/t1")).status_code == 401
        client.http.cookies.clear()
        await goes_on_elsewhere(client, before, held, bearer(key))


@pytest.mark.full
async def test_a_token_that_expires_does_the_same(tmp_path: Path) -> None:
    held = asyncio.Event()
    model = ScriptedModel.of([text("One "), held, text("two."), finish()])
    async with LocalIssuer() as issuer:
        jwt = {"auth": "jwt", "jwt_issuer": issuer.url, "jwt_audience": AUDIENCE}
        async with serving(settings(tmp_path / "t.db", **jwt), model=model) as client:
            leeway = TokenSettings(issuer.url, AUDIENCE).leeway_seconds
            short = bearer(issuer.token(sub="ann", exp=int(time.time()) + 5 - leeway))
            body = {"thread_id": "t1", "message": "Count."}
            async with client.chat(body, headers=short) as stream:
                before = await read_until_broken(stream)
            assert text_of(before) == "One "
            await goes_on_elsewhere(client, before, held, bearer(issuer.token(sub="ann")))


@pytest.mark.parametrize("path", ["/me", "/threads"])
async def test_a_key_that_expires_is_refused_from_then_on(path: str, tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db", auth="keys")) as client:
        assert client.state is not None
        store = client.state["store"]
        assert isinstance(store, SqliteStore)
        key, stored = new_key("ann", expires_at=time.time() + 0.3)
        await SqlCredentialStore(store).add_key(stored)

        async def asked() -> httpx.Response:
            return await client.http.get(path, headers=bearer(key))

        async with asyncio.timeout(20):
            while (answer := await asked()).status_code == 200:
                pass
        assert answer.json()["code"] == "unauthenticated"
        assert stored.expires_at is not None
        assert time.time() >= stored.expires_at

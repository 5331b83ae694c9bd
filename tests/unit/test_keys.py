"""API keys: how they look, and which of them are good."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from turnstream.server.callers.principal import Principal
from turnstream.server.extensions.loading import tables_of
from turnstream.server.extensions.users import UsersExtension, remembered
from turnstream.server.extensions.users.credential_store import SqlCredentialStore
from turnstream.server.extensions.users.credentials import ApiKey
from turnstream.server.extensions.users.faults import Unauthenticated
from turnstream.server.extensions.users.keys import ApiKeys, new_key
from turnstream.server.extensions.users.tables import metadata
from turnstream.server.storage.interfaces import StorageUnavailable
from turnstream.server.storage.store import open_store


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqlCredentialStore]:
    async with open_store(tmp_path / "t.db", 5000) as threads:
        await threads.open_extensions(tables_of([UsersExtension]), is_shared=False)
        yield SqlCredentialStore(threads)


async def added(store: SqlCredentialStore, key: tuple[str, ApiKey]) -> str:
    await store.add_key(key[1])
    return key[0]


async def test_a_key_names_its_caller_and_their_role(store: SqlCredentialStore) -> None:
    text, key = new_key("ann", "admin", time.time() + 60)
    await store.add_key(key)
    assert await ApiKeys(store).authenticate(text) == Principal(
        "ann", ("admin",), "ann", "key", key.id, None, key.expires_at
    )


async def test_keys_of_a_database_from_before_the_extension_are_good(tmp_path: Path) -> None:
    text, key = new_key("ann")
    async with open_store(tmp_path / "t.db", 5000) as before:
        await before.write(metadata.create_all)
        await SqlCredentialStore(before).add_key(key)
    async with open_store(tmp_path / "t.db", 5000) as now:
        await now.open_extensions(tables_of([UsersExtension]), is_shared=False)
        assert (await ApiKeys(SqlCredentialStore(now)).authenticate(text)).id == "ann"


async def test_a_wrong_secret_takes_as_many_look_ups_as_an_unknown_key(
    store: SqlCredentialStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up: list[str] = []

    async def look_up(id: str) -> ApiKey | None:
        looked_up.append(id)
        return await SqlCredentialStore.key(store, id)

    monkeypatch.setattr(store, "key", look_up)
    keys, text = ApiKeys(store), await added(store, new_key("ann"))
    other, _ = new_key("ann")
    wrong = "_".join([*text.split("_")[:2], other.split("_")[2]])
    for is_in_use in (False, True):
        if is_in_use:
            assert await keys.authenticate(text)
        for refused in (wrong, other):
            looked_up.clear()
            with pytest.raises(Unauthenticated):
                await keys.authenticate(refused)
            assert looked_up == [refused.split("_")[1]]


def files(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())


async def test_the_database_does_not_have_the_key(
    store: SqlCredentialStore, tmp_path: Path
) -> None:
    text = await added(store, new_key("ann"))
    stored = files(tmp_path)
    assert b"ann" in stored
    assert text.rpartition("_")[2].encode() not in stored


async def test_a_key_that_is_not_quite_right_is_refused(store: SqlCredentialStore) -> None:
    text = await added(store, new_key("ann"))
    other, _ = new_key("ann")
    wrong = [
        text[:-1],
        text + "A",
        text[:-1] + ("A" if text[-1] != "A" else "B"),
        text.upper(),
        f"{text} ",
        other,
        text[:16] + other[16:],
        "ts_",
        "ts_" + "a" * 10_000,
        "ts_\u0661" + text[4:],
    ]
    keys = ApiKeys(store)
    for credential in wrong:
        with pytest.raises(Unauthenticated) as refusal:
            await keys.authenticate(credential)
        assert credential not in str(refusal.value)


async def test_an_expired_key_is_refused(store: SqlCredentialStore) -> None:
    text = await added(store, new_key("ann", expires_at=time.time() - 1))
    with pytest.raises(Unauthenticated):
        await ApiKeys(store).authenticate(text)


async def test_a_revoked_key_is_refused(
    store: SqlCredentialStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remembered, "SECONDS", 0)
    text, key = new_key("ann")
    await store.add_key(key)
    keys = ApiKeys(store)
    await keys.authenticate(text)
    assert await store.revoke_key(key.id, time.time())
    assert not await store.revoke_key(key.id, time.time())
    with pytest.raises(Unauthenticated):
        await keys.authenticate(text)


async def test_the_last_use_is_stored_and_not_at_every_use(
    store: SqlCredentialStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted: list[float] = []

    async def note_use(_key_id: str, now: float) -> None:
        noted.append(now)

    text = await added(store, new_key("ann"))
    monkeypatch.setattr(store, "note_use", note_use)
    keys = ApiKeys(store)
    for _ in range(3):
        await keys.authenticate(text)
    await asyncio.gather(*keys._notes)
    assert len(noted) == 1


async def test_a_use_that_could_not_be_stored_is_stored_with_the_next(
    store: SqlCredentialStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def note_nothing(_key_id: str, _now: float) -> None:
        raise StorageUnavailable("storage_busy")

    text, key = new_key("ann")
    await store.add_key(key)
    keys = ApiKeys(store)
    with monkeypatch.context() as patch:
        patch.setattr(store, "note_use", note_nothing)
        await keys.authenticate(text)
        await asyncio.gather(*keys._notes)
    await keys.authenticate(text)
    await asyncio.gather(*keys._notes)
    stored = await store.key(key.id)
    assert stored is not None
    assert stored.last_used_at is not None


@pytest.mark.parametrize("name", ["", " ann", "local", "a" * 256, "a\nb"])
def test_a_name_that_cannot_be_gets_no_key(name: str) -> None:
    with pytest.raises(ValueError, match=r"id|owner"):
        new_key(name)


async def test_keys_at_once_are_all_good(store: SqlCredentialStore) -> None:
    texts = [await added(store, new_key(f"user{number}")) for number in range(20)]
    keys = ApiKeys(store)
    callers = await asyncio.gather(*(keys.authenticate(text) for text in texts))
    assert [caller.id for caller in callers] == [f"user{number}" for number in range(20)]

"""The room that a thread takes is measured in each database."""

from pathlib import Path

import pytest

from tests.support.backend import THREAD, backend, key_of, message
from tests.support.scripted_model import ScriptedModel, finish, text
from turnstream.server.storage.location import Location, PostgresUrl
from turnstream.server.turns.header import ThreadKey


@pytest.fixture(params=["sqlite", "postgres"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Location:
    if request.param == "sqlite":
        return tmp_path / "t.db"
    url: PostgresUrl = request.getfixturevalue("postgres_url")
    return url


async def test_a_thread_takes_the_room_of_its_own_checkpoints(location: Location) -> None:
    model = ScriptedModel.of([text("One"), finish()])
    async with backend(location, model) as inside:
        await inside.turn(message("A" * 10_000))
        sizes = await inside.store.checkpoint_sizes(key_of())
        assert sum(rows.bytes for rows in sizes.values()) > 10_000
        assert all(rows.count for rows in sizes.values())
        other = await inside.store.checkpoint_sizes(ThreadKey(key_of().owner, f"{THREAD}x"))
        assert not any(rows.count or rows.bytes for rows in other.values())

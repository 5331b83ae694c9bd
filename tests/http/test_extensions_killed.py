"""A server that is killed around the writes of an extension: what the store did, and the rows of
the extension about it, are both there or neither. In a long run it is killed at each statement."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from signal import SIGKILL
from typing import Any

import httpx
import pytest
from sqlalchemy import Connection, select

from tests.support.databases import open_command_store
from tests.support.forked_server import ForkedServer, forked_server
from tests.support.killing_extension import rows
from tests.support.samples import repeat, sample
from tests.support.serving import PROJECT
from tests.support.waiting import eventually
from turnstream.server.storage.location import Location, PostgresUrl
from turnstream.server.turns.header import LOCAL_OWNER, ThreadKey

EXTENSION = f"{PROJECT / 'tests/support/killing_extension.py'}:Killing"
STEP = sample(1, 1, 2)
"""Every so many steps a server is killed."""
KINDS_OF_STEPS = sample((False, True), (False,))
"""True: each statement and commit is a step."""

BEGUN = {"run_started", "run_begins"}
ENDED = {*BEGUN, "run_ended", "after_run"}

Rows = dict[str, str | None]
"""The rows about a thread: their outcomes by their events."""


@dataclass
class World:
    database: Location
    environment: Mapping[str, str]

    def server(self, killing_at: int = 0, *, counts_all: bool = False) -> Any:
        killing = {"KILLING_AT": str(killing_at), "KILLING_COUNTS_ALL": str(counts_all)}
        given = dict(self.environment) | killing
        return forked_server(Path("unused") if "DATABASE" in given else self.path, **given)

    @property
    def is_shared(self) -> bool:
        return isinstance(self.database, PostgresUrl)

    @property
    def path(self) -> Path:
        assert isinstance(self.database, Path)
        return self.database

    async def state(self, thread: str) -> tuple[str | None, Rows]:
        """Return the state of the thread's run, None of a thread that there is not, and the rows
        about the thread."""
        async with open_command_store(self.database) as store:
            while True:
                found = await store.read(_rows, thread)
                entry = await store.get(ThreadKey(LOCAL_OWNER, thread))
                # Another server may recover the thread between the two.
                if found == await store.read(_rows, thread):
                    return entry.run_state if entry else None, found


def _rows(connection: Connection, thread: str) -> Rows:
    found = connection.execute(select(rows).where(rows.c.thread == thread))
    return {row.event: row.outcome for row in found}


@pytest.fixture(params=["sqlite", repeat("postgres")])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    given = {"EXTENSIONS": EXTENSION}
    if request.param == "sqlite":
        return World(tmp_path / "t.db", given)
    url: PostgresUrl = request.getfixturevalue("own_postgres_url")
    redis: str = request.getfixturevalue("redis_url")
    return World(url, given | {"DATABASE": url.secret, "REDIS": redis, "LEASE_SECONDS": "1"})


async def play(server: ForkedServer, thread: str) -> int:
    """Play a turn and delete its thread; returns how many steps these took."""
    async with httpx.AsyncClient(base_url=server.url, timeout=60) as http:
        body = {"message": "What is 6 * 7?", "thread_id": thread}
        turn = await http.post("/chat", json=body)
        assert "[DONE]" in turn.text
        deleted = await http.delete(f"/threads/{thread}")
        assert deleted.is_success
        taken: int = (await http.get("/killing")).json()
        return taken


def check(state: str | None, found: Rows) -> None:
    """Raises AssertionError if the rows about a thread are not those of its state, before a server
    has recovered its run."""
    if state == "live":
        assert found.keys() == BEGUN
    elif state is None:
        # The run was not stored, or its thread was deleted.
        assert found.keys() in (set(), {*ENDED, "thread_deleted"}), found
    else:
        assert found.keys() == ENDED
        assert state == found["run_ended"] == found["after_run"] == "finished"


async def check_recovered(world: World, thread: str, before: tuple[str | None, Rows]) -> None:
    """Raises AssertionError if recovery has not stored the end of a run with its row; `after_run`
    is not called for it."""

    async def is_over() -> bool:
        return (await world.state(thread))[0] != "live"

    await eventually(is_over)
    state, found = await world.state(thread)
    if before[0] == "live":
        # Of a run that has saved nothing the new thread is deleted.
        assert state in (None, "interrupted", "finished")
        assert found == before[1] | {"run_ended": state or "interrupted"}
    else:
        # A deletion that had begun may be carried out.
        deleted = None, before[1] | {"thread_deleted": None}
        assert (state, found) in (before, deleted)


@pytest.mark.long
@pytest.mark.timeout(600)
async def test_rows_of_an_extension_are_there_with_what_they_tell_of_wherever_a_server_is_killed(
    world: World,
) -> None:
    seen: dict[str, tuple[str | None, Rows]] = {}
    for counts_all in KINDS_OF_STEPS:
        async with world.server(counts_all=counts_all) as server:
            whole = await play(server, f"whole-{counts_all}")
        seen[f"whole-{counts_all}"] = await world.state(f"whole-{counts_all}")
        for moment in range(STEP, whole + 1, STEP):
            thread = f"t{moment}-{counts_all}"
            async with world.server(moment, counts_all=counts_all) as server:
                with suppress(httpx.HTTPError):
                    await play(server, thread)
                server.kill()  # It has taken fewer steps than the one before.
                assert await server.exit_status() == -SIGKILL
            seen[thread] = await world.state(thread)
    for state, found in seen.values():
        check(state, found)
    # Some servers died ahead of each transaction, and some behind it. On Postgres the steps of
    # several connections come in any order: none may fall between the end and the deletion.
    states = {state for state, _ in seen.values()}
    assert states | ({"finished"} if world.is_shared else set()) == {None, "live", "finished"}
    assert {bool(found) for state, found in seen.values() if state is None} == {True, False}
    async with world.server():
        for thread, before in seen.items():
            await check_recovered(world, thread, before)

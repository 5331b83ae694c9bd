"""What any store must do with the versions of messages."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from sqlalchemy import Connection, text

from tests.support.contracts.threads import OTHERS, SECOND, THREAD
from turnstream.server.extensions.base import MAX_WRITES
from turnstream.server.extensions.loading import tables_of
from turnstream.server.extensions.recording import joined
from turnstream.server.extensions.versions import VersionsExtension, VersionsSettings
from turnstream.server.extensions.versions.kept import KeptVersions, writes
from turnstream.server.extensions.versions.tree import TurnVersion, VersionChanges
from turnstream.server.storage.opened import ServerStore
from turnstream.server.storage.ownership import assign
from turnstream.server.turns.header import ThreadKey

FIRST = TurnVersion("before-r1", 1, None, "before-r1", "m1", is_original=True, head="c1")
NEXT = TurnVersion("r1", 2, None, "before-r1", "m1", is_original=False)


@dataclass(frozen=True)
class Versioned:
    """A store whose threads have versions."""

    store: ServerStore
    kept: KeptVersions
    extension: VersionsExtension

    @classmethod
    async def open(cls, store: ServerStore) -> "Versioned":
        extension = VersionsExtension(VersionsSettings.model_validate({}))
        await store.open_extensions(tables_of([extension]), is_shared=False)
        return cls(store, KeptVersions(store), extension)

    async def run(self, key: ThreadKey, run_id: str, changes: VersionChanges) -> None:
        """A run that changes its thread's versions."""
        made = [*writes(key, await self.kept.of_thread(key), changes)]
        assert len(made) <= MAX_WRITES
        await self.store.claim(key, run_id)
        await self.store.begin_run(key, run_id, "Hello", also=joined(self.extension, made))
        await self.store.end_run(key, run_id, "finished")

    async def of(self, key: ThreadKey = THREAD) -> Sequence[TurnVersion]:
        return (await self.kept.of_thread(key)).kept


class VersionContract:
    @pytest.fixture
    async def versioned(self, store: ServerStore) -> Versioned:
        return await Versioned.open(store)

    async def test_versions_change_as_a_run_begins(self, versioned: Versioned) -> None:
        await versioned.run(THREAD, "r1", VersionChanges([NEXT, FIRST]))
        await versioned.run(SECOND, "r2", VersionChanges([FIRST]))
        await versioned.run(OTHERS, "r3", VersionChanges())
        assert await versioned.of() == [FIRST, NEXT]
        assert await versioned.of(SECOND) == [FIRST]
        assert await versioned.of(OTHERS) == []

    async def test_a_version_that_is_put_again_is_as_it_is_now(self, versioned: Versioned) -> None:
        await versioned.run(THREAD, "r1", VersionChanges([FIRST, NEXT]))
        moved = replace(NEXT, parent="before-r1", head="c2")
        await versioned.run(THREAD, "r2", VersionChanges([FIRST, moved]))
        assert await versioned.of() == [FIRST, moved]
        await versioned.run(THREAD, "r3", VersionChanges(removed=["r1"]))
        assert await versioned.of() == [FIRST]

    async def test_all_versions_of_a_long_branch_are_left_at_once(
        self, versioned: Versioned
    ) -> None:
        many = [replace(NEXT, id=f"r{number}", number=number) for number in range(1, 1200)]
        await versioned.run(THREAD, "r1", VersionChanges(many))
        left = [replace(version, head="c9") for version in many]
        await versioned.run(THREAD, "r2", VersionChanges(left))
        assert await versioned.of() == left
        await versioned.run(THREAD, "r3", VersionChanges(removed=[each.id for each in many]))
        assert await versioned.of() == []

    async def test_columns_of_a_later_version_survive_a_version_that_changes(
        self, versioned: Versioned
    ) -> None:
        await versioned.run(THREAD, "r1", VersionChanges([NEXT]))
        write, read = versioned.store.write, versioned.store.read
        await write(_execute, "ALTER TABLE turn_versions ADD COLUMN later TEXT")
        try:
            await write(_execute, "UPDATE turn_versions SET later = 'kept'")
            await versioned.run(THREAD, "r2", VersionChanges([replace(NEXT, head="c9")]))
            assert await read(_later) == ["kept"]
        finally:
            await write(_execute, "ALTER TABLE turn_versions DROP COLUMN later")

    async def test_versions_go_with_their_thread(self, versioned: Versioned) -> None:
        for key in (THREAD, OTHERS):
            await versioned.run(key, "r1", VersionChanges([FIRST]))
        await versioned.store.claim_for_deletion(THREAD, "d1")
        await versioned.store.delete(THREAD)
        assert await versioned.of() == []
        await assign(versioned.store, OTHERS.owner, "cy")
        assert await versioned.of(OTHERS) == []
        assert await versioned.of(replace(OTHERS, owner="cy")) == [FIRST]


def _execute(connection: Connection, statement: str) -> None:
    connection.execute(text(statement))


def _later(connection: Connection) -> list[str]:
    return [*connection.scalars(text("SELECT later FROM turn_versions"))]

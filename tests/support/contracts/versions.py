"""What any store must do with the versions of a thread's turns."""

from dataclasses import replace

from tests.support.contracts.threads import OTHERS, SECOND, THREAD
from turnstream.server.storage.interfaces import ThreadStore
from turnstream.server.storage.kept_versions import TurnVersion, VersionChanges

FIRST = TurnVersion("before-r1", 1, None, "before-r1", "m1", is_original=True, head="c1")
NEXT = TurnVersion("r1", 2, None, "before-r1", "m1", is_original=False)


class VersionContract:
    async def test_versions_change_as_a_run_begins(self, store: ThreadStore) -> None:
        for key in (THREAD, SECOND, OTHERS):
            await store.claim(key, "r1")
        await store.begin_run(THREAD, "r1", "", versions=VersionChanges([NEXT, FIRST]))
        await store.begin_run(SECOND, "r1", "", versions=VersionChanges([FIRST]))
        await store.begin_run(OTHERS, "r1", "")
        assert await store.versions(THREAD) == [FIRST, NEXT]
        assert await store.versions(SECOND) == [FIRST]
        assert await store.versions(OTHERS) == []

    async def test_a_version_that_is_put_again_is_as_it_is_now(self, store: ThreadStore) -> None:
        for run_id, put in (("r1", [FIRST, NEXT]), ("r2", [replace(NEXT, head="c2")])):
            await store.claim(THREAD, run_id)
            await store.begin_run(THREAD, run_id, "", versions=VersionChanges(put))
            await store.end_run(THREAD, run_id, "finished")
        assert await store.versions(THREAD) == [FIRST, replace(NEXT, head="c2")]
        await store.claim(THREAD, "r3")
        await store.begin_run(THREAD, "r3", "", versions=VersionChanges(removed=["r1"]))
        assert await store.versions(THREAD) == [FIRST]

    async def test_a_deleted_thread_has_no_versions(self, store: ThreadStore) -> None:
        for key in (THREAD, OTHERS):
            await store.claim(key, "r1")
            await store.begin_run(key, "r1", "", versions=VersionChanges([FIRST]))
            await store.end_run(key, "r1", "finished")
        await store.claim_for_deletion(THREAD, "d1")
        await store.delete(THREAD)
        assert await store.versions(THREAD) == []
        assert await store.versions(OTHERS) == [FIRST]

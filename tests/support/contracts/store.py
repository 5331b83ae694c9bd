"""What any `ThreadStore` must do. The fixture `store` gives a fresh one:

class TestThisStore(StoreContract):
    @pytest.fixture
    async def store(self) -> AsyncIterator[ThreadStore]: ...
"""

from tests.support.contracts.approvals import ApprovalContract, ApprovalRecoveryContract
from tests.support.contracts.arranging import ArrangingContract, UndoContract
from tests.support.contracts.assistants import AssistantContract
from tests.support.contracts.claims import (
    ClaimContract,
    DeletionContract,
    IdempotencyContract,
    RefusalContract,
)
from tests.support.contracts.search import SearchContract
from tests.support.contracts.thread_list import (
    LaterVersionContract,
    RecoveryContract,
    ThreadListContract,
)
from tests.support.contracts.threads import OTHERS, SECOND, THREAD
from tests.support.contracts.versions import VersionContract
from turnstream.server.storage.interfaces import ThreadStore
from turnstream.server.storage.kept_substeps import KeptSubstep
from turnstream.server.turns.chunks import Disposition
from turnstream.server.turns.header import ThreadKey


class SubstepContract:
    """Of what subagents have done under calls."""

    async def test_substeps_are_kept_by_owner_thread_and_call_until_the_thread_is_deleted(
        self, store: ThreadStore
    ) -> None:
        for key in (THREAD, SECOND, OTHERS):
            await store.claim(key, "r1")
            rows = [KeptSubstep(call, place, "r1", "{}") for call in "ab" for place in (1, 0)]
            await store.put_substeps(key, "r1", rows)
        changed = [KeptSubstep("a", 0, "r1", None), KeptSubstep("a", 1, "r1", '{"call": "a"}')]
        await store.put_substeps(THREAD, "r1", changed)
        assert await store.substeps(THREAD, ["a"]) == changed[1:]
        assert [row.place for row in await store.substeps(THREAD, ["b", "c"])] == [0, 1]
        assert await store.substeps(THREAD, []) == []
        await store.delete(THREAD)
        assert await store.substeps(THREAD, "ab") == []
        assert [len(await store.substeps(key, "ab")) for key in (SECOND, OTHERS)] == [4, 4]

    async def test_a_call_that_begins_loses_what_another_has_left_under_its_id(
        self, store: ThreadStore
    ) -> None:
        await store.claim(THREAD, "r1")
        old = [KeptSubstep("a", place, "r1", "{}") for place in range(3)]
        other = [KeptSubstep("b", 0, "r1", "{}")]
        await store.put_substeps(THREAD, "r1", [*old, *other])
        new = [KeptSubstep("a", 0, "r1", "{}")]
        await store.put_substeps(THREAD, "r1", new, ["a"])
        assert await store.substeps(THREAD, "ab") == [*new, *other]


class DispositionContract:
    """Of the dispositions that are kept beside the messages."""

    async def test_dispositions_are_kept_by_owner_and_thread(self, store: ThreadStore) -> None:
        kept: dict[ThreadKey, dict[str, Disposition]] = {
            THREAD: {"c1": "client", "c2": "shown", "c3": "invalid"},
            SECOND: {"c1": "approval"},
            OTHERS: {"c1": "server"},
        }
        for key, dispositions in kept.items():
            await store.claim(key, "r1")
            await store.keep_dispositions(key, dispositions)
        assert {key: await store.dispositions(key) for key in kept} == kept

    async def test_dispositions_add_up_and_may_be_kept_again(self, store: ThreadStore) -> None:
        await store.claim(THREAD, "r1")
        await store.keep_dispositions(THREAD, {"c1": "client"})
        await store.keep_dispositions(THREAD, {"c1": "client", "c2": "shown"})
        assert await store.dispositions(THREAD) == {"c1": "client", "c2": "shown"}

    async def test_a_thread_without_kept_dispositions_has_none(self, store: ThreadStore) -> None:
        assert await store.dispositions(THREAD) == {}

    async def test_keeping_no_dispositions_changes_nothing(self, store: ThreadStore) -> None:
        await store.claim(THREAD, "r1")
        await store.keep_dispositions(THREAD, {"c1": "client"})
        await store.keep_dispositions(THREAD, {})
        assert await store.dispositions(THREAD) == {"c1": "client"}


class StoreContract(
    ClaimContract,
    IdempotencyContract,
    RefusalContract,
    DeletionContract,
    ThreadListContract,
    LaterVersionContract,
    SubstepContract,
    DispositionContract,
    ApprovalContract,
    VersionContract,
    SearchContract,
    ArrangingContract,
    AssistantContract,
    UndoContract,
):
    """All of it but recovery."""


class RecoveringStoreContract(StoreContract, RecoveryContract, ApprovalRecoveryContract):
    """Of a store whose database one process has to itself."""

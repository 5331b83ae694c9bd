"""The parts of the server that extensions may use, and their tables."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection

from turnstream.server.extensions.base import Extension
from turnstream.server.runs.hooks import RunHooks
from turnstream.server.runs.runs import Runs
from turnstream.server.storage import thread_list
from turnstream.server.storage.extension_tables import ExtensionTables
from turnstream.server.storage.interfaces import ThreadStore
from turnstream.server.turns.header import ThreadKey


@dataclass(frozen=True, slots=True)
class Threads:
    """Implements `turnstream.server.extensions.base.Threads`."""

    store: ThreadStore

    async def title(self, key: ThreadKey) -> str | None:
        entry = await self.store.get(key)
        return entry.title if entry else None

    async def give_title(self, key: ThreadKey, title: str, before: str) -> bool:
        return await self.store.give_title(key, title, before) is not None

    def hold(self, connection: Connection, key: ThreadKey) -> bool:
        return thread_list.hold(connection, key)


@dataclass(frozen=True, slots=True)
class Status:
    """Implements `turnstream.server.extensions.base.Status`."""

    runs: Runs
    hooks: RunHooks
    events: Counter[tuple[str, str]] = field(default_factory=Counter)

    def count(self, extension: str, event: str) -> None:
        self.events[extension, event] += 1

    @property
    def live_runs(self) -> int:
        return self.runs.live

    @property
    def oldest_claim_seconds(self) -> float:
        return self.runs.oldest_claim_seconds

    @property
    def dropped_chunks(self) -> int:
        return self.hooks.dropped_chunks


def tables_of(extensions: Sequence[Extension]) -> list[ExtensionTables]:
    return [
        ExtensionTables(each.name, each.tables, each.version, each.migrate)
        for each in extensions
        if each.tables
    ]

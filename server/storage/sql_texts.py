"""The texts that are searched, in an SQL database."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from sqlalchemy import Connection

from turnstream.server.storage import thread_texts
from turnstream.server.storage.interfaces import ThreadEntry
from turnstream.server.storage.searching import TextChanges, ThreadText, Unsearchable
from turnstream.server.turns.header import ThreadKey

T = TypeVar("T")


class SqlTexts(ABC):
    """Implements `SearchableTexts`, on what an engine has of transactions."""

    has_texts = True
    """Whether this database can search texts."""

    @abstractmethod
    async def write(self, work: Callable[..., T], *arguments: Any) -> T:
        """One transaction, for what else is stored in the same database."""

    @abstractmethod
    async def read(self, work: Callable[..., T], *arguments: Any) -> T: ...

    async def note_texts(self, key: ThreadKey, run_id: str, changes: TextChanges) -> None:
        if self.has_texts:
            await self.write(thread_texts.note, key, run_id, changes)

    async def put_texts(self, thread: Unsearchable, texts: Sequence[ThreadText]) -> None:
        if self.has_texts:
            await self.write(thread_texts.put, thread, texts)

    async def unsearchable(
        self, limit: int, after: Unsearchable | None = None
    ) -> Sequence[Unsearchable]:
        return await self.read(thread_texts.behind, limit, after) if self.has_texts else ()

    async def retitle(
        self, work: Callable[..., ThreadEntry | None], key: ThreadKey, *titles: str
    ) -> ThreadEntry | None:
        """Give a thread a title, which is searched from then on."""

        def retitle(connection: Connection) -> ThreadEntry | None:
            if (entry := work(connection, key, *titles)) and self.has_texts:
                thread_texts.put_title(connection, key, entry.title)
            return entry

        return await self.write(retitle)

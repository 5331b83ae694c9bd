"""A search over the list of threads, as the list asks for it."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class Search(Protocol):
    """A search in one request. Connections are `sqlalchemy.Connection`."""

    def conditions(self, connection: Any, owner: str) -> Sequence[Any]:
        """Return conditions (`sqlalchemy.ColumnElement[bool]`) on the rows of
        `turnstream.server.extensions.tables.threads`: those of the owner that are found."""

    def places(self, connection: Any, owner: str, thread_ids: Sequence[str]) -> Mapping[str, Any]:
        """Return the place where each thread has it, by the thread's id; without the threads of
        which the title alone has it."""

    def shown(self, title: str, place: Any) -> Any:
        """Return what a client sees of a thread that was found, as JSON: see `FoundJson` in
        `turnstream.server.http.thread_listing`. `place` None: the title alone has it."""

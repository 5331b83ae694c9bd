"""The graphs that are served, and which of them a thread belongs to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID, uuid5

from turnstream.server.runs.checkpoints import Checkpoints
from turnstream.server.storage.interfaces import ThreadEntry
from turnstream.server.turns.requests import InvalidRequest, TurnRequest

_ASSISTANTS = UUID("6ba7b821-9dad-11d1-80b4-00c04fd430c8")
"""LangGraph's namespace of the ids that it gives graphs."""


@dataclass(frozen=True, slots=True)
class ServedGraphs:
    by_name: Mapping[str, Checkpoints]
    """Their threads; the first is the default."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """Why others of the same file are not served."""

    @property
    def default(self) -> str:
        return next(iter(self.by_name))

    @property
    def are_several(self) -> bool:
        return len(self.by_name) + len(self.refused) > 1

    def find(self, assistant_id: str) -> str | None:
        """The graph that LangGraph's clients name, by its name or by the id that LangGraph's own
        server derives from it. None: there is none."""
        if assistant_id in self.by_name:
            return assistant_id
        ids = {str(uuid5(_ASSISTANTS, name)): name for name in self.by_name}
        return ids.get(assistant_id.lower())

    def name_of(self, entry: ThreadEntry) -> str | None:
        """The graph of a thread, which may not be served any more. A single graph has all threads;
        the default has those of versions that kept no graph. None: a thread without a run, which
        belongs to no graph yet and was made for none."""
        if not self.are_several:
            return self.default
        return entry.graph or (self.default if entry.run_id else None)

    def possible(self, entry: ThreadEntry) -> Sequence[Checkpoints]:
        """The graphs that can take the thread's next run; of one that is gone, the default."""
        if entry.run_id or not self.are_several:
            return [self.checkpoints(self.name_of(entry))]
        return [*self.by_name.values()]

    def checkpoints(self, name: str | None) -> Checkpoints:
        """Return the checkpoints of a graph. Those of a graph that is not served any more are read
        by the default one, which reads messages too."""
        return self.by_name.get(name or self.default, self.by_name[self.default])

    def has_messages(self, name: str | None) -> bool:
        """Return True if the state of a graph's threads has messages."""
        return self.checkpoints(name).attached.has_messages

    def choose(self, request: TurnRequest, thread: ThreadEntry | None) -> str:
        """The graph that takes a request on a thread, by name; None: a new one.

        Raises InvalidRequest: 422 `unknown_graph`, 409 `graph_mismatch`, 409 `graph_not_served`.
        """
        asked = request.graph
        if asked in self.refused:
            raise InvalidRequest(
                "graph_not_served",
                f"The graph {asked!r} cannot be served; GET /graphs and the server's log say why. "
                f"There {self.listed}.",
                409,
            )
        if asked is not None and asked not in self.by_name:
            raise InvalidRequest(
                "unknown_graph", f"There is no graph {asked[:64]!r}; there {self.listed}."
            )
        if thread is None or not self.are_several:
            return asked or self.default
        own = self.name_of(thread) or self.default
        if not thread.run_id:
            return asked or (own if own in self.by_name else self.default)
        if own not in self.by_name:
            raise InvalidRequest(
                "graph_not_served",
                f"The thread belongs to the graph {own!r}, which is not served now; there "
                f"{self.listed}. Start a new thread, or serve that graph again.",
                409,
            )
        if asked not in (None, own):
            raise InvalidRequest(
                "graph_mismatch",
                f"The thread belongs to the graph {own!r}, the request names {asked!r}. Name "
                f"{own!r} or none, or start a new thread.",
                409,
            )
        return own

    @property
    def listed(self) -> str:
        """All names, with the verb of a sentence."""
        return f"{'are' if len(self.by_name) > 1 else 'is'} {', '.join(self.by_name)}"

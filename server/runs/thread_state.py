"""A thread as it is saved, whatever graph works on it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from langchain_core.messages import AnyMessage, ToolCall

from turnstream.graphs.approvals import asked_in
from turnstream.graphs.history import pending_calls
from turnstream.graphs.result_view import ResultView, own_result
from turnstream.graphs.stored_approvals import AskedApproval
from turnstream.server.runs.interrupts import asking_calls
from turnstream.server.runs.shortening import Fronts, with_fronts
from turnstream.server.turns.chunks import Disposition, Interrupt
from turnstream.server.turns.graph_state import Values


@dataclass(frozen=True)
class ThreadState:
    """The state of a thread. A look at the whole history is taken once."""

    messages: Sequence[AnyMessage] = ()
    dispositions: Mapping[str, Disposition] = field(default_factory=dict)
    """The dispositions of the thread's tool calls, by id."""
    unfinished: bool = False
    """True if the graph has tasks left: a run is live, or broke off."""
    checkpoint_id: str | None = None
    """None: the thread has nothing saved."""
    saved_at: str | None = None
    """When that checkpoint was saved, in ISO 8601."""
    interrupts: tuple[Interrupt, ...] = ()
    """The interrupts of the graph, which is `unfinished` then."""
    takes_bare_answer: bool = False
    """An answer without an id surely reaches the one interrupt."""
    results: ResultView = own_result
    """The part of its tool results that clients see."""
    graph_state: Values | None = None
    """The part of the graph's state that clients see beside the messages; None: nothing of it,
    ever."""
    spoiled: bool = False
    """True if a task that has finished wrote what the state does not take."""
    fronts: Fronts = field(default_factory=dict)
    """The messages that the graph has removed, and that people still see."""
    brought: Mapping[str, Any] = field(default_factory=dict)
    """The keys of a graph of one's own that hold tools of a client, as they are."""

    @cached_property
    def shown(self) -> Sequence[AnyMessage]:
        """The thread as people see it."""
        return with_fronts(self.messages, self.fronts)

    @cached_property
    def removed(self) -> Sequence[AnyMessage]:
        """The messages that the graph has removed, and that people still see, in order."""
        return [one for message in self.messages for one in self.fronts.get(message.id or "", ())]

    @cached_property
    def unanswered(self) -> Sequence[ToolCall]:
        """The calls without an answer, in order."""
        return pending_calls(self.messages)

    @cached_property
    def asked(self) -> Mapping[str, AskedApproval]:
        """The questions that people were asked about calls, by call id."""
        return asked_in(self.messages)

    def pending(self, *dispositions: Disposition) -> list[ToolCall]:
        """The calls without an answer that have one of these dispositions, in order. A call that
        was approved and has begun waits for no approval."""
        begun = asking_calls(self.interrupts)
        return [
            call
            for call in self.unanswered
            if self.dispositions.get(call["id"] or "") in dispositions and call["id"] not in begun
        ]

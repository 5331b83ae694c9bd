"""The parts of a run before it begins, and the settings of all runs."""

from dataclasses import dataclass

from turnstream.graphs.classify import Classifier
from turnstream.graphs.context import TurnContext
from turnstream.server.callers.rights import Rights
from turnstream.server.runs.plan import Plan
from turnstream.server.runs.served_graphs import ServedGraphs
from turnstream.server.runs.served_models import ServedModels
from turnstream.server.turns.header import RunHeader, ThreadKey
from turnstream.server.turns.requests import GraphValues, RunOptions
from turnstream.tools.current import CurrentCatalogue


@dataclass(frozen=True, slots=True)
class RunLimits:
    """The limits that end a run from outside."""

    max_seconds: float
    unread_seconds: float = 0
    """Seconds without a reader; 0: it runs on unread."""
    max_bytes: int = 20_000_000
    """Bytes of text in the log; see `turnstream.server.turns.size`."""


@dataclass(frozen=True, slots=True)
class RunStart:
    """Everything that a run needs to exist."""

    run_id: str
    key: ThreadKey
    graph: str
    wire_format: str
    plan: Plan
    context: TurnContext
    rights: Rights
    values: GraphValues
    options: RunOptions
    classifier: Classifier
    limits: RunLimits
    model: str | None = None
    """Its name in the settings; None: a graph's own."""
    setup: str | None = None
    """The hash of system prompt and tools; None: a graph's own."""
    tells_causes: bool = False
    """True in `turnstream dev` alone."""
    follows: str | None = None
    """The thread's last run before this one; None: it had none."""
    takes_back: bool = False
    """True if the run takes that one back."""
    client_run_id: str | None = None
    """The id that the client has given to the run."""

    def header(self, checkpoint_id: str | None) -> RunHeader:
        return RunHeader(
            key=self.key,
            run_id=self.run_id,
            graph=self.graph,
            message_id=self.plan.message_id,
            user_message_id=self.plan.user_message_id,
            wire_format=self.wire_format,
            checkpoint_id=checkpoint_id,
            continues=self.plan.continues,
            follows=self.follows,
            takes_back=self.takes_back,
            client_run_id=self.client_run_id,
        )


@dataclass(frozen=True, slots=True)
class RunSettings:
    limits: RunLimits
    retention_seconds: float
    max_live: int = 200
    """Live runs of the whole server."""
    max_new_threads: int = 600
    """New threads a minute, of the whole server."""
    max_thread_bytes: int = 50_000_000
    """Bytes of a thread's texts and images."""
    max_queued_requests: int = 20
    """Requests that wait for their turn on one thread."""
    approval_seconds: float = 0
    """Seconds for which a question for an approval is open; 0: until it is answered."""
    client_values: tuple[str, ...] = ()
    """Names that clients may set of the graph's context, configurable values and input."""
    tells_causes: bool = False
    """True in `turnstream dev` alone: an error says what the graph raised."""
    system_prompt: str = ""
    """The system prompt of the built-in graph."""


@dataclass(frozen=True, slots=True)
class Equipment:
    graphs: ServedGraphs
    models: ServedModels
    classifier: Classifier
    """The rules for tool calls, before a run's client tools are added."""
    catalogue: CurrentCatalogue
    """A run takes the tools as they are when it begins."""

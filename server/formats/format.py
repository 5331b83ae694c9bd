"""A wire format: body to request, chunks to payloads, history to snapshot.

Each format is a folder; nothing of one is known outside it. What a format remembers of a body, to
answer its reader, is a `view`: only the format itself looks inside.
"""

from collections.abc import Callable, Hashable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from typing import Any, Protocol

from turnstream.server.formats.fields import BodyLimits
from turnstream.server.turns.chunks import Aside, Chunk, Interrupt
from turnstream.server.turns.graph_state import Values
from turnstream.server.turns.header import RunHeader
from turnstream.server.turns.messages import AssistantTurn, Turn
from turnstream.server.turns.requests import AttachRequest, TurnRequest

View = Any
"""None for a reader that posted no body, or whose body said nothing about its view."""


@dataclass(frozen=True, slots=True)
class StreamContext:
    """The needs of a stream besides a run's chunks."""

    thread_id: str
    message_id: str
    """The assistant message of the turn."""
    turns: tuple[Turn, ...] = ()
    """The thread as it stands when the run begins: up to the branch point if there is one, with
    what the request added. Empty where the format does not need it."""
    run_id: str = ""
    client_run_id: str | None = None
    """The id that the client has given to the run."""
    graph_state: Values | None = None
    """The graph's state beside the turns, as far as clients see it; None: they never see it."""
    asides: tuple[Aside, ...] = ()
    """The messages of the thread that are in no turn."""
    has_messages: bool = True
    """False if the graph's state has no messages."""

    @property
    def continued(self) -> AssistantTurn | None:
        """The run's message as earlier runs left it; None if it is a new one."""
        ours = (turn for turn in reversed(self.turns) if turn.id == self.message_id)
        return next((turn for turn in ours if isinstance(turn, AssistantTurn)), None)


class NamedEvent(str):
    """A payload with an `event:` name, for the one format whose clients read names; those of others
    drop an event that has one."""

    event: str

    def __new__(cls, event: str, payload: str) -> "NamedEvent":
        self = super().__new__(cls, payload)
        self.event = event
        return self


class Encoder(Protocol):
    """Chunks to payloads, for one run: a fresh object, fed every chunk from the first, in order."""

    def encode(self, chunk: Chunk) -> list[str]:
        """The payloads of one chunk: one event, whose last payload carries its id. May be none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WireFormat:
    """One format of streams and snapshots."""

    name: str
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers of its streams, besides those that every stream has."""
    variant: Callable[[View], Hashable] = lambda _view: None
    """Readers of equal variants share the encoded chunks of a run."""
    needs_turns: Callable[[RunHeader, View], bool]
    """Return True if the context must have the turns."""
    encoder: Callable[[StreamContext, View], Encoder]
    prologue: Callable[[StreamContext, View, bool], list[str]]
    """Payloads ahead of the first event, without ids, of one reader; the flag says whether it
    replays the message from its own beginning, which may lie in an earlier run."""
    idle: Callable[[StreamContext, View], list[str]]
    """The payloads of a stream without a run."""
    snapshot: Callable[[Sequence[Turn]], list[dict[str, Any]]]
    waiting: Callable[[Sequence[Turn], Sequence[Interrupt]], Mapping[str, Any]] = lambda *_: {}
    """Return the keys of a loaded thread, beside its messages, for what waits for the client, as a
    client of this format answers it; the interrupts are those that are open."""
    beside: Callable[[Sequence[Turn]], Mapping[str, Any]] = lambda _turns: {}
    """Return the keys of a loaded thread for what its messages have no place for."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """A body, read: the request, and how its reader wants the answer."""

    request: TurnRequest | AttachRequest
    view: View = None
    ignored: Sequence[str] = ()
    """The keys that have no effect, each with its place."""
    wire_format: WireFormat | None = None
    """The format that the body asks for. None: that of its form."""


@dataclass(frozen=True, slots=True)
class BodyFormat:
    """One form of the body that starts a run."""

    parse: Callable[[Mapping[str, Any], BodyLimits], Parsed]
    """Raises InvalidRequest."""
    wire_format: WireFormat | None = None
    """The format of the answer. None: the default one."""
    recognises: Callable[[Mapping[str, Any]], bool] | None = None
    """Return True for a body of `POST /chat` of this form. None: its own address alone takes it."""
    address: str | None = None
    """An address of its own, such as `/ag-ui`. `{address}/{graph}` names the graph too."""


def deferred(package: str, module: str) -> Callable[[], Any]:
    """Return a function that gives a module of a format, imported at its first call: models of
    bodies are made when a body comes, and schemas when the OpenAPI document is asked for."""
    return cache(partial(import_module, f"{package}.{module}"))


class Schemas(Protocol):
    """The schemas of a format, a module that is imported when the OpenAPI document is made."""

    @property
    def MODELS(self) -> Sequence[type[Any]]:  # noqa: N802  a module's constant
        """The models of the bodies."""

    def bodies(self, found: MutableMapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """Return the schemas of the bodies, by name; `found` has those of the models."""

    def components(self) -> dict[str, dict[str, Any]]:
        """Return the schemas of answers, by name; `Message.{name}` is a message of a thread."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format, whole: one folder, of which the rest of the server knows nothing but this."""

    schemas: Callable[[], Schemas]
    body: BodyFormat | None = None
    """None: its bodies are read by endpoints of its own."""
    wire_formats: Sequence[WireFormat] = ()
    """Empty: it has no streams of its own, and is answered in the default format."""
    routes: Callable[[], Sequence[Any]] = tuple
    """Return the Starlette routes of its own addresses."""

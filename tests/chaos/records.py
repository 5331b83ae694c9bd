"""What was seen of a server under chaos: the facts that the checks judge. Times are seconds of the
machine's clock, which a database on it has too."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Json = Mapping[str, Any]

NO_ANSWER = 0
"""As a status: the connection broke off before the response's head."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A request, and what came of it."""

    kind: str
    """What the client wanted: `post`, `stop`, `delete`, `hydrate`, `withdraw` and so on."""
    thread_id: str
    sent: float
    answered: float
    """When the head of the response came, or the connection broke off."""
    status: int
    code: str = ""
    """The problem's, of an error."""
    run_id: str = ""
    """The run that was started, stopped, queued, withdrawn, moved or in the way."""
    idempotency_key: str = ""
    message_id: str = ""
    """The id that the client gave to its message."""
    retry_after: str = ""
    queue_place: int = 0
    """Of a message that waits for its turn: 1 is the next one."""


ReadingEnd = Literal["whole", "broken", "left"]
"""`broken`: by the server or the network, `left`: by the client."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One event stream of a run, as far as it was read."""

    reader: int
    thread_id: str
    run_id: str
    """Empty if the stream told of a lost cursor alone."""
    after: int
    """The number of the cursor's event; 0: none."""
    opened: float
    closed: float
    frames: tuple[bytes, ...]
    """Without comments, each with the blank line that ends it."""
    end: ReadingEnd


Outcome = Literal["ended", "lost", "nothing", "thread gone", "left", "unanswered"]


@dataclass(frozen=True, slots=True)
class Following:
    """A reader who attaches again until the end comes. `nothing` is a 204, `unanswered`: it gave up
    after many attempts."""

    reader: int
    thread_id: str
    run_id: str
    began: float
    over: float
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Hydrated:
    """A thread as it was loaded; None: there was none."""

    thread_id: str
    sent: float
    answered: float
    live_run: str = ""
    messages: Mapping[str, Sequence[Json]] | None = None
    """The parts of each message by its id."""
    is_last: bool = False
    """Whether all runs had ended."""
    order: Sequence[str] = ()
    """The ids of the messages as they stand in the thread, one that stands there twice too."""
    queued: Mapping[str, str] = field(default_factory=dict)
    """By the id of a message that waits: the code of its problem, empty without one."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What was done to a part of the system, for how long."""

    kind: str
    target: str
    began: float
    over: float
    loses_logs: bool = False
    """Whether live streams may be lost by it."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A row of the claims, as it was at a moment."""

    run_id: str
    purpose: str
    worker: str = ""
    lease_until: float = 0.0


@dataclass(frozen=True, slots=True)
class ClaimChange:
    """A change of a thread's claim, in the order of the database. None: no row."""

    number: int
    at: float
    transaction: int
    thread_id: str
    old: Claim | None
    new: Claim | None


@dataclass(frozen=True, slots=True)
class Write:
    """A write to a thread's rows, with the claim of that moment, as the database saw it."""

    number: int
    at: float
    transaction: int
    table: str
    operation: str
    thread_id: str
    worker: str
    """The one whose connection it was."""
    claim: Claim | None


@dataclass
class History:
    """All of a play."""

    answers: list[Answer] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    followings: list[Following] = field(default_factory=list)
    hydrated: list[Hydrated] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    claims: list[ClaimChange] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)
    """What visitors were about when they had waited too long."""
    survivors: dict[str, str] = field(default_factory=dict)
    """By thread: how its last message, after all faults, was answered; `stop` is well."""


@dataclass(frozen=True, slots=True)
class Violation:
    check: str
    thread_id: str
    sentence: str
    run_id: str = ""

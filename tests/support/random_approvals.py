"""Random threads with gated calls: what the model says, what people do, where a run is cut off."""

from dataclasses import dataclass
from typing import Any, Literal

from hypothesis import strategies as st

from turnstream.server.turns.requests import OnBusy

CallKind = Literal[
    "pay", "pay_slowly", "spend", "spend little", "echo", "broken", "misfit", "half", "alert", "ask"
]
"""`misfit` and `half`: arguments of `pay` that do not fit, or are not whole."""

GATED: tuple[CallKind, ...] = ("pay", "pay_slowly", "spend")
FREE: tuple[CallKind, ...] = ("spend little", "echo", "broken", "misfit", "half", "alert", "ask")

Form = Literal["approvals", "tool_results", "copies"]


@dataclass(frozen=True)
class Reply:
    """A message of the model: its calls, with the ids that it gives them; then it may fail."""

    calls: tuple[tuple[CallKind, str | None], ...] = ()
    fails: bool = False


@dataclass(frozen=True)
class Cut:
    """A run is cut off at a payment, or once it has written or told so much."""

    how: Literal["stop", "crash"]
    at: Literal["payment", "write", "chunk"]
    after: int = 0


@dataclass(frozen=True)
class Choice:
    """What a person decides about a call. `args` are in the place of the model's; `question` is
    the one that they name: `another` is not open."""

    approved: bool
    reason: str | None = None
    args: Literal["other", "same", "misfit"] | None = None
    question: Literal["open", "another"] | None = None


@dataclass(frozen=True)
class Act:
    """A request to a thread, what the model says then, and where the run is cut off."""

    thread: str
    replies: tuple[Reply, ...] = ()
    cut: Cut | None = None


class Say(Act):
    """A message: it goes past all calls that wait."""


@dataclass(frozen=True)
class Decide(Act):
    """`choices` are for the first, second, third call that waits, None leaves one; where none
    waits, it is a message. `stray` is for a call that does not wait; `answers`: the open selections
    are answered too; `doubled`: the request comes twice at the same moment, and that is what it
    has the server do about a live run."""

    choices: tuple[Choice | None, ...] = ()
    stray: Choice | None = None
    form: Form = "approvals"
    answers: bool = False
    doubled: OnBusy | None = None


class Again(Act):
    """The last decisions on this thread, sent once more as they were."""


class Answer(Act):
    """The open selections are answered; where there are none, it is a message."""


class Continue(Act): ...


class Regenerate(Act): ...


@dataclass(frozen=True)
class Restart:
    """While nothing runs the server is ended in order, or killed."""

    killed: bool


Event = Act | Restart


def _one_of(*strategies: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Each as likely as it is named often; Hypothesis's own takes those within a strategy apart."""
    return st.sampled_from(strategies).flatmap(lambda chosen: chosen)


_ids = st.sampled_from([None, "call_0", "own", "own"])
_gated_calls = st.tuples(st.sampled_from(GATED), _ids)
_calls = st.tuples(st.sampled_from((*GATED, *GATED, *FREE)), _ids)
_gated = st.builds(
    lambda first, others: Reply((first, *others)), _gated_calls, st.lists(_calls, max_size=3)
)
_any = st.builds(
    Reply, st.lists(_calls, max_size=4).map(tuple), st.sampled_from([False, False, True])
)
_scripts: st.SearchStrategy[tuple[Reply, ...]] = _one_of(
    st.tuples(_gated), st.tuples(_gated), st.tuples(_any, _gated), st.tuples(_any), st.just(())
)
_how: st.SearchStrategy[Literal["stop", "crash"]] = st.sampled_from(["stop", "crash"])
_cuts = _one_of(
    st.none(),
    st.none(),
    st.builds(Cut, _how, st.just("payment")),
    st.builds(Cut, _how, st.just("write"), st.integers(0, 9)),
    st.builds(Cut, _how, st.just("write"), st.integers(8, 40)),
    st.builds(Cut, _how, st.just("chunk"), st.integers(0, 25)),
)
_seldom = st.sampled_from([False, False, False, True])
_plain_choices = st.builds(
    Choice,
    st.sampled_from([True, True, False]),
    st.sampled_from([None, "Because."]),
    question=st.sampled_from([None, "open"]),
)
_changes = st.builds(Choice, st.just(True), args=st.sampled_from(["other", "same"]))
_odd_choices = st.builds(
    Choice,
    st.booleans(),
    args=st.sampled_from([None, "other", "misfit"]),
    question=st.sampled_from([None, "another"]),
)
_choices = _one_of(_plain_choices, _plain_choices, _changes, st.none())
_threads = st.sampled_from(["one", "one", "one", "two"])
_decides = st.builds(
    Decide,
    _threads,
    _scripts,
    _cuts,
    _one_of(
        st.tuples(_choices, _choices, _choices),
        st.tuples(_plain_choices, _choices),
        st.tuples(_plain_choices, _plain_choices, _changes),
        st.tuples(_odd_choices, _choices),
    ),
    _one_of(*[st.none()] * 6, _plain_choices, _odd_choices),
    st.sampled_from(["approvals", "approvals", "tool_results", "copies"]),
    _seldom,
    st.sampled_from([None, None, None, None, "reject", "stop"]),
)
_others = _one_of(
    *(
        st.builds(act, _threads, _scripts, _cuts)
        for act in (Say, Again, Answer, Continue, Regenerate)
    ),
    st.builds(Restart, st.booleans()),
)
_questions = st.builds(Say, _threads, st.tuples(_gated), _one_of(st.none(), st.none(), _cuts))


@st.composite
def histories(draw: st.DrawFn) -> list[Event]:
    """The model calls gated tools, and people do this and that about them; several times."""
    history: list[Event] = []
    for _ in range(draw(st.integers(1, 3))):
        history.append(draw(_questions))
        history += draw(st.lists(_one_of(_decides, _decides, _others), min_size=2, max_size=5))
    return history

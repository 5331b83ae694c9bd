"""What a graph has removed from the front of its thread: as a run sees it, and as a load finds
it."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage

from turnstream.server.runs.shortening import in_front
from turnstream.server.runs.thread_changes import ThreadBefore, ThreadNow

SYSTEM = SystemMessage("Be brief.", id="system")


def asked(number: int) -> AnyMessage:
    return HumanMessage("?", id=f"h{number}", response_metadata={"format": 1})


def answered(number: int) -> AnyMessage:
    return AIMessage("!", id=f"a{number}")


def summary(number: int) -> AnyMessage:
    return HumanMessage("So far", id=f"s{number}", additional_kwargs={"lc_source": "summary"})


class Play:
    """A graph's messages, in a run and in the rows of the store."""

    def __init__(self) -> None:
        self.messages: list[AnyMessage] = []
        self.now = ThreadNow(ThreadBefore([]))
        self.rows: dict[str, AnyMessage] = {}

    def becomes(self, messages: Sequence[AnyMessage]) -> list[str | None]:
        """The ids that people see, which a load must find too."""
        self.messages = [*messages]
        known = len(self.now.shortened)
        shown = self.now.shown(self.messages)
        self.rows |= {one.next_id: one.message for one in self.now.shortened[known:]}
        loaded = [*in_front(self.messages, self.rows).messages, *self.messages]
        assert [one.id for one in loaded] == [one.id for one in shown]
        return [one.id for one in shown if not (one.id or "").startswith("s")]


STEPS = st.lists(st.sampled_from(["ask", "trim", "sum up", "sum all up", "wipe"]), max_size=14)


@given(STEPS)
def test_a_load_finds_what_the_run_has_shown(steps: Sequence[str]) -> None:
    play, shown, seen = Play(), [SYSTEM.id], list[str | None]()
    play.becomes([SYSTEM])
    for number, step in enumerate(steps):
        system, *rest = play.messages
        match step:
            case "ask":
                messages = [asked(number), answered(number)]
                seen = play.becomes([system, *rest, *messages])
                shown += [one.id for one in messages]
            case "trim" if len(rest) > 2:
                seen = play.becomes([system, *rest[2:]])
            case "sum up" if len(rest) > 2:
                seen = play.becomes([system, summary(number), *rest[-2:]])
            case "sum all up" if rest:
                seen = play.becomes([system, summary(number)])
            case "wipe":
                seen = play.becomes([system])
                shown = [system.id]
        assert sorted(map(str, seen)) == sorted(map(str, {*shown} - {SYSTEM.id}))


def test_a_graph_that_takes_all_back_shows_none_of_what_it_has_summed_up() -> None:
    play = Play()
    play.becomes([asked(1), answered(1), asked(2)])
    assert play.becomes([summary(3), asked(2)]) == ["h1", "a1", "h2"]
    assert play.becomes([answered(4)]) == ["a4"]

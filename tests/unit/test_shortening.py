"""The messages by which a graph has shortened its thread, as a run sees them and as a load finds
them."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage

from turnstream.server.runs.shortening import fronts_of, with_fronts
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
        loaded = with_fronts(self.messages, fronts_of(self.messages, self.rows))
        assert [one.id for one in loaded] == [one.id for one in shown]
        return [one.id for one in shown if not (one.id or "").startswith("s")]


STEPS = st.lists(
    st.sampled_from(["ask", "trim", "keep both ends", "sum up", "sum all up", "wipe"]), max_size=14
)


@given(STEPS)
def test_a_load_finds_what_the_run_has_shown(steps: Sequence[str]) -> None:
    play, shown, seen = Play(), list[str | None](), list[str | None]()
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
            case "keep both ends" if len(rest) > 3:
                seen = play.becomes([system, rest[0], *rest[-3 + number % 2 :]])
            case "sum up" if len(rest) > 2:
                seen = play.becomes([system, summary(number), *rest[-2:]])
            case "sum all up" if rest:
                seen = play.becomes([system, summary(number)])
            case "wipe":
                seen = play.becomes([system])
                shown = []
        assert seen == shown


def test_a_graph_that_takes_all_back_shows_none_of_what_it_has_summed_up() -> None:
    play = Play()
    play.becomes([asked(1), answered(1), asked(2)])
    assert play.becomes([summary(3), asked(2)]) == ["h1", "a1", "h2"]
    assert play.becomes([answered(4)]) == ["a4"]

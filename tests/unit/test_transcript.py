"""The turns of a thread have the ids that runs give them."""

from collections.abc import Sequence

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from turnstream.graphs.result_view import own_result
from turnstream.server.callers.principal import LOCAL
from turnstream.server.runs.approvals import Decider
from turnstream.server.runs.plan import plan
from turnstream.server.runs.thread_state import ThreadState
from turnstream.server.runs.transcript import Transcript
from turnstream.server.turns.requests import TurnRequest
from turnstream.tools.builtin import CATALOGUE

ASKED = HumanMessage("Read.", id="u1")
SUMMARY = HumanMessage("So far: a page.", id="s1", additional_kwargs={"lc_source": "summarization"})
STEPS = [AIMessage("One.", id="a1"), AIMessage("Two.", id="a2")]


@pytest.mark.parametrize(
    ("messages", "id"),
    [
        ([ASKED, *STEPS], "u1.a"),
        ([ASKED, STEPS[0], HumanMessage("And?", id="u2"), STEPS[1]], "u2.a"),
        ([SUMMARY, *STEPS], "start.a"),
        (STEPS, "start.a"),
    ],
)
def test_a_run_that_continues_a_turn_gives_it_the_id_that_the_thread_shows(
    messages: Sequence[AnyMessage], id: str
) -> None:
    state = ThreadState(messages, unfinished=True)
    continued = plan(TurnRequest(continue_=True), state, CATALOGUE, Decider(LOCAL, "run-2"))
    assert continued.message_id == Transcript(messages, {}, own_result).turns()[-1].id == id

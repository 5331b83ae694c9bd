"""What is stored with a message: every accessor gives back what was written."""

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from turnstream.graphs import stored, stored_user
from turnstream.graphs.stored import End, Ended, StoredError

SERIALIZER = JsonPlusSerializer()
M = TypeVar("M", bound=AnyMessage)

AI: dict[str, tuple[Callable[[AIMessage], Any], Any]] = {
    "run_id": (stored.run_id, "run-1"),
    "dispositions": (stored.dispositions, ["server", "client", "invalid"]),
    "finish_reason": (stored.finish_reason, "tool_calls"),
    "model_name": (stored.model_name, "gpt-4.1-mini"),
    "model": (stored.model, "anthropic:claude-sonnet-5"),
    "provider": (stored.provider, "openai"),
    "timing": (stored.timing, {"first_token_ms": 0, "duration_ms": 7}),
    "layout": (stored.layout, [["reasoning", 3], ["call", 0], ["text", 5]]),
    "args_text": (stored.args_text, {"c1": '{ "a" : 1 }'}),
    "approvals": (
        stored.approvals,
        {
            "c1": {
                "asked_at": 1.5,
                "by": "ann",
                "roles": ["user"],
                "name": "Ann",
                "decisions": [{"approved": True, "run_id": "r1", "by": "ann", "at": 2.5}],
            }
        },
    ),
    "ended": (stored.ended, {"reason": "limit", "limit": "max_steps", "value": 1}),
    "error": (stored.error, {"code": "model_error", "message": "It failed.", "id": None}),
}
"""By keyword of `ai_metadata`: who reads it, and a value."""


def ai(**metadata: Any) -> AIMessage:
    return AIMessage("Hello.", response_metadata=metadata)


def tool(status: str = "success", **metadata: Any) -> ToolMessage:
    return ToolMessage("1", tool_call_id="c1", status=status, response_metadata=metadata)


def reloaded(message: M) -> M:
    """The message after the checkpointer has stored and loaded it."""
    loaded: M = SERIALIZER.loads_typed(SERIALIZER.dumps_typed(message))
    return loaded


def test_every_value_of_an_ai_message_has_its_accessor_here() -> None:
    assert set(AI) == set(inspect.signature(stored.ai_metadata).parameters)


@pytest.mark.parametrize("keyword", AI)
def test_an_accessor_gives_back_what_ai_metadata_wrote(keyword: str) -> None:
    read, value = AI[keyword]
    alone = ai(**stored.ai_metadata(**({"run_id": None} | {keyword: value})))
    among_all = ai(**stored.ai_metadata(**{name: value for name, (_, value) in AI.items()}))
    for message in (alone, among_all):
        assert read(message) == value
        assert read(reloaded(message)) == value


@pytest.mark.parametrize("keyword", AI)
def test_no_accessor_reads_what_another_wrote(keyword: str) -> None:
    others = {name: value for name, (_, value) in AI.items() if name != keyword}
    message = ai(**stored.ai_metadata(**({"run_id": None} | others)))
    read, _ = AI[keyword]
    assert not read(message)


def test_the_layout_may_be_written_as_pairs() -> None:
    message = ai(**stored.ai_metadata(run_id="run-1", layout=[("text", 5), ("call", 0)]))
    written: Any = [["text", 5], ["call", 0]]
    assert stored.layout(message) == written


def test_empty_values_are_left_out() -> None:
    empty: dict[str, Any] = dict.fromkeys(AI) | {"dispositions": (), "layout": [], "args_text": {}}
    assert stored.ai_metadata(**empty) == {"format": stored.FORMAT}
    assert stored.ai_metadata(run_id="run-1") == {"format": stored.FORMAT, "run_id": "run-1"}
    assert stored.tool_metadata("result") == {}
    assert stored_user.human_metadata(None) == {"format": stored.FORMAT}


def test_a_message_without_metadata_has_nothing_but_defaults() -> None:
    message = ai()
    defaults = {name: read(message) for name, (read, _) in AI.items()}
    assert defaults == dict.fromkeys(AI) | {"args_text": {}, "approvals": {}}
    assert stored.end_of(tool()) == "result"
    assert stored.end_of(tool(status="error")) == "error"
    assert stored.duration_ms(tool()) is None
    assert not stored.is_recovered(tool())
    assert stored_user.checkpoint_before(HumanMessage("Hi")) is None


def test_a_message_of_ours_without_calls_carries_no_dispositions_and_one_of_others_none() -> None:
    assert stored.dispositions(ai(**stored.ai_metadata(run_id="run-1"))) == ()
    assert stored.dispositions(ai(model_name="m")) is None


def test_format_1_is_a_run_without_a_format() -> None:
    assert stored.is_format_1(ai(run_id="run-1"))
    assert not stored.is_format_1(ai(**stored.ai_metadata(run_id="run-1")))
    assert not stored.is_format_1(ai())
    assert stored.dispositions(ai(run_id="run-1")) is None


@pytest.mark.parametrize("key", ["finish_reason", "stop_reason", "done_reason", "status"])
def test_every_providers_reason_to_stop_is_found(key: str) -> None:
    assert stored.finish_reason(ai(**{key: "length"})) == "length"
    assert stored.finish_reason(ai(**{key: None})) is None


@pytest.mark.parametrize("end", ["result", "error", "timeout", "cancelled", "shown"])
def test_an_end_is_read_as_it_was_written(end: End) -> None:
    for status in ("success", "error") if end != "result" else ("success",):
        message = tool(status, **stored.tool_metadata(end))
        assert stored.end_of(reloaded(message)) == end


@pytest.mark.parametrize("took", [0, 17])
def test_a_duration_is_read_as_it_was_written(took: int) -> None:
    message = tool(**stored.tool_metadata("timeout", took))
    assert stored.duration_ms(reloaded(message)) == took
    assert stored.end_of(message) == "timeout"


def test_a_result_that_was_recovered_from_says_so_and_keeps_the_rest() -> None:
    missed = tool(**stored.tool_metadata("result", 17))
    told = tool(**stored.recovered(missed))
    assert stored.is_recovered(reloaded(told))
    assert stored.duration_ms(told) == 17
    assert not stored.is_recovered(missed)


def test_a_users_message_knows_the_checkpoint_before_it() -> None:
    message = HumanMessage("Hi", response_metadata=stored_user.human_metadata("cp-1"))
    assert stored_user.checkpoint_before(reloaded(message)) == "cp-1"


STOPPED: Ended = {"reason": "stopped"}
FAILED: StoredError = {"code": "model_error", "message": "It failed.", "id": "e1"}


@pytest.mark.parametrize(("ended", "error"), [(STOPPED, None), (None, FAILED)])
def test_an_end_is_added_to_what_the_message_has(
    ended: Ended | None, error: StoredError | None
) -> None:
    message = ai(**stored.ai_metadata(run_id="run-1", model="m"), other="kept")
    marked = stored.with_end(message, ended=ended, error=error)
    assert (stored.ended(marked), stored.error(marked)) == (ended, error)
    assert (stored.run_id(marked), stored.model(marked)) == ("run-1", "m")
    assert marked.response_metadata["other"] == "kept"
    assert (stored.ended(message), stored.error(message)) == (None, None), "a copy is marked"

"""What the model gets of a thread: valid for the strictest provider, and bounded."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from tests.support.endpoint import Refusal, refusal
from tests.support.random_histories import CALL_IDS, histories
from turnstream.graphs.history import close_pending, for_model, pending_calls
from turnstream.graphs.state import add_messages_in_order
from turnstream.server.callers.principal import LOCAL
from turnstream.server.runs.approvals import Decider
from turnstream.server.runs.plan import plan
from turnstream.server.runs.thread_state import ThreadState
from turnstream.server.turns.requests import (
    InvalidRequest,
    TextContent,
    ToolAnswer,
    TurnRequest,
    UserMessage,
)
from turnstream.tools.builtin import CATALOGUE

BOUNDLESS = 10**9
MODEL = ChatOpenAI(model="any", api_key=SecretStr("test"), base_url="http://localhost/v1")


def refused(prompt: Sequence[AnyMessage]) -> Refusal | None:
    """What a strict endpoint has against a prompt, such as ChatOpenAI posts it."""
    return refusal(MODEL._get_request_payload(list(prompt)))


def asking(words: str = "And now?") -> TurnRequest:
    return TurnRequest("assistant-transport", message=UserMessage((TextContent(words),)))


def answering(call_id: str, result: Any, words: str | None = None) -> TurnRequest:
    said = UserMessage((TextContent(words),)) if words else None
    answer = ToolAnswer(call_id, result)
    return TurnRequest("assistant-transport", message=said, answers=(answer,))


answered = st.builds(
    answering,
    st.sampled_from(CALL_IDS),
    st.sampled_from([{"value": "x"}, {"cancelled": True}, "text"]),
    st.none() | st.just("And this."),
)


@given(histories, st.one_of(st.builds(asking), answered), st.booleans(), st.integers(1, 400))
def test_any_history_with_any_request_is_accepted(
    history: list[AnyMessage], request: TurnRequest, stated: bool, max_tokens: int
) -> None:
    state = ThreadState(history, unfinished=False, checkpoint_id=None)
    try:
        planned = plan(request, state, CATALOGUE, Decider(LOCAL, "run-2"))
    except InvalidRequest:
        return
    thread = planned.after.messages
    closed = add_messages_in_order(list(thread), [list(close_pending(thread, "closed", "Closed."))])
    for limit in (BOUNDLESS, max_tokens):
        prompt = for_model(closed, "Be brief." if stated else "", limit)
        if prompt:
            assert refused(prompt) is None


@given(histories)
def test_repairing_twice_is_repairing_once(history: list[AnyMessage]) -> None:
    once = for_model(history, "", BOUNDLESS)
    again = for_model(once, "", BOUNDLESS)
    assert [(m.type, m.content) for m in again] == [(m.type, m.content) for m in once]


def calling(*calls: tuple[str, str]) -> AIMessage:
    return AIMessage(
        "",
        id="a1",
        tool_calls=[{"type": "tool_call", "id": i, "name": n, "args": {}} for i, n in calls],
    )


def test_a_valid_history_reaches_the_model_as_it_is() -> None:
    history: list[AnyMessage] = [
        HumanMessage("hi", id="h1"),
        calling(("c1", "calculator")),
        ToolMessage("2", id="t1", tool_call_id="c1"),
        AIMessage("Two.", id="a2"),
    ]
    assert for_model(history, "", BOUNDLESS) == history


def test_calls_without_an_answer_are_pending_and_get_one_that_says_so() -> None:
    history: list[AnyMessage] = [
        HumanMessage("hi"),
        calling(("c1", "calculator"), ("c2", "multiply")),
        ToolMessage("2", tool_call_id="c2"),
    ]
    assert [call["id"] for call in pending_calls(history)] == ["c1"]
    [closer] = close_pending(history, "not_answered", "Nobody answered.")
    assert closer.tool_call_id == "c1"
    assert "Nobody answered." in str(closer.content)
    assert closer.status == "error"


def test_an_answer_without_a_call_and_a_message_without_words_are_left_out() -> None:
    history: list[AnyMessage] = [
        HumanMessage("hi"),
        ToolMessage("2", tool_call_id="nobody"),
        AIMessage(""),
        AIMessage([{"type": "reasoning", "reasoning": "Hm."}]),
    ]
    assert [message.type for message in for_model(history, "", BOUNDLESS)] == ["human"]


def test_answers_follow_their_own_message_when_two_use_one_id() -> None:
    history: list[AnyMessage] = []
    for number in ("one", "two"):
        history += [
            HumanMessage("again"),
            calling(("call_0", "calculator")),
            ToolMessage(number, tool_call_id="call_0"),
        ]
    prompt = for_model(history, "", BOUNDLESS)
    assert [message.content for message in prompt if message.type == "tool"] == ["one", "two"]
    assert refused(prompt) is None


@pytest.mark.parametrize("words", ["\n\n", " ", "\t\n", "\u00a0", "\u2003\r\n"])
@pytest.mark.parametrize("provider", ["anthropic", "google_genai", "ollama", "openai", None])
def test_blank_text_ahead_of_a_call_is_not_sent(words: str, provider: str | None) -> None:
    calls = calling(("a", "echo")).tool_calls
    contents: list[Any] = [words, [{"type": "text", "text": words}]]
    for content in contents:
        said = AIMessage(content, tool_calls=calls)
        answer = ToolMessage("Done.", tool_call_id="a", name="echo")
        _, sent, _ = for_model([HumanMessage("Hello"), said, answer], "", 10_000, provider)
        assert isinstance(sent, AIMessage)
        assert sent.content in ("", [])
        assert [call["id"] for call in sent.tool_calls] == ["a"]


def turn(number: int, words: str = "word " * 20) -> list[AnyMessage]:
    return [
        HumanMessage(f"question {number}"),
        AIMessage(
            "",
            id=f"a{number}",
            tool_calls=[
                {"type": "tool_call", "id": f"c{number}", "name": "calculator", "args": {}}
            ],
        ),
        ToolMessage(words, tool_call_id=f"c{number}"),
        AIMessage(f"answer {number}"),
    ]


def test_of_a_long_thread_the_model_gets_the_newest_whole_turns() -> None:
    history = [message for number in range(9) for message in turn(number)]
    prompt = for_model(history, "Be brief.", 200)
    assert isinstance(prompt[0], SystemMessage)
    assert 0 < len(prompt) - 1 < len(history)
    assert prompt[1:] == history[-(len(prompt) - 1) :]
    assert isinstance(prompt[1], HumanMessage), "a turn begins with its question"


def test_the_last_turn_is_whole_however_long_it_is() -> None:
    last = turn(2, "word " * 10_000)
    assert for_model([*turn(1), *last], "", 100) == last


def test_what_the_model_gets_is_bounded_whatever_the_thread_holds() -> None:
    history = [message for number in range(400) for message in turn(number)]
    prompt = for_model(history, "", 1000)
    assert sum(len(str(message.content)) for message in prompt) <= 4 * 1000


def test_a_picture_does_not_push_the_thread_out_of_the_prompt() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 900_000}}
    shown = HumanMessage([{"type": "text", "text": "What is this?"}, picture])
    history = [*turn(1), shown, AIMessage("A cat."), HumanMessage("What colour has it?")]
    assert for_model(history, "", 100_000) == history

"""States that other programs tell by a sentence: the packages that are installed still say it, and
it is read where nothing else says the state."""

import os
from collections.abc import Callable
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from langchain_google_genai import ChatGoogleGenerativeAI
from langchain_openai import ChatOpenAI

from turnstream.graphs.foreign_sentences import refused_options, state_of
from turnstream.server.runs.failures import failure_code

FILTERED = "Output blocked by content filtering policy"
OPTIONS = {"stream_options", "reasoning_effort"}
REQUEST = httpx2.Request("POST", "http://test/")


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*os.environ]:
        if name.endswith(("_API_KEY", "_AUTH_TOKEN")):
            monkeypatch.delenv(name)


def asked_of_anthropic() -> None:
    with anthropic.Anthropic() as client:
        client.messages.create(model="any", max_tokens=1, messages=[])


@pytest.mark.parametrize(
    "made",
    [
        openai.OpenAI,
        lambda: ChatOpenAI(model="any"),
        lambda: ChatGoogleGenerativeAI(model="any"),
        asked_of_anthropic,
    ],
    ids=["OpenAI", "ChatOpenAI", "ChatGoogleGenerativeAI", "Anthropic"],
)
def test_a_client_without_a_key_is_known_by_its_sentence(made: Callable[[], Any]) -> None:
    with pytest.raises(Exception) as raised:  # noqa: PT011  each has a class of its own
        made()
    assert failure_code(raised.value) == "model_key_missing"


def answered(status: int, said: str) -> anthropic.APIStatusError:
    response = httpx2.Response(status, request=REQUEST)
    body = {"type": "error", "error": {"type": "invalid_request_error", "message": said}}
    return anthropic.BadRequestError(said, response=response, body=body)


@pytest.mark.parametrize(
    ("cause", "state"),
    [
        (answered(400, FILTERED), "content_filter"),
        (answered(400, "max_tokens: too large"), None),
        (answered(400, "Missing credentials"), None),
        (RuntimeError(FILTERED), None),
        (RuntimeError("Missing credentials"), None),
    ],
    ids=repr,
)
def test_a_sentence_is_read_of_an_error_of_its_own_class_alone(
    cause: Exception, state: str | None
) -> None:
    assert state_of(cause) == state


def refusal(body: dict[str, Any], said: str = "Refused.") -> openai.BadRequestError:
    response = httpx2.Response(400, request=REQUEST)
    return openai.BadRequestError(said, response=response, body=body)


def test_an_option_is_refused_by_the_field_that_names_it_and_else_by_the_sentence() -> None:
    named = "Unknown: 'stream_options'."
    where = {"detail": [{"loc": ["body", "stream_options", "x"], "type": "extra_forbidden"}]}
    for body, said, expected in (
        ({"param": "stream_options.include_usage"}, "Refused.", {"stream_options"}),
        ({"param": "messages[0]"}, named, set()),
        (where, "Refused.", {"stream_options"}),
        ({"param": None}, named, {"stream_options"}),
        ({}, "Refused.", set()),
    ):
        assert refused_options(refusal(body, said), OPTIONS) == expected

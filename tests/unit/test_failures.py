"""What a run raised, as a code and a fixed sentence: providers' errors keep their kind."""

import json
from dataclasses import replace

import httpx
import httpx2
import openai
import pytest
from langchain_core.exceptions import (
    ContextOverflowError,
    ModelAPIError,
    ModelError,
    ModelInvalidRequestError,
    ModelNotFoundError,
)
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError, InvalidUpdateError
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import BaseModel, ValidationError

from turnstream.graphs.attached import attach
from turnstream.graphs.chunk_shape import ModelFault
from turnstream.graphs.models import ModelUnavailable
from turnstream.server.runs.failures import SENTENCES, failure, failure_code

SECRET = "sk-live-secret"
REQUEST = httpx2.Request("POST", "http://model/v1")


def status_error(status: int, code: str | None = None) -> openai.APIStatusError:
    body = {"code": code, "message": SECRET}
    response = httpx2.Response(status, request=REQUEST)
    return openai.APIStatusError(SECRET, response=response, body=body)


@pytest.mark.parametrize(
    ("cause", "code"),
    [
        (status_error(429), "model_rate_limited"),
        (status_error(401), "model_unauthorized"),
        (status_error(403), "model_unauthorized"),
        (status_error(404), "model_not_found"),
        (status_error(400), "model_error"),
        (status_error(422), "model_error"),
        (status_error(500), "model_unavailable"),
        (status_error(503), "model_unavailable"),
        (status_error(529), "model_unavailable"),
        (status_error(400, "context_length_exceeded"), "context_too_long"),
        (status_error(400, "content_filter"), "content_filter"),
        (status_error(400, "content_policy_violation"), "content_filter"),
        (status_error(429, "insufficient_quota"), "model_rate_limited"),
        (openai.APIError(SECRET, REQUEST, body=None), "model_unavailable"),
        (openai.APIConnectionError(request=REQUEST), "model_unavailable"),
        (openai.APITimeoutError(REQUEST), "model_unavailable"),
        (httpx.RemoteProtocolError(SECRET), "model_unavailable"),
        (httpx.ReadTimeout(SECRET), "model_unavailable"),
        (httpx2.RemoteProtocolError(SECRET), "model_unavailable"),
        (ModelUnavailable(SECRET), "model_unavailable"),
        (ModelAPIError(SECRET), "model_unavailable"),
        (ModelInvalidRequestError(SECRET), "model_error"),
        (ModelNotFoundError(SECRET), "model_not_found"),
        (ModelError(SECRET), "model_error"),
        (ContextOverflowError(SECRET), "context_too_long"),
        (RuntimeError(SECRET), "internal_error"),
        (ValueError(SECRET), "internal_error"),
    ],
    ids=lambda value: value if isinstance(value, str) else repr(value)[:40],
)
def test_an_exception_has_its_code_and_says_nothing_of_itself(cause: Exception, code: str) -> None:
    assert failure_code(cause) == code
    told = failure(cause, "e1")
    assert (told.code, told.error_id) == (code, "e1")
    assert told.message == SENTENCES[code]
    assert SECRET not in json.dumps([told.code, told.message, told.error_id])


@pytest.mark.parametrize(
    ("cause", "code"),
    [
        (None, "model_error"),
        (RuntimeError(SECRET), "model_error"),
        (KeyError(SECRET), "model_error"),
        (status_error(429), "model_rate_limited"),
        (openai.APIConnectionError(request=REQUEST), "model_unavailable"),
    ],
    ids=repr,
)
def test_what_a_model_call_raised_is_the_models_fault_and_keeps_its_kind(
    cause: Exception | None, code: str
) -> None:
    fault = ModelFault(SECRET)
    fault.__cause__ = cause
    assert failure_code(fault) == code


def test_every_sentence_says_what_to_do_or_what_happened_in_plain_words() -> None:
    for code, sentence in SENTENCES.items():
        assert sentence.endswith("."), code
        assert "Error" not in sentence, code


class Other(BaseModel):
    count: int = 0


class State(BaseModel):
    messages: list[str] = []
    count: int = 0


@pytest.mark.parametrize(
    ("cause", "code"),
    [
        (openai.OpenAIError("Missing credentials. Please pass an `api_key`"), "model_key_missing"),
        (InvalidUpdateError("At key 'x': can receive only one value"), "invalid_update"),
        (GraphRecursionError("limit of 25 reached"), "recursion_limit"),
    ],
)
def test_known_mistakes_of_a_graph_have_a_code_of_their_own(cause: Exception, code: str) -> None:
    assert failure_code(cause) == code


def test_a_state_that_does_not_validate_is_named_by_its_fields_alone() -> None:
    builder = StateGraph(State).add_node("speak", lambda _: {}).add_edge(START, "speak")
    graph = attach(builder.compile(), InMemorySaver())
    for schema, code in ((State, "invalid_state"), (Other, "internal_error")):
        with pytest.raises(ValidationError) as raised:
            schema.model_validate({"count": SECRET})
        failed = failure(raised.value, "e1", graph)
        assert failed.code == code
        assert SECRET not in failed.message
        assert ("Look at count." in failed.message) == (code == "invalid_state")


def test_a_model_that_a_graph_names_itself_is_not_looked_for_in_the_settings() -> None:
    builder = StateGraph(MessagesState).add_node("speak", lambda _: {}).add_edge(START, "speak")
    graph = attach(builder.compile(), InMemorySaver())
    assert "the name that the graph gives it" in failure(status_error(404), "e1", graph).message
    built_in = replace(graph, is_built_in=True)
    assert failure(status_error(404), "e1", built_in).message == SENTENCES["model_not_found"]

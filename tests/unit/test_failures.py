"""What a run raised, as a code and a fixed sentence: providers' errors keep their kind."""

import json

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

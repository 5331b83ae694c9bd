"""What a run raised, as a code and a fixed sentence: providers' errors keep their kind."""

import json
from typing import Any

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
from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from graphs.models import ModelUnavailable
from server.runs.failures import SENTENCES, classify, failure
from tests.endpoint import Break, CloseClean, Cut, Fail, Say, StrictEndpoint, failures, reply
from tests.endpoint.script import Turn

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
        (status_error(404), "model_error"),
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
        (ModelNotFoundError(SECRET), "model_error"),
        (ModelError(SECRET), "model_error"),
        (ContextOverflowError(SECRET), "context_too_long"),
        (RuntimeError(SECRET), "internal_error"),
        (ValueError(SECRET), "internal_error"),
    ],
    ids=lambda value: value if isinstance(value, str) else repr(value)[:40],
)
def test_an_exception_has_its_code_and_says_nothing_of_itself(cause: Exception, code: str) -> None:
    assert classify(cause) == code
    told = failure(cause, "e1")
    assert (told.code, told.error_id) == (code, "e1")
    assert told.message == SENTENCES[code]
    assert SECRET not in json.dumps([told.code, told.message, told.error_id])


@pytest.mark.parametrize(
    ("turn", "code"),
    [
        (failures.UNAUTHORIZED, "model_unauthorized"),
        (Fail(403, "Not yours.", code="permission_denied"), "model_unauthorized"),
        (failures.MODEL_NOT_FOUND, "model_error"),
        (failures.SERVER_ERROR, "model_unavailable"),
        (failures.OVERLOADED, "model_unavailable"),
        (failures.CONTEXT_LENGTH_EXCEEDED, "context_too_long"),
        (failures.CONTENT_FILTERED, "content_filter"),
        (failures.rate_limited(0), "model_rate_limited"),
        (Fail(429, "Quota.", code="insufficient_quota"), "model_rate_limited"),
        (reply(Cut()), "model_unavailable"),
        (reply(Say("Hel"), Cut()), "model_unavailable"),
        (reply(Say("Hel"), Break()), "model_unavailable"),
        (reply(Say("Hel"), Break(code="rate_limit_exceeded")), "model_rate_limited"),
        (reply(Say("Hel"), Break(code="context_length_exceeded")), "context_too_long"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
async def test_what_chat_openai_raises_has_its_code(turn: Turn, code: str) -> None:
    async with StrictEndpoint() as endpoint:
        endpoint.default = turn
        with pytest.raises(Exception) as raised:  # noqa: PT011  the kind is what is tested
            await _ask(endpoint)
        assert classify(raised.value) == code


async def test_a_stream_without_a_finish_reason_raises_nothing_by_itself() -> None:
    """Why `graphs.agent.merge` looks for the finish reason."""
    async with StrictEndpoint() as endpoint:
        endpoint.default = reply(Say("Hel"), CloseClean())
        assert not any("finish_reason" in metadata for metadata in await _ask(endpoint))


async def _ask(endpoint: StrictEndpoint) -> list[dict[str, Any]]:
    """Ask ChatOpenAI, without retries; the metadata of the chunks that come."""
    model = ChatOpenAI(
        model="any",
        api_key=SecretStr("test"),
        base_url=endpoint.base_url,
        max_retries=0,
        stream_chunk_timeout=0,
    )
    return [chunk.response_metadata async for chunk in model.astream([HumanMessage("Hi")])]


def test_every_sentence_says_what_to_do_or_what_happened_in_plain_words() -> None:
    for code, sentence in SENTENCES.items():
        assert sentence.endswith("."), code
        assert "Error" not in sentence, code

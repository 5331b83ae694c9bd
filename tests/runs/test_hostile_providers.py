"""Servers in a provider's place that send what no provider sends: each is a model's fault, and
costs no more than its bound."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from unittest.mock import patch

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage

from tests.support.endpoint import StrictEndpoint, Think, reply, text_reply
from tests.support.providers import NAMES, models_at
from tests.support.raw_model import EVENT_STREAM, Answer, endless, raw_model
from turnstream.graphs.answer_bounds import Bounds, refusal
from turnstream.graphs.chunk_shape import ModelFault
from turnstream.graphs.limits import CUT_AT
from turnstream.graphs.model_options import ModelOptions
from turnstream.graphs.model_output import ModelOutput, ask
from turnstream.graphs.models import ModelUnavailable, open_models, provider_of
from turnstream.graphs.parts import StreamedText
from turnstream.graphs.providers import openai_responses

MAX_BYTES = 1000
PROVIDERS = ("responses", "anthropic", "google_genai", "ollama")
HEAD = b"HTTP/1.1 200 OK\r\nConnection: close\r\n"
ANSWERS: dict[str, Answer] = {
    "a redirect": HEAD.replace(b"200 OK", b"302 Found") + b"Location: http://127.0.0.1:1/\r\n\r\n",
    "a packed answer": HEAD + b"Content-Encoding: gzip\r\n\r\n\x1f\x8b",
    "a page": HEAD + b"Content-Type: text/html\r\n\r\n<html>",
    "nothing": EVENT_STREAM,
    "no JSON": EVENT_STREAM + b"data: {\n\n",
    "a number": EVENT_STREAM + b"data: 7\n\n",
    "null": EVENT_STREAM + b"data: null\n\n",
    "an object of others": EVENT_STREAM + b'data: {"type": 7, "candidates": 7, "message": 7}\n\n',
    "a line without an end": endless(b"x" * 10_000),
    "comments without an end": endless(b": " + b"x" * 1000 + b"\n\n"),
}


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS.keys())
async def test_what_no_provider_sends_is_a_fault_of_the_model(
    provider: str, answer: Answer
) -> None:
    asked_in_vain = patch("turnstream.graphs.providers.ollama.ASK_SECONDS", 0.5)
    async with raw_model([answer] * 4) as raw:
        url = raw.url.removesuffix("/v1")
        variables = {
            **dict.fromkeys(("ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL"), url),
            **dict.fromkeys(("ANTHROPIC_API_KEY", "GOOGLE_API_KEY"), "k"),
            "OLLAMA_HOST": url,
        }
        options = ModelOptions("k", raw.url, "on", MAX_BYTES)
        with patch.dict(os.environ, variables), asked_in_vain:
            async with opened(provider, options) as model:
                output = ModelOutput((), MAX_BYTES, provider_of(model))
                with pytest.raises((ModelFault, ModelUnavailable)):
                    async with asyncio.timeout(20):
                        await ask(model, [HumanMessage("Hi")], output)


@asynccontextmanager
async def opened(provider: str, options: ModelOptions) -> AsyncIterator[BaseChatModel]:
    if provider == "responses":
        async with openai_responses.open_model("gpt-5", options) as model:
            yield model
    else:
        async with open_models([NAMES[provider]], options) as models:
            yield models[NAMES[provider]]


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_message_that_does_not_end_is_cut_at_its_limit(provider: str) -> None:
    async with (
        StrictEndpoint() as endpoint,
        models_at(endpoint, provider, max_message_bytes=100) as models,
    ):
        for said in (text_reply("word " * 40), reply(*(Think("word ") for _ in range(40)))):
            endpoint.script(said)
            output = ModelOutput((), 1_000_000, provider_of(models[provider]))
            await ask(models[provider], [HumanMessage("Hi")], output)
            assert output.is_cut
            assert output.metadata[CUT_AT] == 100
            said_bytes = [p.text for p in output.parts.parts if isinstance(p, StreamedText)]
            assert len("".join(said_bytes)) <= 100


def test_a_line_is_measured_over_all_the_pieces_that_it_came_in() -> None:
    bounds = Bounds(200, 10_000)
    bounds.check(b"x" * 120_000)
    bounds.check(b"x" * 4_000)
    bounds.check(b"\n" + b"x" * 120_000)
    with pytest.raises(ModelFault, match="a line of over"):
        bounds.check(b"x" * 5_000)


def test_an_error_may_be_shorter_than_an_answer() -> None:
    bounds = Bounds(500, 10)
    for _ in range(1000):
        bounds.check(b"x" * 999 + b"\n")
    with pytest.raises(ModelFault, match="does not end"):
        bounds.check(b"x")


@pytest.mark.parametrize(
    ("status", "headers", "is_read"),
    [
        (200, {}, True),
        (200, {"content-type": "application/json"}, True),
        (200, {"content-encoding": "identity"}, True),
        (200, {"content-encoding": "br"}, False),
        (200, {"content-type": "text/html; charset=utf-8"}, False),
        (502, {"content-type": "text/html"}, True),
    ],
)
def test_an_answer_that_is_packed_or_a_page_is_not_read(
    status: int, headers: dict[str, str], is_read: bool
) -> None:
    assert (refusal(status, headers) is None) is is_read

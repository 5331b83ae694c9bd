"""What ChatOpenAI raises when its server fails, as a code."""

from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from tests.support.endpoint import (
    Break,
    CloseClean,
    Cut,
    Fail,
    Say,
    StrictEndpoint,
    failures,
    reply,
)
from tests.support.endpoint.script import Turn
from turnstream.server.runs.failures import failure_code


@pytest.mark.parametrize(
    ("turn", "code"),
    [
        (failures.UNAUTHORIZED, "model_unauthorized"),
        (Fail(403, "Not yours.", code="permission_denied"), "model_unauthorized"),
        (failures.MODEL_NOT_FOUND, "model_not_found"),
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
        assert failure_code(raised.value) == code


async def test_a_stream_without_a_finish_reason_raises_nothing_by_itself() -> None:
    """Why `turnstream.graphs.agent.merge` looks for the finish reason."""
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

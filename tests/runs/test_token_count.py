"""`tokens_per_day` counts what a run has used, whichever way it ends."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGenerationChunk
from pydantic import PrivateAttr

from tests.support.backend import Backend, backend, chunks_until, message
from tests.support.run_chunks import tool_call_message
from tests.support.scripted_model import Script, ScriptedModel, finish, reasoning, text
from turnstream.server.callers.principal import Principal
from turnstream.server.callers.rights import LimitExceeded
from turnstream.server.extensions.users.policy import Policy
from turnstream.server.extensions.users.policy_file import PolicyFile
from turnstream.server.extensions.users.quotas import Quotas
from turnstream.server.turns.chunks import TextDelta
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.requests import TurnRequest
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.contract import real_tool

ANN = Principal("ann", ("user",), "Ann", "key")
LIMIT = 100
LONG = "word " * LIMIT
"""More tokens than the limit, by the estimate."""


def limited(tokens: int = LIMIT) -> Policy:
    roles = {"user": {"limits": {"tokens_per_day": tokens}}}
    return Policy(PolicyFile.model_validate({"roles": roles}), None, Quotas())


async def is_used_up(policy: Policy) -> bool:
    try:
        await policy.rights(ANN).check_tokens()
    except LimitExceeded:
        return True
    return False


async def stopped_after(words: bool, inside: Backend, request: TurnRequest) -> None:
    run = await inside.start(request, principal=ANN)
    if words:
        await chunks_until(run, lambda chunks: any(isinstance(c, TextDelta) for c in chunks))
    await inside.runs.stop(ThreadKey("ann", "thread-1"))


@pytest.mark.parametrize(
    ("script", "words"),
    [([text(LONG), asyncio.Event()], True), ([asyncio.Event()], False)],
    ids=["while the model speaks", "before its first word"],
)
async def test_a_stopped_run_counts_the_tokens_that_its_model_did_not_report(
    tmp_path: Path, script: Script, words: bool
) -> None:
    policy = limited()
    async with backend(tmp_path / "t.db", ScriptedModel.of(script), policy=policy) as inside:
        await stopped_after(words, inside, message("Hello" if words else LONG))
        assert await is_used_up(policy)
        with pytest.raises(LimitExceeded):
            await inside.start(message(), principal=ANN)


@pytest.mark.parametrize(
    "script",
    [
        [text(LONG), RuntimeError("the connection broke")],
        [text(LONG), text("", response_metadata={"finish_reason": "stop"})],
        [reasoning(LONG), text("Yes."), text("", response_metadata={"finish_reason": "stop"})],
    ],
    ids=["a model that breaks off", "a model that reports no usage", "its reasoning"],
)
async def test_a_run_without_reported_tokens_counts_an_estimate(
    tmp_path: Path, script: Script
) -> None:
    policy = limited()
    async with backend(tmp_path / "t.db", ScriptedModel.of(script), policy=policy) as inside:
        await inside.turn(message(), principal=ANN)
        assert await is_used_up(policy)


async def test_a_run_that_a_limit_of_its_own_ends_counts_its_tokens(tmp_path: Path) -> None:
    policy, script = limited(), (text(LONG), asyncio.Event())
    async with backend(
        tmp_path / "t.db", ScriptedModel.of(script), policy=policy, max_run_bytes=LIMIT
    ) as inside:
        await inside.turn(message(), principal=ANN)
        assert await is_used_up(policy)


async def test_a_model_that_a_tool_asks_is_counted_too(tmp_path: Path) -> None:
    asked: BaseChatModel = ScriptedModel.of([text("Yes."), finish(tokens=(90, 10))])

    @real_tool(client_fields=[])
    async def ask(question: str) -> dict[str, Any]:
        """Ask another model."""
        return {"answer": (await asked.ainvoke([HumanMessage(question)])).text}

    model = ScriptedModel.of(tool_call_message(("c1", "ask", '{"question": "Really?"}')))
    policy = limited()
    async with backend(
        tmp_path / "t.db", model, policy=policy, catalogue=Catalogue((ask,), ())
    ) as inside:
        await inside.turn(message(), principal=ANN)
        assert await is_used_up(policy)


class Wrapping(ScriptedModel):
    """A model that has another one answer."""

    _inner: ScriptedModel = PrivateAttr()

    @classmethod
    def around(cls, inner: ScriptedModel) -> "Wrapping":
        model = cls()
        model._inner = inner
        return model

    async def _astream(
        self, messages: list[BaseMessage], *_: Any, **__: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        async for chunk in self._inner.astream(messages):
            assert isinstance(chunk, AIMessageChunk)
            yield ChatGenerationChunk(message=chunk)


async def test_a_model_that_wraps_another_is_counted_once(tmp_path: Path) -> None:
    policy = limited()
    inner = ScriptedModel.of([text("Yes."), finish(tokens=(50, 10))])
    async with backend(tmp_path / "t.db", Wrapping.around(inner), policy=policy) as inside:
        await inside.turn(message(), principal=ANN)
        assert inner.prompts
        assert not await is_used_up(policy)


async def test_reported_tokens_are_counted_as_they_are(tmp_path: Path) -> None:
    policy = limited(12)
    script = [text(LONG), finish(tokens=(6, 5))]
    async with backend(tmp_path / "t.db", ScriptedModel.of(script), policy=policy) as inside:
        await inside.turn(message(LONG), principal=ANN)
        assert not await is_used_up(policy)
        await inside.turn(message(), principal=ANN)
        assert await is_used_up(policy)


async def test_a_request_that_the_models_server_refuses_costs_nothing(tmp_path: Path) -> None:
    policy = limited()
    script = [RuntimeError("429 Too Many Requests")]
    async with backend(tmp_path / "t.db", ScriptedModel.of(script), policy=policy) as inside:
        await inside.turn(message(LONG), principal=ANN)
        assert not await is_used_up(policy)

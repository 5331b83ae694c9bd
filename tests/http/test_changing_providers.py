"""Threads that change their model at any turn: each provider takes what the others have said."""

import asyncio
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.endpoint import (
    Call,
    Cut,
    Finish,
    Reply,
    Say,
    StrictEndpoint,
    Think,
    call_reply,
    reply,
    text_reply,
)
from tests.support.providers import environment
from tests.support.run_chunks import QUESTION, SELECTION
from tests.support.samples import sample
from tests.support.serving import Client, serving
from tests.support.serving import settings as server_settings

MODELS = (
    "some-model",
    "gpt-5",
    "anthropic:claude-haiku-4-5",
    "anthropic:claude-opus-5",
    "google_genai:gemini-3.5-flash",
    "ollama:qwen3",
)
"""`gpt-5` reasons: it is asked by the Responses API."""
CALCULATION = ("calculator", '{"expression":"17 * 23"}')
PRODUCT = ("multiply", '{"a": 6, "b": 7}')


def thinking(turn: Reply) -> Reply:
    return Reply((Think("Hm."), *turn.steps))


TURNS: dict[str, tuple[Reply, ...]] = {
    "words": (thinking(text_reply("It is so.")),),
    "words without a thought": (text_reply("It is so."),),
    "a call": (thinking(call_reply(CALCULATION)), thinking(text_reply("391."))),
    "calls in two steps": (
        reply(Think("Hm."), Say("Let me see. "), Call(0, None, *CALCULATION)),
        call_reply(PRODUCT, CALCULATION),
        text_reply("Both."),
    ),
    "blank lines ahead of a call": (
        reply(Say("\n\n"), Call(0, None, *CALCULATION)),
        text_reply("391."),
    ),
    "the same id again": (call_reply(CALCULATION, PRODUCT, ids=("c1", "c1")), text_reply("Done.")),
    "a name that nobody takes": (call_reply(("0 get time!", "{}")), text_reply("Sorry.")),
    "a question": (thinking(call_reply((SELECTION, QUESTION), ids=("ask",))),),
    "a thought alone": (reply(Think("Hm."), Finish("length")),),
    "nothing": (reply(Finish("stop")),),
    "a break": (reply(Think("Hm."), Say("Well, "), Cut()),),
}


@dataclass(frozen=True)
class Turn:
    model: str
    kind: str
    is_answered: bool = False
    """By the same model, or by the one of `answered_by`."""
    answered_by: str | None = None


MODEL = st.sampled_from(MODELS)
TURN = st.builds(Turn, MODEL, st.sampled_from(sorted(TURNS)), st.booleans(), st.none() | MODEL)


@settings(
    max_examples=sample(80, 10, 4),
)
@given(st.lists(TURN, min_size=2, max_size=6))
def test_a_thread_may_change_its_model_at_any_turn(turns: list[Turn]) -> None:
    asyncio.run(play(turns))


async def play(turns: Sequence[Turn]) -> None:
    async with StrictEndpoint() as endpoint:
        variables = environment(endpoint) | {"OPENAI_API_BASE": endpoint.base_url}
        values = {"openai_api_key": "test", "reasoning": "on", "max_history_tokens": 10_000}
        with (
            TemporaryDirectory() as folder,
            patch.dict(os.environ, variables),
        ):
            made = server_settings(
                Path(folder) / "t.db", model=MODELS[0], models=MODELS[1:], **values
            )
            async with serving(made) as client:
                for turn in turns:
                    await play_one(client, endpoint, turn)
                endpoint.script(text_reply("The end."))
                end = await post(client, {"message": "And now?", "model": turns[0].model})
                assert end == "stop"
        assert endpoint.refused == []


async def play_one(client: Client, endpoint: StrictEndpoint, turn: Turn) -> None:
    endpoint.script(*TURNS[turn.kind])
    finish = await post(client, {"message": "Go", "model": turn.model})
    endpoint.forget_script()
    assert (finish == "error") == (turn.kind == "a break")
    if turn.kind == "a break" and turn.is_answered:
        await post(client, {"continue": True, **named(turn)})
    pending = (await client.thread("t1")).get("pending", [])
    if turn.kind == "a question" and turn.is_answered:
        answer = {"tool_call_id": pending[0]["tool_call_id"], "result": {"value": "red"}}
        finish = await post(client, {"tool_results": [answer], **named(turn)})
        assert finish == "stop"


def named(turn: Turn) -> dict[str, str]:
    return {"model": turn.answered_by} if turn.answered_by else {}


async def post(client: Client, body: dict[str, object]) -> str:
    async with client.chat({"thread_id": "t1", **body}) as stream:
        assert stream.response.status_code == 200, json.loads(await stream.response.aread())
        events = await stream.rest()
    finish: str = events[-2].data["finishReason"]
    return finish

"""Whatever a model does: the stream tells the very message that the thread keeps."""

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.tools import ToolException
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from tests.support.backend import Backend, backend, chunks_of, message
from tests.support.endpoint import refusal
from tests.support.run_chunks import ALERT, COMPONENT, QUESTION, SELECTION, RunChunks
from tests.support.samples import sample
from tests.support.scripted_model import Piece, ScriptedModel, call, finish, reasoning, text
from turnstream.graphs.limits import Limits
from turnstream.server.runs.reader import LoggedRun
from turnstream.server.turns.accumulate import accumulate
from turnstream.server.turns.messages import AssistantTurn, Step, ToolCall
from turnstream.server.turns.requests import ToolAnswer, TurnRequest
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.contract import real_tool
from turnstream.tools.ui import render_ui_component, request_user_selection

MODEL = ChatOpenAI(model="any", api_key=SecretStr("test"), base_url="http://localhost/v1")
LIMITS = Limits(max_steps=4, max_identical_calls=3, tool_timeout_seconds=5)


@real_tool(client_fields=["word"])
async def echo(word: str) -> dict[str, Any]:
    """Say a word back.

    Args:
        word: The word; `no` is refused, `oops` breaks.
    """
    if word == "no":
        raise ToolException("Not that word.")
    if word == "oops":
        raise RuntimeError("a secret of the server")
    return {"word": word, "internal": 1}


CATALOGUE = Catalogue((echo,), (render_ui_component, request_user_selection))

calls = st.sampled_from(
    [
        ("echo", '{"word":"hi"}'),
        ("echo", '{ "word" : "hi" }'),
        ("echo", '{"word":"no"}'),
        ("echo", '{"word":"oops"}'),
        ("echo", '{"word":'),
        ("echo", "{}"),
        ("echo", ""),
        ("nothing of the kind", "{}"),
        (COMPONENT, ALERT),
        (COMPONENT, "{}"),
        (SELECTION, QUESTION),
        (SELECTION, "{bad"),
    ]
)
call_ids = st.sampled_from(["c1", "c2", "call_0", None, "x" * 60])


@st.composite
def said(draw: st.DrawFn) -> list[Piece]:
    """One model message: words, calls, perhaps a failure before its end."""
    pieces: list[AIMessageChunk] = []
    for index in range(draw(st.integers(0, 3))):
        kind = draw(st.sampled_from(["text", "reasoning", "call", "call"]))
        if kind == "text":
            pieces += [text("Some "), text("words.")]
        elif kind == "reasoning":
            pieces.append(reasoning("Hm."))
        else:
            name, args = draw(calls)
            cut = draw(st.integers(0, len(args)))
            pieces.append(call(args[:cut], name=name, id=draw(call_ids), index=index))
            pieces.append(call(args[cut:], index=index))
    if draw(st.integers(0, 5)) == 0:
        return [*pieces[: draw(st.integers(0, len(pieces)))], RuntimeError("a secret")]
    return [*pieces, finish(draw(st.sampled_from(["stop", "tool_calls", "length"])))]


scripts = st.lists(said(), max_size=6)
answers = st.sampled_from(["red", {"cancelled": True}, None])


async def next_request(home: Backend, answer: Any) -> TurnRequest:
    """Answer the first open question, or, without an answer or a question, say something."""
    turns = await home.turns()
    waiting = [
        part.tool_call_id
        for turn in turns
        if isinstance(turn, AssistantTurn)
        for part in turn.parts
        if isinstance(part, ToolCall) and part.disposition == "client" and part.end is None
    ]
    if answer is None or not waiting:
        return message()
    return TurnRequest(answers=(ToolAnswer(waiting[0], answer),))


async def told_as_kept(home: Backend, request: TurnRequest) -> None:
    """Run a request and compare its chunks with what the thread then holds."""
    run = await home.start(request)
    told = RunChunks(await chunks_of(run))
    assert "secret" not in repr(told.chunks)
    assert "secret" not in repr(await home.messages())
    last = (await home.turns())[-1]
    assert isinstance(last, AssistantTurn)
    assert last.id == run.header.message_id
    assert accumulate(told.chunks, last.id, await earlier_steps(home, run)) == last


async def earlier_steps(home: Backend, run: LoggedRun) -> tuple[Step, ...]:
    """What runs before have said of the run's message."""
    known = (await home.reader.turns_before(run.header))[-1]
    continues = isinstance(known, AssistantTurn) and known.id == run.header.message_id
    assert continues == run.header.continues
    return known.steps if isinstance(known, AssistantTurn) and continues else ()


def accepted(prompts: Sequence[list[BaseMessage]]) -> None:
    for prompt in prompts:
        assert refusal(MODEL._get_request_payload(prompt)) is None


@given(scripts, st.lists(answers, max_size=3))
@settings(max_examples=sample(60, 15))
def test_the_chunks_add_up_to_the_turn_that_the_thread_keeps(
    script: list[list[Piece]], following: list[Any]
) -> None:
    async def check() -> None:
        model = ScriptedModel.of(*script)
        with tempfile.TemporaryDirectory() as folder:
            async with backend(
                Path(folder) / "t.db", model, catalogue=CATALOGUE, limits=LIMITS
            ) as home:
                await told_as_kept(home, message())
                for answer in following:
                    await told_as_kept(home, await next_request(home, answer))
                model._scripts.clear()
                assert RunChunks(await home.turn(message("And now?"))).text == "Done."
        accepted(model.prompts)

    asyncio.run(check())

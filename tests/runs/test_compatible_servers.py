"""A tool, and the message after it, with the streams of servers that have no rules of their own.

The shapes are from public reports; ids, words and counts are examples. A shape that is reported of
several servers stands with one of them.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.backend import backend
from tests.support.counting_tools import CountingTools
from tests.support.endpoint import refusal
from tests.support.endpoint.own_keys import without_own_keys
from tests.support.raw_model import DONE, chunk, event, finish, raw_model, say, stream
from tests.support.run_chunks import send_message
from turnstream.graphs.model_options import ModelOptions
from turnstream.graphs.openai_model import open_model
from turnstream.server.turns.chunks import MessageFinish, Usage

ARGS = '{"word": "tea"}'
COUNTS = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}


def calls(*items: dict[str, Any], **delta: Any) -> bytes:
    return event(chunk({**delta, "tool_calls": [*items]}))


def piece(args: Any, id: Any = None, index: Any = 0, name: str | None = "echo") -> dict[str, Any]:
    function = {"name": name, "arguments": args}
    return {"index": index, "id": id, "type": "function", "function": function}


def counted(**more: Any) -> bytes:
    return event({"choices": [], "usage": {**COUNTS, **more}})


def ended(reason: str) -> bytes:
    return event(chunk({}, reason))


@dataclass(frozen=True)
class Server:
    calls: bytes
    """Its events of a message with a call."""
    words: bytes = say("Tea.") + finish()


SERVERS = {
    # langchain#39896
    "Perplexity": Server(
        calls(piece(ARGS, "call_1"))
        + event(
            chunk({}, "tool_calls", usage={**COUNTS, "search_context_size": "low"}, citations=["x"])
        )
        + DONE
    ),
    # promptfoo, pull request 10032
    "xAI": Server(
        calls(piece(ARGS, "call_1")) + ended("tool_calls") + counted(cost_in_usd_ticks=2**40) + DONE
    ),
    # llama.cpp#20198
    "llama.cpp": Server(
        event(chunk({"role": "assistant", "content": None}))
        + calls(piece({"word": "tea"}, 1697377797897))
        + event(chunk({}, "tool_calls", usage=COUNTS, timings={"predicted_ms": 0.1}))
        + DONE
    ),
    # lmdeploy#3412; agent-framework, pull request 5734
    "vLLM": Server(
        event(chunk({"reasoning_content": "Hm.", "content": None}, stop_reason=None))
        + calls(piece("", "chatcmpl-tool-c9ZCzB9b9NikK5kjPBXpFG"))
        + calls(piece('{"word": ', "", name=None))
        + calls(piece('"tea"}', "", name=None))
        + ended("tool_calls")
        + event(chunk(None, usage=COUNTS))
        + DONE
    ),
    # sglang#6310; lmdeploy#3412
    "SGLang": Server(
        say("\n\n")
        + calls(piece("", "0"), role="assistant", content=None, reasoning_content=None)
        + calls(piece(ARGS, "0", name=None), role="assistant")
        + event(chunk({}, "tool_calls", usage=COUNTS, matched_stop=None))
        + DONE
    ),
    # lmstudio-bug-tracker#1569; pi#6226
    "LM Studio": Server(
        say("<think>")
        + say("Hm.</think>\n\n")
        + calls(piece(ARGS, "365174485"))
        + counted()
        + DONE,
        say("<think>\n\n</think>Tea.") + finish(),
    ),
    # ollama, pull request 7963
    "Ollama's compatible endpoint": Server(
        event(chunk({"role": "assistant", "content": "", "reasoning": "Hm."}))
        + calls(piece(ARGS, "call_7k2x"), role="assistant", content="")
        + event(chunk({"role": "assistant", "content": ""}, "stop"))
        + counted()
        + DONE,
    ),
}


@pytest.mark.parametrize("name", SERVERS)
async def test_a_tool_runs_and_the_next_messages_fit_it(tmp_path: Path, name: str) -> None:
    server, tools = SERVERS[name], CountingTools()
    # The same ids in the second turn, as of a server that numbers them from the start.
    played = [stream(server.calls), stream(server.words)] * 2
    async with (
        raw_model(played) as raw,
        open_model("some-model", ModelOptions("test", raw.url)) as model,
        backend(tmp_path / "t.db", model, catalogue=tools.catalogue) as inside,
    ):
        for _ in range(2):
            told = await send_message(inside, "Tea, please")
            assert (told.text.strip(), told.reason) == ("Tea.", "stop")
            assert not told.error_codes
            finished = next(each for each in told.chunks if isinstance(each, MessageFinish))
            assert finished.usage == Usage(7, 5)
        assert (await send_message(inside, "Thanks")).text == "Fine."
        assert tools.calls == {"tea": 2}
        bodies = [json.loads(body) for body in raw.bodies]
    assert [refusal(without_own_keys(body)) for body in bodies] == [None] * 5
    assert "think>" not in json.dumps(bodies)

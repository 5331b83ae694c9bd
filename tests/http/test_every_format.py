"""What every format has of a turn beside its words: progress, custom events, usage, reasoning."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.clients.test_reasoning import thinking_model
from tests.support.endpoint import call_reply, text_reply
from tests.support.langgraph_reader import named_frames
from tests.support.scripted_server import scripted_server, server_with_model
from tests.support.serving import Client, parse_events

Json = dict[str, Any]
Told = list[Json]
"""A stream's events, each with a `type`."""
CALL = "call_1"
PROGRESS = [{"counted": 1}, {"counted": 2}]


def by_data(stream: bytes) -> Told:
    return [event.data for event in parse_events(stream) if isinstance(event.data, dict)]


def by_name(stream: bytes) -> Told:
    return [{"type": frame.event, "data": frame.data} for frame in named_frames(stream)]


def of(told: Told, type: str) -> Told:
    return [event for event in told if event["type"] == type]


@dataclass(frozen=True)
class Format:
    path: str
    body: Json
    events: Callable[[bytes], Told]
    progress: Callable[[Told], list[Any]]
    custom: Callable[[Told], list[Any]]
    usage: Callable[[Told], Any]
    """Of the model's tokens, some number."""
    reasoning: Callable[[Told], str]

    async def play(self, http: Client) -> Told:
        answer = await http.http.post(self.path, json=self.body)
        assert answer.status_code == 200, answer.text
        return self.events(answer.content)


def data(told: Told, name: str) -> list[Any]:
    items = [item for event in of(told, "data") for item in event["data"]]
    return [item["data"] for item in items if item["name"] == name]


def reasoning_of_parts(told: Told) -> str:
    starts = [event["part"]["type"] for event in of(told, "part-start")]
    return "".join(
        event["textDelta"]
        for event in of(told, "text-delta")
        if starts[event["path"][0]] == "reasoning"
    )


def reasoning_of_messages(told: Told) -> str:
    messages = of(told, "values")[-1]["data"]["messages"]
    blocks = [
        block for one in messages if isinstance(one["content"], list) for block in one["content"]
    ]
    summaries = [block["summary"] for block in blocks if block["type"] == "reasoning"]
    return "".join(item["text"] for summary in summaries for item in summary)


ASKED = [{"id": "u1", "role": "user", "parts": [{"type": "text", "text": "Go on"}]}]
FORMATS = {
    "parts": Format(
        "/chat",
        {"message": "Go on"},
        by_data,
        lambda told: [one["data"] for one in data(told, "tool-progress")],
        lambda told: [one["value"] for one in data(told, "custom")],
        lambda told: of(told, "message-finish")[0]["usage"]["outputTokens"],
        reasoning_of_parts,
    ),
    "AI SDK": Format(
        "/chat",
        {"id": "t1", "trigger": "submit-message", "messages": ASKED},
        by_data,
        lambda told: [
            one["output"] for one in of(told, "tool-output-available") if one.get("preliminary")
        ],
        lambda told: [one["data"]["value"] for one in of(told, "data-custom")],
        lambda told: of(told, "finish")[0]["messageMetadata"]["usage"]["outputTokens"],
        lambda told: "".join(one["delta"] for one in of(told, "reasoning-delta")),
    ),
    "LangGraph SDK": Format(
        "/langgraph/threads/t1/runs/stream",
        {
            "assistant_id": "chat",
            "input": {"messages": [{"type": "human", "content": "Go on"}]},
            "stream_mode": ["values", "messages-tuple", "custom", "tools"],
        },
        by_name,
        lambda told: [
            one["data"]["data"]
            for one in of(told, "tools")
            if one["data"]["event"] == "on_tool_event"
        ],
        lambda told: [one["data"] for one in of(told, "custom")],
        lambda told: of(told, "values")[-1]["data"]["messages"][-1]["usage_metadata"][
            "output_tokens"
        ],
        reasoning_of_messages,
    ),
    "AG-UI": Format(
        "/ag-ui",
        {
            "threadId": "t1",
            "runId": "r1",
            "messages": [{"id": "u1", "role": "user", "content": "Go on"}],
            "state": {},
            "tools": [],
            "context": [],
            "forwardedProps": {},
        },
        by_data,
        lambda told: [
            one["value"]["data"] for one in of(told, "CUSTOM") if one["name"] == "tool-progress"
        ],
        lambda told: [
            one["value"]["value"] for one in of(told, "CUSTOM") if one["name"] == "custom"
        ],
        lambda told: of(told, "RUN_FINISHED")[0]["usage"][0]["outputTokens"],
        lambda told: "".join(one["delta"] for one in of(told, "REASONING_MESSAGE_CONTENT")),
    ),
}


@pytest.fixture(params=FORMATS)
def format(request: pytest.FixtureRequest) -> Format:
    return FORMATS[request.param]


async def test_progress_custom_events_and_usage_come_in_it(format: Format, tmp_path: Path) -> None:
    counting = call_reply(("tally", '{"to":2}'), ids=(CALL,))
    async with scripted_server(tmp_path, counting, text_reply("Two.")) as server:
        told = await format.play(server.http)
        assert format.progress(told) == PROGRESS
        assert "a word that belongs to no call" in format.custom(told)
        assert format.usage(told) > 0


async def test_reasoning_comes_in_it(format: Format, tmp_path: Path) -> None:
    async with server_with_model(tmp_path, thinking_model()) as http:
        assert format.reasoning(await format.play(http)) == "The moon pulls.Three."

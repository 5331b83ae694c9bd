"""Logs that a worker of version 1 wrote, recorded with what its encoders made of them: readers of
this version get the same bytes."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support import chunk_grammar
from turnstream.server.formats import WIRE_FORMATS
from turnstream.server.formats.format import StreamContext
from turnstream.server.turns.chunks import Chunk, PartStart, StepFinish, StepWithdrawn
from turnstream.server.turns.codec import LogDecoder, Unknown, to_json
from turnstream.server.turns.header import RunHeader
from turnstream.server.turns.messages import UserTurn
from turnstream.server.turns.requests import TextContent

RECORDED = Path(__file__).parent.parent / "data" / "logs" / "version-1.jsonl"
LOGS = {log["name"]: log for log in map(json.loads, RECORDED.read_text().splitlines())}
CONTEXT = StreamContext("thread-1", "m1", (UserTurn("u1", (TextContent("Hello"),)),), "run-1")
VIEWS: dict[str, tuple[str, Any]] = {
    "assistant-transport": ("assistant-transport", None),
    "assistant-transport with a state": ("assistant-transport", {}),
    "ui-message-stream": ("ui-message-stream", None),
    "ag-ui": ("ag-ui", None),
    "langgraph": ("langgraph", None),
}


def decoded(items: list[dict[str, Any]]) -> tuple[RunHeader, list[Chunk]]:
    decoder = LogDecoder()
    header, *chunks = [item for item in map(decoder.decode, items) if not isinstance(item, Unknown)]
    assert isinstance(header, RunHeader)
    return header, [chunk for chunk in chunks if not isinstance(chunk, RunHeader)]


@pytest.mark.parametrize("name", LOGS)
def test_each_chunk_names_its_step_and_its_part(name: str) -> None:
    header, chunks = decoded(LOGS[name]["items"])
    assert header.version == 1
    chunk_grammar.check(chunks)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", LOGS)
def test_every_wire_format_says_the_same(name: str, view: str) -> None:
    log, (format, body) = LOGS[name], VIEWS[view]
    encoder = WIRE_FORMATS[format].encoder(CONTEXT, body)
    _, chunks = decoded(log["items"])
    assert [p for chunk in chunks for p in encoder.encode(chunk)] == log["payloads"][view]


def as_version_1(chunk: Chunk, *, is_newest: bool) -> dict[str, Any]:
    """A chunk as a worker of version 1 wrote it, which takes the log of a newer one over."""
    value: dict[str, Any] = json.loads(json.dumps(to_json(chunk)))
    if isinstance(chunk, PartStart):
        del value["path"]
    if isinstance(chunk, PartStart | StepFinish):
        value["step_id"] = None if is_newest else chunk.step_id
    elif "path" in value:
        del value["step_id"]
    return value


@pytest.mark.parametrize("name", LOGS)
def test_a_log_that_an_older_worker_goes_on_with_is_read_to_its_end(name: str) -> None:
    header, chunks = decoded(LOGS[name]["items"])
    newest, items = "", []
    for number, chunk in enumerate(chunks):
        if hasattr(chunk, "node"):
            newest = getattr(chunk, "step_id", newest)
        step_id = getattr(chunk, "step_id", newest)
        older = as_version_1(chunk, is_newest=step_id == newest)
        is_taken_over = number >= len(chunks) // 2 and not isinstance(chunk, StepWithdrawn)
        items.append(older if is_taken_over else json.loads(json.dumps(to_json(chunk))))
    again = decoded([to_json(header), *items])
    assert again == (header, chunks)

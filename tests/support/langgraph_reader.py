"""What clients of LangGraph's SDK make of its events, adding messages up as LangChain does."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessageChunk

from turnstream.server.formats.langgraph.snapshot import (
    calls_of_subagents,
    messages,
    state_below,
)
from turnstream.server.turns.messages import Turn

Json = dict[str, Any]


@dataclass(frozen=True)
class Frame:
    id: str | None
    event: str
    data: Any


def named_frames(stream: bytes) -> list[Frame]:
    """All frames; fails for one without a name."""
    *blocks, rest = stream.decode().split("\n\n")
    assert rest == "", f"the last frame is not closed: {rest!r}"
    return [_frame(block) for block in blocks if not block.startswith(":")]


def _frame(block: str) -> Frame:
    name = r"[a-z]+(?:/[a-z]+)?(?:\|[^\n]+)?"
    found = re.fullmatch(rf"(?:id: ([^\n]+)\n)?event: ({name})\ndata: ([^\n\r]*)", block)
    assert found, f"not an id, a name and a data line: {block!r}"
    return Frame(found[1], found[2], json.loads(found[3]))


@dataclass
class LangGraphReader:
    """Keeps messages by id, as the hooks do: `messages` adds up, `updates` and `values` replace."""

    messages: dict[str, Any] = field(default_factory=dict)
    values: Json = field(default_factory=dict)
    interrupts: list[Json] | None = None
    ends: list[str] = field(default_factory=list)
    below: dict[str, "LangGraphReader"] = field(default_factory=dict)
    """Readers of subagents' streams, by namespace."""

    def read(self, frames: Iterable[Frame]) -> "LangGraphReader":
        for frame in frames:
            assert not self.ends, f"{frame.event} comes after the end"
            event, _, namespace = frame.event.partition("|")
            reader = self.under(namespace) if _OF_CALLS.fullmatch(namespace) else self
            if reader is not self or not namespace:
                _READ[event](reader, frame.data)
        return self

    def under(self, namespace: str) -> "LangGraphReader":
        return self.below.setdefault(namespace, LangGraphReader())

    @property
    def built(self) -> dict[str, Any]:
        """By id: a client appends what comes later, which may be an earlier call's result. A
        message without words says nothing."""
        shown = {id: plain(message) for id, message in self.messages.items()}
        return {id: one for id, one in shown.items() if one != {"texts": {}, "calls": {}}}

    def hold(self, message: Json) -> None:
        self.messages[message["id"]] = message

    def take_values(self, data: Json) -> None:
        self.values = data
        self.interrupts = data.get("__interrupt__")

    def take_chunk(self, data: Sequence[Any]) -> None:
        message, metadata = data
        assert metadata["langgraph_node"]
        if message["type"] == "AIMessageChunk":
            chunk = AIMessageChunk(**{k: v for k, v in message.items() if k != "type"})
            held: Any = self.messages.get(message["id"])
            is_chunk = isinstance(held, AIMessageChunk)
            self.messages[message["id"]] = held + chunk if is_chunk else chunk
        else:
            self._upsert(message)

    def take_update(self, data: Mapping[str, Any]) -> None:
        self.interrupts = data.get("__interrupt__")
        for node, update in data.items():
            for message in update["messages"] if node != "__interrupt__" else ():
                self._upsert(message)

    def _upsert(self, message: Json) -> None:
        if message["type"] == "remove":
            self.messages.pop(message["id"], None)
        else:
            self.hold(message)

    def end(self, event: str) -> None:
        self.ends.append(event)


_OF_CALLS = re.compile(r"tools:[^|]+(\|tools:[^|]+)*")
"""The namespace of what runs under a call. That of another subgraph tells of its tasks alone."""


def holding(turns: Sequence[Turn]) -> LangGraphReader:
    """A client that has loaded a thread, with the states of its subagents."""
    reader = LangGraphReader()
    for message in messages(turns):
        reader.hold(message)
    calls = calls_of_subagents(turns)
    waiting = [f"tools:{id}" for id in calls]
    for namespace in waiting:
        state = state_below("", namespace, calls, "")
        assert state is not None
        for message in state["values"]["messages"]:
            reader.under(namespace).hold(message)
        asked = (one["id"] for m in reader.under(namespace).messages.values() for one in _calls(m))
        inner = (f"{namespace}|tools:{id}" for id in asked)
        waiting += (one for one in inner if state_below("", one, calls, ""))
    return reader


def _calls(message: Json) -> Sequence[Json]:
    calls: Sequence[Json] = message.get("tool_calls", ())
    return calls


def check_subagents(reader: LangGraphReader, expected: LangGraphReader) -> None:
    """A client that has read the stream has the states of the subagents. It keeps the steps that
    were cut meanwhile."""
    for namespace, below in expected.below.items():
        told = reader.below[namespace]
        assert {id: told.built.get(id) for id in below.built} == below.built
        kept = [one for one in told.values.get("messages", ()) if one["id"] in below.messages]
        assert not told.values or kept == [*below.messages.values()]


def _pass(_reader: LangGraphReader, _data: Any) -> None: ...


_READ: Mapping[str, Any] = {
    "metadata": _pass,
    "custom": _pass,
    "tools": _pass,
    "values": LangGraphReader.take_values,
    "messages": LangGraphReader.take_chunk,
    "updates": LangGraphReader.take_update,
    "end": lambda reader, _data: reader.end("end"),
    "error": lambda reader, _data: reader.end("error"),
}


def plain(message: Any) -> Json:
    """A message, added up or whole, in one form: its texts by their place, and its calls."""
    if isinstance(message, AIMessageChunk):
        calls = {
            call["id"]: [call["name"], _args(call["args"] or "")]
            for call in message.tool_call_chunks
        }
        return {"texts": _texts(message.content), "calls": calls}
    if message["type"] == "ai":
        calls = {
            call["id"]: [call["name"], None if "partial_json" in call else call["args"]]
            for call in message["tool_calls"]
        }
        return {"texts": _texts(message["content"]), "calls": calls}
    return dict(message)


def _args(text: str) -> Any:
    value = json.loads(text) if _is_json(text) else None
    return value if isinstance(value, dict) else None


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _texts(content: str | Sequence[Any]) -> dict[int, str]:
    """Bare strings are pieces of the first text. A text has the addresses of its annotations behind
    it, and what is no text is shown as JSON."""
    if isinstance(content, str):
        return {0: content} if content else {}
    texts: dict[int, str] = {}
    cited: dict[int, str] = {}
    for place, block in enumerate(content):
        index = 0 if isinstance(block, str) else block.get("index", place)
        texts[index] = texts.get(index, "") + _text(block)
        for one in block.get("annotations", ()) if isinstance(block, dict) else ():
            cited[index] = cited.get(index, "") + json.dumps(one)
    whole = {index: text + cited.get(index, "") for index, text in texts.items()}
    return {index: text for index, text in whole.items() if text}


def _text(block: Any) -> str:
    match block:
        case str():
            return block
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "reasoning", "summary": [{"text": str(text)}, *_]}:
            return text
    return json.dumps({key: value for key, value in block.items() if key != "index"})

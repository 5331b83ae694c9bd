"""JSON Schemas: the events of a run's stream; see `stream.py`."""

from turnstream.server.formats.body_schemas import (
    NOTHING,
    Schema,
    choice,
    closed_object,
    nullable,
    ref,
)
from turnstream.server.formats.langgraph.schemas import (
    COUNT,
    TEXT,
    list_of,
    text_or,
    tool_message,
    values,
)


def event() -> Schema:
    """By its name, whose data it is; all but `values` and what ends a stream may be missing."""
    asked = {"__interrupt__": list_of(ref("LangGraph.Interrupt"))}
    messages = list_of({"anyOf": [ref("Message.langgraph"), _removal()]})
    whole = values()
    update = closed_object(["messages"], messages=messages)
    updates = {
        "anyOf": [
            closed_object(["__interrupt__"], **asked),
            {"type": "object", "additionalProperties": update, "maxProperties": 1},
        ]
    }
    data = {
        "metadata": closed_object(["run_id", "attempt"], run_id=TEXT, attempt={"const": 1}),
        "values": {**whole, "properties": {**whole["properties"], **asked}},
        "messages": _message_event(),
        "updates": updates,
        "custom": {},
        "tools": _tool_event(),
        "error": ref("LangGraph.Error"),
        "end": NOTHING,
    }
    return {"anyOf": [_named(name, schema) for name, schema in data.items()]}


def _named(event: str, data: Schema) -> Schema:
    return closed_object(
        ["event", "data"],
        event={"const": event},
        data={**TEXT, "contentMediaType": "application/json", "contentSchema": data},
        id={**TEXT, "description": "The run's id, a colon, the number in the run."},
    )


def _removal() -> Schema:
    return closed_object(["type", "id"], type={"const": "remove"}, id=TEXT)


def _message_event() -> Schema:
    """Not `prefixItems`: what tries events by their schemas does not know it inside a text."""
    of = closed_object(["langgraph_node"], langgraph_node=TEXT, langgraph_checkpoint_ns=TEXT)
    pair = list_of({"anyOf": [_chunk(), tool_message(), _removal(), of]})
    return {
        **pair,
        "minItems": 2,
        "maxItems": 2,
        "description": "A chunk of a message or a whole one, and what it is of.",
    }


def _chunk() -> Schema:
    first: Schema = {"const": 0}
    summary = closed_object(
        ["type", "index", "text"], type={"const": "summary_text"}, index=first, text=TEXT
    )
    blocks = [
        closed_object(["type", "index", "text"], type={"const": "text"}, index=COUNT, text=TEXT),
        closed_object(
            ["type", "index", "summary"],
            type={"const": "reasoning"},
            index=COUNT,
            summary=list_of(summary),
        ),
    ]
    call = closed_object(
        ["type", "index", "id", "name", "args"],
        type={"const": "tool_call_chunk"},
        index=COUNT,
        id=nullable(TEXT),
        name=nullable(TEXT),
        args=TEXT,
    )
    return closed_object(
        ["type", "id", "content"],
        type={"const": "AIMessageChunk"},
        id=TEXT,
        content=text_or(blocks),
        tool_call_chunks=list_of(call),
    )


def _tool_event() -> Schema:
    names = ("on_tool_start", "on_tool_event", "on_tool_end", "on_tool_error")
    return closed_object(
        ["event", "toolCallId"],
        event=choice(*names),
        toolCallId=TEXT,
        name=TEXT,
        input={},
        data={},
        output={},
        error={},
    )

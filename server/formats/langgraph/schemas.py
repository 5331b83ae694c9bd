"""JSON Schemas: the body of a run, and messages, states and events of answers. See `body.py`,
`snapshot.py` and `stream.py`."""

from collections.abc import MutableMapping
from typing import Any, get_args

from turnstream.server.formats import body_schemas
from turnstream.server.formats.body_schemas import NOTHING, Schema, choice, nullable, ref, variant
from turnstream.server.formats.langgraph import body
from turnstream.server.formats.langgraph.snapshot import OF_CALL
from turnstream.server.formats.langgraph.stream import ASKED_MODES, MODES, OTHER_MODES
from turnstream.server.formats.metadata_schemas import (
    COUNT,
    TEXT,
    any_of,
    described,
    list_of,
    record,
)
from turnstream.server.turns.terms import FinishReason

RUNS = (body.RunBody, body.StatelessRunBody, body.BatchRunBody)
MODELS = (*RUNS, body.RunMetadata, body.HumanMessage, body.CallAnswer)
_OBJECT: Schema = {"type": "object"}
CHECKPOINT_ID: Schema = nullable(TEXT)


def bodies(found: MutableMapping[str, Schema]) -> dict[str, Schema]:
    """Return the schemas of the bodies of runs, by name."""
    *runs, metadata, human, answer = (found.pop(one.__name__) for one in MODELS)
    whole, _, batch = runs
    found["LangGraph.InputMessage"] = _input_message(human, answer)
    found["RunConfig"] = _config(found["RunConfig"])
    given = body_schemas.some(whole["properties"]["input"])
    given = variant(given, (), messages=_one_or_more(ref("LangGraph.InputMessage")))
    said = {
        "input": nullable(given),
        "stream_mode": _one_or_more(choice(*MODES, *ASKED_MODES, *OTHER_MODES)),
        "metadata": whole["properties"]["metadata"] | any_of(metadata, {"not": _OBJECT}),
    }
    said |= body_schemas.refused(body.OF_BODY)
    named = (variant(one, (), **said) for one in runs)
    whole, stateless, batched = named
    batched["properties"]["thread_id"] = batch["properties"]["thread_id"]
    return {
        "LangGraph.RunBody": whole,
        "LangGraph.StatelessRunBody": stateless,
        "LangGraph.BatchRunBody": batched,
    }


def _one_or_more(one: Schema) -> Schema:
    return any_of(nullable(list_of(one)), one)


def _config(config: Schema) -> Schema:
    """Add to the names of the graph the keys that are said elsewhere, and LangGraph's own."""
    own: dict[str, Schema] = {name: {} for name in body.OF_THE_THREAD}
    named = body_schemas.some(config["properties"]["configurable"])
    named = variant(named, (), **{**own, "checkpoint_id": CHECKPOINT_ID})
    reserved = {**named, "patternProperties": {f"^{body.RESERVED}": {}}}
    return variant(config, (), configurable=nullable(reserved))


def _input_message(human: Schema, answer: Schema) -> Schema:
    """Describe a message of `input`. An answer is read only if its call waits for one: then it
    fits."""
    text, _ = human["properties"]["content"]["anyOf"]
    fields = {name: Schema() for name in answer["properties"]}
    loose = body_schemas.an_object((), **fields, id=nullable(TEXT))
    known = body_schemas.an_object(["id"], id=TEXT)
    kinds = (human, choice("human", "user")), (loose, choice("tool")), (known, TEXT)
    return described(
        any_of(text, *(one for message, kind in kinds for one in _of_type(message, kind))),
        "A message of the user, or the answer to a call that waits for the client. One whose `id` "
        "the thread has is passed over.",
    )


def _of_type(message: Schema, kind: Schema) -> list[Schema]:
    """Describe a message with a `type`, and one whose `role` stands for it."""
    by_role = variant(message, ["role"], role=kind)
    return [variant(message, ["type"], type=kind), {**by_role, "not": {"required": ["type"]}}]


def _content(*blocks: Schema) -> Schema:
    return any_of(TEXT, list_of(any_of(*blocks)))


_SUMMARY = record(type="summary_text", text=TEXT)
_REASONING = record(type="reasoning", summary=list_of(_SUMMARY, minItems=1, maxItems=1))
_TEXT_BLOCK = record(type="text", text=TEXT)
_IMAGE = record({"metadata": record(name=TEXT)}, type="image_url", image_url=record(url=TEXT))
_CITATION = record({"title": TEXT}, type="citation", url=TEXT)


def _spoken(**index: Schema) -> list[Schema]:
    """Describe the blocks of a model's message but for reasoning; those of a chunk have an
    `index`."""
    cited, named = {"annotations": list_of(_CITATION)}, {"metadata": record(filename=TEXT)}
    file: dict[str, Any] = {"type": "file", "mime_type": TEXT, **index}
    return [
        record(cited, type="text", text=TEXT, **index),
        record(type="image_url", image_url=record(url=TEXT), **index),
        record(named, source_type="base64", data=TEXT, **file),
        record(named, source_type="url", url=TEXT, **file),
    ]


_MARK = {"additional_kwargs": record(metadata=record(removed={"const": True}))}
"""The mark of a message that the graph has removed from what its model gets."""
_MALFORMED = {"partial_json": described(TEXT, "Of arguments that are not a JSON object.")}
_CALL = record(_MALFORMED, type="tool_call", id=TEXT, name=TEXT, args=_OBJECT)
_USAGE = record(
    {
        "input_token_details": record(cache_read=COUNT),
        "output_token_details": record(reasoning=COUNT),
    },
    **dict.fromkeys(("input_tokens", "output_tokens", "total_tokens"), COUNT),
)
_RESULT = described(TEXT, "What is not text is JSON.")
_STATUS = choice("success", "error")
_TOOL_MESSAGE = record(
    type="tool", id=TEXT, tool_call_id=TEXT, name=TEXT, content=_RESULT, status=_STATUS
)
_REASON = choice(*(one.replace("-", "_") for one in get_args(FinishReason)))
_MESSAGE = any_of(
    record(_MARK, type="human", id=TEXT, content=_content(_TEXT_BLOCK, _IMAGE)),
    record(
        {"name": TEXT, "usage_metadata": _USAGE, **_MARK},
        type="ai",
        id=TEXT,
        content=_content(*_spoken(), _REASONING),
        tool_calls=list_of(_CALL),
        response_metadata=record({"model_name": TEXT}, finish_reason=nullable(_REASON)),
    ),
    _TOOL_MESSAGE,
)
_INTERRUPTS = list_of(ref("LangGraph.Interrupt"))


def values() -> Schema:
    known = body_schemas.an_object([], messages=list_of(ref("Message.langgraph")))
    further = (
        "Beside the messages, which a graph may lack, what clients see of its own state, by name."
    )
    return described(known, further)


def _json(data: Schema) -> Schema:
    """Describe a text that is JSON."""
    return {**TEXT, "contentMediaType": "application/json", "contentSchema": data}


_FAILURE = nullable(_json(ref("LangGraph.Error")))
_INNER = record(thread_id=TEXT, checkpoint_ns=TEXT)
_TASK = record(
    id=TEXT,
    name=TEXT,
    path={"type": "array"},
    error=_FAILURE,
    interrupts=_INTERRUPTS,
    checkpoint=described(nullable(_INNER), "Where a subgraph waits."),
    state=described(nullable(_OBJECT), "Its state, if the request asks for it."),
    result=nullable(_OBJECT),
)
_PLACE = nullable(ref("LangGraph.Checkpoint"))
_STATE = record(
    values=values(),
    next=list_of(TEXT),
    tasks=list_of(_TASK),
    metadata=nullable(
        record(
            {"run_id": TEXT},
            step={"type": "integer", "minimum": -1},
            source=choice("loop", "input"),
            thread_id=TEXT,
        )
    ),
    created_at=nullable({**TEXT, "format": "date-time"}),
    checkpoint=_PLACE,
    parent_checkpoint=_PLACE,
    interrupts=_INTERRUPTS,
)

_SUMMARY_CHUNK = record(type="summary_text", index={"const": 0}, text=TEXT)
_REASONING_CHUNK = record(type="reasoning", index=COUNT, summary=list_of(_SUMMARY_CHUNK))
_CALL_CHUNK = record(
    type="tool_call_chunk", index=COUNT, id=nullable(TEXT), name=nullable(TEXT), args=TEXT
)
_CHUNK = record(
    {"tool_call_chunks": list_of(_CALL_CHUNK)},
    type="AIMessageChunk",
    id=TEXT,
    content=_content(*_spoken(index=COUNT), _REASONING_CHUNK),
)
_REMOVAL = record(type="remove", id=TEXT)
_SOURCE = record({"langgraph_checkpoint_ns": TEXT}, langgraph_node=TEXT)
# Not `prefixItems`: what tries events by their schemas does not know it inside a text.
_MESSAGE_EVENT = described(
    list_of(any_of(_CHUNK, _TOOL_MESSAGE, _REMOVAL, _SOURCE), minItems=2, maxItems=2),
    "A chunk of a message or a whole one, and what it is of.",
)
_WRITTEN = list_of(any_of(ref("Message.langgraph"), _REMOVAL))
_UPDATE = nullable({**_OBJECT, "properties": {"messages": _WRITTEN}})
_TOOL_EVENT = record(
    {"name": TEXT, "input": {}, "data": {}, "output": {}, "error": {}},
    event=choice("on_tool_start", "on_tool_event", "on_tool_end", "on_tool_error"),
    toolCallId=TEXT,
)
_TASK_EVENT = any_of(
    record(id=TEXT, name=TEXT, input=_OBJECT, triggers=list_of(TEXT), metadata=_OBJECT),
    record(id=TEXT, name=TEXT, error=NOTHING, result=_OBJECT, interrupts=_INTERRUPTS),
)
_CHECKPOINT_EVENT = variant(_STATE, (), config=_OBJECT, parent_config=nullable(_OBJECT))
_EVENTS: dict[str, Schema] = {
    "metadata": any_of(
        record(run_id=TEXT, attempt={"const": 1}),
        record(run_id=TEXT, status={"const": "run_done"}),
    ),
    "tasks": _TASK_EVENT,
    "checkpoints": _CHECKPOINT_EVENT,
    "debug": record(
        step={"type": "integer", "minimum": -1},
        type=choice("task", "task_result", "checkpoint"),
        payload=any_of(_TASK_EVENT, _CHECKPOINT_EVENT),
    ),
    "events": record(
        event=TEXT,
        run_id=TEXT,
        name=TEXT,
        data=_OBJECT,
        tags=list_of(TEXT),
        metadata=_OBJECT,
        parent_ids=list_of(TEXT),
    ),
    "values": variant(values(), (), __interrupt__=_INTERRUPTS),
    "messages": _MESSAGE_EVENT,
    "messages/metadata": {"type": "object", "additionalProperties": record(metadata=_OBJECT)},
    "messages/partial": list_of(ref("Message.langgraph")),
    "messages/complete": _WRITTEN,
    "updates": any_of(
        record(__interrupt__=_INTERRUPTS),
        {"type": "object", "additionalProperties": _UPDATE, "maxProperties": 1},
    ),
    "custom": {},
    "tools": _TOOL_EVENT,
    "error": ref("LangGraph.Error"),
    "end": NOTHING,
}
"""The data of events, by name. All but `values` and what ends a stream may be missing."""
_ID = described(TEXT, "The run's id, a colon, the number in the run.")


def components() -> dict[str, Schema]:
    """Return the schemas of answers, by name."""
    events = (record({"id": _ID}, event=name, data=_json(data)) for name, data in _EVENTS.items())
    return {
        "LangGraph.Interrupt": record({"response_schema": _OBJECT}, id=TEXT, value={}),
        "LangGraph.Checkpoint": record(
            thread_id=TEXT,
            checkpoint_ns={**TEXT, "pattern": rf"^({OF_CALL}.*)?$"},
            checkpoint_id=TEXT,
        ),
        "LangGraph.SomeState": described(
            body_schemas.an_object((), **_STATE["properties"]) | {"additionalProperties": False},
            "All keys, or those of `select`.",
        ),
        "LangGraph.Updated": any_of(record(checkpoint=ref("LangGraph.Checkpoint")), _STATE),
        "LangGraph.Metadata": described(
            {**_OBJECT, "properties": {"graph_id": TEXT, "assistant_id": TEXT}},
            "What clients keep with the thread; `graph_id` and `assistant_id` are the server's.",
        ),
        "LangGraph.Event": any_of(*events),
        "LangGraph.Result": variant(
            values(), (), __interrupt__=_INTERRUPTS, __error__=ref("LangGraph.Error")
        ),
        "Message.langgraph": _MESSAGE,
        "LangGraph.Error": record({"id": TEXT}, error=TEXT, message=TEXT),
    }

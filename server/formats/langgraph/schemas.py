"""JSON Schemas: the body of a run, messages and states; see `body.py`, `input_messages.py`,
`snapshot.py`, `states.py`. Those of events are in `event_schemas.py`."""

from collections.abc import MutableMapping
from typing import get_args

from turnstream.server.formats.body_schemas import (
    NOTHING,
    Schema,
    an_object,
    choice,
    closed_object,
    nullable,
    ref,
    refused,
    some,
    variant,
)
from turnstream.server.formats.langgraph import body
from turnstream.server.formats.langgraph.body import (
    OF_BODY,
    OF_THE_THREAD,
    RESERVED,
    RunBody,
    RunConfig,
    RunMetadata,
)
from turnstream.server.formats.langgraph.input_messages import CallAnswer, HumanMessage
from turnstream.server.formats.langgraph.modes import MODES, OTHER_MODES
from turnstream.server.turns.terms import FinishReason

MODELS = (RunBody, RunMetadata, HumanMessage, CallAnswer)
MODE = choice(*MODES, *OTHER_MODES)
OMITTED: Schema = body.OMITTED
CHECKPOINT_ID: Schema = nullable({"type": "string"})

TEXT: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer", "minimum": 0}


def bodies(found: MutableMapping[str, Schema]) -> dict[str, Schema]:
    """By name."""
    found["LangGraph.InputMessage"] = _input_message(
        found.pop(HumanMessage.__name__), found.pop(CallAnswer.__name__)
    )
    whole, metadata = found.pop(RunBody.__name__), found.pop(RunMetadata.__name__)
    found[RunConfig.__name__] = _config(found[RunConfig.__name__])
    one = ref("LangGraph.InputMessage")
    messages = {"anyOf": [nullable({"type": "array", "items": one}), one]}
    given = variant(some(whole["properties"]["input"]), (), messages=messages)
    run = variant(
        whole,
        (),
        input=nullable(given),
        stream_mode={"anyOf": [nullable({"type": "array", "items": MODE}), MODE]},
        metadata={
            **whole["properties"]["metadata"],
            "anyOf": [metadata, {"not": {"type": "object"}}],
        },
        **refused(OF_BODY),
    )
    return {"LangGraph.RunBody": run}


def _config(config: Schema) -> Schema:
    """Beside the names of the graph: what is said elsewhere, and what LangGraph keeps there."""
    own: dict[str, Schema] = {name: {} for name in OF_THE_THREAD}
    named = some(config["properties"]["configurable"])
    named = variant(named, (), **{**own, "checkpoint_id": CHECKPOINT_ID})
    reserved = {**named, "patternProperties": {f"^{RESERVED}": {}}}
    return variant(config, (), configurable=nullable(reserved))


def _input_message(human: Schema, answer: Schema) -> Schema:
    """An answer is read only if its call waits for one: then it fits."""
    text, _ = human["properties"]["content"]["anyOf"]
    loose = an_object((), **{name: {} for name in answer["properties"]}, id=nullable(TEXT))
    return {
        "anyOf": [
            text,
            *_of_type(human, "human", "user"),
            *_of_type(loose, "tool"),
            *_of_type(an_object(["id"], id=TEXT)),
        ],
        "description": "A message of the user, or the answer to a call that waits for the "
        "client. One whose `id` the thread has is passed over.",
    }


def _of_type(message: Schema, *kinds: str) -> list[Schema]:
    """A message of these types, or of any: `role` says it where there is no `type`."""
    kind = choice(*kinds) if kinds else TEXT
    by_role = variant(message, ["role"], role=kind)
    return [
        variant(message, ["type"], type=kind),
        {**by_role, "not": {"required": ["type"]}},
    ]


def _message() -> Schema:
    """A message of a thread."""
    text = closed_object(["type", "text"], type={"const": "text"}, text=TEXT)
    image = closed_object(
        ["type", "image_url"],
        type={"const": "image_url"},
        image_url=closed_object(["url"], url=TEXT),
        metadata=closed_object(["name"], name=TEXT),
    )
    summary = closed_object(["type", "text"], type={"const": "summary_text"}, text=TEXT)
    reasoning = closed_object(
        ["type", "summary"],
        type={"const": "reasoning"},
        summary={"type": "array", "items": summary, "minItems": 1, "maxItems": 1},
    )
    return {"anyOf": [_human([text, image]), _ai([text, reasoning]), tool_message()]}


def _human(blocks: list[Schema]) -> Schema:
    return closed_object(
        ["type", "id", "content"],
        type={"const": "human"},
        id=TEXT,
        content=text_or(blocks),
    )


def _ai(blocks: list[Schema]) -> Schema:
    call = closed_object(
        ["type", "id", "name", "args"],
        type={"const": "tool_call"},
        id=TEXT,
        name=TEXT,
        args={"type": "object"},
        partial_json={**TEXT, "description": "Of arguments that are not a JSON object."},
    )
    usage = closed_object(
        ["input_tokens", "output_tokens", "total_tokens"],
        input_tokens=COUNT,
        output_tokens=COUNT,
        total_tokens=COUNT,
        input_token_details=closed_object(["cache_read"], cache_read=COUNT),
        output_token_details=closed_object(["reasoning"], reasoning=COUNT),
    )
    reason = nullable(choice(*get_args(FinishReason)))
    return closed_object(
        ["type", "id", "content", "tool_calls", "response_metadata"],
        type={"const": "ai"},
        id=TEXT,
        content=text_or(blocks),
        tool_calls=list_of(call),
        response_metadata=closed_object(["finish_reason"], finish_reason=reason),
        usage_metadata=usage,
    )


def tool_message() -> Schema:
    return closed_object(
        ["type", "id", "tool_call_id", "name", "content", "status"],
        type={"const": "tool"},
        id=TEXT,
        tool_call_id=TEXT,
        name=TEXT,
        content={**TEXT, "description": "What is not text is JSON."},
        status=choice("success", "error"),
    )


def components() -> dict[str, Schema]:
    """The schemas of answers, by name."""
    from turnstream.server.formats.langgraph.event_schemas import event

    checkpoint = closed_object(
        ["thread_id", "checkpoint_ns", "checkpoint_id"],
        thread_id=TEXT,
        checkpoint_ns={"const": ""},
        checkpoint_id=TEXT,
    )
    return {
        "LangGraph.Interrupt": closed_object(
            ["id", "value"], id=TEXT, value={}, response_schema={"type": "object"}
        ),
        "LangGraph.Checkpoint": checkpoint,
        "LangGraph.State": _state(),
        "LangGraph.Event": event(),
        "Message.langgraph": _message(),
        "LangGraph.Error": closed_object(["error", "message"], error=TEXT, message=TEXT, id=TEXT),
    }


def values() -> Schema:
    return {
        **an_object(["messages"], messages=list_of(ref("Message.langgraph"))),
        "description": "Beside the messages, what clients see of the graph's own state, by name.",
    }


def _state() -> Schema:
    interrupts = list_of(ref("LangGraph.Interrupt"))
    error = {
        **nullable(TEXT),
        "contentMediaType": "application/json",
        "contentSchema": ref("LangGraph.Error"),
    }
    task = closed_object(
        ["id", "name", "error", "interrupts", "checkpoint", "state", "result"],
        id=TEXT,
        name=TEXT,
        error=error,
        interrupts=interrupts,
        checkpoint=NOTHING,
        state=NOTHING,
        result=NOTHING,
    )
    metadata = closed_object(
        ["step", "source"],
        step={"type": "integer", "minimum": -1},
        source={"const": "loop"},
    )
    checkpoint = nullable(ref("LangGraph.Checkpoint"))
    keys = {
        "values": values(),
        "next": list_of(TEXT),
        "tasks": list_of(task),
        "metadata": nullable(metadata),
        "created_at": nullable({**TEXT, "format": "date-time"}),
        "checkpoint": checkpoint,
        "parent_checkpoint": checkpoint,
        "interrupts": interrupts,
    }
    return closed_object([*keys], **keys)


def text_or(blocks: list[Schema]) -> Schema:
    return {"anyOf": [TEXT, list_of({"anyOf": blocks})]}


def list_of(items: Schema) -> Schema:
    return {"type": "array", "items": items}

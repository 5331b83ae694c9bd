"""JSON Schemas of what LangGraph's SDK is answered with, by name. Those of messages, states and
events are the wire format's."""

from turnstream.server.http.langgraph.runs import STATUS as RUN_STATUS
from turnstream.server.http.langgraph.threads import STATUS as THREAD_STATUS
from turnstream.server.http.openapi.answers import TEXT, TIME, YES_OR_NO
from turnstream.server.protocols.body_schemas import Schema, choice, closed_object, nullable, ref
from turnstream.server.protocols.langgraph_sdk.schemas import values

_NOTHING: Schema = {"type": "object", "maxProperties": 0}


def components() -> dict[str, Schema]:
    return {
        "LangGraph.Info": _info(),
        "LangGraph.Assistant": _assistant(),
        "LangGraph.Thread": _thread(),
        "LangGraph.ThreadEntry": _entry(),
        "LangGraph.Run": _run(),
    }


def _info() -> Schema:
    flags = closed_object(
        ["assistants", "crons", "langsmith"],
        assistants=YES_OR_NO,
        crons=YES_OR_NO,
        langsmith=YES_OR_NO,
    )
    return closed_object(["version", "flags"], version=TEXT, flags=flags)


def _assistant() -> Schema:
    keys = {
        "assistant_id": TEXT,
        "graph_id": TEXT,
        "name": TEXT,
        "description": nullable(TEXT),
        "created_at": TIME,
        "updated_at": TIME,
        "config": _NOTHING,
        "context": _NOTHING,
        "metadata": _NOTHING,
        "version": {"const": 1},
    }
    return closed_object([*keys], **keys)


def _thread() -> Schema:
    """One that no run has begun has no values; one that was there when its id was asked for is
    answered without this key."""
    asked = {
        "type": "object",
        "additionalProperties": {"type": "array", "items": ref("LangGraph.Interrupt")},
        "description": "By their ids.",
    }
    return _of_thread(interrupts=asked, values=nullable(values()))


def _entry() -> Schema:
    first = closed_object(["type", "content"], type={"const": "human"}, content=TEXT)
    title = closed_object(["messages"], messages={"type": "array", "items": first, "maxItems": 1})
    return _of_thread(
        interrupts=_NOTHING,
        values={"anyOf": [title, values()], "description": "The title as the first message."},
    )


def _of_thread(**rest: Schema) -> Schema:
    metadata = closed_object((), graph_id=TEXT, assistant_id=TEXT, title=TEXT)
    keys = {
        "thread_id": TEXT,
        "created_at": TIME,
        "updated_at": TIME,
        "metadata": metadata,
        "status": choice("idle", *THREAD_STATUS.values()),
        "config": _NOTHING,
        **rest,
    }
    return closed_object([name for name in keys if name != "values"], **keys)


def _run() -> Schema:
    keys = {
        "run_id": TEXT,
        "thread_id": TEXT,
        "assistant_id": TEXT,
        "created_at": TIME,
        "updated_at": TIME,
        "status": choice(*dict.fromkeys(RUN_STATUS.values())),
        "metadata": _NOTHING,
        "kwargs": _NOTHING,
        "multitask_strategy": {"const": "reject"},
    }
    return closed_object([*keys], **keys)

"""JSON Schemas: the body of a run, messages, states and events; see `request.py`, `snapshot.py`,
``states.py`. Those of events are in `event_schemas.py`."""

from typing import get_args

from turnstream.server.protocols.body_schemas import (
    IMAGE_ALT,
    IMAGE_TYPE,
    IMAGE_URL,
    NEW_MESSAGE_ID,
    NOT_BLANK,
    NOTHING,
    Schema,
    Served,
    an_object,
    choice,
    closed_object,
    content,
    every_body,
    nullable,
    ref,
    text_part,
)
from turnstream.server.protocols.fields import BodyLimits
from turnstream.server.protocols.langgraph_sdk.request import (
    MODES,
    OF_THE_THREAD,
    OTHER_MODES,
    REFUSED,
)
from turnstream.server.turns.terms import FinishReason

MODE = choice(*MODES, *OTHER_MODES)
OMITTED = choice(None, False, 0, "", [], {})
"""What is as good as a missing key where every other value is refused."""
CHECKPOINT_ID: Schema = nullable({"type": "string"})

TEXT: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer", "minimum": 0}


def body(served: Served) -> dict[str, Schema]:
    """By name."""
    given = every_body(served)
    names = dict(served.values)
    one = ref("LangGraph.InputMessage")
    messages = {"anyOf": [nullable({"type": "array", "items": one}), one]}
    further: dict[str, Schema] = {name: {} for name in names.get("input", ())}
    own: dict[str, Schema] = {name: {} for name in (*OF_THE_THREAD, *names.get("configurable", ()))}
    config = an_object(
        (), configurable=nullable(closed_object((), **{**own, "checkpoint_id": CHECKPOINT_ID}))
    )
    checkpoint = an_object((), checkpoint_id=CHECKPOINT_ID)
    command = an_object((), resume={}, goto=OMITTED, update=OMITTED)
    return {
        "LangGraph.RunBody": an_object(
            ["assistant_id"],
            assistant_id={**TEXT, "description": "A graph, or the id that LangGraph gives it."},
            input=nullable(closed_object((), **{**further, "messages": messages})),
            command=nullable(command),
            checkpoint=nullable(checkpoint),
            checkpoint_id=CHECKPOINT_ID,
            config=nullable(config),
            context=given["context"],
            stream_mode={"anyOf": [nullable({"type": "array", "items": MODE}), MODE]},
            multitask_strategy=nullable(choice("reject", "interrupt")),
            on_disconnect=nullable(choice("cancel", "continue")),
            if_not_exists=nullable(choice("create", "reject")),
            metadata={
                "anyOf": [
                    an_object((), based_on=given["based_on"]),
                    {"not": {"type": "object"}},
                ],
                "description": "Nothing but `based_on` is read.",
            },
            **dict.fromkeys(REFUSED, OMITTED),
        )
    }


def parts(limits: BodyLimits) -> dict[str, Schema]:
    """What it is made of, by name."""
    text = {**TEXT, "maxLength": limits.max_message_chars, "pattern": NOT_BLANK}
    blocks = content([text_part(limits), *_images()], ("image_url", "image"), limits)
    human = {"content": {"anyOf": [text, blocks]}, "id": nullable(NEW_MESSAGE_ID)}
    answer = {"tool_call_id": {}, "content": {}, "status": {}, "id": nullable(TEXT)}
    held = {"id": TEXT}
    return {
        "LangGraph.InputMessage": {
            "anyOf": [
                text,
                *_of_type(("human", "user"), ["content"], human),
                *_of_type(("tool",), [], answer),
                *_of_type((), ["id"], held),
            ],
            "description": "A message of the user, or the answer to a call that waits for the "
            "client. One whose `id` the thread has is passed over.",
        }
    }


def _images() -> list[Schema]:
    named = an_object((), **dict.fromkeys(("alt", "name", "filename"), IMAGE_ALT))
    about: Schema = {"metadata": {"anyOf": [named, {"not": {"type": "object"}}]}}
    url = {"anyOf": [IMAGE_URL, an_object(["url"], url=IMAGE_URL)]}
    kind: Schema = {"const": "image"}
    not_held = dict.fromkeys(("data", "base64"), NOTHING)
    by_url = an_object(["type", "url"], type=kind, url=IMAGE_URL, **not_held, **about)
    types = ("mime_type", "mimeType")
    held = [
        an_object(["type", data, name], **{"type": kind, data: TEXT, name: IMAGE_TYPE}, **about)
        for data in ("data", "base64")
        for name in types
    ]
    link = an_object(["type", "image_url"], type={"const": "image_url"}, image_url=url, **about)
    return [link, by_url, *held]


def _of_type(
    kinds: tuple[str, ...], required: list[str], properties: dict[str, Schema]
) -> list[Schema]:
    """A message of these types, or of any: `role` says it where there is no `type`."""
    kind = choice(*kinds) if kinds else TEXT
    by_role = an_object(["role", *required], role=kind, **properties)
    return [
        an_object(["type", *required], type=kind, **properties),
        {**by_role, "not": {"required": ["type"]}},
    ]


def message() -> Schema:
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
    """What answers are made of, by name; `Message.langgraph` aside."""
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

"""JSON Schemas: the `RunAgentInput` of a request, and AG-UI's messages of a loaded thread; see
`request.py`, `interrupts.py` and `snapshot.py`."""

from turnstream.server.protocols.body_schemas import (
    CALL_ID,
    IMAGE_ALT,
    IMAGE_TYPE,
    IMAGE_URL,
    MAX_CLIENT_TOOLS,
    MESSAGE_ID,
    NEW_MESSAGE_ID,
    NOT_BLANK,
    NOTHING,
    THREAD_ID,
    TOOL_NAME,
    Schema,
    Served,
    an_object,
    choice,
    closed_object,
    content,
    described_tool,
    every_body,
    nullable,
    ref,
    text_part,
)
from turnstream.server.protocols.fields import BodyLimits

_TEXT: Schema = {"type": "string"}


def body(served: Served) -> dict[str, Schema]:
    """By name. The end of the messages has something new, or the body answers what the last run has
    stopped to ask: in `resume`, or as any body may in what is `forwardedProps`."""
    history: Schema = {
        "type": "array",
        "description": "The thread as the client has it. Only the end is read.",
    }
    answers: Schema = {"type": "array", "items": ref("AgUi.ResumeEntry")}
    bodies = {
        "AgUi.MessagesBody": _asks(
            served,
            messages={**history, "minItems": 1, "contains": ref("AgUi.LastMessage")},
            resume=nullable(answers),
        ),
        "AgUi.ResumeBody": _asks(served, messages=history, resume={**answers, "minItems": 1}),
        "AgUi.GraphResumeBody": _asks(
            served,
            messages=history,
            resume=nullable({"type": "array", "maxItems": 0}),
            forwardedProps=an_object(["resume"], **_of_graph(served), resume={"not": NOTHING}),
        ),
    }
    return {**bodies, "AgUi.Body": {"anyOf": [ref(name) for name in bodies]}}


def _asks(served: Served, **further: Schema) -> Schema:
    tool = an_object(["name"], name=TOOL_NAME, **described_tool(served.limits))
    tools: Schema = {"type": "array", "items": tool, "maxItems": MAX_CLIENT_TOOLS}
    props = an_object((), **_of_graph(served), resume={})
    shared = {
        "threadId": nullable(THREAD_ID),
        "tools": nullable(tools),
        "forwardedProps": {"anyOf": [props, {"not": {"type": "object"}}]},
    }
    keys = {**shared, **further}
    required = ["messages", *(name for name in further if name not in ("messages", "resume"))]
    return an_object(required, **keys)


def _of_graph(served: Served) -> dict[str, Schema]:
    """assistant-ui has the same in `runConfig`, which counts before what is beside it."""
    of_graph = {**every_body(served), "edit": nullable(MESSAGE_ID)}
    inner = an_object((), **of_graph, resume={})
    return {**of_graph, "runConfig": {"anyOf": [inner, {"not": {"type": "object"}}]}}


def parts(limits: BodyLimits) -> dict[str, Schema]:
    """What these bodies are made of, by name."""
    text = {**_TEXT, "maxLength": limits.max_message_chars, "pattern": NOT_BLANK}
    user = an_object(
        ["role", "content"],
        role={"const": "user"},
        id=nullable(NEW_MESSAGE_ID),
        content={
            "anyOf": [text, content([text_part(limits), *_images()], ("image", "binary"), limits)]
        },
    )
    answer = an_object(
        ["role", "toolCallId", "content"],
        role={"const": "tool"},
        toolCallId=CALL_ID,
        content={**_TEXT, "description": "JSON, or text."},
        error={"description": "Of a call that has failed."},
    )
    return {
        "AgUi.LastMessage": {"anyOf": [user, answer]},
        "AgUi.ResumeEntry": an_object(
            ["interruptId", "status"],
            interruptId=_TEXT,
            status=choice("resolved", "cancelled"),
            payload={"description": "The answer; of a call that waits for an approval a decision."},
        ),
    }


def _images() -> list[Schema]:
    data = an_object(
        ["type", "value", "mimeType"], type={"const": "data"}, value=_TEXT, mimeType=IMAGE_TYPE
    )
    url = an_object(["type", "value"], type={"const": "url"}, value=IMAGE_URL)
    kind: Schema = {"const": "image"}
    named = an_object((), **dict.fromkeys(("alt", "name", "filename"), IMAGE_ALT))
    about: Schema = {"anyOf": [named, {"not": {"type": "object"}}]}
    return [
        *(
            an_object(["type", "source"], type=kind, source=source, metadata=about)
            for source in (data, url)
        ),
        *_binaries(),
    ]


def _binaries() -> list[Schema]:
    """Files, as they were up to 0.0.59."""
    shared = {"type": {"const": "binary"}, "mimeType": IMAGE_TYPE, "filename": IMAGE_ALT}
    data: Schema = {**_TEXT, "minLength": 1}
    return [
        an_object(["type", "mimeType", "data"], **shared, data=data),
        an_object(["type", "mimeType", "url"], **shared, url=IMAGE_URL, data=NOTHING),
    ]


def message() -> Schema:
    """A message of a loaded thread."""
    text = closed_object(["type", "text"], type={"const": "text"}, text=_TEXT)
    source = closed_object(["type", "value"], type=_TEXT, value=_TEXT, mimeType=_TEXT)
    named = closed_object(["filename"], filename=_TEXT)
    image = closed_object(
        ["type", "source"], type={"const": "image"}, source=source, metadata=named
    )
    parts = {"type": "array", "items": {"anyOf": [text, image]}}
    function = closed_object(["name", "arguments"], name=_TEXT, arguments=_TEXT)
    call = closed_object(
        ["id", "type", "function"], id=_TEXT, type={"const": "function"}, function=function
    )
    calls = {"type": "array", "items": call}
    return {
        "anyOf": [
            _message("user", ["content"], content={"anyOf": [_TEXT, parts]}),
            _message("assistant", [], content=_TEXT, toolCalls=calls),
            _message("tool", ["toolCallId", "content"], toolCallId=_TEXT, content=_TEXT),
            _message("reasoning", ["content"], content=_TEXT),
        ]
    }


def _message(role: str, required: list[str], **properties: Schema) -> Schema:
    return closed_object(["id", "role", *required], id=_TEXT, role={"const": role}, **properties)

"""JSON Schemas: the `RunAgentInput` of a request, and AG-UI's messages of a loaded thread; see
`body.py` and `snapshot.py`."""

from collections.abc import MutableMapping

from turnstream.server.formats.ag_ui.body import (
    OF_BODY,
    OF_PROPS,
    AgentInput,
    AgentToolMessage,
    AgentUserMessage,
    ForwardedProps,
)
from turnstream.server.formats.body_schemas import (
    NOTHING,
    Schema,
    an_object,
    closed_object,
    ref,
    refused,
    some,
    variant,
)

MODELS = (AgentInput, ForwardedProps, AgentUserMessage, AgentToolMessage)
_TEXT: Schema = {"type": "string"}


def bodies(found: MutableMapping[str, Schema]) -> dict[str, Schema]:
    """By name. The end of the messages has something new, or the body answers what the last run has
    stopped to ask: in `resume`, or as any body may in what is `forwardedProps`."""
    whole, given = found.pop(AgentInput.__name__), found.pop(ForwardedProps.__name__)
    props = _props(given)
    whole = variant(whole, (), forwardedProps=_if_object(props), **refused(OF_BODY))
    answers, history = some(whole["properties"]["resume"]), whole["properties"]["messages"]
    last = {"anyOf": [ref(one.__name__) for one in (AgentUserMessage, AgentToolMessage)]}
    none: Schema = {"anyOf": [{"type": "array", "maxItems": 0}, NOTHING]}
    bodies = {
        "AgUi.MessagesBody": variant(
            whole, (), messages={**history, "minItems": 1, "contains": last}
        ),
        "AgUi.ResumeBody": variant(whole, ["resume"], resume={**answers, "minItems": 1}),
        "AgUi.GraphResumeBody": variant(
            whole,
            ["forwardedProps"],
            resume=none,
            forwardedProps=variant(props, ["resume"], resume={"not": NOTHING}),
        ),
    }
    return {**bodies, "AgUi.Body": {"anyOf": [ref(name) for name in bodies]}}


def _props(given: Schema) -> Schema:
    """assistant-ui has the same in `runConfig`, which counts before what is beside it."""
    closed = variant(given, (), **refused(OF_PROPS))
    command = _if_object(an_object((), resume={}))
    return variant(closed, (), runConfig=_if_object(closed), command=command)


def _if_object(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"not": {"type": "object"}}]}


def components() -> dict[str, Schema]:
    """The schemas of answers, by name."""
    return {"Message.ag-ui": _of_message()}


def _of_message() -> Schema:
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

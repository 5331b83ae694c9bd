"""JSON Schemas: the `RunAgentInput` of a request, and AG-UI's messages of a loaded thread; see
`body.py` and `snapshot.py`."""

from collections.abc import MutableMapping

from turnstream.server.formats import body_schemas
from turnstream.server.formats.ag_ui import body
from turnstream.server.formats.body_schemas import NOTHING, Schema, ref, variant
from turnstream.server.formats.metadata_schemas import OBJECT, TEXT, any_of, list_of, record

MODELS = (body.AgentInput, body.ForwardedProps, body.AgentUserMessage, body.AgentToolMessage)


def bodies(found: MutableMapping[str, Schema]) -> dict[str, Schema]:
    """Return the schemas of bodies, by name. The end of the messages has something new, or the body
    answers what the last run has stopped to ask: in `resume`, or as any body may in what is
    `forwardedProps`."""
    whole, given = found.pop("AgentInput"), found.pop("ForwardedProps")
    props = _props(given)
    refused = body_schemas.refused(body.OF_BODY)
    whole = variant(whole, (), forwardedProps=_if_object(props), **refused)
    answers = body_schemas.some(whole["properties"]["resume"])
    last = any_of(ref("AgentUserMessage"), ref("AgentToolMessage"))
    new = {**whole["properties"]["messages"], "minItems": 1, "contains": last}
    bodies = {
        "AgUi.MessagesBody": variant(whole, (), messages=new),
        "AgUi.ResumeBody": variant(whole, ["resume"], resume={**answers, "minItems": 1}),
        "AgUi.GraphResumeBody": variant(
            whole,
            ["forwardedProps"],
            resume=any_of({"type": "array", "maxItems": 0}, NOTHING),
            forwardedProps=variant(props, ["resume"], resume={"not": NOTHING}),
        ),
    }
    return {**bodies, "AgUi.Body": any_of(*map(ref, bodies))}


def _props(given: Schema) -> Schema:
    """Describe `forwardedProps`. assistant-ui has the same in `runConfig`, which counts before what
    is beside it."""
    closed = variant(given, (), **body_schemas.refused(body.OF_PROPS))
    command = _if_object(body_schemas.an_object((), resume={}))
    return variant(closed, (), runConfig=_if_object(closed), command=command)


def _if_object(schema: Schema) -> Schema:
    return any_of(schema, {"not": OBJECT})


_SOURCE = record({"mimeType": TEXT}, type=TEXT, value=TEXT)
_IMAGE = record({"metadata": record(filename=TEXT)}, type="image", source=_SOURCE)
_FUNCTION = record(name=TEXT, arguments=TEXT)
_PARTS = list_of(any_of(record(type="text", text=TEXT), _IMAGE))
_CALLS = list_of(record(id=TEXT, type="function", function=_FUNCTION))


def components() -> dict[str, Schema]:
    """Return the schema of a message of a loaded thread, by name."""
    message = any_of(
        record(role="user", id=TEXT, content=any_of(TEXT, _PARTS)),
        record({"content": TEXT, "toolCalls": _CALLS}, role="assistant", id=TEXT),
        record(role="tool", id=TEXT, toolCallId=TEXT, content=TEXT),
        record(role="reasoning", id=TEXT, content=TEXT),
    )
    return {"Message.ag-ui": message}

"""JSON Schemas of what the bodies of several formats have in common. Each format's own are in the
`schemas.py` of its folder; `turnstream.server.protocols.schemas` has them all.

A schema says what its reader accepts, no less and no more, as far as JSON Schema can: that images
can be read, that a tool's parameters are a schema, and sums over several values, it cannot say.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from turnstream.server.protocols.fields import MAX_ALT_CHARS, BodyLimits
from turnstream.server.protocols.graph_values import MAX_TOOL_NAME_CHARS, MAX_TOOL_NAMES

Schema = dict[str, Any]

NOTHING: Schema = {"type": "null"}
BLANK = r"\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
NOT_BLANK = f"[^{BLANK}]"
THREAD_ID: Schema = {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,128}$"}
NEW_MESSAGE_ID: Schema = {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"}
MESSAGE_ID: Schema = {"type": "string", "pattern": "^[A-Za-z0-9_.-]{1,128}$"}
TOOL_NAME: Schema = {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"}
TOOL_NAMES: Schema = {
    "type": "array",
    "items": {"type": "string", "maxLength": MAX_TOOL_NAME_CHARS},
    "maxItems": MAX_TOOL_NAMES,
}
CALL_ID: Schema = {"type": "string", "minLength": 1}
MAX_CLIENT_TOOLS = 64
IMAGE_URL: Schema = {
    "type": "string",
    "pattern": "^([hH][tT][tT][pP][sS]?://|[dD][aA][tT][aA]:[iI][mM][aA][gG][eE]/"
    "([pP][nN][gG]|[jJ][pP][eE][gG]|[gG][iI][fF]|[wW][eE][bB][pP]);[bB][aA][sS][eE]64,)",
    "description": "An http(s) URL, or a `data:` URL of a PNG, JPEG, GIF or WebP image in base64.",
}

IMAGE_ALT: Schema = {
    "type": ["string", "null"],
    "maxLength": MAX_ALT_CHARS,
    "description": "What the image shows, or the name of its file.",
}

IMAGE_TYPE: Schema = {
    "type": "string",
    "pattern": "^[iI][mM][aA][gG][eE]/"
    "([pP][nN][gG]|[jJ][pP][eE][gG]|[gG][iI][fF]|[wW][eE][bB][pP])$",
}


@dataclass(frozen=True, slots=True)
class Served:
    """What of a server its schemas depend on."""

    limits: BodyLimits
    graphs: tuple[str, ...]
    models: tuple[str, ...]
    """Those that the caller may name; none where the graph has models of its own."""
    values: tuple[tuple[str, tuple[str, ...]], ...]
    """Of `context`, `configurable` and `input`: the names that a client may set."""


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def nullable(schema: Schema) -> Schema:
    """A null is as good as a missing key."""
    kind = schema.get("type")
    if isinstance(kind, str) and not {"enum", "const"} & schema.keys():
        return {**schema, "type": [kind, "null"]}
    return {"anyOf": [schema, NOTHING]}


def choice(*values: Any) -> Schema:
    return {"enum": [*values]}


def an_object(required: Sequence[str], **properties: Schema) -> Schema:
    """Other keys are ignored."""
    return {
        "type": "object",
        **({"required": [*required]} if required else {}),
        "properties": properties,
    }


def closed_object(required: Sequence[str], **properties: Schema) -> Schema:
    """It has no other keys."""
    return {**an_object(required, **properties), "additionalProperties": False}


def content(parts: Sequence[Schema], images: Sequence[str], limits: BodyLimits) -> Schema:
    """The parts of a user's message: at least one is an image, or text that is not blank. `images`
    are the types of image parts."""
    said = an_object(["type", "text"], type={"const": "text"}, text={"pattern": NOT_BLANK})
    image = an_object(["type"], type=choice(*images))
    return {
        "type": "array",
        "items": {"anyOf": [*parts]},
        "minItems": 1,
        "contains": {"anyOf": [said, image]},
        "description": f"At most {limits.max_message_chars} characters and {limits.max_images} "
        "images in all.",
    }


def text_part(limits: BodyLimits) -> Schema:
    text = {"type": "string", "maxLength": limits.max_message_chars}
    return an_object(["type", "text"], type={"const": "text"}, text=text)


IMAGE_PART = an_object(
    ["type", "image"],
    type={"const": "image"},
    image=IMAGE_URL,
    alt=IMAGE_ALT,
    filename=IMAGE_ALT,
)


def described_tool(limits: BodyLimits) -> dict[str, Schema]:
    """The properties of a tool that a client brings along."""
    return {
        "description": nullable(short(limits)),
        "parameters": {"type": "object", "description": "A JSON Schema."},
    }


def tools_by_name(limits: BodyLimits) -> Schema:
    return nullable(
        {
            "type": "object",
            "propertyNames": {"pattern": TOOL_NAME["pattern"]},
            "additionalProperties": an_object(["parameters"], **described_tool(limits)),
            "maxProperties": MAX_CLIENT_TOOLS,
            "description": "UI tools of this run, by name.",
        }
    )


def short(limits: BodyLimits) -> Schema:
    """A text that is bounded as JSON: with its quotes, and what must be escaped."""
    return {"type": "string", "maxLength": max(0, limits.max_message_chars - 2)}


def decision(limits: BodyLimits) -> dict[str, Schema]:
    """The properties of a decision on a call that waits for an approval."""
    return {
        "approved": {"type": "boolean"},
        "reason": nullable(short(limits)),
        "args": nullable(
            {"type": "object", "description": "In the place of the model's; of an approved call."}
        ),
    }


def every_body(served: Served) -> dict[str, Schema]:
    """The keys that each posted body may have, but for `resume`."""
    names = dict(served.values)
    return {
        "graph": nullable(choice(*served.graphs)),
        "model": nullable(choice(*served.models)) if served.models else NOTHING,
        **{place: _values(names.get(place, ())) for place in ("context", "configurable", "input")},
        "allowed_tools": nullable(
            {**TOOL_NAMES, "description": "Names of the tools that the run may use."}
        ),
        "on_interrupt": nullable(choice("discard", "reject")),
        "must_exist": {
            "type": ["boolean", "null"],
            "description": "Answer 404 if there is no such thread, rather than begin it.",
        },
        "based_on": {
            "type": ["string", "null"],
            "description": "The id of the thread's last run: after another one the answer is 409.",
        },
        "version": {
            "type": ["string", "null"],
            "description": "The id of a version of a message: go on from its branch of the thread.",
        },
    }


def _values(names: Sequence[str]) -> Schema:
    return nullable(closed_object((), **{name: {} for name in names}))

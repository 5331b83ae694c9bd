"""assistant-transport: the body that assistant-ui's `useAssistantTransportRuntime` (0.15.10) posts.

`commands` holds what the user did since the last run, in order; without any, the client asks for
the run that is live. `tool-approval` is a command of our own, since the runtime has no approvals.
The thread's id is the one that our own state gave the client, since its own (`__LOCALID_...`)
changes with every page load.
"""

from collections.abc import Mapping, MutableMapping
from dataclasses import replace
from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from turnstream.server.formats import (
    app_context,
    body_schemas,
    content,
    fields,
    graph_values,
    tool_fields,
)
from turnstream.server.formats import metadata_schemas as meta
from turnstream.server.formats.body_schemas import NOTHING, Schema, choice, nullable, variant
from turnstream.server.formats.fields import BodyLimits, CamelFields, read, without_effect
from turnstream.server.formats.format import Parsed
from turnstream.server.formats.metadata_schemas import OBJECT, TEXT, any_of, list_of, record
from turnstream.server.turns.requests import AttachRequest, Branch, TurnRequest
from turnstream.server.turns.terms import Disposition, End, FinishReason

_LOCAL_ID = "__LOCALID_"
_REMEDIES = {"client_tools": "send tools, by name"}


class CommandMessage(CamelFields):
    role: Annotated[Literal["user"], fields.Otherwise("invalid_body", "send the user's messages")]
    parts: Annotated[content.Content, content.PARTS]


class AddMessage(CamelFields):
    type: Literal["add-message"]
    message: CommandMessage
    source_id: fields.HeldMessageId | None = None


class AddToolResult(tool_fields.ToolResult, CamelFields):
    type: Literal["add-tool-result"]
    tool_name: Any = Field(None, description="Says nothing that the call's id does not say.")


class ToolApproval(tool_fields.DecisionOnCall, CamelFields):
    type: Literal["tool-approval"]


Command = Annotated[AddMessage | AddToolResult | ToolApproval, fields.OneOf("unsupported_command")]


class CommandsBody(graph_values.OfGraph):
    commands: Annotated[list[Command], fields.FirstFault()]
    state: dict[str, Any] | None = None
    tools: tool_fields.ToolsByName | None = None
    system: Any = Field(None, description="A text of the app for the model.")
    client_thread_id: Any = Field(None, alias="threadId")
    thread_id: Any = None


def parse(body: Mapping[str, Any], limits: BodyLimits) -> Parsed:
    """The view is the state that the client holds. A client that posts one, if only null, renders
    nothing but `update-state`."""
    asked = read(CommandsBody, body, limits)
    graph_values.refuse_native(body, fields.keys(CommandsBody), _REMEDIES)
    has_state = "state" in asked.model_fields_set
    view, ignored = (asked.state or {}) if has_state else None, _ignored(body, asked)
    if not asked.commands and asked.resume is None:
        return Parsed(AttachRequest(_thread_id(asked)), view, ignored)
    texts, passed_over = app_context.taken(app_context.of_text(asked.system), limits)
    turn = replace(_turn(asked, limits), app_context=texts)
    return Parsed(turn, view, [*ignored, *passed_over])


def _turn(asked: CommandsBody, limits: BodyLimits) -> TurnRequest:
    """Messages that queued up during a run are one message of the next. An edit cuts the thread:
    what stands before it, and every pending call, is gone."""
    start, branch = 0, None
    for place, one in enumerate(asked.commands):
        if isinstance(one, AddMessage) and one.source_id is not None:
            start, branch = place, Branch("edit", one.source_id)
    commands = asked.commands[start:]
    said = [one.message.parts for one in commands if isinstance(one, AddMessage)]
    return asked.request(
        thread_id=_thread_id(asked),
        message=content.one_message(said, limits) if said else None,
        answers=tuple(one.answer for one in commands if isinstance(one, AddToolResult)),
        approvals=tuple(one.answer for one in commands if isinstance(one, ToolApproval)),
        branch=branch,
        client_tools=tool_fields.named_tools(asked.tools),
    )


def _thread_id(asked: CommandsBody) -> str | None:
    ids = ((asked.state or {}).get("thread_id"), asked.client_thread_id, asked.thread_id)
    for value in ids:
        if value is not None and not (isinstance(value, str) and value.startswith(_LOCAL_ID)):
            return fields.thread_id(value)
    return None


def _ignored(body: Mapping[str, Any], asked: CommandsBody) -> list[str]:
    of_commands = {
        key
        for given, command in zip(body["commands"], asked.commands, strict=True)
        for key in without_effect(given, type(command), "commands.")
    }
    return [*without_effect(body, CommandsBody), *of_commands]


MODELS = (CommandsBody,)


def bodies(found: MutableMapping[str, Schema]) -> dict[str, Schema]:
    """By name: without commands a body asks for the thread's live run, or brings `resume`."""
    refused = body_schemas.refused(fields.keys(CommandsBody))
    whole = variant(found.pop(CommandsBody.__name__), (), **refused)
    commands = whole["properties"]["commands"]
    none: Schema = {"type": "array", "maxItems": 0}
    answers: Schema = {"not": NOTHING}
    # The names in a body that begins no run are not looked up.
    names = dict.fromkeys(("graph", "model"), nullable(TEXT))
    values = dict.fromkeys(("context", "configurable", "input"), nullable(OBJECT))
    return {
        "CommandsBody": variant(whole, (), commands={**commands, "minItems": 1}, resume=NOTHING),
        "CommandsResumeBody": variant(whole, ["resume"], commands=none, resume=answers),
        "AttachBody": variant(whole, (), commands=none, resume=NOTHING, **names, **values),
    }


_TEXT = record(type="text", text=TEXT)
_REASONING = record(type="reasoning", text=TEXT)
_IMAGE = record({"alt": TEXT}, type="image", image=TEXT)
_CALL = record(
    {"approval": meta.APPROVAL, "result": {}, "isError": {"type": "boolean"}},
    type="tool-call",
    toolCallId=TEXT,
    toolName=TEXT,
    argsText=TEXT,
    args=OBJECT,
    state=choice("pending", *get_args(End)),
    disposition=choice(*get_args(Disposition)),
)
_CALL["properties"] |= {
    "messages": {"type": "array", "items": {"$ref": "#/components/schemas/Substep"}},
    "messagesCut": {"type": "integer", "minimum": 1},
}
_FILE = record({"filename": TEXT}, type="file", data=TEXT, mimeType=TEXT)
_SOURCE = record({"title": TEXT}, type="source", sourceType="url", id=TEXT, url=TEXT)
_REASON = choice(*get_args(FinishReason))
_STEP = record(
    {**meta.SUMS, "model": TEXT, "agent": TEXT}, stepId=TEXT, finishReason=nullable(_REASON)
)


def components() -> dict[str, Schema]:
    """The schema of a message of a loaded thread, by name; see `stream.py`."""
    message = any_of(
        record(
            {**meta.OF_ANY_TURN, "createdAt": {**TEXT, "format": "date-time"}},
            id=TEXT,
            role="user",
            parts=list_of(any_of(_TEXT, _IMAGE)),
        ),
        record(
            {"finishReason": _REASON, **meta.SUMS, **meta.END},
            id=TEXT,
            role="assistant",
            parts=list_of(any_of(_TEXT, _REASONING, _CALL, _FILE, _SOURCE)),
            steps=list_of(_STEP),
        ),
    )
    substep = record(
        {"agent": TEXT, "namespace": list_of(TEXT), **meta.SUMS},
        id=TEXT,
        role="assistant",
        parts=list_of(any_of(_TEXT, _REASONING, _CALL, _FILE, _SOURCE)),
        finishReason=_REASON,
    )
    return {"Message.assistant-transport": message, "Substep": substep}

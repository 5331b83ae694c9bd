"""assistant-transport: the body that assistant-ui's `useAssistantTransportRuntime` (0.15.10) posts.

`commands` holds what the user did since the last run, in order; without any, the client asks for
the run that is live. `tool-approval` is a command of our own, since the runtime has no approvals.
The thread's id is the one that our own state gave the client, since its own (`__LOCALID_...`)
changes with every page load.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from turnstream.server.formats import content, fields, graph_values, tool_fields
from turnstream.server.formats.fields import BodyLimits, CamelFields, read, without_effect
from turnstream.server.formats.format import Parsed
from turnstream.server.turns.requests import AttachRequest, Branch, TurnRequest

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
    return Parsed(_turn(asked, limits), view, ignored)


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

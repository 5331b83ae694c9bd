"""assistant-transport: the body that assistant-ui's `useAssistantTransportRuntime` (0.15.10) posts.

`commands` holds what the user did since the last run, in order; without any, the client asks for
the run that is live. One of them is our own, since the runtime has no approvals:

    {"type": "tool-approval", "toolCallId", "approved", "reason"?, "args"?, "approvalId"?}

The thread's id is the one that our own state gave the client, since its own (`__LOCALID_...`)
changes with every page load. Ignored: `config`, `system`, `callSettings`, `parentId`, and what else
an app adds.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from turnstream.server.protocols.content import PARTS, joined, read_parts
from turnstream.server.protocols.fields import (
    BodyLimits,
    held_message_id,
    mapping,
    shown,
    string,
    thread_id,
)
from turnstream.server.protocols.format import Parsed
from turnstream.server.protocols.tool_fields import approval_answer, tool_answer, tools_from_object
from turnstream.server.turns.requests import (
    ApprovalAnswer,
    AttachRequest,
    Branch,
    InvalidRequest,
    ToolAnswer,
    TurnRequest,
    UserContent,
)

_LOCAL_ID = "__LOCALID_"


@dataclass(slots=True)
class _Turn:
    """What the commands read so far add up to."""

    messages: list[tuple[UserContent, ...]] = field(default_factory=list)
    answers: list[ToolAnswer] = field(default_factory=list)
    approvals: list[ApprovalAnswer] = field(default_factory=list)
    branch: Branch | None = None


def recognises(body: Mapping[str, Any]) -> bool:
    return isinstance(body.get("commands"), list)


def parse(body: Mapping[str, Any], limits: BodyLimits) -> Parsed:
    """The view is the state that the client holds."""
    commands: Sequence[Any] = body["commands"]
    turn = _Turn()
    for index, value in enumerate(commands):
        _run(turn, value, f"commands[{index}]", limits)
    state = _state(body)
    thread_id = _thread_id(body, state)
    client_tools = tools_from_object(body.get("tools"), limits)
    if not commands:
        return Parsed(AttachRequest(thread_id), state)
    request = TurnRequest(
        thread_id=thread_id,
        # Messages that queued up during a run are one message of the next.
        message=joined(turn.messages, "The messages together", limits) if turn.messages else None,
        answers=tuple(turn.answers),
        approvals=tuple(turn.approvals),
        branch=turn.branch,
        client_tools=client_tools,
    )
    return Parsed(request, state)


def _state(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """A client that posts a state, if only null, renders nothing but `update-state`."""
    if "state" not in body:
        return None
    return {} if body["state"] is None else mapping(body["state"], "state")


def _thread_id(body: Mapping[str, Any], state: Mapping[str, Any] | None) -> str | None:
    ids = ((state or {}).get("thread_id"), body.get("threadId"), body.get("thread_id"))
    for value in ids:
        if value is not None and not _is_local(value):
            return thread_id(value)
    return None


def _is_local(value: Any) -> bool:
    return isinstance(value, str) and value.startswith(_LOCAL_ID)


def _run(turn: _Turn, value: Any, where: str, limits: BodyLimits) -> None:
    command = mapping(value, where)
    kind = string(command.get("type"), f"{where}.type")
    if kind not in _COMMANDS:
        raise InvalidRequest(
            "unsupported_command",
            f"{where} is of the type {shown(kind)}: send {' or '.join(_COMMANDS)}.",
        )
    _COMMANDS[kind](turn, command, where, limits)


def _add_message(turn: _Turn, command: Mapping[str, Any], where: str, limits: BodyLimits) -> None:
    message = mapping(command.get("message"), f"{where}.message")
    if message.get("role") != "user":
        raise InvalidRequest(
            "invalid_body",
            f"{where}.message.role is {shown(message.get('role'))}: send the user's messages.",
        )
    if command.get("sourceId") is not None:
        # An edit cuts the thread: what came before in the queue, and every pending call, is gone.
        turn.branch = Branch("edit", held_message_id(command["sourceId"], f"{where}.sourceId"))
        turn.messages.clear()
        turn.answers.clear()
        turn.approvals.clear()
    turn.messages.append(read_parts(message.get("parts"), f"{where}.message.parts", PARTS, limits))


def _add_tool_result(
    turn: _Turn, command: Mapping[str, Any], where: str, limits: BodyLimits
) -> None:
    turn.answers.append(
        tool_answer(
            command.get("toolCallId"), command.get("result"), command.get("isError"), where, limits
        )
    )


def _tool_approval(turn: _Turn, command: Mapping[str, Any], where: str, limits: BodyLimits) -> None:
    turn.approvals.append(
        approval_answer(
            command.get("toolCallId"),
            command,
            where,
            limits,
            approval_id=command.get("approvalId"),
        )
    )


_COMMANDS: Mapping[str, Callable[[_Turn, Mapping[str, Any], str, BodyLimits], None]] = {
    "add-message": _add_message,
    "add-tool-result": _add_tool_result,
    "tool-approval": _tool_approval,
}

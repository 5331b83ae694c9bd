"""The native body: a JSON object with exactly one of

    message       string, or {"parts": [part], "id"?}; part = {"type": "text", "text"}
                  | {"type": "image", "image": an http(s) or data: URL}
    tool_results  [{"tool_call_id", "result", "is_error"?}]; may go with a message
    approvals     [{"tool_call_id", "approved", "reason"?, "args"?, "approval_id"?}]; may go with
                  tool_results
    continue      true
    regenerate    true (the last answer), or a message's id
    edit          {"message_id", "message"}
    resume        see `turnstream.server.protocols.graph_values`

and, if wanted, `thread_id`, `client_tools`, `on_busy`, and what every body may have (see
`turnstream.server.protocols.graph_values`). A null is as good as a missing key; an
unknown key is an error, since a mistyped one would otherwise be ignored.
"""

from collections.abc import Mapping
from typing import Any

from turnstream.server.protocols.content import PARTS, checked, read_parts
from turnstream.server.protocols.fields import (
    BodyLimits,
    held_message_id,
    mapping,
    message_id,
    only,
    sequence,
    shown,
    string,
    thread_id,
)
from turnstream.server.protocols.format import Parsed
from turnstream.server.protocols.graph_values import KEYS
from turnstream.server.protocols.tool_fields import approval_answer, tool_answer, tools_from_list
from turnstream.server.turns.requests import (
    ApprovalAnswer,
    Branch,
    InvalidRequest,
    OnBusy,
    TextContent,
    ToolAnswer,
    TurnRequest,
    UserMessage,
)

_ACTIONS = ("message", "tool_results", "approvals", "continue", "regenerate", "edit", "resume")
_TOGETHER = (["message", "tool_results"], ["tool_results", "approvals"])
_ON_BUSY: tuple[OnBusy, ...] = ("reject", "stop")
_KEYS = (*_ACTIONS, "thread_id", "client_tools", "on_busy", *(k for k in KEYS if k != "resume"))


def parse(body: Mapping[str, Any], limits: BodyLimits) -> Parsed:
    only(body, _KEYS, "The body")
    given = {key: body[key] for key in _KEYS if body.get(key) is not None}
    _check_actions(given)
    branch, message = _edit(given["edit"], limits) if "edit" in given else (None, None)
    if "message" in given:
        message = _message(given["message"], "message", limits)
    if "regenerate" in given:
        branch = _regenerate(given["regenerate"])
    request = TurnRequest(
        thread_id=thread_id(given["thread_id"]) if "thread_id" in given else None,
        message=message,
        answers=_answers(given.get("tool_results", []), limits),
        approvals=_approvals(given.get("approvals", []), limits),
        continue_="continue" in given and _continue(given["continue"]),
        branch=branch,
        client_tools=tools_from_list(given.get("client_tools"), limits),
        on_busy=on_busy(given["on_busy"]) if "on_busy" in given else "reject",
    )
    return Parsed(request)


def on_busy(value: Any) -> OnBusy:
    for known in _ON_BUSY:
        if value == known:
            return known
    raise InvalidRequest(
        "invalid_on_busy",
        f"on_busy is {shown(value)}: send {' or '.join(_ON_BUSY)}.",
    )


def _check_actions(given: Mapping[str, Any]) -> None:
    actions = [key for key in _ACTIONS if key in given]
    if not any(given[key] != [] for key in actions):
        raise InvalidRequest(
            "missing_action", f"The body asks for nothing: send one of {', '.join(_ACTIONS)}."
        )
    if len(actions) > 1 and actions not in _TOGETHER:
        raise InvalidRequest(
            "conflicting_actions",
            f"The body has {' and '.join(actions)}: send one of them (only tool_results go "
            "together with message or approvals).",
        )


def _message(value: Any, where: str, limits: BodyLimits) -> UserMessage:
    if isinstance(value, str):
        return UserMessage(checked([TextContent(string(value, where))], where, limits))
    if not isinstance(value, dict):
        raise InvalidRequest(
            "invalid_body", f'{where} is {shown(value)}: send a string or {{"parts": [...]}}.'
        )
    only(value, ("parts", "id"), where)
    own_id = value.get("id")
    return UserMessage(
        read_parts(value.get("parts"), f"{where}.parts", PARTS, limits),
        id=None if own_id is None else message_id(own_id, f"{where}.id"),
    )


def _answers(value: Any, limits: BodyLimits) -> tuple[ToolAnswer, ...]:
    return tuple(
        _answer(item, f"tool_results[{index}]", limits)
        for index, item in enumerate(sequence(value, "tool_results"))
    )


def _answer(value: Any, where: str, limits: BodyLimits) -> ToolAnswer:
    answer = mapping(value, where)
    only(answer, ("tool_call_id", "result", "is_error"), where)
    if "result" not in answer:
        raise InvalidRequest("invalid_body", f"{where} has no result: send one, null if need be.")
    return tool_answer(
        answer.get("tool_call_id"), answer["result"], answer.get("is_error"), where, limits
    )


def _approvals(value: Any, limits: BodyLimits) -> tuple[ApprovalAnswer, ...]:
    return tuple(
        _approval(item, f"approvals[{index}]", limits)
        for index, item in enumerate(sequence(value, "approvals"))
    )


def approval_body(
    tool_call_id: str, body: Any, *, approval_id: str, limits: BodyLimits
) -> ApprovalAnswer:
    """A decision on a call that is known: `{"approved", "reason"?, "args"?}`."""
    fields = mapping(body, "The body")
    only(fields, ("approved", "reason", "args"), "The body")
    return approval_answer(tool_call_id, fields, "The body", limits, approval_id=approval_id)


def _approval(value: Any, where: str, limits: BodyLimits) -> ApprovalAnswer:
    fields = mapping(value, where)
    only(fields, ("tool_call_id", "approved", "reason", "args", "approval_id"), where)
    return approval_answer(
        fields.get("tool_call_id"),
        fields,
        where,
        limits,
        approval_id=fields.get("approval_id"),
    )


def _continue(value: Any) -> bool:
    if value is not True:
        raise InvalidRequest("invalid_body", f"continue is {shown(value)}: send true.")
    return True


def _regenerate(value: Any) -> Branch:
    if value is True:
        return Branch("regenerate", None)
    if not isinstance(value, str):
        raise InvalidRequest(
            "invalid_body", f"regenerate is {shown(value)}: send true or a message's id."
        )
    return Branch("regenerate", held_message_id(value, "regenerate"))


def _edit(value: Any, limits: BodyLimits) -> tuple[Branch, UserMessage]:
    edit = mapping(value, "edit")
    only(edit, ("message_id", "message"), "edit")
    return (
        Branch("edit", held_message_id(edit.get("message_id"), "edit.message_id")),
        _message(edit.get("message"), "edit.message", limits),
    )

"""What a body says of tools: those that the client brings along, its answers to calls, and its
decisions on calls that wait for an approval.

A native body has a list of `{"name", "description"?, "parameters"}`; assistant-ui has an object,
name to `{"description"?, "parameters", "providerOptions"?}`. `parameters` is a JSON Schema.
"""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from turnstream.server.protocols.fields import (
    BodyLimits,
    flag,
    mapping,
    only,
    plain_json,
    sequence,
    shown,
    string,
)
from turnstream.server.turns.requests import ApprovalAnswer, ClientTool, InvalidRequest, ToolAnswer

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What the models' providers take: any other name fails the whole request."""


def tools_from_list(value: Any, limits: BodyLimits) -> tuple[ClientTool, ...]:
    if value is None:
        return ()
    tools = []
    for index, item in enumerate(sequence(value, "client_tools")):
        where = f"client_tools[{index}]"
        fields = mapping(item, where)
        only(fields, ("name", "description", "parameters"), where)
        tools.append(_tool(fields.get("name"), fields, where, limits))
    for name, times in Counter(tool.name for tool in tools).items():
        if times > 1:
            raise InvalidRequest(
                "invalid_tool", f"client_tools has the name {name!r} {times} times: give it once."
            )
    return tuple(tools)


def tools_from_object(value: Any, limits: BodyLimits) -> tuple[ClientTool, ...]:
    if value is None:
        return ()
    return tuple(
        _tool(name, mapping(fields, f"tools[{shown(name)}]"), f"tools[{shown(name)}]", limits)
        for name, fields in mapping(value, "tools").items()
    )


def _tool(name: Any, fields: Mapping[str, Any], where: str, limits: BodyLimits) -> ClientTool:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidRequest(
            "invalid_tool",
            f"{where} is named {shown(name)}: a tool's name has 1 to 64 of A-Z, a-z, 0-9, _ and -.",
        )
    description = fields.get("description")
    parameters = fields.get("parameters")
    if not isinstance(parameters, dict):
        raise InvalidRequest(
            "invalid_tool",
            f"{where} has the parameters {shown(parameters)}: send the JSON Schema of an object.",
        )
    return ClientTool(
        name,
        "" if description is None else _short(description, f"{where}.description", limits),
        plain_json(parameters, f"{where}.parameters", limits),
    )


def _short(text: Any, where: str, limits: BodyLimits) -> str:
    checked: str = plain_json(string(text, where), where, limits)
    return checked


def approval_answer(
    tool_call_id: Any,
    fields: Mapping[str, Any],
    where: str,
    limits: BodyLimits,
    *,
    approval_id: Any = None,
) -> ApprovalAnswer:
    """A decision: `fields` has `approved`, `reason`? and `args`?."""
    call_id = string(tool_call_id, f"the call's id in {where}")
    approved, reason, args = fields.get("approved"), fields.get("reason"), fields.get("args")
    if not isinstance(approved, bool):
        raise InvalidRequest(
            "invalid_approval", f"{where}.approved is {shown(approved)}: send true or false."
        )
    return ApprovalAnswer(
        call_id,
        approved,
        None if reason is None else _short(reason, f"{where}.reason", limits),
        None
        if args is None
        else plain_json(mapping(args, f"{where}.args"), f"{where}.args", limits),
        None if approval_id is None else string(approval_id, f"the approval's id in {where}"),
    )


def tool_answer(
    tool_call_id: Any, result: Any, is_error: Any, where: str, limits: BodyLimits
) -> ToolAnswer:
    call_id = string(tool_call_id, f"the call's id in {where}")
    if not call_id:
        raise InvalidRequest(
            "invalid_body", f"The call's id in {where} is {shown(call_id)}: name the call."
        )
    return ToolAnswer(
        call_id,
        plain_json(result, f"the result in {where}", limits),
        flag(is_error, f"the error flag in {where}"),
    )

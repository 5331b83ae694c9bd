"""The browser's answer to a tool call, as two kinds of bodies write it."""

from typing import Any

from server.protocols.fields import Limits, flag, plain_json, shown, string
from server.protocols.requests import InvalidRequest, ToolAnswer


def tool_answer(
    tool_call_id: Any, result: Any, is_error: Any, where: str, limits: Limits
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

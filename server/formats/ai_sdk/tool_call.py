"""A tool call in the AI SDK's stream: its payloads, made of what the thread knows of it."""

from collections.abc import Mapping
from typing import Any

from turnstream.server.turns.chunks import Approval
from turnstream.server.turns.messages import ToolCall

Payload = dict[str, Any]

FAILED = "The tool call failed."


def input_start(call: ToolCall) -> Payload:
    return {"type": "tool-input-start", **_name(call), **executed_by(call)}


def input_delta(call: ToolCall) -> Payload:
    """The whole of the arguments' text at once."""
    return {
        "type": "tool-input-delta",
        "toolCallId": call.tool_call_id,
        "inputTextDelta": call.args_text,
    }


def input_available(call: ToolCall) -> Payload:
    return {"type": "tool-input-available", **_name(call), "input": call.args, **executed_by(call)}


def approval_request(call_id: str, question: Approval) -> Payload:
    """No other keys: ai 6.0.0 refuses them."""
    return {"type": "tool-approval-request", "approvalId": question.id, "toolCallId": call_id}


def output(call: ToolCall) -> Payload:
    """The end of a call. One whose arguments are no JSON object has had no input so far."""
    if call.args is None:
        error = {"input": call.args_text, "errorText": call_error_text(call.result)}
        return {"type": "tool-input-error", **_name(call), **error, **executed_by(call)}
    known = {"toolCallId": call.tool_call_id}
    if call.end == "declined":
        return {"type": "tool-output-denied", **known}
    if call.is_error:
        text = call_error_text(call.result)
        return {"type": "tool-output-error", **known, "errorText": text, **executed_by(call)}
    return {"type": "tool-output-available", **known, "output": call.result, **executed_by(call)}


def executed_by(call: ToolCall) -> Payload:
    """`providerExecuted`: the client has nothing to do, since the server ran the call or turned it
    down.

    Without it `useChat` calls the app's `onToolCall`, and with
    `lastAssistantMessageIsCompleteWithToolCalls` it posts again, endlessly, whenever a turn ends
    with the result of such a call.
    """
    return {} if call.disposition == "client" and not call.is_error else {"providerExecuted": True}


def error_text(error: Mapping[str, Any]) -> str:
    """The sentence of `{"message", "id"?}`, and the id under which the log has the cause."""
    return f"{error['message']} ({error['id']})" if error.get("id") else str(error["message"])


def call_error_text(result: Any) -> str:
    """The sentence of a failed call's result; what the browser says of its own has any shape."""
    match result:
        case {"error": {"message": str()} as error}:
            return error_text(error)
        case str():
            return result
    return FAILED


def _name(call: ToolCall) -> Payload:
    return {"toolCallId": call.tool_call_id, "toolName": call.tool_name}

"""The JSON Schema of the native body."""

from turnstream.server.protocols.body_schemas import (
    CALL_ID,
    IMAGE_PART,
    MAX_CLIENT_TOOLS,
    MESSAGE_ID,
    NEW_MESSAGE_ID,
    NOT_BLANK,
    NOTHING,
    THREAD_ID,
    TOOL_NAME,
    Schema,
    Served,
    choice,
    closed_object,
    content,
    decision,
    described_tool,
    every_body,
    nullable,
    ref,
    text_part,
)
from turnstream.server.protocols.fields import BodyLimits

ACTIONS = ("message", "tool_results", "approvals", "continue", "regenerate", "edit", "resume")


def body(served: Served) -> dict[str, Schema]:
    """By name: one schema for each thing that a body can ask for."""
    answers, decisions = _list(ref("ToolResult")), _list(ref("Decision"))
    some = {"minItems": 1}
    return {
        "MessageBody": _asks(served, message=ref("UserMessage"), tool_results=nullable(answers)),
        "ToolResultsBody": _asks(
            served, tool_results={**answers, **some}, approvals=nullable(decisions)
        ),
        "ApprovalsBody": _asks(
            served, approvals={**decisions, **some}, tool_results=nullable(answers)
        ),
        "ContinueBody": _asks(served, **{"continue": choice(True)}),
        "RegenerateBody": _asks(served, regenerate={"anyOf": [choice(True), MESSAGE_ID]}),
        "EditBody": _asks(
            served,
            edit=closed_object(
                ["message_id", "message"],
                message_id=MESSAGE_ID,
                message=ref("UserMessage"),
            ),
        ),
        "ResumeBody": _asks(served, resume={"not": choice(None, [])}),
    }


def parts(limits: BodyLimits) -> dict[str, Schema]:
    """What these bodies are made of, by name."""
    text = {
        "type": "string",
        "maxLength": limits.max_message_chars,
        "pattern": NOT_BLANK,
    }
    whole = closed_object(
        ["parts"],
        parts=content([text_part(limits), IMAGE_PART], ("image",), limits),
        id=nullable(NEW_MESSAGE_ID),
    )
    return {
        "UserMessage": {"anyOf": [text, whole]},
        "ToolResult": closed_object(
            ["tool_call_id", "result"],
            tool_call_id=CALL_ID,
            result={},
            is_error={"type": ["boolean", "null"]},
        ),
        "Decision": closed_object(
            ["tool_call_id", "approved"],
            tool_call_id={"type": "string"},
            approval_id={"type": ["string", "null"]},
            **decision(limits),
        ),
    }


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _asks(served: Served, **actions: Schema) -> Schema:
    """A body that asks for the first of these actions; the second may go with it."""
    others = {name: NOTHING for name in ACTIONS if name not in actions}
    return closed_object(
        [next(iter(actions))],
        **actions,
        **others,
        thread_id=nullable(THREAD_ID),
        client_tools=nullable(
            {
                **_list(
                    closed_object(
                        ["name", "parameters"],
                        name=TOOL_NAME,
                        **described_tool(served.limits),
                    )
                ),
                "maxItems": MAX_CLIENT_TOOLS,
            }
        ),
        on_busy=nullable(choice("reject", "stop")),
        **every_body(served),
    )

"""AG-UI: what a run has stopped to ask, as `Interrupt`s.

    {"id", "reason": "tool_call", "message", "toolCallId", "responseSchema", "metadata"}
    {"id", "reason": "input_required" | "confirmation", "message"?, "responseSchema"?, "metadata"}

The first is a call that waits for an approval. Its id names the call and the question:
`approval:{call id}:{approval id}`, both percent-encoded. assistant-ui shows it as an approval only
if the schema requires nothing but `approved`. The second is an interrupt of the graph, under its
own id; a breakpoint is a `confirmation`.
"""

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote, unquote

from turnstream.server.formats.metadata import interrupt_json
from turnstream.server.turns.chunks import Interrupt
from turnstream.server.turns.messages import AssistantTurn, ToolCall, Turn

_APPROVAL = "approval"
_DECISION = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean"},
        "reason": {"type": "string"},
        "editedArgs": {"type": "object"},
    },
    "required": ["approved"],
}


def open_interrupts(turns: Sequence[Turn], asked: Sequence[Interrupt]) -> list[dict[str, Any]]:
    """What the thread waits for; `asked` are the graph's interrupts that are open."""
    waiting = {call.tool_call_id: call for call in _waiting(turns)}
    # Of an interrupt that asks to approve calls each call is a question of its own.
    others = [
        one for one in asked if not one.tool_call_ids or waiting.keys().isdisjoint(one.approvals)
    ]
    return [*map(_approval, waiting.values()), *map(_interrupt, others)]


def _waiting(turns: Sequence[Turn]) -> Iterator[ToolCall]:
    last = turns[-1] if turns else None
    for part in last.parts if isinstance(last, AssistantTurn) else ():
        if isinstance(part, ToolCall) and part.awaits_approval:
            yield part


def _approval(call: ToolCall) -> dict[str, Any]:
    assert call.approval is not None
    ids = (_APPROVAL, call.tool_call_id, call.approval.id)
    again = {"mayHaveRun": True} if call.approval.may_have_run else {}
    return {
        "id": ":".join(quote(id, safe="") for id in ids),
        "reason": "tool_call",
        "message": f"Run {call.tool_name}?",
        "toolCallId": call.tool_call_id,
        "responseSchema": _DECISION,
        "metadata": {"toolName": call.tool_name, **again},
    }


def _interrupt(interrupt: Interrupt) -> dict[str, Any]:
    if interrupt.is_breakpoint:
        reason, message = "confirmation", f"Go on with {interrupt.node}?"
    else:
        reason, message = "input_required", interrupt.value
    schema = interrupt.response_schema
    return {
        "id": interrupt.id,
        "reason": reason,
        **({"message": message} if isinstance(message, str) else {}),
        **({"responseSchema": schema} if isinstance(schema, dict) else {}),
        "metadata": interrupt_json(interrupt),
    }


def approval_of(interrupt_id: str) -> tuple[str, str] | None:
    """The call and the question that an id names; None if the interrupt is the graph's."""
    match interrupt_id.split(":"):
        case [kind, call_id, approval_id] if kind == _APPROVAL:
            return unquote(call_id), unquote(approval_id)
    return None

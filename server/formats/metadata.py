"""Tokens, times, places and ends of a turn, and how every format writes them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from turnstream.server.turns import chunks
from turnstream.server.turns.chunks import Approval, Usage
from turnstream.server.turns.messages import AssistantTurn, Step, Turn
from turnstream.server.turns.versions import Versions

Json = dict[str, Any]
Measured = Step | chunks.StepFinish | chunks.MessageFinish
"""Steps and runs have tokens and times."""


def given(**optional: Any) -> Json:
    """Leave out what is None."""
    return {key: value for key, value in optional.items() if value is not None}


def counts_json(usage: Usage) -> dict[str, int]:
    """`{"inputTokens", "outputTokens", "cachedInputTokens"?, "reasoningTokens"?}`."""
    cached, reasoning = usage.cached_tokens or None, usage.reasoning_tokens or None
    counted = {"inputTokens": usage.input_tokens, "outputTokens": usage.output_tokens}
    return {**counted, **given(cachedInputTokens=cached, reasoningTokens=reasoning)}


def usage_json(*measured: Measured) -> Json:
    """`{"usage": counts}`, the sum; or nothing if nothing was counted."""
    counted = [one.usage for one in measured if one.usage is not None]
    return {"usage": counts_json(sum(counted, start=Usage(0, 0)))} if counted else {}


def timing_json(*measured: Measured) -> Json:
    """`{"timing": {"firstTokenMs", "modelMs", "toolMs": {call id: ms}}}`, the sums, and the first
    of the first tokens; or nothing."""
    times = [one.timing for one in measured if one.timing]
    if not times:
        return {}
    tool_ms = {id: ms for one in measured for id, ms in one.tool_ms.items()}
    model = {"firstTokenMs": times[0].first_token_ms, "modelMs": sum(t.model_ms for t in times)}
    return {"timing": {**model, "toolMs": tool_ms}}


def ended_json(ended: chunks.RunEnded) -> Json:
    """`{"reason", "limit"?, "value"?}`."""
    return given(reason=ended.reason, limit=ended.limit, value=ended.value)


def approval_json(approval: Approval) -> Json:
    """`{"id", "mayHaveRun"?, "approved"?, "by"?, "reason"?, "args"?}`: without `approved` nobody
    has decided."""
    return given(
        id=approval.id,
        mayHaveRun=approval.may_have_run or None,
        approved=approval.approved,
        by=approval.by,
        reason=approval.reason,
        args=approval.args,
    )


def _about(tool_call_id: str, approval: Approval) -> Json:
    return {"tool_call_id": tool_call_id, "approval": approval_json(approval)}


def versions_json(versions: Versions | None) -> Json:
    """`{"version", "versions": [id]}`: the one that is shown, and all in the order in which they
    were made; or nothing."""
    return {"version": versions.shown, "versions": list(versions.ids)} if versions else {}


def removed_json(turn: Turn) -> Json:
    """`{"removed": true}` if the graph's model does not get the turn any more; or nothing."""
    return {"removed": True} if turn.removed else {}


def place_json(node: str | None, namespace: Sequence[str]) -> Json:
    """`{"node"?, "namespace"?}`: where in the graph something is said."""
    return given(node=node, namespace=list(namespace) or None)


def interrupt_json(interrupt: chunks.Interrupt) -> Json:
    """`{"id", "value"?, "node", "namespace"?, "response_schema"?, "approvals"?,
    "tool_call_id"?}`; a breakpoint has no value. `approvals`: `[{"tool_call_id", "approval"}]`, the
    calls that it asks to approve; `tool_call_id`: the call that it asks the client to run."""
    asked = [_about(id, question) for id, question in interrupt.approvals.items()]
    return {
        "id": interrupt.id,
        **({} if interrupt.is_breakpoint else {"value": interrupt.value}),
        **place_json(interrupt.node, interrupt.namespace),
        **given(
            response_schema=interrupt.response_schema,
            approvals=asked or None,
            tool_call_id=interrupt.client_call,
        ),
    }


def _members(*names: str) -> Callable[[chunks.Chunk], Json]:
    return lambda chunk: {name: getattr(chunk, name) for name in names}


_DATA: Mapping[type[chunks.Chunk], tuple[str, Callable[[Any], Json]]] = {
    chunks.RunEnded: ("run-ended", ended_json),
    chunks.ToolSettled: (
        "tool-settled",
        _members("tool_call_id", "end", "result", "result_id", "duration_ms"),
    ),
    chunks.ToolApproval: (
        "tool-approval",
        lambda chunk: _about(chunk.tool_call_id, chunk.approval),
    ),
    chunks.ToolProgress: ("tool-progress", _members("tool_call_id", "data")),
    chunks.Custom: (
        "custom",
        lambda chunk: {"value": chunk.value, **place_json(chunk.node, chunk.namespace)},
    ),
    chunks.GraphState: (
        "state",
        lambda chunk: given(values=chunk.values, whole=chunk.is_whole or None),
    ),
    chunks.StepWithdrawn: ("step-withdrawn", _members("step_id", "parts")),
    chunks.MessagesRemoved: ("messages-removed", _members("ids")),
    chunks.HistoryShortened: ("history-shortened", _members("ids")),
    chunks.Interrupt: ("interrupt", interrupt_json),
    chunks.InterruptsDiscarded: ("interrupts-discarded", _members("ids")),
}


def named_data(chunk: chunks.Chunk) -> tuple[str, Json]:
    """Return the name and the data of a chunk that is no part of a message."""
    name, data = _DATA[type(chunk)]
    return name, data(chunk)


def turn_json(turn: AssistantTurn) -> dict[str, Any]:
    """`{"usage"?, "ended"?, "error"?, "timing"?, "version"?, "versions"?, "removed"?}`: the sums
    over a turn's steps, and how it ended."""
    return {
        **usage_json(*turn.steps),
        **given(ended=turn.ended and ended_json(turn.ended), error=turn.error),
        **timing_json(*turn.steps),
        **versions_json(turn.versions),
        **removed_json(turn),
    }

"""Tokens, times, places and ends of a turn, and how every format writes them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from turnstream.server.turns.chunks import (
    Approval,
    Custom,
    GraphState,
    Interrupt,
    RunEnded,
    Timing,
    ToolApproval,
    ToolSettled,
    Usage,
)
from turnstream.server.turns.messages import AssistantTurn, Step
from turnstream.server.turns.versions import Versions


def total(turn: AssistantTurn | None) -> Usage | None:
    """The sum over the turn's steps, which may lie in several runs; None if nothing was counted."""
    return _sum(step.usage for step in turn.steps) if turn is not None else None


def usage_json(usage: Usage) -> dict[str, int]:
    """`{"inputTokens", "outputTokens", "cachedInputTokens"?, "reasoningTokens"?}`."""
    shares = {
        "cachedInputTokens": usage.cached_tokens,
        "reasoningTokens": usage.reasoning_tokens,
    }
    return {
        "inputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
        **{name: count for name, count in shares.items() if count},
    }


def _sum(usages: Iterable[Usage | None]) -> Usage | None:
    counted = [usage for usage in usages if usage is not None]
    return sum(counted, start=Usage(0, 0)) if counted else None


def timing_json(timing: Timing | None, tool_ms: Mapping[str, int]) -> dict[str, Any]:
    """`{"timing": {"firstTokenMs", "modelMs", "toolMs": {call id: ms}}}`, or nothing."""
    if timing is None:
        return {}
    return {
        "timing": {
            "firstTokenMs": timing.first_token_ms,
            "modelMs": timing.model_ms,
            "toolMs": dict(tool_ms),
        }
    }


def total_timing(steps: Sequence[Step]) -> tuple[Timing | None, dict[str, int]]:
    """The sum over steps, whose first token is the first step's, and their tools' times."""
    times = [step.timing for step in steps if step.timing]
    tool_ms = {id: ms for step in steps for id, ms in step.tool_ms.items()}
    if not times:
        return None, tool_ms
    return Timing(times[0].first_token_ms, sum(t.model_ms for t in times)), tool_ms


def added_timing(
    earlier: tuple[Timing | None, Mapping[str, int]],
    timing: Timing | None,
    tool_ms: Mapping[str, int],
) -> tuple[Timing | None, Mapping[str, int]]:
    """The times of a turn that earlier runs began: theirs, and those of its last run."""
    before, tools_before = earlier
    both = {**tools_before, **tool_ms}
    if before is None or timing is None:
        return before or timing, both
    return Timing(before.first_token_ms, before.model_ms + timing.model_ms), both


def ended_json(ended: RunEnded) -> dict[str, Any]:
    """`{"reason", "limit"?, "value"?}`."""
    limit = {} if ended.limit is None else {"limit": ended.limit}
    value = {} if ended.value is None else {"value": ended.value}
    return {"reason": ended.reason, **limit, **value}


def settled_json(settled: ToolSettled) -> dict[str, Any]:
    """`{"tool_call_id", "end", "result", "result_id", "duration_ms"}`."""
    return {
        "tool_call_id": settled.tool_call_id,
        "end": settled.end,
        "result": settled.result,
        "result_id": settled.result_id,
        "duration_ms": settled.duration_ms,
    }


def approval_json(approval: Approval) -> dict[str, Any]:
    """`{"id", "mayHaveRun"?, "approved"?, "by"?, "reason"?, "args"?}`: without `approved` nobody
    has decided."""
    optional = {
        "mayHaveRun": approval.may_have_run or None,
        "approved": approval.approved,
        "by": approval.by,
        "reason": approval.reason,
        "args": approval.args,
    }
    given = {key: value for key, value in optional.items() if value is not None}
    return {"id": approval.id, **given}


def tool_approval_json(chunk: ToolApproval) -> dict[str, Any]:
    """`{"tool_call_id", "approval"}`."""
    return _about(chunk.tool_call_id, chunk.approval)


def _about(tool_call_id: str, approval: Approval) -> dict[str, Any]:
    return {"tool_call_id": tool_call_id, "approval": approval_json(approval)}


def versions_json(versions: Versions | None) -> dict[str, Any]:
    """`{"version", "versions": [id]}`: the one that is shown, and all in the order in which they
    were made; or nothing."""
    if versions is None:
        return {}
    return {"version": versions.shown, "versions": list(versions.ids)}


def place_json(node: str | None, namespace: Sequence[str]) -> dict[str, Any]:
    """`{"node"?, "namespace"?}`: where in the graph something is said."""
    return {
        **({} if node is None else {"node": node}),
        **({"namespace": list(namespace)} if namespace else {}),
    }


def custom_json(custom: Custom) -> dict[str, Any]:
    """`{"value", "node"?, "namespace"?}`."""
    return {"value": custom.value, **place_json(custom.node, custom.namespace)}


def graph_state_json(chunk: GraphState) -> dict[str, Any]:
    """`{"values": {name: value}, "whole"?: true}`."""
    return {"values": chunk.values, **({"whole": True} if chunk.is_whole else {})}


def interrupt_json(interrupt: Interrupt) -> dict[str, Any]:
    """`{"id", "value"?, "node", "namespace"?, "response_schema"?, "approvals"?}`; a breakpoint has
    no value. `approvals`: `[{"tool_call_id", "approval"}]`, the calls that it asks to approve."""
    value = {} if interrupt.is_breakpoint else {"value": interrupt.value}
    schema = interrupt.response_schema
    asked = [_about(id, question) for id, question in interrupt.approvals.items()]
    return {
        "id": interrupt.id,
        **value,
        **place_json(interrupt.node, interrupt.namespace),
        **({} if schema is None else {"response_schema": schema}),
        **({"approvals": asked} if asked else {}),
    }

"""Interrupts in which LangChain's `HumanInTheLoopMiddleware` (1.4.7) asks whether calls may run.

Its two modes ask, and are answered, in two forms:

    batched   {"action_requests": [{"name", "args"}], "review_configs": [{"action_name",
              "allowed_decisions"}]}; {"decisions": [decision]}, one for each action, in order
    per_call  {"type": "tool_approval", "tool_call_id", "name", "args"}, with a schema of the
              answer; decision

    decision = {"type": "approve"} | {"type": "reject", "message"?}
             | {"type": "edit", "edited_action": {"name", "args"}}

The calls that such an interrupt is about wait for an approval, like those of the built-in graph.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, ToolCall, ToolMessage

from turnstream.server.turns.chunks import Interrupt
from turnstream.server.turns.requests import ApprovalAnswer, InvalidRequest
from turnstream.tools.schemas import misfit


def reviewed_calls(value: Any, schema: Any, messages: Sequence[AnyMessage]) -> tuple[str, ...]:
    """The ids of the calls that an interrupt asks to approve, in its order; none if it asks for
    something else. They are open calls of the thread's last step. `schema`: of the answer."""
    match value:
        case {"type": "tool_approval", "tool_call_id": str(id)} if _takes_approval(schema):
            return (id,) if any(call["id"] == id for call in open_calls(messages)) else ()
        case {"action_requests": [_, *_] as actions}:
            if all("approve" in _allowed(value, action) for action in actions):
                return _matched(actions, open_calls(messages))
    return ()


def open_calls(messages: Sequence[AnyMessage]) -> list[ToolCall]:
    """The calls of the last step that have no answer, in order."""
    answered = {m.tool_call_id for m in messages if isinstance(m, ToolMessage)}
    last = next((m for m in reversed(messages) if isinstance(m, AIMessage)), None)
    return [call for call in last.tool_calls if call["id"] not in answered] if last else []


def _takes_approval(schema: Any) -> bool:
    """Check that `approve` is among the decisions that the schema of an answer lists."""
    match schema:
        case {"discriminator": {"mapping": {**decisions}}}:
            return "approve" in decisions
        case {"properties": {"type": {"const": decision}}}:
            return bool(decision == "approve")
    return True


def _allowed(value: Mapping[str, Any], action: Any) -> Collection[str]:
    configs = value.get("review_configs")
    for config in configs if isinstance(configs, list) else ():
        match config, action:
            case {"action_name": about, "allowed_decisions": [*decisions]}, {"name": name}:
                if about == name:
                    return decisions
    return ()


def _matched(actions: Sequence[Any], calls: Sequence[ToolCall]) -> tuple[str, ...]:
    """The calls that the actions were made of: the actions are in the order of the calls."""
    left, ids = iter(calls), list[str]()
    for action in actions:
        ids.append(next((call["id"] or "" for call in left if _is_of(action, call)), ""))
    return tuple(ids) if all(ids) else ()


def _is_of(action: Mapping[str, Any], call: ToolCall) -> bool:
    return bool(action["name"] == call["name"] and action.get("args") == call["args"])


def review_answer(interrupt: Interrupt, given: Mapping[str, ApprovalAnswer]) -> Any:
    """The answer to an interrupt: the decisions on its calls, given by call id.

    Raises InvalidRequest `invalid_approval` if one is missing, or not allowed.
    """
    for id in interrupt.tool_call_ids:
        if id not in given:
            raise InvalidRequest(
                "invalid_approval",
                f"The graph asks about {len(interrupt.tool_call_ids)} calls together: decide on "
                f"{id!r} in the same request.",
            )
    decided = [given[id] for id in interrupt.tool_call_ids]
    value, schema = interrupt.value, interrupt.response_schema
    if "action_requests" not in value:
        decision = _decision(decided[0], value)
        _check(decided[0], misfit(schema, decision) if isinstance(schema, dict) else None)
        return decision
    decisions = []
    for item, action in zip(decided, value["action_requests"], strict=True):
        decision, allowed = _decision(item, action), _allowed(value, action)
        fits = decision["type"] in allowed
        _check(item, None if fits else f"The decisions are {', '.join(map(repr, allowed))}.")
        decisions.append(decision)
    return {"decisions": decisions}


def _decision(item: ApprovalAnswer, action: Mapping[str, Any]) -> dict[str, Any]:
    if not item.approved:
        return {"type": "reject", **({"message": item.reason} if item.reason else {})}
    if item.args is None or item.args == action["args"]:
        return {"type": "approve"}
    return {"type": "edit", "edited_action": {"name": action["name"], "args": dict(item.args)}}


def _check(item: ApprovalAnswer, problem: str | None) -> None:
    if problem:
        sentence = f"The decision on {item.tool_call_id!r} does not fit. {problem}"
        raise InvalidRequest("invalid_approval", sentence)

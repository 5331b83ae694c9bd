"""The state that assistant-ui's `useAssistantTransportRuntime` renders: LangChain messages.

    {"thread_id", "messages": [message], "approvals"?: {call id: approval},
     "state"?: {name: value}}

    message = {"type": "human", "id", "content"}
            | {"type": "ai", "id", "content", "tool_calls": [call]}
            | {"type": "tool", "id", "tool_call_id", "name", "content": string,
               "status": "success" | "error"}
    call    = {"type": "tool_call", "id", "name", "args", "partial_json"}

That runtime ignores part chunks and shows what `update-state` operations make of its state. An ai
message is one step, its tool messages follow in the order of its calls; a step without parts has
none. `content` is a string while the message has one text at most, else a list of blocks, one a
part. `partial_json` is the arguments' text and stays when they are complete: the runtime throws
when the text of a call does not go on as it began.

`approvals` are of the calls that need one, see `turnstream.server.formats.metadata`. A call that
has its tool message waits no more. Without any such call the object is missing, or empty. `state`
has the values of the graph's own state that clients see; it is missing if they never see any.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from turnstream.server.formats.langchain_messages import ai_content, human_message, tool_message
from turnstream.server.formats.metadata import approval_json
from turnstream.server.turns.messages import AssistantTurn, Step, ToolCall, Turn, UserTurn

Json = dict[str, Any]


def snapshot(
    turns: Sequence[Turn], thread_id: str, graph_state: Mapping[str, Any] | None = None
) -> Json:
    messages: list[Json] = []
    asked = approvals(turns)
    for turn in turns:
        match turn:
            case UserTurn():
                messages.append(human_message(turn))
            case AssistantTurn():
                for step in turn.steps:
                    messages.extend(_step_messages(step))
    return {
        "thread_id": thread_id,
        "messages": messages,
        **({"approvals": asked} if asked else {}),
        **({} if graph_state is None else {"state": graph_state}),
    }


def approvals(turns: Sequence[Turn]) -> Json:
    return {
        part.tool_call_id: approval_json(part.approval)
        for turn in turns
        if isinstance(turn, AssistantTurn)
        for part in turn.parts
        if isinstance(part, ToolCall) and part.approval is not None
    }


def _step_messages(step: Step) -> list[Json]:
    if not step.parts:
        return []
    calls = [part for part in step.parts if isinstance(part, ToolCall)]
    results = [tool_message(call) for call in calls if call.end is not None]
    return [
        ai_message(step.step_id, ai_content(step.parts), [call_json(c) for c in calls]),
        *results,
    ]


def ai_message(step_id: str, content: str | list[Json], calls: list[Json]) -> Json:
    return {"type": "ai", "id": step_id, "content": content, "tool_calls": calls}


def call_json(call: ToolCall) -> Json:
    return {
        "type": "tool_call",
        "id": call.tool_call_id,
        "name": call.tool_name,
        "args": {} if call.args is None else call.args,
        "partial_json": call.args_text,
    }

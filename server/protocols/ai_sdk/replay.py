"""AI SDK: what goes ahead of a run's first event, for a reader that begins with its message."""

from collections.abc import Iterator

from turnstream.server.protocols.ai_sdk.stream import Payload, part_id
from turnstream.server.protocols.ai_sdk.tool_call import (
    approval_request,
    executed_by,
    input_available,
    input_delta,
    input_start,
    output,
)
from turnstream.server.protocols.format import StreamContext
from turnstream.server.protocols.json_text import dumps
from turnstream.server.turns.messages import AssistantTurn, Reasoning, Text, ToolCall


def prologue(context: StreamContext, *, replay: bool) -> list[str]:
    """The message's `start`, and for a replay the parts of earlier runs."""
    earlier = context.continued if replay else None
    start = {"type": "start", "messageId": context.message_id}
    return [dumps(payload) for payload in (start, *(_replay(earlier) if earlier else ()))]


def _replay(turn: AssistantTurn) -> Iterator[Payload]:
    """The parts of a message that earlier runs said, each in one piece."""
    position = 0
    for step in turn.steps:
        yield {"type": "start-step"}
        for part in step.parts:
            match part:
                case Text(text):
                    yield from _whole("text", part_id(turn.id, position), text)
                case Reasoning(text):
                    yield from _whole("reasoning", part_id(turn.id, position), text)
                case ToolCall():
                    yield from _whole_call(part)
            position += 1
        yield {"type": "finish-step"}


def _whole(kind: str, part_id: str, text: str) -> Iterator[Payload]:
    yield {"type": f"{kind}-start", "id": part_id}
    yield {"type": f"{kind}-delta", "id": part_id, "delta": text}
    yield {"type": f"{kind}-end", "id": part_id}


def _whole_call(call: ToolCall) -> Iterator[Payload]:
    """An answered question comes without `tool-input-available`, at which the client would call the
    app's `onToolCall`: the app has answered it. No chunk says that a call was approved: it is shown
    as one that runs. A declined one gets its `approval` by the request."""
    if call.args is not None and call.end is not None and not executed_by(call):
        yield input_start(call)
        yield input_delta(call)
    elif call.args is not None:
        yield input_available(call)
    elif call.end is None:
        yield input_start(call)
    if call.approval is not None and (call.awaits_approval or call.end == "declined"):
        yield approval_request(call.tool_call_id, call.approval)
    if call.end is not None:
        yield output(call)

"""assistant-transport: chunks to payloads, and a history to the messages that streams build of it.

The canonical part chunks of assistant-stream (0.3.44): one payload a chunk, and all a reader of
parts needs. Extra keys are allowed in this format: a step has its `stepId`, `node` and `namespace`,
a part its `stepId` if that is not the step that started last, a tool call its `disposition`, a
result its `end`, an `error` the `id` of its log entry. A chunk of a subagent is the data `substep`:
`{"tool_call_id", "chunk"}`, where the chunk is one of these payloads.

`body.py` has the schema of a loaded thread's messages. `parts` are those of assistant-stream's
message, over all runs of the turn. `state` says how a call stands: `pending`, or its end, and then
there are `result` and `isError`. `approval` is of a call that needs one, see
`turnstream.server.formats.metadata`. `args` is `{}` when `argsText` is no JSON object.
`finishReason` is missing while the turn runs, and when a crash cut it. `usage` and `timing` are the
sums over the steps. A call has the steps of its subagents as `messages`, with the `agent` that
speaks and its `namespace`; `messagesCut` is the number of earlier ones that are not kept. `ended`
and `error` are of turns that ended so. `versions` are of a message that has several: their ids, and
`version` is the one that is shown. Nothing is null but what a tool said.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from turnstream.server.formats import metadata
from turnstream.server.formats.json_text import DONE, dumps, quote
from turnstream.server.turns import chunks, messages
from turnstream.server.turns.chunks import Chunk
from turnstream.server.turns.messages import AssistantTurn, Text, ToolCall, UserTurn
from turnstream.server.turns.requests import TextContent, UserContent

Payload = dict[str, Any]


_SUBSTEP = '{"type":"data","data":[{"name":"substep","data":{"tool_call_id":%s,"chunk":'
_SUBSTEP_END = '}}],"path":[]}'


class PartsEncoder:
    def __init__(self) -> None:
        self._newest: str | None = None
        """The id of the step that started last: a chunk of it needs no `stepId`."""
        self._under: dict[str, tuple[str, PartsEncoder]] = {}
        """The beginning of each payload under a call, and the encoder of its chunk, by call id."""

    def encode(self, chunk: Chunk) -> list[str]:
        match chunk:
            case chunks.TextDelta(_, (part,), text):
                # By hand, not with `dumps`: most chunks are of this kind.
                return [f'{{"type":"text-delta","textDelta":{quote(text)},"path":[{part}]}}']
            case chunks.Substep(call_id, inner):
                if call_id not in self._under:
                    self._under[call_id] = _SUBSTEP % quote(call_id), PartsEncoder()
                before, encoder = self._under[call_id]
                return [f"{before}{told}{_SUBSTEP_END}" for told in encoder.encode(inner)]
            case chunks.Done():
                return [DONE]
            case chunks.TaskStart() | chunks.TaskFinish() | chunks.Aside():
                return []
            case chunks.PartMade(step_id, path, part):
                start = {"type": "part-start", "part": _made(part), **self._step(step_id)}
                end = {"type": "part-finish", "path": path}
                return [dumps({**start, "path": []}), dumps(end)]
            case chunks.ArgsFinish() | chunks.Result() | chunks.PartFinish():
                return [dumps({**self._payload(chunk), "path": chunk.path})]
        return [dumps({**self._payload(chunk), "path": []})]

    def _payload(self, chunk: Chunk) -> Payload:
        """The payload but for its path."""
        match chunk:
            case chunks.StepStart(message_id, step_id):
                self._newest = step_id
                place = metadata.place_json(chunk.node, chunk.namespace)
                place |= metadata.given(agent=chunk.agent)
                return {"type": "step-start", "messageId": message_id, "stepId": step_id, **place}
            case chunks.PartStart():
                step = self._step(chunk.step_id)
                return {"type": "part-start", "part": _part(chunk.part), **step}
            case chunks.ArgsFinish():
                return {"type": "tool-call-args-text-finish", "disposition": chunk.disposition}
            case chunks.Result():
                ended = {"isError": chunk.is_error, "end": chunk.end}
                return {"type": "result", "result": chunk.result, **ended}
            case chunks.PartFinish():
                return {"type": "part-finish"}
            case chunks.StepFinish():
                step = self._step(chunk.step_id)
                step |= metadata.given(model=chunk.model, agent=chunk.agent)
                return {"type": "step-finish", **_finish(chunk), "isContinued": False, **step}
            case chunks.Error(code, message, id):
                return {"type": "error", "error": message, "code": code, **metadata.given(id=id)}
            case chunks.MessageFinish():
                return {"type": "message-finish", **_finish(chunk)}
        name, data = metadata.named_data(chunk)
        return {"type": "data", "data": [{"name": name, "data": data}]}

    def _step(self, step_id: str) -> Payload:
        return {} if step_id == self._newest else {"stepId": step_id}


def _part(part: chunks.Part) -> Payload:
    match part:
        case chunks.TextPart():
            return {"type": "text"}
        case chunks.ReasoningPart():
            return {"type": "reasoning"}
        case chunks.ToolCallPart(id, name, disposition):
            call = {"toolCallId": id, "toolName": name, "disposition": disposition}
            return {"type": "tool-call", **call}


def _made(part: chunks.MadePart) -> Payload:
    if isinstance(part, chunks.FilePart):
        named = metadata.given(filename=part.name)
        return {"type": "file", "data": part.url, "mimeType": part.media_type, **named}
    source = {"type": "source", "sourceType": "url", "id": part.source_id, "url": part.url}
    return {**source, **metadata.given(title=part.title)}


def _finish(chunk: chunks.StepFinish | chunks.MessageFinish) -> Payload:
    sums = {**metadata.usage_json(chunk), **metadata.timing_json(chunk)}
    return {"finishReason": chunk.reason, **sums}


def snapshot(turns: Sequence[messages.Turn]) -> list[Payload]:
    return [_user(turn) if isinstance(turn, UserTurn) else _assistant(turn) for turn in turns]


def _user(turn: UserTurn) -> Payload:
    sent = None if turn.sent_at is None else datetime.fromtimestamp(turn.sent_at, UTC)
    return {
        "id": turn.id,
        "role": "user",
        "parts": [_content(item) for item in turn.content],
        **metadata.versions_json(turn.versions),
        **metadata.removed_json(turn),
        **metadata.given(createdAt=sent and sent.isoformat(timespec="milliseconds")),
    }


def _content(item: UserContent) -> Payload:
    if isinstance(item, TextContent):
        return {"type": "text", "text": item.text}
    return {"type": "image", "image": item.url, **({"alt": item.alt} if item.alt else {})}


def _assistant(turn: AssistantTurn) -> Payload:
    steps = [
        {
            "stepId": step.step_id,
            "finishReason": step.finish_reason,
            **metadata.usage_json(step),
            **metadata.timing_json(step),
            **metadata.given(model=step.model, agent=step.agent),
        }
        for step in turn.steps
    ]
    return {
        "id": turn.id,
        "role": "assistant",
        "parts": [_message_part(part) for part in turn.parts],
        "steps": steps,
        **metadata.given(finishReason=turn.finish_reason),
        **metadata.turn_json(turn),
    }


def _message_part(part: messages.MessagePart) -> Payload:
    if isinstance(part, chunks.FilePart | chunks.SourcePart):
        return _made(part)
    if not isinstance(part, ToolCall):
        return {"type": "text" if isinstance(part, Text) else "reasoning", "text": part.text}
    approval, ended = part.approval, part.end is not None
    return {
        "type": "tool-call",
        "toolCallId": part.tool_call_id,
        "toolName": part.tool_name,
        "argsText": part.args_text,
        "args": {} if part.args is None else part.args,
        "state": part.end or "pending",
        "disposition": part.disposition,
        **({} if approval is None else {"approval": metadata.approval_json(approval)}),
        **({"result": part.result, "isError": part.is_error} if ended else {}),
        **({"messages": [*map(_substep, part.substeps)]} if part.substeps else {}),
        **metadata.given(messagesCut=part.substeps_cut or None),
    }


def _substep(step: messages.Step) -> Payload:
    """A step of a subagent, as a message of its own."""
    return {
        "id": step.step_id,
        "role": "assistant",
        "parts": [_message_part(part) for part in step.parts],
        "finishReason": step.finish_reason,
        **metadata.given(agent=step.agent, namespace=list(step.namespace) or None),
        **metadata.usage_json(step),
        **metadata.timing_json(step),
    }

"""AI SDK UI message stream v1 (checked on ai 5.0.277, 6.0.0, 6.0.326, 7.0.173): chunks to payloads.

Its parsers reject a null for a missing field, and some builds any key they do not know. Deliberate
departures:

1. The message's `start` is in the prologue, so that a replay can put the parts of earlier runs
   between it and the first event.
2. Arguments that are no JSON object are said once, when the call's error is known:
   `tool-input-error` carries its sentence. Until then the input is streaming.
3. `useChat` stops reading at `error`. The run's `finish` follows all the same, for other readers.
4. Version 5 has no approvals: it fails at `tool-approval-request`, and at `tool-output-denied`.

A message of a loaded thread, as `useChat` would hold it after the streams of its turns:

    {"id", "role": "user", "parts": [part], "metadata"?}
    {"id", "role": "assistant", "parts": [part], "metadata"?}

A user's parts are `text` and `file`. An assistant's are, for each step, `step-start`, then its
texts, reasonings and static `tool-<name>` parts; a call that needs an approval has `approval`, and
waits as `approval-requested`. `metadata` has `usage` (the sum over the steps),
`ended` and `error` where there is one, and `version` and `versions` of a message that has several.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from turnstream.server.formats import metadata
from turnstream.server.formats.format import StreamContext
from turnstream.server.formats.json_text import DONE, dumps, quote
from turnstream.server.turns import chunks, messages
from turnstream.server.turns.accumulate import ToldSubsteps
from turnstream.server.turns.chunks import Approval, Chunk, Path
from turnstream.server.turns.graph_state import Values, merged
from turnstream.server.turns.messages import AssistantTurn, Reasoning, Text, ToolCall, UserTurn
from turnstream.server.turns.requests import TextContent, UserContent
from turnstream.server.turns.size import text_bytes
from turnstream.server.turns.told_thread import calls_of

Payload = dict[str, Any]

FAILED = "The tool call failed."


class PartPlaces:
    """The places of parts in the client's message, and the parts that were withdrawn.

    An append-only client keeps what it was told. `data-step-withdrawn` is a part of the message
    too, and says which parts ahead of it do not count: `parts_back` are their distances from it.

        {"type": "data-step-withdrawn", "id", "data": {"step_id", "parts_back": [4, 3]}}

    A client may know a tool call that is told again by its id, and keep its part (ai 5.0, 6.0.0),
    or give it another (6.0.326). So the same data part comes again, without the call, and takes the
    place of the first; of several parts of one call the last one counts.
    """

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._next = count()
        self._places: dict[str | Path, int] = {}
        """By the path of a part; that of a step's `step-start` by the step's id."""
        self.calls: dict[str, int] = {}
        """By the call's id."""
        self._withdrawn: dict[int, Payload] = {}
        """The data parts, by their places."""

    def add(self, path: str | Path, call_id: str | None = None) -> list[Payload]:
        """A part begins. Returns what it changes of what was taken back."""
        known = None if call_id is None else self.calls.get(call_id)
        place = self._places[path] = next(self._next) if known is None else known
        if call_id is not None:
            self.calls[call_id] = place
        changed = []
        for data_place, withdrawal in self._withdrawn.items():
            back = withdrawal["data"]["parts_back"]
            if data_place - place in back:
                back.remove(data_place - place)
                changed.append(withdrawal)
        return changed

    def withdraw(self, chunk: chunks.StepWithdrawn) -> list[Payload]:
        place = next(self._next)
        paths: list[str | Path] = [chunk.step_id, *((number,) for number in chunk.parts)]
        data = {"step_id": chunk.step_id, "parts_back": [place - self._places[at] for at in paths]}
        # Unique in the message, which several runs may tell.
        id = f"{self._run_id}.{len(self._withdrawn)}"
        self._withdrawn[place] = {"type": "data-step-withdrawn", "id": id, "data": data}
        return [self._withdrawn[place]]


@dataclass(slots=True)
class _Open:
    """An open part: a call, or a text with what closes it. `delta` is the payload of a delta up to
    its text."""

    delta: str
    end: Payload | None = None
    call: ToolCall | None = None
    texts: list[str] = field(default_factory=list)
    """The text of a call's arguments, in pieces."""


class UIMessageStreamEncoder:
    def __init__(self, context: StreamContext) -> None:
        self._earlier = context.continued or AssistantTurn(context.message_id, ())
        self._earlier_calls = calls_of([self._earlier])
        self._first = len(self._earlier.parts)
        """The place of the run's first part in the whole message."""
        self._open: dict[Path, _Open] = {}
        self._open_steps: set[str] = set()
        self._ending = 0
        """The number of steps that have ended, and whose end the client has not got."""
        self._places = PartPlaces(context.run_id)
        self._ended: chunks.RunEnded | None = None
        self._substeps = Substeps()
        self._interim: set[str] = set()
        """The calls of which the client has an interim output in the place of a result."""
        self._graph_state: Values = {}
        self._to_client = {
            id for id, call in self._earlier_calls.items() if call.disposition == "client"
        }
        """The calls that the client knows as its own: it would run twice what it is told twice."""
        self._payloads: Mapping[type[Chunk], Callable[[Any], list[Payload]]] = {
            chunks.StepStart: self._step_start,
            chunks.PartStart: self._part_start,
            chunks.PartMade: self._part_made,
            chunks.ArgsFinish: self._args_finish,
            chunks.Result: self._result,
            chunks.PartFinish: self._part_finish,
            chunks.StepFinish: self._step_finish,
            chunks.StepWithdrawn: self._places.withdraw,
            chunks.MessagesRemoved: _data,
            chunks.HistoryShortened: _data,
            chunks.Interrupt: self._interrupt,
            chunks.InterruptsDiscarded: _data,
            chunks.RunEnded: self._run_ended,
            chunks.Substep: self._substep,
            chunks.Aside: _untold,
            chunks.TaskStart: _untold,
            chunks.TaskFinish: _untold,
            chunks.ToolSettled: self._settled,
            chunks.ToolApproval: self._approval,
            chunks.ToolProgress: self._progress,
            chunks.Custom: _data,
            chunks.GraphState: self._graph_values,
            chunks.Error: _error,
            chunks.MessageFinish: self._message_finish,
        }

    def encode(self, chunk: Chunk) -> list[str]:
        if type(chunk) is chunks.TextDelta:
            return [self._text_delta(chunk)]
        if type(chunk) is chunks.Done:
            return [DONE]
        return [dumps(payload) for payload in self._payloads[type(chunk)](chunk)]

    def _text_delta(self, chunk: chunks.TextDelta) -> str:
        part = self._open[chunk.path]
        if part.call is not None:
            part.texts.append(chunk.text)
        return f"{part.delta}{quote(chunk.text)}}}"

    def _step_start(self, chunk: chunks.StepStart) -> list[Payload]:
        self._open_steps.add(chunk.step_id)
        self._places.add(chunk.step_id)
        return [{"type": "start-step"}]

    def _part_start(self, chunk: chunks.PartStart) -> list[Payload]:
        if isinstance(chunk.part, chunks.ToolCallPart):
            return self._start_call(chunk.path, chunk.part)
        self._places.add(chunk.path)
        kind = "reasoning" if isinstance(chunk.part, chunks.ReasoningPart) else "text"
        id = _part_id(self._earlier.id, self._first + chunk.path[0])
        delta = f'{{"type":"{kind}-delta","id":{quote(id)},"delta":'
        self._open[chunk.path] = _Open(delta, end={"type": f"{kind}-end", "id": id})
        return [{"type": f"{kind}-start", "id": id}]

    def _part_made(self, chunk: chunks.PartMade) -> list[Payload]:
        self._places.add(chunk.path)
        return [_made(chunk.part)]

    def _start_call(self, path: Path, part: chunks.ToolCallPart) -> list[Payload]:
        call = ToolCall(part.tool_call_id, part.tool_name, "", None, part.disposition)
        known = f'"toolCallId":{quote(part.tool_call_id)}'
        delta = f'{{"type":"tool-input-delta",{known},"inputTextDelta":'
        self._open[path] = _Open(delta, call=call)
        return [_input_start(call), *self._places.add(path, part.tool_call_id)]

    def _args_finish(self, chunk: chunks.ArgsFinish) -> list[Payload]:
        part = self._open[chunk.path]
        args_text = "".join(part.texts)
        call = part.call = messages.with_args(replace(_call(part), args_text=args_text), chunk)
        if chunk.disposition == "client":
            self._to_client.add(call.tool_call_id)
        return [] if chunk.args is None else [_input_available(call)]

    def _result(self, chunk: chunks.Result) -> list[Payload]:
        part = self._open[chunk.path]
        call = part.call = replace(_call(part), end=chunk.end, result=chunk.result)
        return [_output(call)]

    def _part_finish(self, chunk: chunks.PartFinish) -> list[Payload]:
        part = self._open.pop(chunk.path)
        if part.end is not None:
            return [part.end, *self._finish_steps()]
        call = _call(part)
        return self._asked_again(call) or _approval_requests(call)

    def _asked_again(self, call: ToolCall) -> list[Payload]:
        """A call that waits, though an interim output of it would pass for its answer."""
        if call.end is not None or call.tool_call_id not in self._interim:
            return []
        self._interim.remove(call.tool_call_id)
        return [_input_available(call), *_approval_requests(call)]

    def _step_finish(self, chunk: chunks.StepFinish) -> list[Payload]:
        """A step has ended; one that ended before has only got another reason."""
        self._ending += chunk.step_id in self._open_steps
        self._open_steps.discard(chunk.step_id)
        return self._finish_steps()

    def _finish_steps(self) -> list[Payload]:
        """At `finish-step` the client lets go of all open texts, those of other steps too."""
        if any(part.end is not None for part in self._open.values()):
            return []
        ending, self._ending = self._ending, 0
        return [{"type": "finish-step"}] * ending

    def _run_ended(self, chunk: chunks.RunEnded) -> list[Payload]:
        self._ended = chunk
        return []

    def _settled(self, chunk: chunks.ToolSettled) -> list[Payload]:
        # The client throws at an output for a call of any message but this one.
        call = self._earlier_calls.get(chunk.tool_call_id)
        if call is None:
            return []
        settled = self._earlier_calls[chunk.tool_call_id] = messages.settle_call(call, chunk)
        return [_output(settled)]

    def _approval(self, chunk: chunks.ToolApproval) -> list[Payload]:
        """Ask again for an approval. A decision needs no event: the end of the call shows it."""
        call = self._earlier_calls.get(chunk.tool_call_id)
        requests = [] if call is None else _approval_requests(messages.settle_call(call, chunk))
        return [*requests, *_data(chunk)]

    def _interrupt(self, chunk: chunks.Interrupt) -> list[Payload]:
        asked = self._earlier_asked_again()
        if chunk.client_call is not None:
            if chunk.client_call in self._to_client:
                return asked
            return [*asked, *(_to_run(chunk) if self._knows(chunk.client_call) else _data(chunk))]
        requests = [
            _approval_request(id, question)
            for id, question in chunk.approvals.items()
            if self._knows(id)
        ]
        return [*asked, *requests, *_data(chunk)]

    def _knows(self, call_id: str) -> bool:
        """Check that the message of the client has the call."""
        return call_id in self._earlier_calls or call_id in self._places.calls

    def _earlier_asked_again(self) -> list[Payload]:
        """Calls of earlier runs that wait again."""
        calls = [self._earlier_calls[id] for id in self._interim if id in self._earlier_calls]
        return [payload for call in calls for payload in self._asked_again(call)]

    def _progress(self, chunk: chunks.ToolProgress) -> list[Payload]:
        """An interim output, of a call that runs: elsewhere it would pass for its answer."""
        call = self._running(chunk.tool_call_id)
        return [self._so_far(call, chunk.data)] if call else []

    def _so_far(self, call: ToolCall, output: Any) -> Payload:
        self._interim.add(call.tool_call_id)
        return _interim(call, output)

    def _substep(self, chunk: chunks.Substep) -> list[Payload]:
        """The interim output of a call: the work of its subagents so far, as a message."""
        root = self._substeps.take(chunk)
        call = self._running(root) if self._substeps.is_due(root) else None
        if call is None:
            return []
        output = self._so_far(call, self._substeps.message(call))
        self._substeps.note_sent(root, len(dumps(output)))
        return [output]

    def _running(self, call_id: str) -> ToolCall | None:
        open_calls = (part.call for part in self._open.values() if part.call)
        own = (call for call in open_calls if call.tool_call_id == call_id)
        call = next(own, None) or self._earlier_calls.get(call_id)
        return call if call and _is_running(call) else None

    def _graph_values(self, chunk: chunks.GraphState) -> list[Payload]:
        """The whole state each time: the app replaces what it has."""
        self._graph_state = merged(self._graph_state, chunk)
        return [_transient("state", self._graph_state)]

    def _message_finish(self, chunk: chunks.MessageFinish) -> list[Payload]:
        usage = metadata.usage_json(*self._earlier.steps, chunk)
        whole: Payload = {**usage, **metadata.timing_json(*self._earlier.steps, chunk)}
        finish = {"type": "finish", "finishReason": chunk.reason, "messageMetadata": whole}
        asked = self._earlier_asked_again()
        if self._ended is None:
            return [*asked, finish]
        whole["ended"] = metadata.ended_json(self._ended)
        return [*asked, {"type": "abort"}, finish]


class Substeps:
    """The work of subagents under the calls of a run, and how much of it the client has.

    An interim output has all of it each time. So one is sent when there is a quarter more than the
    client has: all together have five times the size of the last. Where a model has finished, one
    more is sent, since nothing may follow for long: these have four times the size of the last.
    """

    def __init__(self) -> None:
        self._told = ToldSubsteps()
        self._roots: dict[str, str] = {}
        """The call of the answer around each call of a subagent."""
        self._new: dict[str, int] = {}
        """The size of what the client has not got, by the call of the answer."""
        self._sent: dict[str, int] = {}
        """The size of the last interim output."""
        self._finished: dict[str, bool] = {}
        """True if the newest chunk ends the words of a model."""
        self._extra: dict[str, int] = {}
        """The size of all outputs that were sent for that alone."""

    def take(self, chunk: chunks.Substep) -> str:
        """Return the call of the answer."""
        root = self._roots.get(chunk.tool_call_id, chunk.tool_call_id)
        match chunk.chunk:
            case chunks.PartStart(_, _, chunks.ToolCallPart(id)):
                self._roots[id] = root
        self._told.take(chunk)
        self._new[root] = self._new.get(root, 0) + text_bytes(chunk) + 1
        self._finished[root] = isinstance(chunk.chunk, chunks.ArgsFinish | chunks.StepFinish)
        return root

    def is_due(self, root: str) -> bool:
        if self._is_grown(root):
            return True
        return self._finished[root] and self._extra.get(root, 0) <= 3 * self._sent[root]

    def _is_grown(self, root: str) -> bool:
        return self._new[root] * 4 >= self._sent.get(root, 0)

    def note_sent(self, root: str, size: int) -> None:
        if not self._is_grown(root):
            self._extra[root] = self._extra.get(root, 0) + size
        self._new[root], self._sent[root] = 0, size

    def message(self, call: ToolCall) -> Payload:
        return _of_subagents(self._told.below(call))


def _of_subagents(call: ToolCall) -> Payload:
    """The steps under a call as a message, like those of `readUIMessageStream`. A call of theirs
    that runs has its own as its output."""
    steps = (replace(step, parts=tuple(map(_so_far, step.parts))) for step in call.substeps)
    turn = AssistantTurn(f"{call.tool_call_id}.steps", tuple(steps))
    return {"id": turn.id, "role": "assistant", "parts": [*_parts(turn)]}


def _so_far(part: messages.MessagePart) -> messages.MessagePart:
    if isinstance(part, ToolCall) and part.substeps and _is_running(part):
        return replace(part, end="result", result=_of_subagents(part))
    return part


def _interim(call: ToolCall, output: Any) -> Payload:
    return {**_output(replace(call, end="result", result=output)), "preliminary": True}


def _call(part: _Open) -> ToolCall:
    assert part.call is not None, "the part is no tool call"
    return part.call


def _made(part: chunks.MadePart) -> Payload:
    if isinstance(part, chunks.FilePart):
        return {"type": "file", "url": part.url, "mediaType": part.media_type}
    source = {"type": "source-url", "sourceId": part.source_id, "url": part.url}
    return {**source, **metadata.given(title=part.title)}


def _error(chunk: chunks.Error) -> list[Payload]:
    return [{"type": "error", "errorText": _error_text(chunk.message, chunk.error_id)}]


def _untold(_chunk: Chunk) -> list[Payload]:
    return []


def _data(chunk: Chunk) -> list[Payload]:
    return [_transient(*metadata.named_data(chunk))]


def _transient(name: str, data: Mapping[str, Any]) -> Payload:
    """A data chunk that is no part of a message, for the app's `onData`. A client that loads the
    thread finds open interrupts and the graph's state beside the messages, or on their parts;
    custom events are not kept."""
    return {"type": f"data-{name}", "data": data, "transient": True}


def _is_running(call: ToolCall) -> bool:
    return call.args is not None and call.end is None and call.disposition == "server"


def _part_id(message_id: str, position: int) -> str:
    """`position`: of the part in the whole message, over all its runs."""
    return f"{message_id}.{position}"


def _name(call: ToolCall) -> Payload:
    return {"toolCallId": call.tool_call_id, "toolName": call.tool_name}


def _to_run(asked: chunks.Interrupt) -> list[Payload]:
    """A call that the client is to run after all: until now it was the server's."""
    given = (asked.value.get(key) for key in ("toolCall", "tool_call"))
    calls = (one for one in given if isinstance(one, dict) and isinstance(one.get("name"), str))
    call = next(one for one in calls if one.get("id") == asked.client_call)
    name = {"toolCallId": asked.client_call, "toolName": call["name"]}
    known = {"input": call.get("args", {}), "providerExecuted": False}
    return [{"type": "tool-input-available", **name, **known}]


def _input_start(call: ToolCall) -> Payload:
    return {"type": "tool-input-start", **_name(call), **_executed_by(call)}


def _input_available(call: ToolCall) -> Payload:
    return {"type": "tool-input-available", **_name(call), "input": call.args, **_executed_by(call)}


def _approval_requests(call: ToolCall) -> list[Payload]:
    if call.approval is None or not call.awaits_approval:
        return []
    return [_approval_request(call.tool_call_id, call.approval)]


def _approval_request(call_id: str, question: Approval) -> Payload:
    """No other keys: ai 6.0.0 refuses them."""
    return {"type": "tool-approval-request", "approvalId": question.id, "toolCallId": call_id}


def _output(call: ToolCall) -> Payload:
    """The end of a call. One whose arguments are no JSON object has had no input so far."""
    if call.args is None:
        error = {"input": call.args_text, "errorText": _call_error_text(call.result)}
        return {"type": "tool-input-error", **_name(call), **error, **_executed_by(call)}
    state, output = _outcome(call)
    executed = {} if call.end == "declined" else _executed_by(call)
    return {"type": f"tool-{state}", "toolCallId": call.tool_call_id, **output, **executed}


def _outcome(call: ToolCall) -> tuple[str, Payload]:
    """The end of a call, in the words of an event and of a part."""
    if call.end == "declined":
        return "output-denied", {}
    if call.is_error or call.args is None:
        return "output-error", {"errorText": _call_error_text(call.result)}
    return "output-available", {"output": call.result}


def _executed_by(call: ToolCall) -> Payload:
    """`providerExecuted`: the client has nothing to do, since the server ran the call or turned it
    down.

    Without it `useChat` calls the app's `onToolCall`, and with
    `lastAssistantMessageIsCompleteWithToolCalls` it posts again, endlessly, whenever a turn ends
    with the result of such a call.
    """
    return {} if call.disposition == "client" and not call.is_error else {"providerExecuted": True}


def _call_error_text(result: Any) -> str:
    """The sentence of a failed call's result; what the browser says of its own has any shape."""
    match result:
        case {"error": {"message": str() as message} as error}:
            return _error_text(message, error.get("id"))
        case str():
            return result
    return FAILED


def _error_text(message: str, id: str | None) -> str:
    """The sentence, and the id under which the log has the cause."""
    return f"{message} ({id})" if id else message


def prologue(context: StreamContext, *, replay: bool) -> list[str]:
    """The message's `start`, and for a replay the parts of earlier runs."""
    earlier = context.continued if replay else None
    start = {"type": "start", "messageId": context.message_id}
    return [dumps(payload) for payload in (start, *(_replay(earlier) if earlier else ()))]


def _replay(turn: AssistantTurn) -> Iterator[Payload]:
    """The parts of a message from earlier runs, each in one piece."""
    position = count()
    for step in turn.steps:
        yield {"type": "start-step"}
        for part in step.parts:
            id = _part_id(turn.id, next(position))
            if isinstance(part, ToolCall):
                yield from _whole_call(part)
                continue
            if isinstance(part, chunks.FilePart | chunks.SourcePart):
                yield _made(part)
                continue
            kind = "text" if isinstance(part, Text) else "reasoning"
            yield {"type": f"{kind}-start", "id": id}
            yield {"type": f"{kind}-delta", "id": id, "delta": part.text}
            yield {"type": f"{kind}-end", "id": id}
        yield {"type": "finish-step"}


def _whole_call(call: ToolCall) -> Iterator[Payload]:
    """An answered question comes without `tool-input-available`, at which the client would call the
    app's `onToolCall`: the app has answered it. No chunk says that a call was approved: it is shown
    as one that runs. A declined one gets its `approval` by the request."""
    if call.args is not None and call.end is not None and not _executed_by(call):
        known = {"toolCallId": call.tool_call_id}
        yield _input_start(call)
        yield {"type": "tool-input-delta", **known, "inputTextDelta": call.args_text}
    elif call.args is not None:
        yield _input_available(call)
    elif call.end is None:
        yield _input_start(call)
    if call.approval is not None and (call.awaits_approval or call.end == "declined"):
        yield _approval_request(call.tool_call_id, call.approval)
    if call.end is not None:
        yield _output(call)


def snapshot(turns: Sequence[messages.Turn]) -> list[Payload]:
    return [*map(_message, turns)]


def _message(turn: messages.Turn) -> Payload:
    if isinstance(turn, UserTurn):
        role, parts = "user", [*map(_content, turn.content)]
        about = metadata.versions_json(turn.versions) | metadata.removed_json(turn)
    else:
        role, parts, about = "assistant", [*_parts(turn)], metadata.turn_json(turn)
    return {"id": turn.id, "role": role, "parts": parts, **({"metadata": about} if about else {})}


def _content(item: UserContent) -> Payload:
    """The media type of a file is required; of an image on the web it is unknown."""
    if isinstance(item, TextContent):
        return {"type": "text", "text": item.text}
    scheme, _, rest = item.url.partition(":")
    media_type = rest.partition(";")[0] if scheme == "data" else "image/*"
    named = {"filename": item.alt} if item.alt else {}
    return {"type": "file", "mediaType": media_type, **named, "url": item.url}


def _parts(turn: AssistantTurn) -> Iterator[Payload]:
    position = count()
    for step in turn.steps:
        yield {"type": "step-start"}
        yield from (_part(part, _part_id(turn.id, next(position))) for part in step.parts)


def _part(part: messages.MessagePart, id: str) -> Payload:
    match part:
        case Text(text):
            return {"type": "text", "text": text, "state": "done"}
        case Reasoning(text):
            return {"type": "reasoning", "id": id, "text": text, "state": "done"}
        case chunks.FilePart() | chunks.SourcePart():
            return _made(part)
        case ToolCall():
            known = {"type": f"tool-{part.tool_name}", "toolCallId": part.tool_call_id}
            return {**known, **_call_state(part), **_executed_by(part)}


def _call_state(call: ToolCall) -> Payload:
    if call.args is None and call.end is None:
        return {"state": "input-streaming"}
    input_ = {"rawInput": call.args_text} if call.args is None else {"input": call.args}
    state, output = _outcome(call) if call.end else (_pending_state(call), {})
    return {"state": state, **input_, **output, **_approval_of(call)}


def _pending_state(call: ToolCall) -> str:
    if call.approval is None:
        return "input-available"
    return "approval-requested" if call.awaits_approval else "approval-responded"


def _approval_of(call: ToolCall) -> Payload:
    """`{"approval": {"id", "approved"?, "reason"?}}`, or nothing. A question that was never
    answered is no part of a call that has ended."""
    approval = call.approval
    if approval is None or (call.end and approval.approved is None):
        return {}
    said = metadata.given(id=approval.id, approved=approval.approved, reason=approval.reason)
    return {"approval": said}

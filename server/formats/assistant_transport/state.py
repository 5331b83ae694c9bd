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

`StateEncoder` sends each chunk's part payload, and the change that it makes to the state. After
every chunk the state is the snapshot of what has been said so far, but for empty messages in the
place of steps that were withdrawn: a list can lose some only by being sent whole, which is done
once, at the end, and only if nothing has taken their place. Nothing is appended to that the same
run has not `set`, so that a replay converges; no index leaves a gap, since clients run the
operations in strict mode.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from turnstream.server.formats.assistant_transport.stream import PartsEncoder
from turnstream.server.formats.format import StreamContext, View
from turnstream.server.formats.json_text import dumps, quote
from turnstream.server.formats.langchain_messages import (
    ai_content,
    block,
    human_message,
    tool_message,
)
from turnstream.server.formats.metadata import approval_json
from turnstream.server.turns import chunks
from turnstream.server.turns.chunks import Chunk, Path
from turnstream.server.turns.graph_state import Values, merged
from turnstream.server.turns.messages import (
    AssistantTurn,
    MessagePart,
    Reasoning,
    Step,
    Text,
    ToolCall,
    Turn,
    settle_turn,
    with_args,
    without,
)

Json = dict[str, Any]
Operation = dict[str, Any]
Segments = list[str | int]

REFUSED = frozenset({"__proto__", "constructor", "prototype"})
"""Names that the client takes in no path."""


def snapshot(turns: Sequence[Turn], thread_id: str, graph_state: Values | None = None) -> Json:
    asked = approvals(turns)
    return {
        "thread_id": thread_id,
        "messages": _messages(turns),
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


def _messages(turns: Sequence[Turn]) -> list[Json]:
    messages: list[Json] = []
    for turn in turns:
        if isinstance(turn, AssistantTurn):
            messages.extend(message for step in turn.steps for message in _of_step(step))
        else:
            messages.append(human_message(turn))
    return messages


def _of_step(step: Step) -> list[Json]:
    if not step.parts:
        return []
    calls = [part for part in step.parts if isinstance(part, ToolCall)]
    ai = _ai_message(step.step_id, ai_content(step.parts), [_call(call) for call in calls])
    return [ai, *(tool_message(call) for call in calls if call.end is not None)]


def _ai_message(step_id: str, content: str | list[Json], calls: list[Json]) -> Json:
    return {"type": "ai", "id": step_id, "content": content, "tool_calls": calls}


def _call(call: ToolCall) -> Json:
    return {
        "type": "tool_call",
        "id": call.tool_call_id,
        "name": call.tool_name,
        "args": {} if call.args is None else call.args,
        "partial_json": call.args_text,
    }


def _update(operations: list[Operation]) -> str:
    return dumps({"type": "update-state", "operations": operations, "path": []})


def _set(path: Segments, value: Any) -> Operation:
    return {"type": "set", "path": [str(segment) for segment in path], "value": value}


def _from_first_difference(theirs: Sequence[Any], ours: Sequence[Any]) -> list[Operation]:
    pairs = zip(theirs, ours, strict=False)
    same = next((i for i, (their, our) in enumerate(pairs) if their != our), len(theirs))
    return [_set(["messages", index], ours[index]) for index in range(same, len(ours))]


@dataclass(slots=True)
class _Part:
    said: MessagePart
    """Without its text."""
    position: int
    """Among the texts of its message, or among the calls."""
    texts: list[str] = field(default_factory=list)

    def whole(self) -> MessagePart:
        self.texts = ["".join(self.texts)]
        if isinstance(self.said, ToolCall):
            return replace(self.said, args_text=self.texts[0])
        return replace(self.said, text=self.texts[0])


@dataclass(slots=True)
class _Step:
    """The messages of one step in the client's state. `index` is that of the first."""

    step_id: str
    index: int
    parts: dict[Path, _Part] = field(default_factory=dict)
    """In the order in which they started."""
    texts: list[_Part] = field(default_factory=list)
    calls: list[_Part] = field(default_factory=list)
    results: int = 0

    @property
    def size(self) -> int:
        """The number of its messages."""
        return bool(self.parts) + self.results

    @property
    def is_plain(self) -> bool:
        """True if the content is a string: the message has one text and nothing else."""
        return len(self.texts) == 1 and isinstance(self.texts[0].said, Text)

    def messages(self) -> list[Json]:
        return _of_step(Step(self.step_id, tuple(part.whole() for part in self.parts.values())))

    def add(self, path: Path, part: chunks.Part) -> _Part:
        beside = self.calls if isinstance(part, chunks.ToolCallPart) else self.texts
        added = self.parts[path] = _Part(_begun(part), len(beside))
        beside.append(added)
        return added

    def target(self, part: _Part) -> Segments:
        """Return the path in the state to which the part's text is appended."""
        message: Segments = ["messages", self.index]
        if isinstance(part.said, ToolCall):
            return [*message, "tool_calls", part.position, "partial_json"]
        if self.is_plain:
            return [*message, "content"]
        inside: Segments = ["summary", 0] if isinstance(part.said, Reasoning) else []
        return [*message, "content", part.position, *inside, "text"]


def _begun(part: chunks.Part) -> MessagePart:
    match part:
        case chunks.TextPart():
            return Text("")
        case chunks.ReasoningPart():
            return Reasoning("")
        case chunks.ToolCallPart(id, name):
            return ToolCall(id, name, "", None)


class StateEncoder:
    def __init__(self, context: StreamContext) -> None:
        self._parts = PartsEncoder()
        self._turns = context.turns
        self._before = _messages(context.turns)
        """The messages ahead of those of the run."""
        self._approvals = approvals(context.turns)
        self._graph_state: Values = context.graph_state or {}
        self._steps: dict[str, _Step] = {}
        """In the order of their messages."""
        self._slots = len(self._before)
        """The length of the client's list."""
        self._blanks = 0
        self._operations: Mapping[type[Chunk], Callable[[Any], list[Operation]]] = {
            chunks.StepStart: self._step_start,
            chunks.PartStart: self._part_start,
            chunks.ArgsFinish: self._args_finish,
            chunks.Result: self._result,
            chunks.StepWithdrawn: self._withdrawn,
            chunks.MessagesRemoved: self._removed,
            chunks.MessageFinish: self._finished,
            chunks.ToolSettled: self._settled,
            chunks.ToolApproval: lambda chunk: self._asked({chunk.tool_call_id: chunk.approval}),
            chunks.Interrupt: lambda chunk: self._asked(chunk.approvals),
            chunks.GraphState: self._graph_values,
        }

    def encode(self, chunk: Chunk) -> list[str]:
        payloads = self._parts.encode(chunk)
        if type(chunk) is chunks.TextDelta:
            payloads.append(self._text_delta(chunk))
        elif (change := self._operations.get(type(chunk))) and (operations := change(chunk)):
            payloads.append(_update(operations))
        return payloads

    def _text_delta(self, chunk: chunks.TextDelta) -> str:
        step = self._steps[chunk.step_id]
        part = step.parts[chunk.path]
        part.texts.append(chunk.text)
        # By hand, not with `dumps`: most chunks are of this kind.
        path = '","'.join(map(str, step.target(part)))
        operation = f'{{"type":"append-text","path":["{path}"],"value":{quote(chunk.text)}}}'
        return f'{{"type":"update-state","operations":[{operation}],"path":[]}}'

    def _step_start(self, chunk: chunks.StepStart) -> list[Operation]:
        self._steps[chunk.step_id] = _Step(chunk.step_id, self._end)
        return []

    def _part_start(self, chunk: chunks.PartStart) -> list[Operation]:
        step = self._steps[chunk.step_id]
        is_new, was_plain = not step.parts, step.is_plain
        part = step.add(chunk.path, chunk.part)
        if is_new and step is not self._last:
            return self._again(step)
        message: Segments = ["messages", step.index]
        blank = _ai_message(step.step_id, "", [])
        operations = [self._message(step.index, blank)] if is_new else []
        whole = part.whole()
        if isinstance(whole, ToolCall):
            return [*operations, _set([*message, "tool_calls", part.position], _call(whole))]
        if step.is_plain:
            return operations
        if was_plain or part.position == 0:
            content = ai_content([part.whole() for part in step.texts])
            return [*operations, _set([*message, "content"], content)]
        return [*operations, _set([*message, "content", part.position], block(whole))]

    def _args_finish(self, chunk: chunks.ArgsFinish) -> list[Operation]:
        step = self._steps[chunk.step_id]
        part = step.parts[chunk.path]
        call = part.said = with_args(_call_of(part), chunk)
        if chunk.args is None:
            return []
        target: Segments = ["messages", step.index, "tool_calls", part.position, "args"]
        asked = {call.tool_call_id: call.approval} if call.approval else {}
        return [_set(target, chunk.args), *self._asked(asked)]

    def _result(self, chunk: chunks.Result) -> list[Operation]:
        """Insert a tool message. The tool messages stand in the order of their calls, in whatever
        order they come: those behind it move up."""
        step = self._steps[chunk.step_id]
        part = step.parts[chunk.path]
        ended = {"end": chunk.end, "result": chunk.result, "result_id": chunk.result_id}
        part.said = replace(_call_of(part), **ended)
        step.results += 1
        if step is not self._last:
            return self._again(step)
        ahead = sum(_call_of(one).end is not None for one in step.calls[: part.position])
        return [
            self._message(step.index + place, message)
            for place, message in enumerate(step.messages())
            if place > ahead
        ]

    def _again(self, first: _Step) -> list[Operation]:
        """A step's messages and all behind it, which have moved."""
        steps = [*self._steps.values()]
        index, operations = first.index, list[Operation]()
        for step in steps[steps.index(first) :]:
            step.index = index
            for message in step.messages():
                operations.append(self._message(index, message))
                index += 1
        return operations + [self._blank(place) for place in range(index, self._slots)]

    @property
    def _last(self) -> _Step | None:
        return next(reversed(self._steps.values()), None)

    @property
    def _end(self) -> int:
        last = self._last
        return last.index + last.size if last else len(self._before)

    def _message(self, index: int, message: Json) -> Operation:
        self._slots = max(self._slots, index + 1)
        return _set(["messages", index], message)

    def _blank(self, index: int) -> Operation:
        self._blanks += 1
        return self._message(index, _ai_message(f"withdrawn-{self._blanks}", "", []))

    def _withdrawn(self, chunk: chunks.StepWithdrawn) -> list[Operation]:
        step = self._steps.pop(chunk.step_id)
        blanks = [self._blank(step.index + place) for place in range(step.size)]
        return [*blanks, *self._left({_call_of(part).tool_call_id for part in step.calls})]

    def _finished(self, _: chunks.MessageFinish) -> list[Operation]:
        told = len(self._before) + sum(step.size for step in self._steps.values())
        return self._whole() if told < self._slots else []

    def _whole(self) -> list[Operation]:
        """All messages: a list can lose some in no other way."""
        messages = list(self._before)
        for step in self._steps.values():
            step.index = len(messages)
            messages += step.messages()
        self._slots = len(messages)
        return [_set(["messages"], messages)]

    def _removed(self, chunk: chunks.MessagesRemoved) -> list[Operation]:
        known = approvals(self._turns)
        self._turns = tuple(without(self._turns, chunk.ids))
        self._before = _messages(self._turns)
        return [*self._whole(), *self._left(known.keys() - approvals(self._turns).keys())]

    def _settled(self, chunk: chunks.ToolSettled) -> list[Operation]:
        """The end of a call of an earlier run: its tool message comes before all that this run
        says."""
        before = self._before
        self._turns = tuple(settle_turn(turn, chunk) for turn in self._turns)
        self._before = _messages(self._turns)
        if any(step.parts for step in self._steps.values()):
            return self._whole() if self._before != before else []
        for step in self._steps.values():
            step.index = len(self._before)
        self._slots = max(self._slots, len(self._before))
        return _from_first_difference(before, self._before)

    def _asked(self, questions: Mapping[str, chunks.Approval]) -> list[Operation]:
        operations = []
        for call_id, question in questions.items():
            value = approval_json(question)
            if self._approvals.get(call_id) == value:
                continue
            self._approvals[call_id] = value
            whole = _set(["approvals"], dict(self._approvals))
            operations.append(whole if call_id in REFUSED else _set(["approvals", call_id], value))
        return operations

    def _left(self, call_ids: Collection[str]) -> list[Operation]:
        """Remove the approvals of calls that left the thread."""
        left = {id: value for id, value in self._approvals.items() if id not in call_ids}
        if len(left) == len(self._approvals):
            return []
        self._approvals = left
        return [_set(["approvals"], dict(left))]

    def _graph_values(self, chunk: chunks.GraphState) -> list[Operation]:
        self._graph_state = merged(self._graph_state, chunk)
        if chunk.is_whole or not REFUSED.isdisjoint(chunk.values):
            return [_set(["state"], self._graph_state)]
        return [_set(["state", name], value) for name, value in chunk.values.items()]


def _call_of(part: _Part) -> ToolCall:
    assert isinstance(part.said, ToolCall)
    return part.said


def catch_up(context: StreamContext, posted: View) -> list[str]:
    """Bring a client from the state that it posted to the state before the first chunk."""
    state = snapshot(context.turns, context.thread_id, context.graph_state)
    operations = _catch_up(posted, state)
    return [_update(operations)] if operations else []


def _catch_up(posted: Mapping[str, Any], state: Json) -> list[Operation]:
    """Return the changes from the client's state to the server's: the whole state, or for the same
    thread the messages from the first that differs, the approvals, and the graph's own state if
    clients see any. What else the app keeps in it stays."""
    theirs = posted.get("messages")
    if posted.get("thread_id") != state["thread_id"] or type(theirs) is not list:
        return [_set([], state)]
    ours, asked = state["messages"], state.get("approvals", {})
    same = posted.get("approvals", {}) == asked
    others = [] if same else [_set(["approvals"], asked)]
    if "state" in state and posted.get("state") != state["state"]:
        others.append(_set(["state"], state["state"]))
    if len(theirs) > len(ours):
        return [_set(["messages"], ours), *others]
    return [*_from_first_difference(theirs, ours), *others]

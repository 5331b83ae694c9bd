"""The state that assistant-ui's `useAssistantTransportRuntime` renders: LangChain messages.

    {"thread_id", "messages": [message], "approvals"?: {call id: approval},
     "substeps"?: {call id: [message]}, "state"?: {name: value}}

    message = {"type": "human", "id", "content", "additional_kwargs"?}
            | {"type": "ai", "id", "content", "tool_calls": [call], "additional_kwargs"?}
            | {"type": "tool", "id", "tool_call_id", "name", "content": string,
               "status": "success" | "error"}
    call    = {"type": "tool_call", "id", "name", "args", "partial_json"}

That runtime ignores part chunks and shows what `update-state` operations make of its state. An ai
message is one step, its tool messages follow in the order of its calls; a step without parts has
none. `content` is a string while the message has one text at most, else a list of blocks, one a
part. `additional_kwargs` is `{"metadata": {"removed": true}}` of a message that the graph has
removed from what its model gets. `partial_json` is the arguments' text and stays when they are
complete: the runtime throws when the text of a call does not go on as it began.

`approvals` are of the calls that need one, see `turnstream.server.formats.metadata`. A call that
has its tool message waits no more. Without any such call the object is missing, or empty. `state`
has the values of the graph's own state that clients see; it is missing if they never see any.

`substeps` are the messages of subagents, by the call under which they run, those of a subagent's
own calls too. Without any the object is missing, or empty.

`StateEncoder` sends each chunk's part payload, and the change that it makes to the state. After
every chunk the state is the snapshot of what has been said so far, but for empty messages in the
place of steps that were withdrawn: a list can lose some only by being sent whole, which is done
once, at the end, and only if nothing has taken their place. Nothing is appended to that the same
run has not `set`, so that a replay converges; no index leaves a gap, since clients run the
operations in strict mode.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from turnstream.server.formats import langchain_messages as langchain
from turnstream.server.formats.assistant_transport.stream import PartsEncoder
from turnstream.server.formats.format import StreamContext, View
from turnstream.server.formats.json_text import dumps, quote
from turnstream.server.formats.metadata import approval_json
from turnstream.server.turns import chunks, messages
from turnstream.server.turns.accumulate import Accumulator
from turnstream.server.turns.chunks import Chunk, Path
from turnstream.server.turns.graph_state import Values, merged
from turnstream.server.turns.messages import AssistantTurn, Reasoning, Step, Text, ToolCall, Turn
from turnstream.server.turns.told_thread import calls_of

Json = dict[str, Any]
Operation = dict[str, Any]
Segments = list[str | int]

REFUSED = frozenset({"__proto__", "constructor", "prototype"})
"""Names that the client takes in no path."""


def snapshot(turns: Sequence[Turn], thread_id: str, graph_state: Values | None = None) -> Json:
    asked, below = approvals(turns), substeps(turns)
    return {
        "thread_id": thread_id,
        "messages": _messages(turns),
        **({"approvals": asked} if asked else {}),
        **({"substeps": {id: _of_steps(steps) for id, steps in below.items()}} if below else {}),
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


def substeps(turns: Sequence[Turn]) -> dict[str, tuple[Step, ...]]:
    """The steps of subagents, by the call under which they run."""
    found: dict[str, tuple[Step, ...]] = {}
    waiting = [turn for turn in turns if isinstance(turn, AssistantTurn)]
    parts = [part for turn in waiting for part in turn.parts]
    while parts:
        part = parts.pop()
        if isinstance(part, ToolCall) and part.substeps and part.tool_call_id not in REFUSED:
            found[part.tool_call_id] = part.substeps
            parts += [one for step in part.substeps for one in step.parts]
    return found


def _below(call_id: str, operation: Operation) -> Operation:
    """An operation on messages, as one on those of subagents."""
    return {**operation, "path": ["substeps", call_id, *operation["path"][1:]]}


def _of_steps(steps: Sequence[Step]) -> list[Json]:
    return [message for step in steps for message in _of_step(step)]


def _messages(turns: Sequence[Turn]) -> list[Json]:
    return [message for turn in turns for message in _of_turn(turn)]


def _of_turn(turn: Turn) -> list[Json]:
    if isinstance(turn, AssistantTurn):
        return [message for step in turn.steps for message in _of_step(step)]
    return [langchain.human_message(turn)]


def _of_step(step: Step) -> list[Json]:
    if not step.parts:
        return []
    calls = [part for part in step.parts if isinstance(part, ToolCall)]
    content = langchain.ai_content(step.parts)
    ai = _ai_message(step.step_id, content, [_call(call) for call in calls])
    if step.removed:
        ai |= langchain.REMOVED
    return [ai, *(langchain.tool_message(call) for call in calls if call.end is not None)]


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
class _Step:
    """The messages of one step in the client's state. `index` is that of the first."""

    index: int
    parts: dict[Path, tuple[chunks.Part, int]] = field(default_factory=dict)
    """Each with its position among the texts of its message, or among the calls."""
    texts: list[chunks.Part] = field(default_factory=list)
    made: list[chunks.MadePart] = field(default_factory=list)
    """The files and sources that its model has made, which come behind its words."""
    calls: list[chunks.ToolCallPart] = field(default_factory=list)
    results: int = 0

    @property
    def size(self) -> int:
        """The number of its messages."""
        return self.is_begun + self.results

    @property
    def is_begun(self) -> bool:
        return bool(self.parts or self.made)

    @property
    def is_plain(self) -> bool:
        """True if the content is a string: the message has one text and nothing else."""
        is_one = len(self.texts) == 1 and not self.made
        return is_one and isinstance(self.texts[0], chunks.TextPart)

    def add(self, path: Path, part: chunks.Part) -> int:
        """Return the position of a part that begins."""
        beside: list[Any] = self.calls if isinstance(part, chunks.ToolCallPart) else self.texts
        self.parts[path] = part, len(beside)
        beside.append(part)
        return len(beside) - 1

    def target(self, path: Path) -> Segments:
        """Return the path in the state to which a part's text is appended."""
        message: Segments = ["messages", self.index]
        part, position = self.parts[path]
        if isinstance(part, chunks.ToolCallPart):
            return [*message, "tool_calls", position, "partial_json"]
        if self.is_plain:
            return [*message, "content"]
        inside: Segments = ["summary", 0] if isinstance(part, chunks.ReasoningPart) else []
        return [*message, "content", position, *inside, "text"]


class StateEncoder:
    def __init__(self, context: StreamContext) -> None:
        self._parts = PartsEncoder()
        self._told = Accumulator()
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
        self._below: dict[str, StateEncoder] = {}
        """The encoders of substeps, by call."""
        self._earlier_below = substeps(context.turns)
        self._cut: dict[str, list[str]] = {}
        """The steps of subagents that were cut and that the client still has, by call."""
        self._operations: Mapping[type[Chunk], Callable[[Any], list[Operation]]] = {
            chunks.StepStart: self._step_start,
            chunks.PartStart: self._part_start,
            chunks.PartMade: self._part_made,
            chunks.ArgsFinish: self._args_finish,
            chunks.Result: self._result,
            chunks.StepWithdrawn: self._withdrawn,
            chunks.MessagesRemoved: self._removed,
            chunks.HistoryShortened: self._shortened,
            chunks.MessageFinish: self._finished,
            chunks.Substep: self._substep,
            chunks.ToolSettled: self._settled,
            chunks.ToolApproval: lambda chunk: self._asked({chunk.tool_call_id: chunk.approval}),
            chunks.Interrupt: lambda chunk: self._asked(chunk.approvals),
            chunks.GraphState: self._graph_values,
        }

    def encode(self, chunk: Chunk) -> list[str]:
        self._told.take(chunk)
        payloads = self._parts.encode(chunk)
        if isinstance(chunk, chunks.Substep) and isinstance(chunk.chunk, chunks.StepWithdrawn):
            # Its list is sent when all are cut that are cut at once.
            if chunk.tool_call_id not in REFUSED:
                self._cut.setdefault(chunk.tool_call_id, []).append(chunk.chunk.step_id)
            return payloads
        if self._cut:
            cut, self._cut = self._cut, {}
            payloads.append(_update([one for id in cut for one in self._without(id, cut[id])]))
        if type(chunk) is chunks.TextDelta:
            payloads.append(self._text_delta(chunk))
        elif (change := self._operations.get(type(chunk))) and (operations := change(chunk)):
            payloads.append(_update(operations))
        return payloads

    def _text_delta(self, chunk: chunks.TextDelta) -> str:
        # By hand, not with `dumps`: most chunks are of this kind.
        path = '","'.join(map(str, self._steps[chunk.step_id].target(chunk.path)))
        operation = f'{{"type":"append-text","path":["{path}"],"value":{quote(chunk.text)}}}'
        return f'{{"type":"update-state","operations":[{operation}],"path":[]}}'

    def _without(self, call_id: str, step_ids: Sequence[str]) -> list[Operation]:
        """The steps of a call without those that were cut."""
        operations = self._begin_below(call_id)
        told = self._below[call_id].forget(step_ids)
        return operations + [_below(call_id, one) for one in told]

    def forget(self, step_ids: Sequence[str]) -> list[Operation]:
        """All messages, without those of these steps, of this run or of earlier ones."""
        for step_id in step_ids:
            self._told.take(chunks.StepWithdrawn(step_id, ()))
        lost = tuple(id for id in step_ids if self._steps.pop(id, None) is None)
        operations = self._removed(chunks.MessagesRemoved(lost)) if lost else self._whole()
        return [one for one in operations if one["path"][0] == "messages"]

    def _substep(self, chunk: chunks.Substep) -> list[Operation]:
        id, inner = chunk.tool_call_id, chunk.chunk
        if id in REFUSED:
            return []
        operations = self._begin_below(id)
        changes = self._below[id].changes(inner)
        told = [one for one in changes if one["path"][0] == "messages"]
        return operations + [_below(id, one) for one in told]

    def _begin_below(self, id: str) -> list[Operation]:
        operations = list[Operation]()
        if id not in self._below:
            earlier = AssistantTurn("", self._earlier_below.get(id, ()))
            if not (self._below or self._earlier_below):
                operations.append(_set(["substeps"], {}))
            self._below[id] = StateEncoder(StreamContext("", "", (earlier,)))
            operations.append(_set(["substeps", id], _of_steps(earlier.steps)))
        return operations

    def changes(self, chunk: Chunk) -> list[Operation]:
        """The changes of one chunk of substeps, as if its messages were the thread's."""
        self._told.take(chunk)
        match chunk:
            case chunks.TextDelta():
                target = self._steps[chunk.step_id].target(chunk.path)
                path = [str(segment) for segment in target]
                return [{"type": "append-text", "path": path, "value": chunk.text}]
        change = self._operations.get(type(chunk))
        return change(chunk) if change else []

    def _without_lost_calls(self) -> list[Operation]:
        """Leave out what ran under calls that the thread did not get."""
        if not (self._below or self._earlier_below):
            return []
        turns = [*self._turns, self._told.turn("")]
        parts = [part for turn in turns if isinstance(turn, AssistantTurn) for part in turn.parts]
        calls = {part.tool_call_id for part in parts if isinstance(part, ToolCall)}
        calls |= substeps(turns).keys()
        known = {*self._below, *self._earlier_below}
        lost = known - calls
        if not lost:
            return []
        kept = {id: _of_steps(steps) for id, steps in self._earlier_below.items()}
        kept |= {id: encoder.messages() for id, encoder in self._below.items()}
        return [_set(["substeps"], {id: one for id, one in kept.items() if id not in lost})]

    def messages(self) -> list[Json]:
        """All messages, as the client has them after the chunks so far."""
        return [*self._before, *_of_steps([self._told.step(id) for id in self._steps])]

    def _step_start(self, chunk: chunks.StepStart) -> list[Operation]:
        self._steps[chunk.step_id] = _Step(self._end)
        return []

    def _part_start(self, chunk: chunks.PartStart) -> list[Operation]:
        step = self._steps[chunk.step_id]
        is_new, was_plain = not step.is_begun, step.is_plain
        position = step.add(chunk.path, chunk.part)
        if is_new and step is not self._last:
            return self._again(chunk.step_id)
        message: Segments = ["messages", step.index]
        blank = _ai_message(chunk.step_id, "", [])
        operations = [self._message(step.index, blank)] if is_new else []
        if isinstance(chunk.part, chunks.ToolCallPart):
            call = _call(_begun(chunk.part))
            return [*operations, _set([*message, "tool_calls", position], call)]
        if step.is_plain:
            return operations
        if was_plain or position == 0:
            content = langchain.ai_content(self._told.step(chunk.step_id).parts)
            return [*operations, _set([*message, "content"], content)]
        part = Text("") if isinstance(chunk.part, chunks.TextPart) else Reasoning("")
        return [*operations, _set([*message, "content", position], langchain.block(part))]

    def _part_made(self, chunk: chunks.PartMade) -> list[Operation]:
        """Put a part that is whole at once behind the content, which becomes a list if it was
        none."""
        step, part = self._steps[chunk.step_id], chunk.part
        is_new, is_first = not step.is_begun, not step.made
        step.made.append(part)
        if is_new and step is not self._last:
            return self._again(chunk.step_id)
        message: Segments = ["messages", step.index]
        content = langchain.ai_content(self._told.step(chunk.step_id).parts)
        assert not isinstance(content, str), "it has a block for what was made"
        if is_new:
            return [self._message(step.index, _ai_message(chunk.step_id, content, []))]
        if is_first:
            return [_set([*message, "content"], content)]
        if isinstance(part, chunks.FilePart):
            return [_set([*message, "content", len(content) - 1], content[-1])]
        place = max(i for i, one in enumerate(content) if one["type"] == "text")
        cited = content[place]["annotations"]
        target: Segments = [*message, "content", place, "annotations"]
        if len(cited) == 1:
            return [_set([*message, "content", place], content[place])]
        return [_set([*target, len(cited) - 1], cited[-1])]

    def _args_finish(self, chunk: chunks.ArgsFinish) -> list[Operation]:
        if chunk.args is None:
            return []
        step = self._steps[chunk.step_id]
        _, position = step.parts[chunk.path]
        call = messages.with_args(_begun(step.calls[position]), chunk)
        target: Segments = ["messages", step.index, "tool_calls", position, "args"]
        asked = {call.tool_call_id: call.approval} if call.approval else {}
        return [_set(target, chunk.args), *self._asked(asked)]

    def _result(self, chunk: chunks.Result) -> list[Operation]:
        """Insert a tool message. The tool messages stand in the order of their calls, in whatever
        order they come: those behind it move up."""
        step = self._steps[chunk.step_id]
        step.results += 1
        if step is not self._last:
            return self._again(chunk.step_id)
        told = self._told.step(chunk.step_id)
        _, position = step.parts[chunk.path]
        calls = [part for part in told.parts if isinstance(part, ToolCall)]
        ahead = sum(call.end is not None for call in calls[:position])
        return [
            self._message(step.index + place, message)
            for place, message in enumerate(_of_step(told))
            if place > ahead
        ]

    def _again(self, first: str) -> list[Operation]:
        """A step's messages and all behind it, which have moved."""
        ids, index, operations = [*self._steps], self._steps[first].index, list[Operation]()
        for id in ids[ids.index(first) :]:
            self._steps[id].index = index
            for message in _of_step(self._told.step(id)):
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
        return [*blanks, *self._left({part.tool_call_id for part in step.calls})]

    def _finished(self, _: chunks.MessageFinish) -> list[Operation]:
        told = len(self._before) + sum(step.size for step in self._steps.values())
        whole = self._whole() if told < self._slots else []
        return whole + self._without_lost_calls()

    def _whole(self) -> list[Operation]:
        """All messages: a list can lose some in no other way."""
        told = list(self._before)
        for id, step in self._steps.items():
            step.index = len(told)
            told += _of_step(self._told.step(id))
        self._slots = len(told)
        return [_set(["messages"], told)]

    def _removed(self, chunk: chunks.MessagesRemoved) -> list[Operation]:
        known = approvals(self._turns)
        self._turns = tuple(messages.without(self._turns, chunk.ids))
        self._before = _messages(self._turns)
        return [*self._whole(), *self._left(known.keys() - approvals(self._turns).keys())]

    def _shortened(self, chunk: chunks.HistoryShortened) -> list[Operation]:
        """Mark the messages that the graph has removed."""
        before = self._before
        self._turns = tuple(messages.marked(self._turns, chunk.ids))
        self._before = _messages(self._turns)
        pairs = zip(before, self._before, strict=True)
        marked = {place: ours for place, (theirs, ours) in enumerate(pairs) if theirs != ours}
        for id, step in self._steps.items():
            if id in chunk.ids and step.is_begun:
                marked[step.index] = _of_step(self._told.step(id))[0]
        return [
            _set(["messages", place, "additional_kwargs"], message["additional_kwargs"])
            for place, message in marked.items()
        ]

    def _settled(self, chunk: chunks.ToolSettled) -> list[Operation]:
        """The end of a call of an earlier run: its tool message comes before all that this run
        says."""
        return [*self._settled_call(chunk), *self._ended_below(chunk.tool_call_id)]

    def _ended_below(self, call_id: str) -> list[Operation]:
        """The end of a call is the end of the calls of its subagents that a crash has left open."""
        calls = calls_of(self._turns)
        if call_id not in self._earlier_below or call_id not in calls:
            return []
        ended = substeps([AssistantTurn("", (Step("", (calls[call_id],)),))])
        changed = {
            id: steps
            for id, steps in ended.items()
            if id not in self._below and steps != self._earlier_below.get(id)
        }
        self._earlier_below |= changed
        return [_set(["substeps", id], _of_steps(steps)) for id, steps in changed.items()]

    def _settled_call(self, chunk: chunks.ToolSettled) -> list[Operation]:
        before = self._before
        self._turns = tuple(messages.settle_turn(turn, chunk) for turn in self._turns)
        self._before = _messages(self._turns)
        if any(step.is_begun for step in self._steps.values()):
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


def _begun(part: chunks.ToolCallPart) -> ToolCall:
    return ToolCall(part.tool_call_id, part.tool_name, "", None)


def catch_up(context: StreamContext, posted: View) -> list[str]:
    """Bring a client from the state that it posted, if any, to the state before the first chunk."""
    if posted is None:
        return []
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
    below = state.get("substeps", {})
    if posted.get("substeps", {}) != below:
        others.append(_set(["substeps"], below))
    if "state" in state and posted.get("state") != state["state"]:
        others.append(_set(["state"], state["state"]))
    if len(theirs) > len(ours):
        return [_set(["messages"], ours), *others]
    return [*_from_first_difference(theirs, ours), *others]

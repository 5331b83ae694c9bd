"""LangGraph SDK: a history to the messages of a thread, what waits for an answer, and the states of
the thread, one a message boundary.

    message = {"type": "human", "id", "content"}
            | {"type": "ai", "id", "content", "tool_calls": [call], "response_metadata",
               "usage_metadata"?}
            | {"type": "tool", "id", "tool_call_id", "name", "content": string, "status"}
    call    = {"type": "tool_call", "id", "name", "args", "partial_json"?}

A human or ai message that the graph has removed from what its model gets has `additional_kwargs`:
`{"metadata": {"removed": true}}`. An ai message is one step, its tool messages follow in the order
of its calls; a step without parts has none. `partial_json` is the text of arguments that are not a
JSON object.

An interrupt is `{"id", "value", "response_schema"?}`. The calls of our own tools that wait for an
approval are one interrupt, whose value has the shape of LangChain's `HumanInTheLoopMiddleware`
(langchain 1.4), and each call's id:

    {"type": "tool_approval", "action_requests": [{"name", "args", "description"}],
     "review_configs": [{"action_name", "allowed_decisions"}],
     "calls": [{"tool_call_id", "approval_id", "name", "args", "may_have_run"?}],
     "tool_call_id", "name", "args", "description"       (if it is one call)}

    state = {"values": {"messages", ...}, "next": [node], "tasks": [task], "metadata": {"step"},
             "created_at", "checkpoint", "parent_checkpoint": checkpoint | null}
    task  = {"id", "name", "error": string | null, "interrupts": [interrupt], "path", "result"}
    checkpoint = {"thread_id", "checkpoint_ns": "", "checkpoint_id"}

A call under which subagents worked is a task of the state that it follows: its id is the call's,
its `path` says which of the message's calls without a result it is, its `result` has the tool
message. `tools:{id of the call}` is the `checkpoint_ns` of the subagent's own state, which has the
messages of its steps.

LangGraph has a checkpoint a step of its graph, which takes 33 ms each to read. Clients want to know
where a message is first seen, and what was before it: a run from there replaces the message. The
checkpoint's id names the last message of its state, so it holds for as long as that message does.
A thread that was edited has left branches: each hangs at the last state that both have, and a
state comes behind all that hang at it. Of the graph's own state the newest one has in `values` what
clients see, and the others nothing. Images are in the last state of the thread and of each branch,
which are those that clients show; in the others an image has the address `data:,`.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from turnstream.server.formats import langchain_messages as langchain
from turnstream.server.formats.json_text import dumps
from turnstream.server.formats.langchain_messages import Json
from turnstream.server.formats.metadata import given
from turnstream.server.turns.chunks import Aside, FilePart, FinishReason, Interrupt, Usage
from turnstream.server.turns.graph_state import Values
from turnstream.server.turns.messages import (
    AssistantTurn,
    MessagePart,
    Step,
    ToolCall,
    Turn,
    UserTurn,
)
from turnstream.server.turns.requests import ImageContent, InvalidRequest
from turnstream.server.turns.told_thread import calls_of

NO_IMAGE = "data:,"
_REASONS: Mapping[FinishReason, str] = {
    "tool-calls": "tool_calls",
    "content-filter": "content_filter",
}
"""The finish reasons that LangChain's models call otherwise."""
_ERRORS = {"recursion_limit": "GraphRecursionError"}
DECISIONS = ("approve", "edit", "reject")
_REQUEST = "Tool execution requires approval"
_CUT_OFF = f"{_REQUEST}. It was approved before and cut off, and may have run"
OF_CALL = "tools:"
"""Prefix of the namespace of what runs under a call, which the id of the call follows."""
NO_CALLS: Mapping[str, ToolCall] = {}
START, _AFTER = "start", "after-"
"""The checkpoint of the state ahead of all messages, and the prefix of any other, which the id of
the last message follows."""


def messages(turns: Iterable[Turn]) -> list[Json]:
    found: list[Json] = []
    for turn in turns:
        if not isinstance(turn, AssistantTurn):
            found.append(langchain.human_message(turn))
            continue
        for step in turn.steps:
            ended = [call for call in _calls(step.parts) if call.end is not None]
            results = map(langchain.tool_message, ended)
            found += [ai_message(step), *results] if step.parts else []
    return found


def with_asides(shown: Sequence[Json], asides: Iterable[Aside]) -> list[Json]:
    """Put the messages that are in no turn among the others. One that follows a message that is not
    shown comes last."""
    following, placed = dict[str | None, list[Json]](), list[Json]()
    for aside in asides:
        following.setdefault(aside.after, []).append(_aside(aside))

    def place(after: str | None) -> None:
        waiting = following.pop(after, [])[::-1]
        while waiting:
            placed.append(waiting.pop())
            waiting += following.pop(placed[-1]["id"], [])[::-1]

    place(None)
    for message in shown:
        placed.append(message)
        place(message["id"])
    return [*placed, *(one for rest in following.values() for one in rest)]


def asides_among(
    asides: Iterable[Aside], shown: Iterable[Json], kept: Collection[str]
) -> list[Aside]:
    """The asides that are kept of a list of messages, each behind the last one that is kept."""
    by_id, found, after = {one.id: one for one in asides}, list[Aside](), None
    for id in (one["id"] for one in shown if one["id"] in kept):
        if id in by_id:
            found.append(replace(by_id[id], after=after))
        after = id
    return found


def _aside(aside: Aside) -> Json:
    if aside.role == "user":
        return {"type": "human", "id": aside.id, "content": aside.text, **given(name=aside.name)}
    call = {"tool_call_id": aside.tool_call_id, "name": aside.name}
    return {"type": "tool", "id": aside.id, **call, "content": aside.text, "status": "success"}


def without_images(message: Json) -> Json:
    """The message with an empty address in the place of each image that it carries, and without the
    data of files; itself if it carries none. They are larger than all else, and whoever shows a
    state gets it with them."""
    content = message.get("content")
    if not isinstance(content, list):
        return message
    light = [*map(_without_data, content)]
    return message if light == content else {**message, "content": light}


def image_bytes(turns: Iterable[Turn]) -> int:
    """About the size of the images and files that the turns carry."""
    said = (
        item
        for turn in turns
        for item in (turn.content if isinstance(turn, UserTurn) else turn.parts)
    )
    return sum(len(item.url) for item in said if isinstance(item, ImageContent | FilePart))


def _without_data(block: Json) -> Json:
    match block:
        case {"type": "image_url", "image_url": {"url": str(url)}} if url.startswith("data:"):
            return {**block, "image_url": {"url": NO_IMAGE}}
        case {"type": "file", "data": _}:
            return {**block, "data": ""}
    return block


def values(
    turns: Sequence[Turn],
    graph_state: Values | None,
    asides: Iterable[Aside] = (),
    *,
    has_messages: bool = True,
) -> Json:
    """The state of a thread, as clients see it."""
    said = {"messages": with_asides(messages(turns), asides)} if has_messages else {}
    return {**(graph_state or {}), **said}


def ai_message(step: Step) -> Json:
    return {
        "type": "ai",
        "id": step.step_id,
        "content": langchain.ai_content(step.parts),
        "tool_calls": [_call(call) for call in _calls(step.parts)],
        "response_metadata": {
            "finish_reason": _REASONS.get(step.finish_reason, step.finish_reason),
            **given(model_name=step.model),
        },
        **given(name=step.agent, usage_metadata=step.usage and _usage(step.usage)),
        **(langchain.REMOVED if step.removed else {}),
    }


def _calls(parts: Iterable[MessagePart]) -> list[ToolCall]:
    return [part for part in parts if isinstance(part, ToolCall)]


def _usage(usage: Usage) -> Json:
    """LangChain's `UsageMetadata`."""
    cached, reasoning = usage.cached_tokens, usage.reasoning_tokens
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        **({"input_token_details": {"cache_read": cached}} if cached else {}),
        **({"output_token_details": {"reasoning": reasoning}} if reasoning else {}),
    }


def _call(call: ToolCall) -> Json:
    head = {"type": "tool_call", "id": call.tool_call_id, "name": call.tool_name}
    malformed = call.args_text if call.args is None else None
    return {**head, "args": call.args or {}, **given(partial_json=malformed)}


def open_interrupts(turns: Sequence[Turn], interrupts: Sequence[Interrupt]) -> list[Json] | None:
    """The interrupts that a thread waits for. None: nothing; an empty list: a breakpoint."""
    asked = [
        {"id": one.id, "value": one.value, **given(response_schema=one.response_schema)}
        for one in interrupts
        if not one.is_breakpoint
    ]
    calls = asked_calls(turns)
    if calls:
        asked.append({"id": approvals_id(calls), "value": _review(calls)})
    return asked if asked or interrupts else None


def asked_calls(turns: Sequence[Turn]) -> list[ToolCall]:
    """The calls of our own tools that wait for an approval. Those that a graph asks about by an
    interrupt have another disposition."""
    calls = calls_of(turns[-1:]).values()
    return [call for call in calls if call.disposition == "approval" and call.awaits_approval]


def approvals_id(calls: Sequence[ToolCall]) -> str:
    """The interrupt's id: another one as soon as another question is open."""
    return "approval:" + ",".join(call.approval.id for call in calls if call.approval)


def _review(calls: Sequence[ToolCall]) -> Json:
    requests, asked = list[Json](), list[Json]()
    for call in calls:
        assert call.approval is not None, "the call waits for an approval"
        action = {"name": call.tool_name, "args": call.args or {}}
        ids = {"tool_call_id": call.tool_call_id, "approval_id": call.approval.id}
        again = {"may_have_run": True} if call.approval.may_have_run else {}
        requests.append({**action, "description": _CUT_OFF if again else _REQUEST})
        asked.append({**ids, **action, **again})
    names = dict.fromkeys(call.tool_name for call in calls)
    reviews = [{"action_name": name, "allowed_decisions": [*DECISIONS]} for name in names]
    return {
        "type": "tool_approval",
        "action_requests": requests,
        "review_configs": reviews,
        "calls": asked,
        **({"tool_call_id": calls[0].tool_call_id, **requests[0]} if len(calls) == 1 else {}),
    }


@dataclass(frozen=True, slots=True)
class SavedThread:
    """A thread of one moment, as this format shows it."""

    thread_id: str
    turns: Sequence[Turn]
    messages: Sequence[Json]
    """The messages of the turns."""
    interrupts: Sequence[Interrupt] = ()
    """The open ones."""
    graph_state: Values | None = None
    """The part of the graph's state that clients see; None: nothing."""
    head: str | None = None
    """The last checkpoint of a branch that the thread has left, as LangGraph names it."""
    run_id: str | None = None
    """The last run of the thread."""
    saved_at: str | None = None
    """When the thread was saved last, in ISO 8601. None: a run is live."""
    has_messages: bool = True
    """False if the graph's state has no messages."""

    @property
    def values(self) -> Json:
        """The state, as clients see it."""
        said = {"messages": self.messages} if self.has_messages else {}
        return {**(self.graph_state or {}), **said}


def checkpoints(messages: Sequence[Json]) -> list[tuple[str, int]]:
    """List the states, the newest first: the checkpoint's id, and the number of messages."""
    ids = [START, *[f"{_AFTER}{message['id']}" for message in messages]]
    return [(id, count) for count, id in enumerate(ids)][::-1]


def boundary(messages: Sequence[Json], checkpoint_id: str) -> int:
    """Count the messages of a checkpoint's state. Raises InvalidRequest for one of no state."""
    for id, count in checkpoints(messages):
        if id == checkpoint_id:
            return count
    raise unknown_checkpoint(checkpoint_id)


def unknown_checkpoint(checkpoint_id: str) -> InvalidRequest:
    return InvalidRequest(
        "unknown_checkpoint",
        f"The thread has no checkpoint {checkpoint_id[:100]!r}: take one of its history.",
        409,
    )


def state(
    thread: SavedThread,
    count: int,
    created_at: str,
    called: Mapping[str, ToolCall] = NO_CALLS,
    *,
    subgraphs: bool = False,
) -> Json:
    """The state after the first `count` of the thread's messages, without its `values`;
    `subgraphs`: with the states in which subgraphs wait; `called` are the calls that are shown as
    tasks."""
    is_now = count == len(thread.messages) and thread.head is None
    standing = tasks(thread, subgraphs=subgraphs) if is_now else []
    standing += _called(thread.messages[:count], called) if called and not standing else []
    due = [task["name"] for task in standing if task["error"] is None]
    return {
        "next": due if count or is_now else ["__start__"],
        "tasks": standing,
        "metadata": metadata(thread, count),
        "created_at": created_at,
        "checkpoint": checkpoint(thread, count),
        "parent_checkpoint": checkpoint(thread, count - 1) if count else None,
        "interrupts": [one for task in standing for one in task["interrupts"]],
    }


def calls_of_subagents(turns: Iterable[Turn]) -> dict[str, ToolCall]:
    """The calls under which subagents worked, by id."""
    return {id: call for id, call in calls_of(turns).items() if call.substeps}


def _called(messages: Sequence[Json], called: Mapping[str, ToolCall]) -> list[Json]:
    """The calls of the last message that have no result in these messages, as tasks."""
    answered, tasks = set[str](), list[Json]()
    for message in reversed(messages):
        if message["type"] == "tool":
            answered.add(message["tool_call_id"])
            continue
        calls = [one for one in message.get("tool_calls", ()) if one["id"] not in answered]
        for place, id in enumerate(one["id"] for one in calls):
            if id in called:
                ended = called[id].end is not None
                result = {"messages": [langchain.tool_message(called[id])]} if ended else None
                path = ["__pregel_push", place, False]
                tasks.append({**_task(id, "tools", []), "path": path, "result": result})
        break
    return tasks


def state_below(
    thread_id: str, namespace: str, called: Mapping[str, ToolCall], created_at: str
) -> Json | None:
    """The state of the subagent under a call, by its namespace; None: there is none."""
    call: ToolCall | None = None
    for name in namespace.split("|"):
        call = called.get(name.removeprefix(OF_CALL))
        if call is None:
            return None
        called = calls_of_subagents((AssistantTurn("", call.substeps),))
    said = messages((AssistantTurn("", call.substeps if call else ()),))
    place = {"thread_id": thread_id, "checkpoint_ns": namespace}
    id = f"{_AFTER}{said[-1]['id']}" if said else START
    return {
        "values": {"messages": said},
        "next": [],
        "tasks": _called(said, called),
        "metadata": {"step": len(said) - 1, "source": "loop", "thread_id": thread_id},
        "created_at": created_at,
        "checkpoint": {**place, "checkpoint_id": id},
        "parent_checkpoint": None,
        "interrupts": [],
    }


def event_state(thread: SavedThread, *, is_first: bool = False) -> Json:
    """The newest state as an event of the mode `checkpoints` has it; `is_first`: that ahead of all
    messages."""
    count = 0 if is_first else len(thread.messages)
    parent = {"configurable": checkpoint(thread, count - 1)} if count else None
    shown = replace(thread, messages=(), graph_state=None) if is_first else thread
    return {
        "config": {"configurable": checkpoint(thread, count)},
        "parent_config": parent,
        "values": shown.values,
        **state(thread, count, ""),
        "created_at": None,
    }


def metadata(thread: SavedThread, count: int) -> Json:
    """The metadata of the state after the first `count` messages; the newest one has the run that
    has left it."""
    is_now = count == len(thread.messages) and thread.head is None
    run_id = thread.run_id if is_now else None
    source = "loop" if count else "input"
    about = {"step": count - 1, "source": source, "thread_id": thread.thread_id}
    return {**about, **given(run_id=run_id)}


def empty_state() -> Json:
    """The state of a thread that no run has begun yet: clients show nothing."""
    nothing = dict.fromkeys(("metadata", "created_at", "checkpoint", "parent_checkpoint"))
    return {"values": {"messages": []}, "next": [], "tasks": [], **nothing, "interrupts": []}


def checkpoint(thread: SavedThread, count: int) -> Json:
    id = f"{_AFTER}{thread.messages[count - 1]['id']}" if count else START
    return {"thread_id": thread.thread_id, "checkpoint_ns": "", "checkpoint_id": id}


def tasks(thread: SavedThread, *, subgraphs: bool = False) -> list[Json]:
    """The tasks that the thread stands at: the nodes that ask, or the one that failed."""
    asked = open_interrupts(thread.turns, thread.interrupts) or []
    shown = {one["id"]: one for one in asked}
    standing = _asking(thread, thread.interrupts, shown, 0, subgraphs=subgraphs)
    if calls := asked_calls(thread.turns):
        standing.append(_task(calls[0].tool_call_id, "tools", asked[-1:]))
    last = thread.turns[-1] if thread.turns else None
    if isinstance(last, AssistantTurn) and last.error and not standing:
        standing.append(_task(last.id, "agent", [], dumps(error_json(**last.error))))
    return standing


def _asking(
    thread: SavedThread,
    interrupts: Sequence[Interrupt],
    shown: Mapping[str, Json],
    depth: int,
    *,
    subgraphs: bool,
) -> list[Json]:
    """The tasks of a graph whose nodes ask, or in whose nodes a subgraph waits; `depth`: the number
    of graphs around it."""
    found: dict[str, list[Interrupt]] = {}
    for one in interrupts:
        is_inner = len(one.namespace) > depth
        found.setdefault(one.namespace[depth] if is_inner else one.id, []).append(one)
    tasks = list[Json]()
    for place, asked in found.items():
        questions = [shown[one.id] for one in asked if one.id in shown]
        if len(asked[0].namespace) <= depth:
            tasks.append(_task(place, asked[0].node, questions))
            continue
        name, _, id = place.partition(":")
        task = _task(id or place, name, questions)
        namespace = "|".join(asked[0].namespace[: depth + 1])
        where = {"thread_id": thread.thread_id, "checkpoint_ns": namespace}
        task["checkpoint"] = where
        if subgraphs:
            inner = _asking(thread, asked, shown, depth + 1, subgraphs=True)
            task |= {"checkpoint": None, "state": _inner_state(where, inner)}
        tasks.append(task)
    return tasks


def _inner_state(where: Json, tasks: Sequence[Json]) -> Json:
    """The state in which a subgraph waits, without its values: clients see those of the root graph
    alone."""
    nothing = dict.fromkeys(("metadata", "created_at", "parent_checkpoint"))
    return {
        "values": {},
        "next": [task["name"] for task in tasks],
        "tasks": [*tasks],
        "interrupts": [one for task in tasks for one in task["interrupts"]],
        "checkpoint": where,
        **nothing,
    }


def error_json(code: str, message: str, id: str | None = None) -> Json:
    """`{"error": code, "message", "id"?}`, as a stream's `error` and a task have it; an error that
    clients of LangGraph look for has LangGraph's name."""
    return given(error=_ERRORS.get(code, code), message=message, id=id)


def _task(id: str, name: str, interrupts: Sequence[Json], error: str | None = None) -> Json:
    nothing = dict.fromkeys(("checkpoint", "state", "result"))
    asked = {"error": error, "interrupts": [*interrupts]}
    return {"id": id, "name": name, "path": ["__pregel_pull", name], **asked, **nothing}

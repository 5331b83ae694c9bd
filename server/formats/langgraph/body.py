"""LangGraph SDK: the body of a run (`@langchain/langgraph-sdk` 1.15 and 2.0.0, Python 0.4.14), and
what it means for its thread, which says whose checkpoint it names, what of it is new, and which
questions its `resume` answers.

`input` has what is new, but some clients send messages again that the thread has: those are passed
over, by their ids. A `tool` message is the answer to a call that waits for the client; one that an
app makes up to close a call is passed over, and the message beside it closes the call. A message is
an object, or a bare string, which is the user's. `role` may stand for `type`, with OpenAI's names.
Messages of the model are read only for their ids.

`tools` of `input` are the tools of the client, as clients of LangGraph and AG-UI send them, if they
are a list of objects with names, or of OpenAI's functions; anything else is a value of the graph's
input.

`if_not_exists` is `must_exist` of other bodies; without it a thread is begun, where LangGraph's own
server refuses. `based_on` is ours: of all keys, `metadata` is where clients may put theirs. What
would change what the run does is refused.

A `resume` is decisions if calls of our own tools wait for an approval:

    {"decisions": [decision]}           one for each call, in the interrupt's order
    decision                            if one call waits
    {call id: decision}                 of some or all calls
    {interrupt id: any of these}

    decision = {"type": "approve"} | {"type": "reject", "message"?}
             | {"type": "edit", "edited_action": {"name", "args"}}
             | {"approved", "reason"?, "args"?}

The first form of a decision is that of LangChain's `HumanInTheLoopMiddleware` (langchain 1.4), the
second that of every other body.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import (
    AfterValidator,
    AliasChoices,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    model_validator,
)

from turnstream.server.formats import content, fields
from turnstream.server.formats.fields import BodyLimits, Fields, Text, read, shown, without_effect
from turnstream.server.formats.graph_values import Answers, Values, refuse_native
from turnstream.server.formats.langchain_messages import Json
from turnstream.server.formats.langgraph import snapshot
from turnstream.server.formats.langgraph.options import refused
from turnstream.server.formats.langgraph.stream import ALL_MODES, other_modes, wanted_modes
from turnstream.server.formats.tool_fields import (
    CallId,
    NamedTool,
    Parameters,
    ToolList,
    listed_tools,
    value_of,
)
from turnstream.server.turns.messages import ToolCall, UserTurn
from turnstream.server.turns.requests import (
    ApprovalAnswer,
    Branch,
    ClientTool,
    GraphValues,
    InvalidRequest,
    OnBusy,
    Resume,
    RunOptions,
    StateUpdate,
    TextContent,
    ToolAnswer,
    TurnRequest,
    UserMessage,
    WrittenMessage,
)
from turnstream.server.turns.told_thread import calls_of

OF_THE_THREAD = ("thread_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map", "assistant_id")
"""Keys of `configurable` that have no effect there."""
RESERVED = "__pregel_"
"""Prefix of the keys of `configurable` that are LangGraph's own, which clients send back."""
END = "__end__"
"""The `goto` that ends the turn."""
ALL_MESSAGES = "__remove_all__"
"""The id of LangGraph's message that removes all others."""
MADE_UP = "do-not-render-"
"""Prefix of the ids of tool messages with which agent-chat-ui closes calls."""

OF_BODY = ("context", "input", "thread_id")
"""The keys of a native body that the body of a run may have too."""

_REMEDIES = {
    "configurable": "send it in config",
    "resume": "send it in command",
    "on_busy": "send multitask_strategy",
    "must_exist": "send if_not_exists",
    "based_on": "send it in metadata",
}
_BODY = fields.Otherwise("invalid_body")
_STRATEGY = fields.Otherwise(
    "invalid_multitask_strategy",
    "send enqueue, reject, interrupt or rollback",
)
_TYPES = {"user": "human", "assistant": "ai"}
_CANCELLED = {"cancelled": True}
_DATA, _KINDS = ("data", "base64"), ("mime_type", "mimeType")
"""The keys of an image that a block holds, in LangChain's versions 1 and 0.3."""
_TEXT = {"type": "string"}
_LINK = {"type": "object", "required": ["url"], "properties": {"url": content.IMAGE_URL}}
_FORMS: list[Any] = [
    {"required": ["url"], "properties": {key: {"type": "null"} for key in _DATA}},
    *(
        {"required": [data, kind], "properties": {data: _TEXT, kind: content.IMAGE_TYPE}}
        for data in _DATA
        for kind in _KINDS
    ),
]


class _Block(content.LinkedImage):
    alt: content.AltOfMetadata = Field(None, alias="metadata")


class ImageUrlBlock(_Block):
    type: Literal["image_url"]
    url: Annotated[
        content.ImageUrl,
        BeforeValidator(lambda link: link.get("url") if isinstance(link, dict) else link),
        WithJsonSchema({"anyOf": [content.IMAGE_URL, _LINK]}),
    ] = Field(alias="image_url")


class ImageBlock(_Block):
    """LangChain's own block."""

    model_config = ConfigDict(json_schema_extra={"required": ["type"], "anyOf": _FORMS})
    type: Literal["image"]

    @model_validator(mode="before")
    @classmethod
    def _with_url(cls, block: Any) -> Any:
        return content.with_url(block, _DATA, _KINDS)


class AnyMessage(Fields):
    type: Text
    id: Text | None = None


class HumanMessage(Fields):
    content: Annotated[
        content.Content, content.Said(content.TextPart, ImageUrlBlock, ImageBlock, text=True)
    ]
    id: fields.NewMessageId | None = None


class InputTool(NamedTool):
    parameters: Parameters = Field({"type": "object", "properties": {}})


class InputTools(Fields):
    tools: ToolList[InputTool]


class CallAnswer(Fields):
    tool_call_id: CallId
    content: Annotated[Any, AfterValidator(value_of), fields.FITTING_JSON] = None
    status: Any = None


Refused = Annotated[Any, *refused()]


MAX_BREAKPOINTS, MAX_RECURSION = 100, 1000
_NODES = fields.Otherwise(
    "invalid_body", f"send '*', or a JSON array of up to {MAX_BREAKPOINTS} names of nodes"
)
Breakpoints = Annotated[
    Literal["*"] | Annotated[list[Text], Field(max_length=MAX_BREAKPOINTS)], _NODES
]
RecursionLimit = Annotated[
    int,
    Field(ge=1, le=MAX_RECURSION),
    fields.WHOLE,
    fields.Otherwise("invalid_body", f"send a whole number from 1 to {MAX_RECURSION}"),
]


MAX_DELAY = 2_592_000
Delay = Annotated[
    float,
    Field(ge=0, le=MAX_DELAY),
    fields.Otherwise("invalid_body", f"send a number from 0 to {MAX_DELAY}"),
]


def _end(value: Any) -> Any:
    if value not in (None, [], END, [END]):
        raise fields.Fault(
            "unsupported_option", f"is {shown(value)}: nothing but {END!r} is supported."
        )
    return value


def _by_name(value: Any) -> Any:
    """LangGraph's clients also send an update as pairs."""
    match value:
        case [*pairs] if all(isinstance(one, list) and len(one) == 2 for one in pairs):
            return {str(name): given for name, given in pairs}
    return value


class RunCommand(Fields):
    resume: Answers = None
    goto: Annotated[Any, AfterValidator(_end), WithJsonSchema({"enum": [None, [], END, [END]]})] = (
        None
    )
    update: Annotated[
        dict[str, Any] | None,
        BeforeValidator(_by_name),
        fields.depends_on_server("input"),
    ] = Field(None, description="Values for the state: an object, or pairs of names and values.")


class RunCheckpoint(Fields):
    checkpoint_id: Text | None = None


class RunConfigurable(RunCheckpoint):
    model_config = ConfigDict(extra="allow")


class RunConfig(Fields):
    recursion_limit: RecursionLimit | None = None
    configurable: Annotated[RunConfigurable, fields.depends_on_server("configurable")] | None = None


class RunMetadata(Fields):
    based_on: Text | None = None


Strategy = Annotated[Literal["enqueue", "reject", "interrupt", "rollback"], _STRATEGY]
_ON_BUSY: Mapping[Strategy, OnBusy] = {
    "enqueue": "queue",
    "reject": "reject",
    "interrupt": "stop",
    "rollback": "rollback",
}


class RunBody(Fields):
    interrupt_before: Breakpoints | None = None
    interrupt_after: Breakpoints | None = None
    durability: Annotated[Literal["sync", "async", "exit"], _BODY] | None = Field(
        None, description="Each step is on disk before the next begins; `exit` has no effect."
    )
    webhook: Refused = None
    after_seconds: Delay | None = Field(
        None, description="The run begins so much later at the earliest."
    )
    assistant_id: Text = Field(description="A graph, or the id that LangGraph gives it.")
    input: Annotated[dict[str, Any], fields.depends_on_server("input")] | None = None
    command: RunCommand | None = None
    checkpoint: RunCheckpoint | None = None
    checkpoint_id: Text | None = None
    config: RunConfig | None = None
    context: Annotated[dict[str, Any], fields.depends_on_server("context")] | None = None
    stream_mode: Annotated[Any, AfterValidator(wanted_modes)] = ALL_MODES
    stream_subgraphs: bool | None = Field(
        None, description="Stream what subagents say under tool calls, too."
    )
    multitask_strategy: Strategy | None = "enqueue"
    on_disconnect: Annotated[Literal["cancel", "continue"], _BODY] | None = None
    if_not_exists: Annotated[Literal["create", "reject"], _BODY] | None = None
    metadata: Annotated[Any, fields.FITTING_JSON] = Field(
        None,
        description="Kept with the run. `based_on`: the thread's last run, as in other bodies.",
    )

    @property
    def deletes_thread(self) -> bool:
        """True if the thread goes when the run is over."""
        return False


class StatelessRunBody(RunBody):
    """The body of a run on a thread of its own."""

    after_seconds: Annotated[Any, *refused()] = None
    on_completion: Annotated[Literal["delete", "keep"], _BODY] | None = None

    @property
    def deletes_thread(self) -> bool:
        return self.on_completion != "keep"


class BatchRunBody(StatelessRunBody):
    """The body of one of several runs."""

    thread_id: fields.ThreadId | None = None


class Decisions(Fields):
    decisions: list[Any]


class Decision(Fields):
    type: Annotated[
        Literal["approve", "edit", "reject"],
        fields.Otherwise("invalid_approval", "send approve, edit or reject"),
    ]
    message: Text | None = None
    reason: Text | None = None
    args: dict[str, Any] | None = None
    edited_action: Any = Field(None, validation_alias=AliasChoices("edited_action", "editedAction"))


class EditedAction(Fields):
    name: Any = None
    args: dict[str, Any]


class InputMessage(NamedTuple):
    """A message of `input`, of which the type and the id are read."""

    kind: str
    id: str | None
    fields: Mapping[str, Any]
    where: str


@dataclass(frozen=True, slots=True)
class Submission:
    """A request for a run, before it is known what the thread holds."""

    body: RunBody
    request: TurnRequest
    """All of the request that does not depend on the thread."""
    messages: Sequence[InputMessage]
    branches_at: str | None
    """The checkpoint that the run begins at. An answer goes to what is open now, whatever the
    client saw last."""
    ignored: Sequence[str]
    """The keys that have no effect, each with its place."""
    limits: BodyLimits
    update: Mapping[str, Any] | None = None
    """The change of the state that `command` asks for, without an answer."""

    @property
    def is_about_thread(self) -> bool:
        """True if the meaning depends on what the thread holds. One new message means the same
        everywhere, and a long thread takes long to load."""
        is_one = [one.kind for one in self.messages] == ["human"]
        others = (self.update, self.request.resume, self.branches_at)
        return not is_one or any(one is not None for one in others)


def parse(body: Any, limits: BodyLimits, model: type[RunBody] = RunBody) -> Submission:
    """Raises InvalidRequest."""
    asked = read(model, body, limits)
    refuse_native(body, OF_BODY, _REMEDIES)
    configurable = asked.config.configurable if asked.config else None
    own = (configurable.model_extra if configurable else None) or {}
    places = (asked.checkpoint, asked, configurable)
    ids = [place.checkpoint_id for place in places if place and place.checkpoint_id is not None]
    metadata = asked.metadata if isinstance(asked.metadata, dict) else {}
    resume = asked.command.resume if asked.command else None
    messages = input_messages((asked.input or {}).get("messages"), limits)
    limit = asked.config.recursion_limit if asked.config else None
    before, after = _nodes(asked.interrupt_before), _nodes(asked.interrupt_after)
    update = _update(asked)
    is_alone = not messages and asked.command is None
    tools, further = _with_tools(asked.input or update or {}, limits, is_alone=is_alone)
    given = {"context": asked.context, "configurable": _own(own), "input": further}
    request = TurnRequest(
        answers_are_copies=True,
        client_tools=tools,
        values=read(Values, given, limits).graph_values,
        without_messages=asked.command is None and (asked.input or {}).get("messages") == [],
        options=RunOptions(before, after, limit, tells_tasks=True),
        resume=None if resume is None else Resume(resume),
        on_busy=_ON_BUSY[asked.multitask_strategy or "enqueue"],
        after_seconds=_delay(asked),
        must_exist=asked.if_not_exists == "reject",
        based_on=read(RunMetadata, metadata, limits, "metadata").based_on if metadata else None,
    )
    branches_at = ids[0] if ids and resume is None else None
    ignored = [
        *without_effect(body, model),
        *without_effect(body.get("config") or {}, RunConfig, "config."),
        *without_effect(body.get("command") or {}, RunCommand, "command."),
        *(f"config.configurable.{key}" for key in own if key.startswith(RESERVED)),
    ]
    ignored += ["durability.exit"] if asked.durability == "exit" else []
    ignored += [f"stream_mode.{name}" for name in other_modes(body.get("stream_mode"))]
    return Submission(asked, request, messages, branches_at, ignored, limits, update)


def _delay(asked: RunBody) -> float | None:
    """Raises InvalidRequest."""
    if asked.after_seconds and (asked.command or asked.multitask_strategy == "reject"):
        raise InvalidRequest(
            "unsupported_option",
            "after_seconds goes with input, and multitask_strategy enqueue, interrupt or rollback.",
        )
    return asked.after_seconds or None


def _update(asked: RunBody) -> Mapping[str, Any] | None:
    """The values that `command` puts into the state. Raises InvalidRequest."""
    update = (asked.command and asked.command.update) or None
    if update and (asked.input or (asked.command and asked.command.goto)):
        raise InvalidRequest(
            "conflicting_actions",
            "The body has command.update and input or command.goto: send one of them.",
        )
    if update and "messages" in update and asked.command and asked.command.resume is not None:
        raise InvalidRequest(
            "conflicting_actions",
            "The body has command.resume and messages in command.update: send the messages when "
            "the run that the answer starts has ended.",
        )
    return update


def parse_batch(body: Any, limits: BodyLimits, most: int) -> list[Submission]:
    """Read the bodies of several runs, up to `most`. Raises InvalidRequest."""
    if not isinstance(body, list) or len(body) > most:
        raise InvalidRequest(
            "invalid_body", f"The body is no list of up to {most} runs: send a JSON array."
        )
    found = list[Submission]()
    for number, one in enumerate(body):
        try:
            found.append(parse(fields.an_object(one), limits, BatchRunBody))
        except InvalidRequest as wrong:
            said = f"Run {number}: {wrong.message}"
            raise InvalidRequest(wrong.code, said, wrong.status) from None
    return found


def input_messages(given: Any, limits: BodyLimits) -> list[InputMessage]:
    """Read the messages of `input`; LangGraph takes one message for a list of it. Raises
    InvalidRequest."""
    listed = [given] if isinstance(given, str | dict) else given
    if listed is not None and not isinstance(listed, list):
        raise InvalidRequest(
            "invalid_body", f"input.messages is {shown(listed)}: send a JSON array."
        )
    return [_message(one, f"input.messages[{n}]", limits) for n, one in enumerate(listed or ())]


def _message(value: Any, where: str, limits: BodyLimits) -> InputMessage:
    if isinstance(value, str):
        return InputMessage("human", None, {"content": value}, where)
    has_role = isinstance(value, dict) and "role" in value
    named = {"type": value["role"], **value} if has_role else value
    message = read(AnyMessage, named, limits, where)
    return InputMessage(_TYPES.get(message.type, message.type), message.id, value, where)


def new_message(
    given: Sequence[InputMessage], known: Collection[str], limits: BodyLimits
) -> UserMessage | None:
    """Return the user's new message; `known` are the ids of the thread's messages. Raises
    InvalidRequest."""
    new = [one for one in given if one.id is None or one.id not in known]
    for one in new:
        if one.kind not in ("human", "tool"):
            raise InvalidRequest(
                "unsupported_message",
                f"{one.where} is of the type {shown(one.kind)}: send human and tool messages.",
            )
    said = [read(HumanMessage, one.fields, limits, one.where) for one in new if one.kind == "human"]
    if not said:
        return None
    together = content.one_message([one.content for one in said], limits)
    return UserMessage(together.content, said[-1].id)


def _with_tools(
    given: Mapping[str, Any], limits: BodyLimits, *, is_alone: bool
) -> tuple[tuple[ClientTool, ...], dict[str, Any]]:
    """Return the tools of the client in `input`, and its other values beside the messages.
    `is_alone`: nothing else begins or continues the turn; then a list of tools without other values
    is a value of the input like any other. Raises InvalidRequest."""
    further = {name: value for name, value in given.items() if name != "messages"}
    listed = further.get("tools")
    functions = [_function(one) for one in listed] if isinstance(listed, list) else []
    if not all(functions) or not functions or (is_alone and len(further) == 1):
        return (), further
    del further["tools"]
    return listed_tools(read(InputTools, {"tools": functions}, limits, "input").tools), further


def _function(value: Any) -> dict[str, Any] | None:
    """The name, the description and the parameters of a tool. None: the value is no tool of a
    client, or has more than these."""
    if not isinstance(value, dict) or value.get("type", "function") != "function":
        return None
    own = {key: item for key, item in value.items() if key != "type"}
    function = own["function"] if own.keys() == {"function"} else own
    is_one = isinstance(function, dict) and isinstance(function.get("name"), str)
    return function if is_one and function.keys() <= InputTool.model_fields.keys() else None


def _nodes(named: Any) -> Any:
    return named if named == "*" else tuple(named or ())


def _own(configurable: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of `configurable` that are the graph's own."""
    return {
        name: value
        for name, value in configurable.items()
        if name not in OF_THE_THREAD and not name.startswith(RESERVED)
    }


def with_assistant(
    asked: Submission, config: Mapping[str, Any], context: Mapping[str, Any]
) -> Submission:
    """Add the values of an assistant that clients keep, where the body has none of its own. Raises
    InvalidRequest."""
    given = {"context": context, "configurable": _own(config.get("configurable") or {})}
    kept, own = read(Values, given, asked.limits, "assistant").graph_values, asked.request.values
    values = GraphValues(
        {**kept.context, **own.context}, {**kept.configurable, **own.configurable}, own.input
    )
    ignored = [*asked.ignored, *without_effect(config, RunConfig, "assistant.config.")]
    options = asked.request.options
    if options.recursion_limit is None:
        limit = read(RunConfig, config, asked.limits, "assistant.config").recursion_limit
        options = replace(options, recursion_limit=limit)
    request = replace(asked.request, values=values, options=options)
    return replace(asked, request=request, ignored=ignored)


def state_update(
    values: Any,
    thread: snapshot.SavedThread,
    place: str | None,
    as_node: str | None,
    limits: BodyLimits,
) -> TurnRequest:
    """Make a change of a thread's state a request; `place` is the checkpoint of the state. Raises
    InvalidRequest."""
    listed = values if isinstance(values, list) else [values or {}]
    count = len(thread.messages) if place is None else snapshot.boundary(thread.messages, place)
    known = {one["id"]: one for one in thread.messages[:count]}
    removed, written, only = list[str](), list[WrittenMessage](), None
    for one in (one for some in listed for one in input_messages(some.get("messages"), limits)):
        if one.kind == "remove" and one.id == ALL_MESSAGES:
            removed, written, only = [], [], set[str]()
        elif one.kind == "remove" and one.id is not None:
            removed.append(one.id)
        elif one.id not in known or _differs(one, known[one.id]):
            written.append(_written(one, limits))
        elif only is not None:
            only.add(one.id or "")
    further = {key: value for some in listed for key, value in some.items() if key != "messages"}
    branch = None
    if count < len(thread.messages):
        branch = _branch(thread, count, edits=True)
    return TurnRequest(
        thread_id=thread.thread_id,
        update=StateUpdate(
            tuple(written),
            tuple(removed),
            frozenset(only) - {*removed} if only is not None else None,
            as_node,
        ),
        values=read(Values, {"input": further}, limits).graph_values,
        branch=branch,
        head=thread.head,
        must_exist=True,
    )


def _differs(one: InputMessage, shown: Json) -> bool:
    """Compare a message with the one of its id that clients see: one of a tool is never changed."""
    if one.kind != shown["type"]:
        return True
    given = one.fields.get("content")
    return one.kind != "tool" and given is not None and given != shown["content"]


def _written(one: InputMessage, limits: BodyLimits) -> WrittenMessage:
    """Raises InvalidRequest."""
    if one.kind not in ("human", "ai") or one.fields.get("tool_calls"):
        raise InvalidRequest(
            "unsupported_message",
            f"{one.where} is of the type {shown(one.kind)} or has tool calls: a client writes "
            "messages of the user and of the model, without tool calls.",
        )
    said = read(HumanMessage, one.fields, limits, one.where)
    parts = content.one_message([said.content], limits).content
    if one.kind == "human":
        return WrittenMessage("user", parts, said.id)
    if not all(isinstance(part, TextContent) for part in parts):
        raise InvalidRequest(
            "unsupported_message", f"{one.where} is of the model and has images: send text."
        )
    return WrittenMessage("assistant", parts, one.id)


def turn_request(asked: Submission, thread: snapshot.SavedThread, graph: str | None) -> TurnRequest:
    """Make a submission the request that it is on its thread, or on the branch of the thread that
    has its checkpoint. Raises InvalidRequest."""
    given, messages = asked.messages, thread.messages
    place = asked.branches_at
    if asked.update is not None and asked.request.resume is None:
        change = state_update(asked.update, thread, place, None, asked.limits)
        kept = asked.request
        return replace(change, graph=graph, record=kept.record, on_busy=kept.on_busy)
    count = len(messages) if place is None else snapshot.boundary(messages, place)
    message = new_message(given, {one["id"] for one in messages[:count]}, asked.limits)
    is_branch = count < len(messages) or thread.head is not None
    answers = () if is_branch else tuple(_answers(asked, thread, beside_message=bool(message)))
    request = replace(
        asked.request,
        thread_id=thread.thread_id,
        message=message,
        answers=answers,
        head=thread.head,
        graph=graph,
    )
    if asked.body.command and asked.body.command.goto:
        if count < len(messages) or thread.head is not None:
            raise InvalidRequest(
                "unsupported_checkpoint",
                "command.goto ends the turn that the thread waits in: name no earlier checkpoint.",
            )
        return _ending(request)
    if request.resume is not None:
        return _resuming(request, request.resume, thread)
    if count < len(messages):
        return replace(request, branch=_branch(thread, count, edits=message is not None))
    if message or answers:
        return request
    if given or thread.head is not None:
        raise InvalidRequest(
            "nothing_to_do", "The request brings nothing that the thread does not have.", 409
        )
    if request.is_input_alone:
        return request
    # LangGraph goes past breakpoints too, without input and command.
    if thread.interrupts and all(one.is_breakpoint for one in thread.interrupts):
        return replace(request, resume=Resume({one.id: None for one in thread.interrupts}))
    return replace(request, continue_=True)


def _answers(
    asked: Submission, thread: snapshot.SavedThread, *, beside_message: bool
) -> Iterator[ToolAnswer]:
    """Yield the answers to calls that wait for the client. Beside a message, which closes what is
    left, an answer that only cancels is left out. Raises InvalidRequest."""
    pending = {
        id
        for id, call in calls_of(thread.turns[-1:]).items()
        if call.end is None and (call.disposition in ("client", "approval") or call.awaits_approval)
    }
    for one in asked.messages:
        call_id = one.fields.get("tool_call_id")
        is_answer = one.kind == "tool" and not (one.id or "").startswith(MADE_UP)
        if is_answer and isinstance(call_id, str) and call_id in pending:
            answer = read(CallAnswer, one.fields, asked.limits, one.where)
            is_error = answer.status == "error"
            if not (beside_message and is_error and answer.content == _CANCELLED):
                yield ToolAnswer(call_id, answer.content, is_error)


def _ending(request: TurnRequest) -> TurnRequest:
    """End the turn that waits."""
    if request.message or request.answers or request.resume or request.values.input:
        raise InvalidRequest(
            "conflicting_actions", "The body has command.goto and more to do: send one of them."
        )
    return replace(request, update=StateUpdate(ends=True), must_exist=True)


def _resuming(request: TurnRequest, resume: Resume, thread: snapshot.SavedThread) -> TurnRequest:
    """Answer the calls that wait for an approval, or the graph's own interrupts."""
    if request.message or request.answers:
        raise InvalidRequest(
            "conflicting_actions", "The body has command.resume and new messages: send one of them."
        )
    calls = snapshot.asked_calls(thread.turns)
    if not calls or thread.interrupts:
        return request
    return replace(request, resume=None, approvals=decisions(resume.value, calls))


def _branch(thread: snapshot.SavedThread, count: int, *, edits: bool) -> Branch:
    """A message replaces the user's that follows the checkpoint; without one, the answer that
    follows is made anew, from its question on. What a graph wrote in the user's name is no
    question."""
    users = {turn.id for turn in thread.turns if isinstance(turn, UserTurn)}
    follows = thread.messages[count]
    if edits:
        if follows["id"] not in users:
            raise InvalidRequest(
                "unsupported_checkpoint",
                "A message replaces one of the user's: take the checkpoint that is the parent of "
                "the state in which that message is first seen.",
            )
        return Branch("edit", follows["id"])
    questions = [one["id"] for one in thread.messages[:count] if one["id"] in users]
    if follows["id"] in users or not questions:
        raise InvalidRequest(
            "nothing_to_do", "Behind this checkpoint there is no answer to make anew.", 409
        )
    return Branch("regenerate", questions[-1])


def decisions(value: Any, calls: Sequence[ToolCall]) -> tuple[ApprovalAnswer, ...]:
    """Raises InvalidRequest."""
    answer = fields.an_object(value, "command.resume")
    id, named = snapshot.approvals_id(calls), next(iter(answer), "")
    if len(answer) == 1 and named.startswith("approval:"):
        if named != id:
            said = f"The thread has no interrupt {shown(named)} that is open. It waits for {id!r}."
            raise InvalidRequest("unknown_interrupt", said, 409)
        answer = fields.an_object(answer[id], f"command.resume[{id!r}]")
    given = _by_call(answer, calls)
    return tuple(
        _decision(one, given[one.tool_call_id]) for one in calls if one.tool_call_id in given
    )


def _by_call(answer: Mapping[str, Any], calls: Sequence[ToolCall]) -> Mapping[str, Any]:
    ids = [call.tool_call_id for call in calls]
    if answer and answer.keys() <= {*ids}:
        return answer
    given = [answer]
    if "decisions" in answer:
        given = read(Decisions, answer, None, "command.resume").decisions
    if len(given) != len(calls):
        raise InvalidRequest(
            "invalid_resume",
            f"{len(calls)} calls wait for an approval, command.resume decides on {len(given)}: "
            'send {"decisions": [...]} with one for each, or an object of decisions by call id.',
        )
    return dict(zip(ids, given, strict=True))


def _decision(call: ToolCall, value: Any) -> ApprovalAnswer:
    where = f"The decision on {call.tool_call_id!r}"
    decision = fields.an_object(value, where)
    if isinstance(decision.get("approved"), bool):
        decision = {"type": "approve" if decision["approved"] else "reject", **decision}
    given = read(Decision, decision, None, where)
    question = call.approval.id if call.approval else None
    reason = given.reason if given.message is None else given.message
    args = given.args if given.type == "approve" else None
    if given.type == "edit":
        args = _edited(call, given.edited_action, f"{where}.edited_action")
    return ApprovalAnswer(call.tool_call_id, given.type != "reject", reason, args, question)


def _edited(call: ToolCall, given: Any, where: str) -> dict[str, Any]:
    action = read(EditedAction, given, None, where)
    if action.name not in (None, call.tool_name):
        raise InvalidRequest(
            "invalid_approval",
            f"{where} names {shown(action.name)}: only the arguments of {call.tool_name!r} may be "
            "edited.",
        )
    return action.args

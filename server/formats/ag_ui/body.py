"""AG-UI: the `RunAgentInput` that an `HttpAgent` posts (1.0.0, 0.0.59).

It has all messages that the client holds. Only their end is read, the server has the rest: a user's
message, and the tool messages ahead of it or in its place. A message whose id the thread has is
asked again, or, if it says something else now, an edit; so is one beside `edit`, the id of the
message that it replaces. `resume` answers what the last run has stopped to ask.

assistant-ui has an app's own values in the `runConfig` of `forwardedProps`: they count as if they
stood beside it. So does the `resume` in its `command`, with which CopilotKit up to 1.74 answers.

`protocolVersion` came with 1.0, so a body without it is from a client before.
"""

from collections.abc import Mapping, MutableMapping, Sequence
from itertools import chain
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from turnstream.server.formats import (
    app_context,
    body_schemas,
    content,
    fields,
    graph_values,
    tool_fields,
)
from turnstream.server.formats.ag_ui import WIRE_FORMAT, WIRE_FORMAT_1_0
from turnstream.server.formats.ag_ui.snapshot import approval_of
from turnstream.server.formats.body_schemas import NOTHING, Schema, ref, variant
from turnstream.server.formats.fields import BodyLimits, CamelFields, read, without_effect
from turnstream.server.formats.format import Parsed, WireFormat
from turnstream.server.formats.metadata_schemas import OBJECT, TEXT, any_of, list_of, record
from turnstream.server.turns import requests
from turnstream.server.turns.requests import (
    ApprovalAnswer,
    Branch,
    InvalidRequest,
    ToolAnswer,
    UserMessage,
)
from turnstream.tools.strict_json import text_of

CANCELLED = {"cancelled": True}
"""The answer that a graph gets to an interrupt that the client cancels."""
OF_BODY = ("context", "resume", "thread_id")
"""The keys of a native body that an AG-UI body has too, with a meaning of its own."""
OF_PROPS = (*fields.keys(graph_values.OfGraph), "edit", "message", "thread_id")
"""The keys of a native body that `forwardedProps` may have: an app has props of its own."""
_PASSED_OVER = ("activity", "developer", "reasoning", "system")
"""Roles that are no turn of the user at the end of the messages."""
MAX_RUN_ID_CHARS = 255
_REMEDIES = {"client_tools": "send tools"}
_OUTSIDE_PROPS = {
    **dict.fromkeys(fields.keys(graph_values.OfGraph), "send it in forwardedProps"),
    **_REMEDIES,
}


class DataSource(CamelFields):
    type: Literal["data"]
    value: fields.Text
    mime_type: Annotated[fields.Text, WithJsonSchema(content.IMAGE_TYPE)]

    @property
    def url(self) -> str:
        return f"data:{self.mime_type};base64,{self.value}"

    @model_validator(mode="after")
    def _check(self) -> "DataSource":
        content.check_image_url(self.url)
        return self


class UrlSource(CamelFields):
    type: Literal["url"]
    url: content.ImageUrl = Field(alias="value")


class SourcePart(content.Image):
    type: Literal["image"]
    source: Annotated[DataSource | UrlSource, fields.OneOf("invalid_image")]
    metadata: content.AltOfMetadata = None

    @property
    def content(self) -> requests.UserContent:
        return requests.ImageContent(self.source.url, self.metadata or None)


_FORMS: list[Any] = [
    {"required": ["data"], "properties": {"data": {"type": "string", "minLength": 1}}},
    {"required": ["url"], "properties": {"data": {"type": "null"}}},
]


class _File(CamelFields):
    kind: content.FileType = Field(alias="mimeType")


class BinaryPart(content.LinkedImage, _File):
    """A file of 0.0.59 and before; one that is named by an `id` alone is in a store of others."""

    model_config = ConfigDict(json_schema_extra={"required": ["type", "mimeType"], "anyOf": _FORMS})
    type: Literal["binary"]
    alt: content.Alt = Field(None, alias="filename")

    @model_validator(mode="before")
    @classmethod
    def _with_url(cls, part: Any) -> Any:
        return content.with_url(part, ("data",), ("mimeType",))


class AnyMessage(CamelFields):
    role: fields.Text


class AgentUserMessage(CamelFields):
    role: Literal["user"]
    id: fields.NewMessageId | None = None
    content: Annotated[
        content.Content, content.Said(content.TextPart, SourcePart, BinaryPart, text=True)
    ]


def _text_of_parts(content: Any) -> Any:
    """Return the text of content parts, or JSON if they are more than text; anything else as it
    is."""
    if not isinstance(content, list):
        return content
    texts = [part["text"] for part in content if _is_text(part)]
    return "".join(texts) if len(texts) == len(content) else text_of(content)


def _is_text(part: Any) -> bool:
    match part:
        case {"type": "text", "text": str()}:
            return True
    return False


class AgentToolMessage(CamelFields):
    role: Literal["tool"]
    content: Annotated[
        fields.Text,
        BeforeValidator(_text_of_parts),
        WithJsonSchema(any_of(TEXT, list_of(OBJECT))),
    ] = Field(description="JSON, text, or content parts.")
    tool_call_id: tool_fields.CallId
    error: Any = Field(None, description="Of a call that has failed.")

    def answer(self, limits: BodyLimits, where: str) -> ToolAnswer:
        """Most are copies of what the server has sent, which may have any size."""
        result, fault = tool_fields.value_of(self.content), None
        try:
            with fields.at(f"{where}.content"):
                fields.fitting_json(result, limits)
        except InvalidRequest as refusal:
            result, fault = None, (refusal.code, refusal.message)
        is_error = self.error is not None
        return ToolAnswer(self.tool_call_id, result, is_error, is_any_copy=True, fault=fault)


class ResumeEntry(CamelFields):
    interrupt_id: fields.Text
    status: Annotated[Literal["resolved", "cancelled"], fields.Otherwise("invalid_resume")]
    payload: Any = Field(
        None, description="The answer; of a call that waits for an approval a decision."
    )


class EditingDecision(tool_fields.Decision, CamelFields):
    edited_args: fields.JsonObject | None = None


class AgentTool(tool_fields.NamedTool):
    parameters: tool_fields.Parameters = Field({"type": "object", "properties": {}})


class ForwardedProps(graph_values.OfGraph):
    edit: fields.HeldMessageId | None = None


class AgentInput(CamelFields):
    messages: list[Any] = Field(
        description="The thread as the client has it. Only the end is read."
    )
    thread_id: fields.ThreadId | None = None
    same_thread_id: fields.ThreadId | None = Field(None, alias="thread_id")
    tools: tool_fields.ToolList[AgentTool] | None = None
    context: Any = Field(None, description="Texts of the app for the model.")
    resume: Annotated[list[ResumeEntry], fields.FirstFault()] | None = None
    run_id: Any = Field(None, description="The client's name of the run, which its events have.")
    protocol_version: fields.Text | None = Field(
        None, description="The version that the client speaks; none: it is older than 1.0."
    )
    state: Any = Field(None, description="The graph's state as the client has it.")
    forwarded_props: Any = None

    @property
    def client_run_id(self) -> str | None:
        """None: it has no id, or none that events could have."""
        id = self.run_id
        return id if isinstance(id, str) and 0 < len(id) <= MAX_RUN_ID_CHARS else None

    @property
    def wire_format(self) -> WireFormat:
        """The format of the client's version: 1.0 also for a newer version, and for one that cannot
        be read."""
        version = self.protocol_version or ""
        return WIRE_FORMAT_1_0 if version and not version.startswith("0.") else WIRE_FORMAT


def parse(body: Mapping[str, Any], limits: BodyLimits) -> Parsed:
    """The view is the messages that the client holds."""
    asked = read(AgentInput, body, limits)
    props, ignored = _of_graph(asked.forwarded_props)
    of_graph = read(ForwardedProps, props, limits, "forwardedProps")
    graph_values.refuse_native(body, OF_BODY, _OUTSIDE_PROPS)
    graph_values.refuse_native(props, OF_PROPS, _REMEDIES, "forwardedProps")
    message, answers = _end(asked.messages, limits)
    approvals, values = _resume(asked.resume or (), limits, has_message=message is not None)
    # Beside a resume the last message is the one that led to the question.
    new = None if approvals or values else message
    said = chain(app_context.of_context(asked.context), app_context.of_messages(asked.messages))
    texts, passed_over = app_context.taken(said, limits)
    state, left_out = _posted_state(asked.state, limits)
    turn = of_graph.request(
        has_history=True,
        thread_id=graph_values.one_thread(asked.thread_id, asked.same_thread_id),
        message=new,
        branch=_branch(new, of_graph.edit) if new else None,
        answers=answers,
        approvals=approvals,
        answers_are_copies=True,
        client_tools=tool_fields.listed_tools(asked.tools),
        app_context=texts,
        client_run_id=asked.client_run_id,
        posted_state=state or None,
        resume=requests.Resume(values) if values else None,
    )
    unread = [*without_effect(body, AgentInput), *ignored, *passed_over, *left_out]
    return Parsed(turn, asked.messages, unread, asked.wire_format)


def _posted_state(state: Any, limits: BodyLimits) -> tuple[dict[str, Any], list[str]]:
    """Return the values of a posted state that a thread could keep, and the places of the others:
    a client posts all that it has, however large it is."""
    if not isinstance(state, dict):
        return {}, ["state"] if state else []
    kept: dict[str, Any] = {}
    left_out: list[str] = []
    for key, value in state.items():
        try:
            kept[key] = graph_values.as_kept(fields.fitting_json(value, limits))
        except fields.Fault:
            left_out.append(f"state.{key}")
    return kept, left_out


def _of_graph(given: Any) -> tuple[Mapping[str, Any], list[str]]:
    """Return the props that are about the run, and the names of the others."""
    props = given if isinstance(given, dict) else {}
    inner = {
        key: props[key] for key in ("runConfig", "command") if isinstance(props.get(key), dict)
    }
    config, command = inner.get("runConfig", {}), inner.get("command", {})
    ignored = [
        *without_effect(props, ForwardedProps, "forwardedProps.", [*inner]),
        *without_effect(config, ForwardedProps, "forwardedProps.runConfig."),
        *(f"forwardedProps.command.{key}" for key in command if key != "resume"),
    ]
    props = {**props, **config}
    answer = props.get("resume")
    return {**props, "resume": command.get("resume") if answer is None else answer}, ignored


def _branch(message: UserMessage, edited: str | None) -> Branch | None:
    if edited is not None:
        return Branch("edit", edited)
    return Branch("regenerate", message.id) if message.id else None


def _end(
    messages: Sequence[Any], limits: BodyLimits
) -> tuple[UserMessage | None, tuple[ToolAnswer, ...]]:
    """The user's message that ends the messages, and the tool messages right ahead of it."""
    message = None
    answers: list[ToolAnswer] = []
    for index in reversed(range(len(messages))):
        where, given = f"messages[{index}]", messages[index]
        role = read(AnyMessage, given, limits, where).role
        if role == "tool":
            answers.append(read(AgentToolMessage, given, limits, where).answer(limits, where))
        elif role == "user" and message is None and not answers:
            said = read(AgentUserMessage, given, limits, where)
            message = UserMessage(said.content, said.id)
        elif role not in _PASSED_OVER:
            break
    return message, tuple(reversed(answers))


def _resume(
    entries: Sequence[ResumeEntry], limits: BodyLimits, *, has_message: bool
) -> tuple[tuple[ApprovalAnswer, ...], dict[str, Any]]:
    """The decisions, and the answers to the graph's interrupts by id. What is cancelled beside a
    new message is left out: the message goes past it. Raises InvalidRequest."""
    approvals: list[ApprovalAnswer] = []
    answers: dict[str, Any] = {}
    for index, entry in enumerate(entries):
        where, is_cancelled = f"resume[{index}].payload", entry.status == "cancelled"
        if is_cancelled and has_message:
            continue
        asked = approval_of(entry.interrupt_id)
        if asked and is_cancelled:
            approvals.append(ApprovalAnswer(asked[0], False, approval_id=asked[1]))
        elif asked:
            decision = read(EditingDecision, entry.payload, limits, where)
            approvals.append(decision.on(*asked, decision.edited_args))
        else:
            with fields.at(where):
                payload = CANCELLED if is_cancelled else entry.payload
                answers[entry.interrupt_id] = fields.fitting_json(payload, limits)
    return tuple(approvals), answers


MODELS = (AgentInput, ForwardedProps, AgentUserMessage, AgentToolMessage)


def bodies(found: MutableMapping[str, Schema]) -> dict[str, Schema]:
    """Return the schemas of bodies, by name. The end of the messages has something new, or the body
    answers what the last run has stopped to ask: in `resume`, or as any body may in what is
    `forwardedProps`."""
    whole, given = found.pop("AgentInput"), found.pop("ForwardedProps")
    props = _props(given)
    refused = body_schemas.refused(OF_BODY)
    whole = variant(whole, (), forwardedProps=_if_object(props), **refused)
    answers = body_schemas.some(whole["properties"]["resume"])
    last = any_of(ref("AgentUserMessage"), ref("AgentToolMessage"))
    new = {**whole["properties"]["messages"], "minItems": 1, "contains": last}
    bodies = {
        "AgUi.MessagesBody": variant(whole, (), messages=new),
        "AgUi.ResumeBody": variant(whole, ["resume"], resume={**answers, "minItems": 1}),
        "AgUi.GraphResumeBody": variant(
            whole,
            ["forwardedProps"],
            resume=any_of({"type": "array", "maxItems": 0}, NOTHING),
            forwardedProps=variant(props, ["resume"], resume={"not": NOTHING}),
        ),
    }
    return {**bodies, "AgUi.Body": any_of(*map(ref, bodies))}


def _props(given: Schema) -> Schema:
    """Describe `forwardedProps`. assistant-ui has the same in `runConfig`, which counts before what
    is beside it."""
    closed = variant(given, (), **body_schemas.refused(OF_PROPS))
    command = _if_object(body_schemas.an_object((), resume={}))
    return variant(closed, (), runConfig=_if_object(closed), command=command)


def _if_object(schema: Schema) -> Schema:
    return any_of(schema, {"not": OBJECT})


_SOURCE = record({"mimeType": TEXT}, type=TEXT, value=TEXT)
_IMAGE = record({"metadata": record(filename=TEXT)}, type="image", source=_SOURCE)
_FUNCTION = record(name=TEXT, arguments=TEXT)
_PARTS = list_of(any_of(record(type="text", text=TEXT), _IMAGE))
_CALLS = list_of(record(id=TEXT, type="function", function=_FUNCTION))


def components() -> dict[str, Schema]:
    """Return the schema of a message of a loaded thread, by name; see `snapshot.py`."""
    return {"Message.ag-ui": _message({}), "Message.ag-ui-1.0": _message({"subagentRunId": TEXT})}


def _message(more: Schema) -> Schema:
    return any_of(
        record(role="user", id=TEXT, content=any_of(TEXT, _PARTS)),
        record({"content": TEXT, "toolCalls": _CALLS, **more}, role="assistant", id=TEXT),
        record(more, role="tool", id=TEXT, toolCallId=TEXT, content=TEXT),
        record(more, role="reasoning", id=TEXT, content=TEXT),
    )

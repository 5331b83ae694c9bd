"""The keys that any body may have: of the graph, of its thread and of its tools."""

from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints

from turnstream.server.formats import fields
from turnstream.server.formats.fields import Fault, Fields, JsonObject, Otherwise, Text
from turnstream.server.turns import requests
from turnstream.server.turns.requests import GraphValues, InvalidRequest, TurnRequest
from turnstream.tools import strict_json

MAX_TOOL_NAMES, MAX_TOOL_NAME_CHARS = 1000, 256
"""Limits of `allowed_tools`."""
_ACTIONS = ("message", "answers", "approvals", "branch")
"""The fields of a request for a run that say what it does."""


def as_kept(value: Any) -> Any:
    """Return a value as a thread keeps it. Raises Fault."""
    if not value:
        return value
    try:
        return strict_json.read_storable(strict_json.write(value))
    except ValueError as error:
        raise Fault("invalid_json_value", f"cannot be kept in the thread: {error}.") from None


ToolNames = Annotated[
    list[Annotated[str, StringConstraints(max_length=MAX_TOOL_NAME_CHARS)]],
    Field(max_length=MAX_TOOL_NAMES),
    fields.FirstFault(),
]
KEPT = AfterValidator(as_kept)
Answers = Annotated[fields.Json, KEPT]


class Values(Fields):
    """Values for a graph beside a message."""

    context: Annotated[JsonObject, fields.depends_on_server("context")] | None = None
    configurable: Annotated[JsonObject, fields.depends_on_server("configurable")] | None = None
    input: Annotated[JsonObject, KEPT, fields.depends_on_server("input")] | None = None

    @property
    def graph_values(self) -> GraphValues:
        if not (self.context or self.configurable or self.input):
            return requests.NO_VALUES
        return GraphValues(self.context or {}, self.configurable or {}, self.input or {})


class OfGraph(Values):
    """The keys that any body may have."""

    graph: Annotated[Text, fields.depends_on_server("graphs")] | None = None
    model: Annotated[Text, fields.depends_on_server("models")] | None = None
    allowed_tools: ToolNames | None = Field(
        None, description="Names of the tools that the run may use."
    )
    resume: Answers = Field(
        None,
        description="Answers to the graph's interrupts: an object of values by interrupt id, or "
        "the bare value if one interrupt is open.",
    )
    on_interrupt: (
        Annotated[Literal["discard", "reject", "queue"], Otherwise("invalid_on_interrupt")] | None
    ) = Field(
        None,
        description="What an open interrupt means to a new message: its end, a 409, or with "
        "`on_busy: queue` that the message waits for an answer, to whatever waits for one.",
    )
    on_busy: Annotated[Literal["reject", "stop", "queue"], Otherwise("invalid_on_busy")] | None = (
        Field(
            None,
            description="What a live run of the thread means: a 409, its end, or that the request "
            "waits for its turn.",
        )
    )
    must_exist: bool | None = Field(
        None, description="Answer 404 if there is no such thread, rather than begin it."
    )
    based_on: Text | None = Field(
        None, description="The id of the thread's last run: after another one the answer is 409."
    )
    version: Text | None = Field(
        None, description="The id of a version of a message: go on from its branch of the thread."
    )

    def request(self, *, has_history: bool = False, **asked: Any) -> TurnRequest:
        """Make the request for a run, of these keys and of the fields that the body's own keys are.
        Beside the answers that the graph is resumed with there is nothing to do, unless the client
        posts its history each time, which brings nothing new. Raises InvalidRequest."""
        if self.resume is not None:
            others = [asked.pop(key, None) for key in _ACTIONS]
            if any(others) and not has_history:
                raise InvalidRequest(
                    "conflicting_actions",
                    "The body has resume and something else to do: send one of them.",
                )
            asked["resume"] = requests.Resume(self.resume)
        tools = self.allowed_tools
        return TurnRequest(
            **asked,
            graph=self.graph,
            model=self.model,
            values=self.graph_values,
            allowed_tools=tools if tools is None else tuple(dict.fromkeys(tools)),
            on_interrupt=self.on_interrupt or "discard",
            on_busy=self.on_busy or "reject",
            must_exist=bool(self.must_exist),
            based_on=self.based_on,
            version=self.version,
        )


def one_thread(*ids: str | None) -> str | None:
    """Return the id of the thread that a body names under several keys. Raises InvalidRequest."""
    named = [*dict.fromkeys(id for id in ids if id is not None)]
    if len(named) > 1:
        raise InvalidRequest(
            "conflicting_actions", f"The body names the threads {' and '.join(named)}: name one."
        )
    return named[0] if named else None


NATIVE_KEYS = {
    *("message", "tool_results", "approvals", "continue", "regenerate", "edit"),
    *("thread_id", "client_tools"),
    *fields.keys(OfGraph),
}
"""The keys of a native body."""


def refuse_native(
    value: Mapping[str, Any],
    known: Collection[str],
    remedies: Mapping[str, str],
    where: str = "The body",
) -> None:
    """Refuse the keys of a native body that another format does not know: to ignore one would
    change what the run does, or what it may do. Raises InvalidRequest."""
    for key in sorted(NATIVE_KEYS.intersection(value)):
        if value[key] is not None and key not in known:
            remedy = remedies.get(key, "leave it out")
            raise InvalidRequest(
                "unknown_key", f"{where} has {key}, which has no effect there: {remedy}."
            )

"""LangGraph SDK: the body of a run (`@langchain/langgraph-sdk` 1.15 and 2.0.0, Python 0.4.14).

`input` has what is new, but some clients send messages again that the thread has: those are passed
over, by their ids. A `tool` message is the answer to a call that waits for the client; one that an
app makes up to close a call is passed over, and the message beside it closes the call.
`if_not_exists` is `must_exist` of other bodies; without it a thread is begun, where LangGraph's own
server refuses. `based_on` is ours: of all keys, `metadata` is where clients may put theirs. What
would change what the run does is refused.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, WithJsonSchema

from turnstream.server.formats.fields import (
    BodyLimits,
    Fault,
    Fields,
    Otherwise,
    Text,
    depends_on_server,
    read,
    shown,
    without_effect,
)
from turnstream.server.formats.graph_values import Answers, Values, refuse_native
from turnstream.server.formats.langgraph.input_messages import InputMessages, input_messages
from turnstream.server.formats.langgraph.modes import ALL_MODES, Modes, wanted_modes
from turnstream.server.turns.requests import NO_VALUES, GraphValues, InvalidRequest, OnBusy, Resume

OF_THE_THREAD = ("thread_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map", "assistant_id")
"""Keys of `configurable` that have no effect there."""
RESERVED = "__pregel_"
"""Prefix of the keys of `configurable` that are LangGraph's own, which clients send back."""
OMITTED: dict[str, Any] = {"enum": [None, False, 0, "", [], {}]}
"""The schema of a key that is as good as missing, where every other value is refused."""

OF_BODY = ("context", "input", "thread_id")
"""The keys of a native body that the body of a run may have too."""

_REMEDIES = {
    "configurable": "send it in config",
    "resume": "send it in command",
    "on_busy": "send multitask_strategy",
    "must_exist": "send if_not_exists",
    "based_on": "send it in metadata",
}
_STRATEGIES = "send reject or interrupt; runs of a thread do not queue up, and none is rolled back"


def _omitted(value: Any) -> None:
    if value:
        raise Fault("unsupported_option", "is not supported: leave it out.")


Refused = Annotated[Any, AfterValidator(_omitted), WithJsonSchema(OMITTED)]


class RunCommand(Fields):
    resume: Answers = None
    goto: Refused = None
    update: Refused = None


class RunCheckpoint(Fields):
    checkpoint_id: Text | None = None


class RunConfigurable(RunCheckpoint):
    model_config = ConfigDict(extra="allow")


class RunConfig(Fields):
    configurable: Annotated[RunConfigurable, depends_on_server("configurable")] | None = None


class RunMetadata(Fields):
    based_on: Text | None = None


class RunBody(Fields):
    interrupt_before: Refused = None
    interrupt_after: Refused = None
    webhook: Refused = None
    after_seconds: Refused = None
    assistant_id: Text = Field(description="A graph, or the id that LangGraph gives it.")
    input: Annotated[dict[str, Any], depends_on_server("input")] | None = None
    command: RunCommand | None = None
    checkpoint: RunCheckpoint | None = None
    checkpoint_id: Text | None = None
    config: RunConfig | None = None
    context: Annotated[dict[str, Any], depends_on_server("context")] | None = None
    stream_mode: Annotated[Any, AfterValidator(wanted_modes)] = ALL_MODES
    multitask_strategy: (
        Annotated[
            Literal["reject", "interrupt"],
            Otherwise("invalid_multitask_strategy", _STRATEGIES),
        ]
        | None
    ) = None
    on_disconnect: Annotated[Literal["cancel", "continue"], Otherwise("invalid_body")] | None = None
    if_not_exists: Annotated[Literal["create", "reject"], Otherwise("invalid_body")] | None = None
    metadata: Any = Field(None, description="Nothing but `based_on` is read.")


@dataclass(frozen=True, slots=True)
class Submission:
    """A request for a run, before it is known what the thread holds."""

    assistant_id: str
    messages: InputMessages
    resume: Resume | None = None
    checkpoint_id: str | None = None
    values: GraphValues = NO_VALUES
    on_busy: OnBusy = "reject"
    modes: Modes = ALL_MODES
    stops_with_reader: bool = False
    """The client orders that the run ends when it leaves."""
    must_exist: bool = False
    based_on: str | None = None
    ignored: Sequence[str] = ()
    """The keys that have no effect, each with its place."""

    @property
    def branches_at(self) -> str | None:
        """The checkpoint that the run begins at. An answer goes to what is open now, whatever the
        client saw last."""
        return self.checkpoint_id if self.resume is None else None

    @property
    def is_about_thread(self) -> bool:
        """True if the meaning depends on what the thread holds. One new message means the same
        everywhere, and a long thread takes long to load."""
        is_one = [one.kind for one in self.messages.given] == ["human"]
        return not is_one or self.resume is not None or self.checkpoint_id is not None


def parse(body: Any, limits: BodyLimits) -> Submission:
    """Raises InvalidRequest."""
    asked = read(RunBody, body, limits)
    refuse_native(body, OF_BODY, _REMEDIES)
    configurable = (asked.config.configurable if asked.config else None) or RunConfigurable()
    own = configurable.model_extra or {}
    places = [place for place in (asked.checkpoint, asked, configurable) if place]
    ids = [place.checkpoint_id for place in places if place.checkpoint_id is not None]
    metadata = asked.metadata if isinstance(asked.metadata, dict) else {}
    resume = asked.command.resume if asked.command else None
    return Submission(
        assistant_id=asked.assistant_id,
        messages=input_messages(_messages(asked.input), limits),
        resume=None if resume is None else Resume(resume),
        checkpoint_id=ids[0] if ids else None,
        values=_values(asked, own, limits),
        on_busy="stop" if asked.multitask_strategy == "interrupt" else "reject",
        modes=asked.stream_mode,
        stops_with_reader=asked.on_disconnect == "cancel",
        must_exist=asked.if_not_exists == "reject",
        based_on=read(RunMetadata, metadata, limits, "metadata").based_on if metadata else None,
        ignored=[*_ignored(body, own, metadata)],
    )


def _messages(given: Mapping[str, Any] | None) -> Sequence[Any]:
    """LangGraph takes one message for a list of it."""
    found = (given or {}).get("messages")
    if isinstance(found, str | dict):
        return [found]
    if found is not None and not isinstance(found, list):
        raise InvalidRequest(
            "invalid_body", f"input.messages is {shown(found)}: send a JSON array."
        )
    return found or []


def _values(asked: RunBody, configurable: Mapping[str, Any], limits: BodyLimits) -> GraphValues:
    own = {
        name: value
        for name, value in configurable.items()
        if name not in OF_THE_THREAD and not name.startswith(RESERVED)
    }
    further = {name: value for name, value in (asked.input or {}).items() if name != "messages"}
    given = {"context": asked.context, "configurable": own, "input": further}
    return read(Values, given, limits).graph_values


def _ignored(
    body: Mapping[str, Any], configurable: Mapping[str, Any], metadata: Mapping[str, Any]
) -> Iterator[str]:
    yield from without_effect(body, RunBody)
    yield from without_effect(body.get("config") or {}, RunConfig, "config.")
    yield from without_effect(body.get("command") or {}, RunCommand, "command.")
    yield from without_effect(metadata, RunMetadata, "metadata.")
    yield from (f"config.configurable.{key}" for key in configurable if key.startswith(RESERVED))

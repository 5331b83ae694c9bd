"""LangGraph SDK: the body of a run (`@langchain/langgraph-sdk` 1.15 and 2.0.0, Python 0.4.14).

    {"assistant_id", "input": {"messages": [message], ...} | null, "command"?: {"resume"},
     "checkpoint"?: {"checkpoint_id"}, "config"?: {"configurable"}, "context"?, "stream_mode"?,
     "multitask_strategy"?: "reject" | "interrupt", "on_disconnect"?: "cancel" | "continue",
     "if_not_exists"?: "create" | "reject", "metadata"?: {"based_on"}}

`input` has what is new, but some clients send messages again that the thread has: those are passed
over, by their ids. A `tool` message is the answer to a call that waits for the client; one that an
app makes up to close a call is passed over, and the message beside it closes the call.
`if_not_exists` is `must_exist` of other bodies; without it a thread is begun, where LangGraph's own
server refuses. `based_on` is ours: of all keys, `metadata` is where clients may put theirs.

Ignored: other `metadata`, `durability`, `stream_subgraphs`, `stream_resumable`, `feedback_keys`,
`strict_resume`, `config` but for `configurable`, and what else an app adds. What would change what
the run does is refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from turnstream.server.protocols.fields import BodyLimits, mapping, sequence, shown, string
from turnstream.server.protocols.graph_values import based_on, graph_values, resume
from turnstream.server.protocols.langgraph_sdk.input_messages import InputMessages, input_messages
from turnstream.server.turns.requests import NO_VALUES, GraphValues, InvalidRequest, OnBusy, Resume

MODES = ("messages-tuple", "messages", "values", "updates", "custom", "tools")
OTHER_MODES = ("events", "debug", "tasks", "checkpoints", "messages-partial", "lifecycle", "input")
"""LangGraph's own that tell nothing here; clients ask for them beside others."""
_ON_BUSY: Mapping[str, OnBusy] = {"reject": "reject", "interrupt": "stop"}
REFUSED = ("interrupt_before", "interrupt_after", "webhook", "after_seconds")
OF_THE_THREAD = ("thread_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map", "assistant_id")
"""Of `configurable`: said elsewhere."""

Modes = frozenset[str]
ALL_MODES: Modes = frozenset(MODES) - {"messages"}


@dataclass(frozen=True, slots=True)
class Submission:
    """What a body asks for, before it is known what the thread holds."""

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

    @property
    def branches_at(self) -> str | None:
        """The checkpoint that the run begins at. An answer goes to what is open now, whatever the
        client saw last."""
        return self.checkpoint_id if self.resume is None else None

    @property
    def is_about_thread(self) -> bool:
        """Whether what it means depends on what the thread holds. One new message means the same
        everywhere, and a long thread takes long to load."""
        is_one = [one.kind for one in self.messages.given] == ["human"]
        return not is_one or self.resume is not None or self.checkpoint_id is not None


def parse(body: Any, limits: BodyLimits) -> Submission:
    """Raises InvalidRequest."""
    fields = mapping(body, "The body")
    for name in REFUSED:
        if fields.get(name):
            raise InvalidRequest("unsupported_option", f"{name} is not supported: leave it out.")
    config = _object(fields, "config")
    given = _object(fields, "input") if isinstance(fields.get("input"), dict | None) else {}
    return Submission(
        assistant_id=string(fields.get("assistant_id"), "assistant_id"),
        messages=input_messages(_messages(fields.get("input")), limits),
        resume=_resume(_object(fields, "command"), limits),
        checkpoint_id=_checkpoint_id(fields, config),
        values=_values(fields, config, given, limits),
        on_busy=_on_busy(fields.get("multitask_strategy")),
        modes=modes(fields.get("stream_mode")),
        stops_with_reader=_stops_with_reader(fields.get("on_disconnect")),
        must_exist=_must_exist(fields.get("if_not_exists")),
        based_on=_based_on(fields.get("metadata")),
    )


def modes(asked: Any) -> Modes:
    """`messages` is told like `messages-tuple`. Raises InvalidRequest."""
    if asked in (None, []):
        return ALL_MODES
    names = [asked] if isinstance(asked, str) else sequence(asked, "stream_mode")
    for name in names:
        if name not in MODES + OTHER_MODES:
            raise InvalidRequest(
                "invalid_stream_mode",
                f"stream_mode has {shown(name)}: ask for {', '.join(MODES)}.",
            )
    wanted = {"messages-tuple" if name == "messages" else name for name in names}
    return frozenset(wanted) & ALL_MODES


def _object(fields: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return {} if fields.get(name) is None else mapping(fields[name], name)


def _messages(given: Any) -> Sequence[Any]:
    """LangGraph takes one message for a list of it."""
    if given is None:
        return []
    found = mapping(given, "input").get("messages")
    if isinstance(found, str | dict):
        return [found]
    return [] if found is None else sequence(found, "input.messages")


def _resume(command: Mapping[str, Any], limits: BodyLimits) -> Resume | None:
    for name in ("goto", "update"):
        if command.get(name):
            raise InvalidRequest(
                "unsupported_option", f"command.{name} is not supported: send command.resume."
            )
    return resume(command, limits)


def _checkpoint_id(fields: Mapping[str, Any], config: Mapping[str, Any]) -> str | None:
    places = (
        (_object(fields, "checkpoint"), "checkpoint.checkpoint_id"),
        (fields, "checkpoint_id"),
        (_object(config, "configurable"), "config.configurable.checkpoint_id"),
    )
    named = [
        string(place["checkpoint_id"], name)
        for place, name in places
        if place.get("checkpoint_id") is not None
    ]
    return next(iter(named), None)


def _values(
    fields: Mapping[str, Any],
    config: Mapping[str, Any],
    given: Mapping[str, Any],
    limits: BodyLimits,
) -> GraphValues:
    configurable = {
        name: value
        for name, value in _object(config, "configurable").items()
        if name not in OF_THE_THREAD
    }
    further = {name: value for name, value in given.items() if name != "messages"}
    asked = {
        "context": _object(fields, "context") or None,
        "configurable": configurable or None,
        "input": further or None,
    }
    return graph_values(asked, limits)


def _on_busy(strategy: Any) -> OnBusy:
    if strategy is None:
        return "reject"
    if isinstance(strategy, str) and strategy in _ON_BUSY:
        return _ON_BUSY[strategy]
    raise InvalidRequest(
        "invalid_multitask_strategy",
        f"multitask_strategy is {shown(strategy)}: send {' or '.join(_ON_BUSY)}; runs of a thread "
        "do not queue up, and none is rolled back.",
    )


def _stops_with_reader(on_disconnect: Any) -> bool:
    if on_disconnect in (None, "cancel", "continue"):
        return bool(on_disconnect == "cancel")
    raise InvalidRequest(
        "invalid_body", f"on_disconnect is {shown(on_disconnect)}: send cancel or continue."
    )


def _must_exist(if_not_exists: Any) -> bool:
    if if_not_exists in (None, "create", "reject"):
        return bool(if_not_exists == "reject")
    raise InvalidRequest(
        "invalid_body", f"if_not_exists is {shown(if_not_exists)}: send create or reject."
    )


def _based_on(metadata: Any) -> str | None:
    """Whatever else it is, nobody reads it."""
    return based_on(metadata) if isinstance(metadata, dict) else None

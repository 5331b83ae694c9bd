"""What an AG-UI client makes of a stream: the rules that `@ag-ui/client` 0.0.59 and 1.0.0 share,
and the messages that both build; of version 1.0 also its own rules."""

import copy
from collections.abc import Iterable, Sequence

import jsonpatch

from tests.support.protocol_readers import BadStreamError, Json, events


class AgUiReader:
    """An agent: `messages` may be those that it holds when it posts. `read` takes one run."""

    def __init__(self, messages: Iterable[Json] = (), version: str | None = None) -> None:
        self.version = version
        self.subagents: dict[str, Json] = {}
        """The events that began them, of all runs."""
        self.ends: list[Json] = []
        """The events that ended subagents."""
        self._active: set[str] = set()
        self._ended: set[str] = set()
        self._owners: dict[tuple[str, str], str | None] = {}
        self.messages: list[Json] = copy.deepcopy(list(messages))
        self.interrupts: list[Json] = []
        self.error: Json | None = None
        self.finished: Json | None = None
        self.custom: list[Json] = []
        self.state: Json = {}
        self.snapshots = 0
        self._open: set[tuple[str, str]] = set()
        self._is_running = False

    def read(self, said: Iterable[str]) -> "AgUiReader":
        self.error = self.finished = None
        for event in events(said):
            self._check(event)
            getattr(self, "_on_" + event["type"].lower())(event)
        if self._is_running:
            raise BadStreamError("the stream ends without its end")
        return self

    def _check(self, event: Json) -> None:
        required, optional = _KEYS[event["type"]] if self.version is None else _keys(event["type"])
        keys = event.keys() - {"type"}
        if not required <= keys <= required | optional:
            raise BadStreamError(f"the schema refuses {event}")
        if None in event.values():
            raise BadStreamError(f"null in {event}")
        if not self._is_running and event["type"] not in ("RUN_STARTED", "RUN_ERROR"):
            raise BadStreamError(f"outside a run: {event}")
        if event["type"] not in _LIFECYCLE:
            self._check_owner(event)

    def _check_owner(self, event: Json) -> None:
        """Whatever is opened is gone on with by the same, and a subagent begins ahead of it."""
        owner = event.get("subagentRunId")
        id = event.get("messageId", event.get("toolCallId"))
        key = ("message" if "messageId" in event else "call", str(id))
        if id is not None and self._owners.setdefault(key, owner) != owner:
            raise BadStreamError(f"{event} is another's")
        if owner is not None and owner not in self._active | self._ended:
            raise BadStreamError(f"its subagent has not begun: {event}")

    def _message(self, event: Json) -> Json:
        known = [message for message in self.messages if message["id"] == event["messageId"]]
        if not known:
            raise BadStreamError(f"no message is known for {event}")
        return known[0]

    def _begin(self, kind: str, id: str) -> None:
        if (kind, id) in self._open:
            raise BadStreamError(f"{kind} {id} is open already")
        self._open.add((kind, id))

    def _end(self, kind: str, id: str) -> None:
        if (kind, id) not in self._open:
            raise BadStreamError(f"{kind} {id} is not open")
        self._open.remove((kind, id))

    def _need(self, kind: str, id: str) -> None:
        self._end(kind, id)
        self._begin(kind, id)

    # the run

    def _on_run_started(self, _: Json) -> None:
        if self._is_running:
            raise BadStreamError("a run starts inside a run")
        self._is_running = True
        self._active, self._ended, self._owners = set(), set(), {}

    def _on_run_finished(self, event: Json) -> None:
        if self._open or self._active:
            raise BadStreamError(f"still open at the end: {self._open} {self._active}")
        self._is_running = False
        self.finished = event
        outcome = event.get("outcome", {"type": "success"})
        self.interrupts = outcome["interrupts"] if outcome["type"] == "interrupt" else []
        for interrupt in self.interrupts:
            known = _INTERRUPT | ({"subagentRunId"} if self.version else set())
            if not {"id", "reason"} <= interrupt.keys() <= known or None in interrupt.values():
                raise BadStreamError(f"the schema refuses {interrupt}")

    def _on_run_error(self, event: Json) -> None:
        self._is_running = False
        self.error = event

    def _on_messages_snapshot(self, event: Json) -> None:
        """Merges by id, in place; of one id the last counts. Reasoning stays, as it is, unless the
        snapshot has some."""
        self.snapshots += 1
        given = copy.deepcopy(event["messages"])
        new = {message["id"]: message for message in given}
        has_reasoning = any(message["role"] == "reasoning" for message in given)
        kept: list[Json] = []
        for message in self.messages:
            if message["role"] == "reasoning" and not has_reasoning:
                kept.append(message)
            elif message["id"] in new:
                kept.append(new[message["id"]])
        known = {message["id"] for message in kept}
        self.messages = [*kept, *(message for message in given if message["id"] not in known)]

    def _on_subagent_started(self, event: Json) -> None:
        id, around = event["subagentRunId"], event.get("parentSubagentRunId")
        if id in self._active | self._ended:
            raise BadStreamError(f"{id} begins again")
        if around is not None and around not in self._active | self._ended:
            raise BadStreamError(f"{event} begins ahead of those around it")
        if self._call({"toolCallId": event["parentToolCallId"]}) is None:
            raise BadStreamError(f"no call is known for {event}")
        self._active.add(id)
        self.subagents[id] = event

    def _on_subagent_finished(self, event: Json) -> None:
        id = event["subagentRunId"]
        if id not in self._active:
            raise BadStreamError(f"{id} is not active")
        self._active.remove(id)
        self._ended.add(id)
        self.ends.append(event)

    _on_subagent_error = _on_subagent_finished

    def _on_custom(self, event: Json) -> None:
        self.custom.append({"name": event["name"], "value": event["value"]})

    def _on_state_snapshot(self, event: Json) -> None:
        self.state = copy.deepcopy(event["snapshot"])

    def _on_state_delta(self, event: Json) -> None:
        self.state = jsonpatch.apply_patch(self.state, event["delta"])

    # parts

    def _on_text_message_start(self, event: Json) -> None:
        self._begin("text", event["messageId"])
        if all(message["id"] != event["messageId"] for message in self.messages):
            message = {"id": event["messageId"], "role": event["role"], "content": ""}
            self.messages.append({**message, **_owner(event)})

    def _on_text_message_content(self, event: Json) -> None:
        self._need("text", event["messageId"])
        message = self._message(event)
        message["content"] = message.get("content", "") + event["delta"]

    def _on_text_message_end(self, event: Json) -> None:
        self._end("text", event["messageId"])

    def _on_reasoning_start(self, event: Json) -> None:
        self._begin("span", event["messageId"])

    def _on_reasoning_message_start(self, event: Json) -> None:
        self._begin("reasoning", event["messageId"])
        if all(message["id"] != event["messageId"] for message in self.messages):
            message = {"id": event["messageId"], "role": "reasoning", "content": ""}
            self.messages.append({**message, **_owner(event)})

    def _on_reasoning_message_content(self, event: Json) -> None:
        self._need("reasoning", event["messageId"])
        self._message(event)["content"] += event["delta"]

    def _on_reasoning_message_end(self, event: Json) -> None:
        self._end("reasoning", event["messageId"])

    def _on_reasoning_end(self, event: Json) -> None:
        self._end("span", event["messageId"])

    def _on_tool_call_start(self, event: Json) -> None:
        self._begin("call", event["toolCallId"])
        if self._call(event) is not None:
            return
        parent = [m for m in self.messages if m["id"] == event["parentMessageId"]]
        if not parent:
            parent = [{"id": event["parentMessageId"], "role": "assistant", **_owner(event)}]
            self.messages += parent
        function = {"name": event["toolCallName"], "arguments": ""}
        call = {"id": event["toolCallId"], "type": "function", "function": function}
        parent[0].setdefault("toolCalls", []).append(call)

    def _on_tool_call_args(self, event: Json) -> None:
        self._need("call", event["toolCallId"])
        call = self._call(event)
        assert call is not None
        call["function"]["arguments"] += event["delta"]

    def _on_tool_call_end(self, event: Json) -> None:
        self._end("call", event["toolCallId"])

    def _on_tool_call_result(self, event: Json) -> None:
        """Behind the message that made the call, and its results so far."""
        message = {
            "id": event["messageId"],
            "role": "tool",
            "toolCallId": event["toolCallId"],
            "content": event["content"],
            **_owner(event),
        }
        place = len(self.messages)
        for index, known in enumerate(self.messages):
            if any(call["id"] == event["toolCallId"] for call in known.get("toolCalls", ())):
                place = index + 1
                while place < len(self.messages) and self.messages[place]["role"] == "tool":
                    place += 1
                break
        self.messages.insert(place, message)

    def _call(self, event: Json) -> Json | None:
        calls = (call for message in self.messages for call in message.get("toolCalls", ()))
        return next((call for call in calls if call["id"] == event["toolCallId"]), None)


def in_call_order(messages: Sequence[Json]) -> list[Json]:
    """The messages, with the results of calls that were made together in the order of the calls: a
    client has them as they came."""
    ordered: list[Json] = []
    places: dict[str, int] = {}
    results: list[Json] = []
    for message in messages:
        if message["role"] == "tool":
            results.append(message)
            continue
        ordered += sorted(results, key=lambda result: places.get(result["toolCallId"], 0))
        results = []
        places |= {call["id"]: n for n, call in enumerate(message.get("toolCalls", ()))}
        ordered.append(message)
    return [*ordered, *sorted(results, key=lambda result: places.get(result["toolCallId"], 0))]


def by_owner(messages: Sequence[Json]) -> dict[str, list[Json]]:
    """The messages by the subagent that says them, those of the answer under no name: models that
    speak at once are in a client's list as they came."""
    owners = dict.fromkeys(message.get("subagentRunId", "") for message in messages)
    return {
        owner: in_call_order([m for m in messages if m.get("subagentRunId", "") == owner])
        for owner in sorted(owners)
    }


def _owner(event: Json) -> Json:
    return {"subagentRunId": event["subagentRunId"]} if "subagentRunId" in event else {}


_LIFECYCLE = ("SUBAGENT_STARTED", "SUBAGENT_FINISHED", "SUBAGENT_ERROR")
_ID = {"messageId"}
_CALL = {"toolCallId"}
_INTERRUPT = {"id", "reason", "message", "toolCallId", "responseSchema", "expiresAt", "metadata"}
_KEYS: dict[str, tuple[set[str], set[str]]] = {
    "RUN_STARTED": ({"threadId", "runId"}, set()),
    "RUN_FINISHED": ({"threadId", "runId"}, {"usage", "result", "outcome"}),
    "RUN_ERROR": ({"message"}, {"code"}),
    "MESSAGES_SNAPSHOT": ({"messages"}, set()),
    "CUSTOM": ({"name", "value"}, set()),
    "STATE_SNAPSHOT": ({"snapshot"}, set()),
    "STATE_DELTA": ({"delta"}, set()),
    "TEXT_MESSAGE_START": (_ID | {"role"}, set()),
    "TEXT_MESSAGE_CONTENT": (_ID | {"delta"}, set()),
    "TEXT_MESSAGE_END": (_ID, set()),
    "REASONING_START": (_ID, set()),
    "REASONING_MESSAGE_START": (_ID | {"role"}, set()),
    "REASONING_MESSAGE_CONTENT": (_ID | {"delta"}, set()),
    "REASONING_MESSAGE_END": (_ID, set()),
    "REASONING_END": (_ID, set()),
    "TOOL_CALL_START": (_CALL | {"toolCallName", "parentMessageId"}, set()),
    "TOOL_CALL_ARGS": (_CALL | {"delta"}, set()),
    "TOOL_CALL_END": (_CALL, set()),
    "TOOL_CALL_RESULT": (_ID | _CALL | {"content"}, {"role"}),
}
"""Of each event the keys that are required, and those that both versions accept besides."""
_OF_1_0: dict[str, tuple[set[str], set[str]]] = {
    "RUN_STARTED": ({"threadId", "runId", "protocolVersion"}, set()),
    "RUN_FINISHED": ({"threadId", "runId"}, {"usage", "result", "outcome", "metadata"}),
    "RUN_ERROR": ({"message", "usage"}, {"code"}),
    "SUBAGENT_STARTED": (
        {"subagentRunId", "name", "parentToolCallId"},
        {"parentMessageId", "parentSubagentRunId"},
    ),
    "SUBAGENT_FINISHED": ({"subagentRunId"}, {"outcome"}),
    "SUBAGENT_ERROR": ({"subagentRunId", "message"}, {"code"}),
}
_OF_ALL = ("MESSAGES_SNAPSHOT", "CUSTOM", "STATE_SNAPSHOT", "STATE_DELTA")
"""The events that are nobody's."""


def _keys(type: str) -> tuple[set[str], set[str]]:
    """The same of an event of 1.0."""
    if type in _OF_1_0:
        return _OF_1_0[type]
    required, optional = _KEYS[type]
    return required, optional if type in _OF_ALL else optional | {"subagentRunId"}

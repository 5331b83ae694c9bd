"""What clients make of the streams: strict readers, each after one client's rules."""

import copy
import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

Json = dict[str, Any]


class BadStreamError(Exception):
    """A client would fail here, or drop what it got."""


def payloads(stream: bytes) -> list[str]:
    """The data of each frame, `[DONE]` included."""
    *frames, rest = stream.decode().split("\n\n")
    if rest:
        raise BadStreamError(f"the last frame is not closed: {rest!r}")
    return [_data(frame) for frame in frames]


def events(said: Iterable[str]) -> list[Json]:
    return [json.loads(payload) for payload in said if payload != "[DONE]"]


def _data(frame: str) -> str:
    match = re.fullmatch(r"(?:id: [^\n]+\n)?data: ([^\n\r]*)", frame)
    if match is None:
        raise BadStreamError(f"not an id line and a data line: {frame!r}")
    return match[1]


# assistant-transport, state: strict mode of the state accumulator


def decoded_state(state: Any, said: Iterable[str]) -> Any:
    """The state after all `update-state` operations, in strict mode. Also raises when text is
    appended to what these operations have not set: a replay would double it."""
    state, fresh = copy.deepcopy(state), set[tuple[str, ...]]()
    for event in events(said):
        if event["type"] == "update-state":
            assert event["path"] == []
            for operation in event["operations"]:
                state = _apply(state, operation, fresh)
    return state


def _apply(state: Any, operation: Json, fresh: set[tuple[str, ...]]) -> Any:
    path, value = tuple(operation["path"]), operation["value"]
    if operation["type"] == "set":
        fresh.add(path)
        return _replaced(state, path, lambda _: copy.deepcopy(value))
    if operation["type"] != "append-text":
        raise BadStreamError(f"unknown operation {operation}")
    if not any(path[:length] in fresh for length in range(len(path) + 1)):
        raise BadStreamError(f"{path} was not set in this run")
    return _replaced(state, path, lambda old: _appended(old, value))


def _appended(old: Any, value: str) -> str:
    if not isinstance(old, str):
        raise BadStreamError(f"append-text to {old!r}")
    return old + value


def _replaced(state: Any, path: tuple[str, ...], change: Any) -> Any:
    if not path:
        return change(state)
    head, *rest = path
    if isinstance(state, list):
        if not re.fullmatch(r"0|[1-9][0-9]*", head) or int(head) > len(state):
            raise BadStreamError(f"index {head!r} into a list of {len(state)}")
        old = state[int(head)] if int(head) < len(state) else None
        return [*state[: int(head)], _replaced(old, tuple(rest), change), *state[int(head) + 1 :]]
    if state is not None and not isinstance(state, dict):
        raise BadStreamError(f"stepping into {state!r}")
    old = (state or {}).get(head)
    return {**(state or {}), head: _replaced(old, tuple(rest), change)}


# assistant-transport, parts: accumulator, with the frontend-tool pipeline's stricter order


def accumulated(said: Iterable[str]) -> Json:
    """The assistant message that the part chunks build: `parts`, `steps`, `data` and the rest.
    What the server adds to assistant-stream's chunks is kept: `stepId`, `disposition`, `end`."""
    message: Json = _empty()
    under: dict[str, Json] = {}
    for event in events(said):
        for item in event.get("data", ()) if event["type"] == "data" else ():
            if item["name"] == "substep":
                told = under.setdefault(item["data"]["tool_call_id"], _empty())
                chunk = item["data"]["chunk"]
                _PART_CHUNKS[chunk["type"]](told, chunk)
        if event["type"] != "update-state":
            _PART_CHUNKS[event["type"]](message, event)
    for told in (message, *under.values()):
        if told.pop("open"):
            raise BadStreamError("a part is still open")
    _nest(message["parts"], under)
    asked = [item["data"] for item in message["data"] if item["name"] == "interrupt"]
    to_run = {one["tool_call_id"] for one in asked if "tool_call_id" in one}
    for part in message["parts"]:
        if part.get("toolCallId") in to_run:
            part["disposition"] = "client"
    return _without_withdrawn(message)


def _empty() -> Json:
    return {"parts": [], "steps": [], "data": [], "open": set(), "step_of": [], "places": {}}


def _nest(parts: Iterable[Json], under: Mapping[str, Json]) -> None:
    """Give each call the steps that its subagents made, at any depth."""
    for part in parts:
        told = under.get(part.get("toolCallId", ""))
        if told is None:
            continue
        part["messages"] = []
        for step in told["steps"]:
            placed = zip(told["parts"], told["step_of"], strict=True)
            own = [one for one, id in placed if id == step["stepId"]]
            _nest(own, under)
            id, place = step["stepId"], told["places"][step["stepId"]]
            message = {key: value for key, value in step.items() if key != "stepId"}
            message |= {"id": id, "role": "assistant", "parts": own, **place}
            part["messages"].append(message)
        if not part["messages"]:
            del part["messages"]
        cut = sum(item["name"] == "step-withdrawn" for item in told["data"])
        part.update({"messagesCut": cut} if cut else {})


def _without_withdrawn(message: Json) -> Json:
    """The filter that docs/clients.md shows, and the parts of a step together."""
    data = [item["data"] for item in message["data"] if item["name"] == "step-withdrawn"]
    gone = {number for withdrawn in data for number in withdrawn["parts"]}
    parts = [(i, part) for i, part in enumerate(message["parts"]) if i not in gone]
    steps = [step["stepId"] for step in message["steps"]]
    step_of = message.pop("step_of")
    message["parts"] = [part for _, part in sorted(parts, key=lambda p: steps.index(step_of[p[0]]))]
    return message


def _part(message: Json, event: Json) -> Json:
    (index,) = event["path"]
    if index not in message["open"]:
        raise BadStreamError(f"part {index} is not open: {event}")
    part: Json = message["parts"][index]
    return part


def _on_part_start(message: Json, event: Json) -> None:
    assert event["path"] == []
    message["open"].add(len(message["parts"]))
    start = event["part"]
    said: dict[str, Json] = {
        "tool-call": {"argsText": "", "state": "pending"},
        "text": {"text": ""},
        "reasoning": {"text": ""},
    }
    message["parts"].append({**start, **said.get(start["type"], {})})
    message["step_of"].append(event.get("stepId", message["latest"]))


def _on_text_delta(message: Json, event: Json) -> None:
    part = _part(message, event)
    part["argsText" if part["type"] == "tool-call" else "text"] += event["textDelta"]


def _on_args_finish(message: Json, event: Json) -> None:
    part = _part(message, event)
    try:
        args = json.loads(part["argsText"])
    except ValueError:
        args = {}
    part["args"] = args if isinstance(args, dict) else {}
    part["disposition"] = event["disposition"]
    if event["disposition"] == "approval":
        part["approval"] = {"id": part["toolCallId"]}


def _on_result(message: Json, event: Json) -> None:
    assert isinstance(event["isError"], bool)
    ended = {"result": event["result"], "isError": event["isError"], "state": event["end"]}
    _part(message, event).update(ended)


def _on_part_finish(message: Json, event: Json) -> None:
    _part(message, event)
    message["open"].remove(event["path"][0])


def _on_step_start(message: Json, event: Json) -> None:
    assert event["path"] == []
    message["id"] = event["messageId"]
    message["latest"] = event["stepId"]
    message["steps"].append({"stepId": event["stepId"]})
    message["places"][event["stepId"]] = {k: event[k] for k in ("agent", "namespace") if k in event}


def _on_step_finish(message: Json, event: Json) -> None:
    id = event.get("stepId", message["latest"])
    if any(message["step_of"][number] == id for number in message["open"]):
        raise BadStreamError("a part outlives its step")
    (step,) = [step for step in message["steps"] if step["stepId"] == id]
    step |= {"finishReason": event["finishReason"], "usage": event["usage"]}


def _on_data(message: Json, event: Json) -> None:
    message["data"] += event["data"]
    for item in event["data"]:
        if item["name"] == "step-withdrawn":
            id = item["data"]["step_id"]
            message["steps"] = [step for step in message["steps"] if step["stepId"] != id]
        elif item["name"] == "interrupt":
            asked = {a["tool_call_id"]: a["approval"] for a in item["data"].get("approvals", ())}
            for part in message["parts"]:
                if part.get("toolCallId") in asked:
                    part["approval"] = asked[part["toolCallId"]]


def _on_error(message: Json, event: Json) -> None:
    message["error"] = {key: event[key] for key in ("code", "error", "id") if key in event}


def _on_message_finish(message: Json, event: Json) -> None:
    message.update(finishReason=event["finishReason"], usage=event["usage"])


_PART_CHUNKS = {
    "part-start": _on_part_start,
    "text-delta": _on_text_delta,
    "tool-call-args-text-finish": _on_args_finish,
    "result": _on_result,
    "part-finish": _on_part_finish,
    "step-start": _on_step_start,
    "step-finish": _on_step_finish,
    "data": _on_data,
    "error": _on_error,
    "message-finish": _on_message_finish,
}


# AI SDK: `readUIMessageStream`, with the chunk schemas of the strictest 6.x


class UIMessageReader:
    """Builds a UIMessage; `parts` may be those that the client has of a continued message.

    `keeps_place`: a call that begins again grows the part that it has, as before ai 6.0.326.
    """

    def __init__(self, parts: Iterable[Json] = (), *, keeps_place: bool = True) -> None:
        self._keeps_place = keeps_place
        self.id: str | None = None
        self.parts: list[Json] = copy.deepcopy(list(parts))
        self.metadata: Json = {}
        self.error: str | None = None
        self.aborted = False
        self.finish_reason: str | None = None
        self.tool_calls: list[str] = []
        """Ids for which the app's `onToolCall` was called."""
        self._open: dict[str, Json] = {}
        self._inputs: dict[str, str] = {}

    def read(self, said: Iterable[str]) -> "UIMessageReader":
        for event in events(said):
            required, optional = _UI_KEYS[event["type"]]
            keys = event.keys() - {"type"}
            if not required <= keys <= required | optional:
                raise BadStreamError(f"the schema refuses {event}")
            for key, value in event.items():
                if value is None and key not in ("input", "output"):
                    raise BadStreamError(f"null in {event}")
            getattr(self, "_on_" + event["type"].replace("-", "_"))(event)
        return self

    def _on_start(self, event: Json) -> None:
        self.id = event["messageId"]

    def _on_start_step(self, _: Json) -> None:
        self.parts.append({"type": "step-start"})

    @property
    def kept_parts(self) -> list[Json]:
        """Without those that were withdrawn: the filter that docs/clients.md shows."""
        gone = set[int]()
        for place, part in enumerate(self.parts):
            if part["type"] == "data-step-withdrawn":
                gone |= {place, *(place - back for back in part["data"]["parts_back"])}
        left = [part for place, part in enumerate(self.parts) if place not in gone]
        calls = {part["toolCallId"]: part for part in left if "toolCallId" in part}
        return [p for p in left if "toolCallId" not in p or calls[p["toolCallId"]] is p]

    def _on_data_step_withdrawn(self, event: Json) -> None:
        known = [part for part in self.parts if part.get("id") == event["id"]]
        if known:
            known[0]["data"] = event["data"]
        else:
            self.parts.append(event)

    def _on_data_custom(self, _: Json) -> None:
        """Transient: an app's `onData` gets it, and no message."""

    _on_data_interrupt = _on_data_custom
    _on_data_interrupts_discarded = _on_data_custom
    _on_data_messages_removed = _on_data_custom
    _on_data_history_shortened = _on_data_custom
    _on_data_state = _on_data_custom
    _on_data_tool_approval = _on_data_custom

    def _on_file(self, event: Json) -> None:
        self.parts.append(event)

    _on_source_url = _on_file

    def _on_finish_step(self, _: Json) -> None:
        self._open.clear()

    def _on_text_start(self, event: Json) -> None:
        kind = event["type"].removesuffix("-start")
        own_id = {"id": event["id"]} if kind == "reasoning" else {}
        part = {"type": kind, **own_id, "text": "", "state": "streaming"}
        self._open[event["id"]] = part
        self.parts.append(part)

    def _on_text_delta(self, event: Json) -> None:
        self._opened(event)["text"] += event["delta"]

    def _on_text_end(self, event: Json) -> None:
        self._opened(event)["state"] = "done"
        del self._open[event["id"]]

    _on_reasoning_start = _on_text_start
    _on_reasoning_delta = _on_text_delta
    _on_reasoning_end = _on_text_end

    def _opened(self, event: Json) -> Json:
        part = self._open.get(event["id"])
        if part is None or not event["type"].startswith(part["type"]):
            raise BadStreamError(f"no part is open for {event}")
        return part

    def _on_tool_input_start(self, event: Json) -> None:
        self._inputs[event["toolCallId"]] = ""
        if not self._keeps_place:
            self.parts.append(
                {"type": f"tool-{event['toolName']}", "toolCallId": event["toolCallId"]}
            )
        self._call(event, {"state": "input-streaming"})

    def _on_tool_input_delta(self, event: Json) -> None:
        if event["toolCallId"] not in self._inputs:
            raise BadStreamError(f"no input has started for {event}")
        self._inputs[event["toolCallId"]] += event["inputTextDelta"]
        part = self._call(event, {"state": "input-streaming"})
        with suppress(ValueError):
            # The client's parser mends what is cut off; only whole inputs matter here.
            part["input"] = json.loads(self._inputs[event["toolCallId"]])

    def _on_tool_input_available(self, event: Json) -> None:
        part = self._call(event, {"state": "input-available", "input": event["input"]})
        for of_an_output in ("output", "preliminary"):
            part.pop(of_an_output, None)
        if not event.get("providerExecuted"):
            self.tool_calls.append(event["toolCallId"])

    def _on_tool_input_error(self, event: Json) -> None:
        error = {"rawInput": event["input"], "errorText": event["errorText"]}
        self._call(event, {"state": "output-error", **error}).pop("input", None)

    def _on_tool_output_available(self, event: Json) -> None:
        part = self._call(event, {"state": "output-available", "output": event["output"]})
        part.pop("preliminary", None)
        if event.get("preliminary"):
            part["preliminary"] = True

    def _on_tool_output_error(self, event: Json) -> None:
        part = self._call(event, {"state": "output-error", "errorText": event["errorText"]})
        for key in ("output", "preliminary"):
            part.pop(key, None)

    def _on_tool_approval_request(self, event: Json) -> None:
        self._call(event, {"state": "approval-requested", "approval": {"id": event["approvalId"]}})

    def _on_tool_output_denied(self, event: Json) -> None:
        self._call(event, {"state": "output-denied"})

    def _call(self, event: Json, change: Json) -> Json:
        known = [part for part in self.parts if part.get("toolCallId") == event["toolCallId"]]
        if not known:
            if "toolName" not in event:
                raise BadStreamError(f"no tool call is known for {event}")
            known = [{"type": f"tool-{event['toolName']}", "toolCallId": event["toolCallId"]}]
            self.parts += known
        part = known[-1]
        part.update(change)
        if event.get("providerExecuted"):
            part["providerExecuted"] = True
        return part

    def _on_abort(self, _: Json) -> None:
        self.aborted = True

    def _on_error(self, event: Json) -> None:
        self.error = event["errorText"]

    def _on_finish(self, event: Json) -> None:
        self.finish_reason = event["finishReason"]
        self.metadata.update(event["messageMetadata"])


_CALL = {"toolCallId", "toolName"}
_MARK = {"providerExecuted"}
_UI_KEYS: dict[str, tuple[set[str], set[str]]] = {
    "start": ({"messageId"}, set()),
    "start-step": (set(), set()),
    "finish-step": (set(), set()),
    "text-start": ({"id"}, set()),
    "text-delta": ({"id", "delta"}, set()),
    "text-end": ({"id"}, set()),
    "reasoning-start": ({"id"}, set()),
    "reasoning-delta": ({"id", "delta"}, set()),
    "reasoning-end": ({"id"}, set()),
    "tool-input-start": (_CALL, _MARK),
    "tool-input-delta": ({"toolCallId", "inputTextDelta"}, set()),
    "tool-input-available": (_CALL | {"input"}, _MARK),
    "tool-input-error": (_CALL | {"input", "errorText"}, _MARK),
    "tool-output-available": ({"toolCallId", "output"}, _MARK | {"preliminary"}),
    "tool-output-error": ({"toolCallId", "errorText"}, _MARK),
    "tool-approval-request": ({"toolCallId", "approvalId"}, set()),
    "tool-output-denied": ({"toolCallId"}, set()),
    "data-custom": ({"data", "transient"}, set()),
    "data-interrupt": ({"data", "transient"}, set()),
    "data-interrupts-discarded": ({"data", "transient"}, set()),
    "data-messages-removed": ({"data", "transient"}, set()),
    "data-history-shortened": ({"data", "transient"}, set()),
    "data-state": ({"data", "transient"}, set()),
    "data-tool-approval": ({"data", "transient"}, set()),
    "data-step-withdrawn": ({"id", "data"}, set()),
    "file": ({"url", "mediaType"}, set()),
    "source-url": ({"sourceId", "url"}, {"title"}),
    "abort": (set(), set()),
    "error": ({"errorText"}, set()),
    "finish": ({"finishReason", "messageMetadata"}, set()),
}
"""Of each chunk the keys that are required, and those that every 6.x accepts besides."""

"""Golden transcripts: what a server said, without what is random or a matter of timing. Pure.

    transcript = {"turns": [turn], "threads": {protocol: the JSON of GET /threads/{id}}}
    turn       = {"request", "headers", "stream": [event], "replay": [event]}
    event      = [payload]: what leads up to one `id:`, and the payload that carries it

The numbers of the ids are checked, then dropped: how many deltas a text comes in depends on time.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Json = dict[str, Any]
Event = list[Any]

SAME = "the same as the stream"

_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_RANDOM: Mapping[str, str] = {
    "thread": r"thread_[0-9a-f]{20}",
    "msg": r"msg_[0-9a-f]{16}",
    "tool": rf"tool-{_UUID}",
    "step": rf"lc_run--{_UUID}|chatcmpl-[0-9a-f]{{8}}-[0-9]+",
    "call": r"call_[0-9a-f]{24}",
    "error": r"(?<![0-9A-Za-z_-])[0-9a-f]{12}(?![0-9A-Za-z_-])",
}
"""What the ids look like that the server makes, by the name that takes their place. A run's id has
no look of its own: it is given."""

_TIMES: Sequence[tuple[str, str]] = (
    (r'(\\*"(?:firstTokenMs|modelMs|duration_ms)\\*":)[0-9]+', r"\g<1>0"),
    (r'\\*"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(?:Z|\+00:00)\\*"', "0"),
)
_TOOL_TIMES = re.compile(r'(?<="toolMs":)\{[^{}]*\}|(?<="toolMs\\":)\{[^{}]*\}')

_TEXTS: Mapping[str, str] = {
    "text-delta": "delta",
    "reasoning-delta": "delta",
    "tool-input-delta": "inputTextDelta",
    "TEXT_MESSAGE_CONTENT": "delta",
    "REASONING_MESSAGE_CONTENT": "delta",
    "TOOL_CALL_ARGS": "delta",
}
"""Payloads that may come in pieces: the key of their text. In assistant-transport it is
`textDelta`, and of an `update-state` that appends it is the operation's `value`."""


def dumps(value: Any) -> str:
    """JSON as the server writes it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def events(stream: bytes, run_id: str, *, gaps: bool) -> list[Event]:
    """The events of a run from its first, ids checked: `{run_id}:{n}`, n from 1 and without gaps.

    `gaps`: the format has chunks that it says nothing of; then the numbers only grow.
    """
    numbers, found, ahead = [], [], []
    for id, payload in _frames(stream):
        ahead.append(payload)
        if id is not None:
            run, _, number = id.rpartition(":")
            assert run == run_id, f"{id} is no id of the run {run_id}"
            numbers.append(int(number))
            found.append(ahead)
            ahead = []
    assert ahead == [], f"payloads without an id at the end: {ahead}"
    expected = sorted(set(numbers)) if gaps else list(range(1, len(numbers) + 1))
    assert numbers == expected, f"the ids' numbers are {numbers}"
    return found


def last_id(stream: bytes) -> str | None:
    """The id of a whole run's end."""
    *_, (id, payload) = _frames(stream)
    assert payload == "[DONE]", payload
    return id


def payloads(stream: bytes) -> Event:
    """Those of a stream without ids."""
    found = list(_frames(stream))
    assert all(id is None for id, _ in found), found
    return [payload for _, payload in found]


def _frames(stream: bytes) -> Iterator[tuple[str | None, Any]]:
    """Ids and payloads; a payload is written as `dumps` writes it, so none of its bytes is lost."""
    *blocks, rest = stream.decode().replace("\r\n", "\n").split("\n\n")
    assert rest == "", f"the stream broke off in an event: {rest!r}"
    for block in blocks:
        found = re.fullmatch(r"(?:id: (.+)\n)?data: (.+)", block)
        if found is None:
            assert block.startswith(":"), f"not a frame: {block!r}"
            continue
        id, data = found.groups()
        payload = data if data == "[DONE]" else json.loads(data)
        assert data in (payload, dumps(payload)), f"not compact JSON: {data}"
        yield id, payload


def joined(found: Sequence[Event]) -> list[Event]:
    """Neighbouring events that differ in nothing but the texts of their deltas, as one."""
    whole: list[Event] = []
    for event in found:
        texts = [_text(payload) for payload in event]
        if whole and None not in texts and _without_texts(whole[-1]) == _without_texts(event):
            whole[-1] = [
                _with_text(payload, f"{_text(payload)}{text}")
                for payload, text in zip(whole[-1], texts, strict=True)
            ]
        else:
            whole.append(event)
    return whole


def _text_of(payload: Any) -> tuple[Json, str] | None:
    """Where a delta's text stands: the object and its key. None: the payload is no delta."""
    match payload:
        case {"type": "text-delta", "textDelta": str()}:
            return payload, "textDelta"
        case {"type": "update-state", "operations": [{"type": "append-text"} as operation]}:
            return operation, "value"
        case {"type": str() as kind} if kind in _TEXTS:
            return payload, _TEXTS[kind]
    return None


def _text(payload: Any) -> str | None:
    place = _text_of(payload)
    return str(place[0][place[1]]) if place else None


def _with_text(payload: Any, text: str) -> Any:
    copy = json.loads(dumps(payload))
    place = _text_of(copy)
    if place:
        place[0][place[1]] = text
    return copy


def _without_texts(event: Event) -> Event:
    return [_with_text(payload, "") for payload in event]


def normalised(transcript: Json) -> Json:
    """The transcript with its deltas joined, each random id named in the order of its first
    appearance (`run-1`, `msg-1`, ...), every duration and time of day 0, and a replay that is as
    its stream was said to be so."""
    turns = [
        {**turn, "stream": joined(turn["stream"]), "replay": joined(turn["replay"])}
        for turn in transcript["turns"]
    ]
    for turn in turns:
        if turn["replay"] == turn["stream"]:
            turn["replay"] = SAME
    run_ids = [turn["headers"]["x-run-id"] for turn in turns]
    result: Json = json.loads(without_chance(dumps({**transcript, "turns": turns}), run_ids))
    return result


def without_chance(text: str, run_ids: Sequence[str]) -> str:
    """The text with its random ids named and its times 0, as `normalised` has them."""
    return _named(_timeless(text), run_ids)


def _timeless(text: str) -> str:
    for pattern, zero in _TIMES:
        text = re.sub(pattern, zero, text)
    return _TOOL_TIMES.sub(lambda found: re.sub(r":[0-9]+", ":0", found[0]), text)


def _named(text: str, run_ids: Sequence[str]) -> str:
    kinds = {"run": "|".join(map(re.escape, run_ids)) or "(?!)", **_RANDOM}
    pattern = "|".join(f"(?P<{kind}>{look})" for kind, look in kinds.items())
    names: dict[str, str] = {}
    counts: Counter[str] = Counter()

    def name(found: re.Match[str]) -> str:
        kind, id = str(found.lastgroup), found[0]
        if id not in names:
            counts[kind] += 1
            names[id] = f"{kind}-{counts[kind]}"
        return names[id]

    return re.sub(pattern, name, text)


def written(transcript: Json) -> str:
    """JSON for people to read and compare: an event, or a message of a thread, a line."""
    return _lines(transcript, 4) + "\n"


def _lines(value: Any, depth: int) -> str:
    if depth == 0 or not value or not isinstance(value, dict | list):
        return dumps(value)
    if isinstance(value, list):
        lines = [_lines(item, depth - 1) for item in value]
    else:
        lines = [f"{dumps(key)}:{_lines(item, depth - 1)}" for key, item in value.items()]
    first, last = "[]" if isinstance(value, list) else "{}"
    return f"{first}\n" + ",\n".join(lines) + f"\n{last}"

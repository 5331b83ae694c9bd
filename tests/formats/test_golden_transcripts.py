"""The server says what it said: turns of every kind against the transcripts of tests/data/golden.

They are as an earlier version recorded them. `ALLOWED` names what has been added since then,
`REWORDED` what is said in other words. Those of calls that need an approval, and AG-UI's, are
younger than that.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import pytest

from tests.support import golden
from tests.support.golden import Json
from tests.support.golden_ag_ui import AG_UI
from tests.support.golden_scenarios import FILES, MADE_UP, MISFITS, SCENARIOS, file_of, played
from turnstream.server.storage.interfaces import ThreadRunState
from turnstream.server.storage.titles import is_first_title, short_title

DISPOSITIONS = ("server", "shown", "client", "approval", "invalid")
REASONS = ("stop", "tool-calls", "length", "content-filter", "error", "other")
RUN_STATES = get_args(ThreadRunState)
ENDS = ("result", "error", "timeout", "cancelled", "shown")


@dataclass(frozen=True)
class Addition:
    """A key that an object may have although its transcript does not know it."""

    key: str
    on: Mapping[str, Collection[str]]
    """What the object looks like."""
    values: Collection[Any] | None
    """What the key may say; None: any text."""
    reason: str

    def is_in(self, object: Json) -> bool:
        value = object.get(self.key)
        said = isinstance(value, str) if self.values is None else value in self.values
        return said and all(object.get(key) in looks for key, looks in self.on.items())


ALLOWED = (
    Addition(
        "end",
        {"type": ["result"]},
        ENDS,
        "A reader of parts learns how a call ended, not only whether it failed.",
    ),
    Addition(
        "disposition",
        {"type": ["tool-call", "tool-call-args-text-finish"]},
        DISPOSITIONS,
        "Who ends a call is said: what is expected with its part, what holds with its arguments.",
    ),
    Addition(
        "stepId",
        {"type": ["step-start"]},
        None,
        "A reader of parts can tell the steps apart, as a loaded thread does.",
    ),
    Addition(
        "node",
        {"type": ["step-start"]},
        None,
        "A reader can show which node of a graph speaks.",
    ),
    Addition(
        "model",
        {"finishReason": REASONS},
        None,
        "A reader learns which model answered.",
    ),
    Addition(
        "providerExecuted",
        {"type": ["tool-input-start", "tool-input-available"], "toolName": [MADE_UP]},
        [True],
        "A tool that nobody has is not the client's to run.",
    ),
    Addition(
        "providerExecuted",
        {"type": [f"tool-{MADE_UP}"], "state": ["input-streaming", "input-available"]},
        [True],
        "A tool that nobody has is not the client's to run, in a loaded thread either.",
    ),
    Addition(
        "providerExecuted",
        {"type": ["tool-input-available"], "toolCallId": MISFITS},
        [True],
        "A call that the server turns down is not the client's to answer.",
    ),
    *(
        Addition(key, {"run_state": RUN_STATES}, [False], "The list has pins and an archive.")
        for key in ("pinned", "archived")
    ),
    Addition("createdAt", {"role": ["user"]}, None, "A reader can show when it was sent."),
)


ALLOWED_HEADERS = {"x-content-type-options": "nosniff"}
"""A browser takes no answer for another type than the one that it names."""


@dataclass(frozen=True)
class Rewording:
    scenario: str
    now: str
    recorded: str
    reason: str


REWORDED = (
    Rewording(
        "the_first_message_edited",
        '"title":"First, anew."',
        '"title":"First."',
        "A title of first words follows an edit of them.",
    ),
    Rewording(
        "no_words_at_all",
        '"finishReason":"other"',
        '"finishReason":"stop"',
        "An empty answer says that it is none.",
    ),
    *(
        Rewording("a_misfit_of_a_tool_of_the_client", now, recorded, reason)
        for now, recorded, reason in (
            (
                "$: an object of 1 lacks the required property 'of'.",
                "$: 'of' is a required property.",
                "The checker of schemas has sentences of its own.",
            ),
            (
                '"inputTokens":123',
                '"inputTokens":118',
                "The model reads that sentence.",
            ),
            ('"inputTokens":147', '"inputTokens":142', "The same, of the whole turn."),
        )
    ),
)


def in_recorded_words(name: str, written: str) -> str:
    for rewording in REWORDED:
        if rewording.scenario == name:
            assert rewording.now in written, f"{rewording.now} is said no more"
            written = written.replace(rewording.now, rewording.recorded)
    return written


def without_additions(transcript: Json) -> Json:
    for turn in transcript["turns"]:
        headers = turn.get("headers", {})
        for name, value in ALLOWED_HEADERS.items():
            if headers.get(name) == value:
                del headers[name]
    for said in _objects(transcript):
        for key in [addition.key for addition in ALLOWED if addition.is_in(said)]:
            del said[key]
    _drop_versions(transcript)
    return transcript


def _drop_previous_runs(transcript: Json) -> None:
    """A run names the one before it, which is what the turn before has told."""
    runs: dict[str, list[str]] = {}
    for turn in transcript["turns"]:
        headers = turn.get("headers", {})
        if "x-thread-id" in headers:  # AG-UI's transcripts have the run's id alone
            before = runs.setdefault(headers["x-thread-id"], [])
            assert headers.pop("x-previous-run-id", None) == (before[-1] if before else None)
            before.append(headers["x-run-id"])


_NUMBER = re.compile(r" \([0-9]+\)$")


def _drop_numbers(transcript: Json) -> None:
    """The threads of one scenario begin alike, and have been given distinct titles."""
    for thread in transcript["threads"].values():
        if isinstance(thread, dict) and thread["messages"]:
            title, text = thread["title"], _text_of(thread["messages"][0])
            thread["title"] = (
                short_title(text) if is_first_title(title, text) else _NUMBER.sub("", title)
            )


def _text_of(message: Json) -> str:
    parts = [{"text": message["content"]}] if "content" in message else message["parts"]
    return " ".join(part["text"] for part in parts if isinstance(part.get("text"), str))


def _drop_versions(value: Any) -> None:
    """A message says which versions it has: each in its JSON, in its `metadata` for the AI SDK."""
    for inner in value.values() if isinstance(value, dict) else value:
        if isinstance(inner, dict | list):
            _drop_versions(inner)
    if not isinstance(value, dict) or value.get("role") not in ("user", "assistant"):
        return
    holder = value if "versions" in value else value.get("metadata", {})
    if isinstance(holder, dict) and holder.get("version") in holder.get("versions", ()):
        del holder["version"], holder["versions"]
    if value.get("metadata") == {}:
        del value["metadata"]


def _objects(transcript: Json) -> Iterator[Json]:
    """The payloads, the part that one starts, the thread, its messages, their parts and their
    steps."""
    for turn in transcript["turns"]:
        for event in [*turn["stream"], *turn["replay"]]:
            for payload in event:
                if isinstance(payload, dict):
                    yield payload
                    yield from [payload["part"]] if "part" in payload else []
    for shown in transcript["threads"].values():
        if isinstance(shown, dict):
            yield shown
            for message in shown["messages"]:
                yield message
                yield from message["parts"]
                yield from message.get("steps", ())


@pytest.mark.parametrize("name", SCENARIOS)
async def test_a_turn_is_told_as_it_was_recorded(name: str, tmp_path: Path) -> None:
    told = await played(name, tmp_path)
    assert list(told) == list(SCENARIOS[name].formats)
    for format, transcript in told.items():
        is_young = SCENARIOS[name].gated or format == AG_UI
        _drop_numbers(transcript)
        _drop_previous_runs(transcript)
        compared = transcript if is_young else without_additions(transcript)
        written = golden.written(golden.normalised(compared))
        now = in_recorded_words(name, written)
        assert now == file_of(name, format).read_text(encoding="utf-8"), f"{name}, {format}"


def test_there_is_a_transcript_of_each_scenario_and_of_nothing_else() -> None:
    expected = {file_of(name, f) for name, played in SCENARIOS.items() for f in played.formats}
    assert set(FILES.iterdir()) == expected


def transcript_of(*payloads: Json, **part: Any) -> Json:
    turn = {"stream": [[payload] for payload in payloads], "replay": []}
    message = {"role": "assistant", "parts": [part] if part else []}
    return {"turns": [turn], "threads": {"any": {"messages": [message]}}}


CALL = {"type": "tool-call", "toolCallId": "call_1", "toolName": "echo"}
AVAILABLE = {"type": "tool-input-available", "input": {}}


@pytest.mark.parametrize(
    ("said", "key", "value"),
    [
        ({"type": "result", "result": 1}, "end", "result"),
        ({"type": "tool-call-args-text-finish"}, "disposition", "invalid"),
        ({"type": "step-start"}, "stepId", "step"),
        ({"type": "step-start"}, "node", "agent"),
        ({**AVAILABLE, "toolName": MADE_UP}, "providerExecuted", True),
        ({"type": "tool-input-start", "toolName": MADE_UP}, "providerExecuted", True),
        ({**AVAILABLE, "toolCallId": MISFITS[0]}, "providerExecuted", True),
    ],
)
def test_what_may_be_added_to_a_payload_is_passed_over(said: Json, key: str, value: Any) -> None:
    assert without_additions(transcript_of({**said, key: value})) == transcript_of(said)


def test_what_may_be_added_to_a_call_is_passed_over_where_it_starts_and_in_the_thread() -> None:
    start = {"type": "part-start", "part": {**CALL, "disposition": "client"}}
    plain = {"type": "part-start", "part": CALL}
    loaded = transcript_of(start, **CALL, disposition="client")
    assert without_additions(loaded) == transcript_of(plain, **CALL)


def test_a_made_up_call_of_a_loaded_thread_may_be_the_servers() -> None:
    part = {"type": f"tool-{MADE_UP}", "state": "input-available"}
    assert without_additions(transcript_of(**part, providerExecuted=True)) == transcript_of(**part)


@pytest.mark.parametrize(
    "said",
    [
        {"type": "result", "result": {"end": "result"}, "ended": "result"},
        {"type": "result", "end": "somehow"},
        {"type": "text-delta", "end": "result", "disposition": "server", "stepId": "step"},
        {"type": "step-start", "stepId": 1},
        {"type": "tool-call-args-text-finish", "disposition": "nobody's"},
        {**AVAILABLE, "toolName": "echo", "toolCallId": "call_1", "providerExecuted": True},
        {**AVAILABLE, "toolName": MADE_UP, "providerExecuted": False},
        {"type": "tool-output-error", "toolCallId": MISFITS[0], "providerExecuted": True},
    ],
)
def test_nothing_else_is_passed_over(said: Json) -> None:
    assert without_additions(transcript_of(dict(said))) == transcript_of(said)

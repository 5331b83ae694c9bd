"""What the streams of a run have told: its parts, put together from all its readers."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, takewhile
from typing import Any

from tests.chaos.frames import payload, place, shows_the_end
from tests.chaos.records import History, Hydrated, Json
from turnstream.server.storage.interfaces import STORAGE_FAULTS

COMPARED = ("type", "toolCallId", "toolName", "result", "isError")


@dataclass
class Told:
    """A run as its readers know it."""

    thread_id: str
    run_id: str
    began: float
    """When the first reader's stream was opened."""
    over: float | None
    """When a reader had seen the end; None: none has."""
    results_seen: float
    """When the last reader had closed."""
    is_whole: bool
    """Whether each event from the first to the end was seen; else there are the parts of those up
    to the first that was not."""
    message_id: str = ""
    is_saved: bool = True
    """False if its end tells of a storage that could not save it."""
    parts: list[dict[str, Any]] = field(default_factory=list)

    @property
    def results(self) -> list[dict[str, Any]]:
        """Results of tools; only of a run that is known to be saved, other results too."""
        results = [part for part in self.parts if "result" in part]
        is_known = self.is_whole and self.is_saved
        return results if is_known else [part for part in results if not _is_of_the_end(part)]

    def shown(self, hydrated: Hydrated) -> Sequence[Json]:
        """The parts of the run's message in a thread as it was loaded."""
        return (hydrated.messages or {}).get(self.message_id, ())

    def missing(self, hydrated: Hydrated) -> Json | None:
        """The first part that the thread lacks; the parts stand there in their order."""
        kept = iter(self.shown(hydrated))
        for part in self.parts:
            if part["type"] != "tool-call" and not part["text"]:
                continue
            if not any(_is_same(part, other) for other in kept):
                return part
        return None


def _is_of_the_end(result: Json) -> bool:
    """Return True if a result closes a call of a run that could not be saved."""
    said = result["result"]
    return isinstance(said, Mapping) and said.get("error", {}).get("code") == "run_ended"


def has_result(result: Json, kept: Sequence[Json]) -> bool:
    """Whether one of the parts is that call with that result."""
    compared = ("toolCallId", "result", "isError")
    return any(all(result[name] == part.get(name) for name in compared) for part in kept)


def _is_same(part: Json, kept: Json) -> bool:
    text = "text" if part["type"] in ("text", "reasoning") else "argsText"
    if part["type"] == "tool-call" and not part["isWhole"]:
        return bool(part["toolCallId"] == kept.get("toolCallId"))
    compared = (name for name in COMPARED if name in part)
    return part["text"] == kept.get(text) and all(part[name] == kept.get(name) for name in compared)


def told(history: History) -> Iterator[Told]:
    """Each run in the assistant-transport format that was read."""
    by_run: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for reading in history.readings:
        if reading.run_id:
            by_run[reading.thread_id, reading.run_id].append(reading)
    for (thread, run), readings in by_run.items():
        frames: dict[int, bytes] = {}
        for reading in readings:
            for frame in reading.frames:
                found = place(frame)
                if found:
                    frames[found[1]] = frame
        ends = [each.closed for each in readings if shows_the_end(each.frames)]
        known = [frames[number] for number in takewhile(frames.__contains__, count(1))]
        is_whole = len(known) == len(frames) and bool(ends)
        one = Told(
            thread,
            run,
            began=min(each.opened for each in readings),
            over=min(ends, default=None),
            results_seen=max(each.closed for each in readings),
            is_whole=is_whole,
        )
        _put_together(one, known)
        yield one


def _put_together(run: Told, frames: Sequence[bytes]) -> None:
    """Parts by their numbers, which are in the order of their starts."""
    parts: dict[int, dict[str, Any]] = {}
    withdrawn: set[int] = set()
    for frame in frames:
        event = payload(frame)
        if event is not None:
            _take(run, parts, withdrawn, event)
    run.parts = [part for number, part in sorted(parts.items()) if number not in withdrawn]


def _take(
    run: Told, parts: dict[int, dict[str, Any]], withdrawn: set[int], event: Mapping[str, Any]
) -> None:
    number = event["path"][0] if event.get("path") else -1
    part = parts.get(number)
    match event["type"]:
        case "step-start":
            run.message_id = event.get("messageId", run.message_id)
        case "part-start":
            given = {k: v for k, v in event["part"].items() if k in COMPARED}
            parts[len(parts)] = {
                **given,
                "text": "",
                "isWhole": event["part"]["type"] != "tool-call",
            }
        case "text-delta" if part is not None:
            part["text"] += event["textDelta"]
        case "tool-call-args-text-finish" if part is not None:
            part["isWhole"] = True
        case "result" if part is not None:
            part |= {"result": event["result"], "isError": event["isError"]}
        case "error" if event.get("code") in STORAGE_FAULTS:
            run.is_saved = False
        case "data":
            for item in event["data"]:
                if item["name"] == "step-withdrawn":
                    withdrawn |= set(item["data"]["parts"])

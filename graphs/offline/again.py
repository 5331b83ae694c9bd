"""When a tool found no data: one more try with a wider window, then with the one the user chose.

    a step = attempt            (it found data)
           | attempt attempt    (a week around it has some)
           | attempt attempt question attempt    (the server asked the user for a window)

The server says that a try is due by adding `recovery` to the result, and asks by itself after the
second miss; see `turnstream.graphs.no_data`.
"""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from turnstream.graphs.no_data import MISSES, QUESTION
from turnstream.graphs.offline.ask import SELECT, Ask
from turnstream.graphs.offline.history import Result, Step

WIDER = timedelta(days=7)

Attempts = list[Step]


def tried(steps: Sequence[Step]) -> list[Attempts]:
    """The steps of a turn, further attempts with the first."""
    found: list[Attempts] = []
    for step in steps:
        if found and _goes_on(found[-1], step):
            found[-1].append(step)
        else:
            found.append([step])
    return found


def outcome(attempts: Attempts) -> Step:
    """Return the outcome of a step: all that was found, and what was missed to the end."""
    hits = [r for step in attempts for r in step if not (missed(r) or _is_question(r))]
    return (*hits, *(result for result in attempts[-1] if missed(result)))


def next_try(attempts: Attempts) -> list[Ask]:
    """Return the asks for another try; none if there was no miss, or no more to be tried."""
    last = attempts[-1]
    if _is_question(last[0]) if last else False:
        window = _chosen(last[0])
        misses = [result for result in attempts[-2] if missed(result)]
        return [Ask(miss.tool, {**miss.arguments, **window}) for miss in misses if window]
    if len(attempts) > 1:
        return []
    wider = [(miss, _wider(miss.content.get("window"))) for miss in last if missed(miss)]
    return [
        Ask(miss.tool, {**miss.arguments, **window})
        for miss, window in wider
        if window and "recovery" in miss.content
    ]


def missed(result: Result) -> bool:
    return (
        not result.failed
        and isinstance(result.content, dict)
        and result.content.get("status") in MISSES
    )


def _goes_on(attempts: Attempts, step: Step) -> bool:
    if any(map(_is_question, step)):
        return any(map(missed, attempts[-1]))
    due = [(ask.tool, ask.arguments) for ask in next_try(attempts)]
    return bool(due) and due == [(result.tool, result.arguments) for result in step]


def _is_question(result: Result) -> bool:
    return result.tool == SELECT and result.arguments.get("prompt") == QUESTION


def _chosen(question: Result) -> Mapping[str, str]:
    """The window of an answer, `{"value": "2024-01-01/2024-12-31"}`; empty if there is none."""
    value = question.content.get("value") if isinstance(question.content, dict) else None
    start, _, end = str(value or "").partition("/")
    return {"start": start, "end": end} if end else {}


def _wider(window: Any) -> Mapping[str, str]:
    try:
        start, end = (date.fromisoformat(window[side]) for side in ("start", "end"))
        return {"start": str(start - WIDER), "end": str(end + WIDER)}
    except (TypeError, KeyError, ValueError, OverflowError):
        return {}

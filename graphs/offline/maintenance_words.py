"""The outcome of maintenance visits, in words, and their figures."""

from collections.abc import Callable, Mapping
from typing import Any

from turnstream.graphs.offline.figure import Figure
from turnstream.graphs.offline.history import Result

MAX_NAMED = 3

Content = Mapping[str, Any]


def _what(visit: Content) -> str:
    return f"{visit['work']} of {visit['logger']} on {visit['date']}"


def _scheduled(result: Result) -> str:
    visit = result.content["visit"]
    return (
        f"The {_what(visit)} is planned as visit {visit['id']}. "
        f'To call it off, say "Cancel visit {visit["id"]}".'
    )


def _cancelled(result: Result) -> str:
    visit = result.content["visit"]
    return f"Visit {visit['id']}, the {_what(visit)}, is cancelled."


def _listed(result: Result) -> str:
    content = result.content
    count, visits, target = content["count"], content["visits"], content["target"]
    state = "on file" if content["state"] == "all" else content["state"]
    where = "" if target["kind"] == "fleet" else f" for {target['name']}"
    if not visits:
        return f"No visit is {state}{where}."
    named = [f"{visit['id']}, {_what(visit)}" for visit in visits[:MAX_NAMED]]
    more = [f"and {count - len(named)} more"] if count > len(named) else []
    visits_are = "1 visit is" if count == 1 else f"{count} visits are"
    return f"{visits_are} {state}{where}: {'; '.join([*named, *more])}."


def _visit(result: Result) -> list[Figure]:
    labels = {"id": "Visit", "logger": "Inverter", "work": "Work", "date": "Date"}
    return [Figure(label, result.content["visit"][key]) for key, label in labels.items()]


def _count(result: Result) -> list[Figure]:
    return [Figure("Visits", result.content["count"])]


WORDS: Mapping[str, Callable[[Result], str]] = {
    "schedule_maintenance": _scheduled,
    "list_maintenance": _listed,
    "cancel_maintenance": _cancelled,
}

FIGURES: Mapping[str, Callable[[Result], list[Figure]]] = {
    "schedule_maintenance": _visit,
    "list_maintenance": _count,
    "cancel_maintenance": _visit,
}

DECLINED: Mapping[str, str] = {
    "schedule_maintenance": "Nothing was scheduled.",
    "cancel_maintenance": "Nothing was cancelled.",
}
"""The meaning of a person's refusal of a call."""

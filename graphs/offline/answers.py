"""Tool results in words."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from turnstream.graphs.offline.figure import Figure, listed
from turnstream.graphs.offline.figures import chosen, clock, figures, place
from turnstream.graphs.offline.history import Result
from turnstream.graphs.offline.maintenance_words import DECLINED
from turnstream.graphs.offline.maintenance_words import WORDS as MAINTENANCE_WORDS
from turnstream.graphs.offline.solar_words import WORDS as SOLAR_WORDS

MAX_FIELDS = 6
MAX_CHARS = 300


def words(results: Sequence[Result]) -> str:
    """Say what a step brought. A shown component speaks for itself unless it is all there is."""
    sentences = [_sentence(result) for result in results]
    return " ".join(filter(None, sentences)) or ("It is on your screen." if results else "")


def _sentence(result: Result) -> str:
    outcome = _outcome(result)
    return outcome if result.changed is None else f"{outcome} {_change(result, result.changed)}"


def _change(result: Result, changed: Mapping[str, Any]) -> str:
    """Say which arguments a person changed before the call ran."""
    names = [name for name in {**result.arguments, **changed} if _differ(name, result, changed)]
    what = listed([name.replace("_", " ") for name in names]) or "arguments"
    return f"A person changed the {what} of this call before it ran."


def _differ(name: str, result: Result, changed: Mapping[str, Any]) -> bool:
    return bool(result.arguments.get(name) != changed.get(name))


def _outcome(result: Result) -> str:
    if result.failed:
        return _failure(result)
    if not isinstance(result.content, dict):
        return f"`{result.tool}` says: {str(result.content)[:MAX_CHARS]}"
    if result.content.get("status", "ok") != "ok" and isinstance(
        result.content.get("message"), str
    ):
        return _refusal(result.content)
    return WORDS.get(result.tool, _fields)(result)


def _refusal(content: Mapping[str, Any]) -> str:
    """Say why a tool has no answer, as its `status` tells."""
    near, allowed = content.get("near_matches"), content.get("allowed")
    if near:
        return f"{content['message']} Did you mean {listed(near)}?"
    if isinstance(allowed, list):
        return f"{content['message']} There is {listed(allowed)}."
    return f"{content['message']} I need {allowed}." if allowed else str(content["message"])


def _failure(result: Result) -> str:
    error = result.content.get("error") if isinstance(result.content, dict) else result.content
    message = error.get("message") if isinstance(error, dict) else error
    if isinstance(error, dict) and error.get("code") == "declined":
        undone = DECLINED.get(result.tool, f"`{result.tool}` was not called.")
        return f"{undone} {str(message or 'A person declined it.')[:MAX_CHARS]}"
    if result.tool == "request_user_selection":
        return "The question was left unanswered, so I go on without it."
    return f"`{result.tool}` did not work: {str(message or 'no reason given')[:MAX_CHARS]}"


def _equation(result: Result) -> str:
    return "; ".join(f"{figure.label} = {_shown(figure)}" for figure in figures([result])) + "."


def _time(result: Result) -> str:
    content = result.content
    day = f" on {content['weekday']}" if content.get("weekday") else ""
    offset = f" (UTC{content['utc_offset']})" if content.get("utc_offset") else ""
    where = place(content.get("timezone", "that place"))
    return f"In {where} it is {clock(content.get('iso', 'unknown'))}{day}{offset}."


def _selection(result: Result) -> str:
    choice = chosen(result.content)
    return f"You chose {choice}." if choice else "You chose nothing, which is fine too."


def _fields(result: Result) -> str:
    """Say the main fields of a result of a tool that is not known here."""
    shown = [
        f"{key.replace('_', ' ')} {_brief(value)}"
        for key, value in list(result.content.items())[:MAX_FIELDS]
    ]
    return f"`{result.tool}` says: {'; '.join(shown) or 'nothing'}."


def _brief(value: Any) -> str:
    if isinstance(value, list):
        more = f" and {len(value) - 5} more" if len(value) > 5 else ""
        return ", ".join(map(_brief, value[:5])) + more if more else listed([*map(_brief, value)])
    if isinstance(value, dict):
        return f"{{{', '.join(list(value)[:5])}}}"
    return _plain(value)[:MAX_CHARS]


def _shown(figure: Figure) -> str:
    return f"{_plain(figure.value)} {figure.unit}".strip()


def _plain(value: Any) -> str:
    return f"{value:.10g}" if isinstance(value, float) else str(value)


WORDS: Mapping[str, Callable[[Result], str]] = {
    "calculator": _equation,
    "multiply": _equation,
    "convert_units": _equation,
    "get_current_time": _time,
    "request_user_selection": _selection,
    "render_ui_component": lambda _: "",
    **SOLAR_WORDS,
    **MAINTENANCE_WORDS,
}

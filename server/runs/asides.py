"""Messages of a thread that are in none of its turns: a graph wrote them in the user's name, as a
critique or the answer of another agent, or as the results of calls that no message has."""

from collections.abc import Collection, Iterator, Sequence

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from turnstream.graphs import stored_user
from turnstream.graphs.history import from_user
from turnstream.graphs.result_view import ResultView, view_of_turn
from turnstream.server.turns.chunks import Aside
from turnstream.tools.strict_json import text_of


def asides_of(messages: Sequence[AnyMessage], results: ResultView) -> tuple[Aside, ...]:
    """The asides of a thread; `results` is what clients see of the results of tools."""
    users, calls = {message.id for message in from_user(messages)}, set[str | None]()
    found, before, view = list[Aside](), None, view_of_turn(results, None)
    for message in messages:
        if isinstance(message, HumanMessage) and message.id in users:
            view = view_of_turn(results, message)
        elif isinstance(message, AIMessage):
            calls.update(call["id"] for call in message.tool_calls)
        elif aside := _aside(message, before, calls, view):
            found.append(aside)
        before = message.id or before
    return tuple(found)


def new_asides(
    messages: Sequence[AnyMessage],
    new: Collection[AnyMessage],
    calls: Collection[str | None],
    results: ResultView,
) -> Iterator[Aside]:
    """Yield the asides among the messages that a run has added to its thread, which has these
    `calls`."""
    if not any(_aside(message, None, calls, results) for message in new):
        return
    ids, before = {message.id for message in new}, None
    for place, message in enumerate(messages):
        is_new = bool(place) and message.id in ids
        aside = _aside(message, before, calls, results) if is_new else None
        if aside is not None and not (
            isinstance(message, HumanMessage) and stored_user.is_users(message)
        ):
            yield aside
        before = message.id or before


def is_as_told(
    told: Aside,
    message: AnyMessage | None,
    calls: Collection[str | None],
    results: ResultView,
) -> bool:
    """Return True if a message is still the aside that was told of it; None: it is gone."""
    return message is not None and _aside(message, told.after, calls, results) == told


def _aside(
    message: AnyMessage, after: str | None, calls: Collection[str | None], results: ResultView
) -> Aside | None:
    if message.id is None:
        return None
    if isinstance(message, HumanMessage) and "lc_source" not in message.additional_kwargs:
        return Aside(message.id, after, "user", message.text, name=message.name)
    if isinstance(message, ToolMessage) and message.tool_call_id not in calls:
        name = message.name or ""
        result = results(message, name)
        text = result if isinstance(result, str) else text_of(result)
        return Aside(message.id, after, "tool", text, message.tool_call_id, name)
    return None

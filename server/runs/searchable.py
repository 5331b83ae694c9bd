"""What of a thread can be searched: what its user wrote and what the model said, as clients see
it."""

from collections.abc import Sequence
from functools import partial

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from graphs import stored
from graphs.history import from_user
from graphs.parts import stored_parts
from server.runs.start import RunStart
from server.runs.transcript import assistant_id, user_content
from server.runs.translate import Translator
from server.storage.searching import TextChanges, ThreadText
from server.turns.requests import TextContent


def texts(messages: Sequence[AnyMessage], shown_id: str = "") -> list[ThreadText]:
    """The texts of these messages; `shown_id` is the turn's that they begin in, if they do not
    begin with a user's message."""
    users = {id(message) for message in from_user(messages)}
    found: list[ThreadText] = []
    for message in messages:
        if isinstance(message, HumanMessage) and id(message) in users:
            shown_id = assistant_id(message.id or "")
            content = [c.text for c in user_content(message) if isinstance(c, TextContent)]
            found.append(ThreadText(message.id or "", message.id or "", "\n".join(content)))
        elif isinstance(message, AIMessage) and not stored.only_ends_its_run(message):
            said = [part.text for part in stored_parts(message) if part.kind == "text"]
            found.append(ThreadText(message.id or "", shown_id, "\n\n".join(said)))
    return [text for text in found if text.message_id and text.text.strip()]


def changes(start: RunStart, translator: Translator, before: str | None) -> TextChanges | None:
    """What a run that has ended has changed; `before` is the run that its thread had before. None:
    nobody has looked at the thread since the run began."""
    plan, added = start.plan, translator.added
    if added is None and plan.runs_graph:
        return None
    new = [*(plan.new or ()), *(added or ())]
    whole = [*plan.after.messages, *(added or ())]
    return TextChanges(
        texts(new, plan.message_id),
        translator.removed,
        partial(_left, whole, translator.removed),
        before,
        plan.point is not None,
    )


def _left(messages: Sequence[AnyMessage], removed: frozenset[str]) -> Sequence[ThreadText]:
    return [text for text in texts(messages) if text.message_id not in removed]

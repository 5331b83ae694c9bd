"""The texts of messages as people see them: a user's words, and what the model said."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from turnstream.graphs import stored
from turnstream.graphs.history import from_user
from turnstream.graphs.parts import stored_parts
from turnstream.server.runs.start import RunStart
from turnstream.server.runs.transcript import assistant_id, user_content
from turnstream.server.runs.translate import Translator
from turnstream.server.turns.accumulate import ToldSubsteps
from turnstream.server.turns.message_texts import MessageText, TextChanges
from turnstream.server.turns.messages import Text, ToolCall
from turnstream.server.turns.requests import TextContent

NOTHING: Mapping[str, str] = MappingProxyType({})


def texts(
    messages: Sequence[AnyMessage], shown_id: str = "", under: Mapping[str, str] = NOTHING
) -> list[MessageText]:
    """Return the texts of messages. `shown_id` is that of the turn that they begin in, if they do
    not begin with a user's message; `under` is what subagents have said, by call, and is added to
    the message that makes the call."""
    users = {id(message) for message in from_user(messages)}
    found: list[MessageText] = []
    for message in messages:
        if isinstance(message, HumanMessage) and id(message) in users:
            shown_id = assistant_id(message.id or "")
            content = [c.text for c in user_content(message) if isinstance(c, TextContent)]
            found.append(MessageText(message.id or "", message.id or "", "\n".join(content)))
        elif isinstance(message, AIMessage) and not stored.only_ends_its_run(message):
            said = [part.text for part in stored_parts(message) if part.kind == "text"]
            said += filter(None, (under.get(call["id"] or "") for call in message.tool_calls))
            found.append(MessageText(message.id or "", shown_id, "\n\n".join(said)))
    return [text for text in found if text.message_id and text.text.strip()]


def texts_under(told: ToldSubsteps, call_ids: Iterable[str]) -> dict[str, str]:
    """Return what subagents have said under these calls, at any depth; nothing of the others."""
    found = {id: "\n\n".join(_said(told.below(ToolCall(id, "", "", None)))) for id in call_ids}
    return {id: text for id, text in found.items() if text}


def _said(call: ToolCall) -> Iterator[str]:
    for part in (part for step in call.substeps for part in step.parts):
        if isinstance(part, Text):
            yield part.text
        elif isinstance(part, ToolCall):
            yield from _said(part)


def changes(start: RunStart, translator: Translator) -> TextChanges | None:
    """Return the changes that a run which is over has made to its thread's texts. None: nobody has
    looked at the thread since the run began."""
    plan = start.plan
    if translator.added is None and plan.runs_graph:
        return None
    # An update by hand changes and removes messages, as a branch does.
    is_branch = plan.point is not None or plan.update is not None
    if translator.added is None:  # No graph has changed what the request brought.
        thread, added = plan.after.messages, texts(plan.new or (), plan.message_id)
        return TextChanges(added, (), partial(texts, thread), is_branch)
    begun, thread = {message.id: message for message in plan.before.shown}, translator.thread
    new = [message for message in thread if message.id not in begun]
    rewritten = {
        message.id or ""
        for message in thread
        if (known := begun.get(message.id)) and known.content != message.content
    }
    # Only a rewritten message makes it necessary to look for the turn that each text stands in.
    found = texts(thread) if rewritten else texts(new, plan.message_id)
    ids = rewritten | {message.id for message in new}
    return TextChanges(
        [text for text in found if text.message_id in ids],
        translator.removed | rewritten,
        partial(texts, thread),
        is_branch,
    )

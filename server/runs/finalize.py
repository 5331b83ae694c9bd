"""The end of a run that did not come to its own: a stop, a limit from outside, a failure.

One order, whatever the cause: the thread comes to rest with what the request brought; what it has
and was not streamed is streamed; what was streamed and it has not is saved, the last message marked
with the cause and every open call answered, in one write; then the chunks that tell of it. Calls
that waited for a person before the run still wait: one that the run was to run is asked about
again.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from turnstream.graphs import stored
from turnstream.graphs.history import close_pending
from turnstream.graphs.stored import Ended
from turnstream.server.runs.approvals import asked_again
from turnstream.server.runs.checkpoints import Checkpoints
from turnstream.server.runs.failures import Failure
from turnstream.server.runs.kept_words import in_order, unsaved_answers, unsaved_messages
from turnstream.server.runs.plan import Plan
from turnstream.server.runs.thread_state import ThreadState
from turnstream.server.runs.told_state import ToldState
from turnstream.server.runs.translate import Translator
from turnstream.server.turns.chunks import Chunk
from turnstream.server.turns.header import ThreadKey

_STOPPED = "The run was stopped before this call finished."
_FAILED = "The run failed before this call finished."


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A run whose graph is not working any more, and what it has said so far."""

    run_id: str
    key: ThreadKey
    plan: Plan
    request_saved: bool
    translator: Translator
    told_state: ToldState
    checkpoints: Checkpoints


async def finalize(run: Unfinished, cause: Ended | Failure) -> list[Chunk]:
    """Save what the run leaves, and return its last chunks.

    Raises what the checkpointer raises.
    """
    state, translator = await _at_rest(run), run.translator
    ended, failed = (None, cause) if isinstance(cause, Failure) else (cause, None)
    chunks = translator.reconcile(state.messages, at_rest=True)
    chunks += run.told_state.tell(state.graph_state)
    *others, last = _spoken(run, state.messages)
    last = stored.with_end(last, ended=ended, error=failed.stored if failed else None)
    answers = unsaved_answers(translator)
    known = [*state.messages, *others, last, *answers]
    closed = close_pending(
        [*{message.id: message for message in known}.values()],
        "run_failed" if failed else "cancelled",
        _FAILED if failed else _STOPPED,
    )
    waiting = {call["id"] for call in state.pending("client", "approval")} & run.plan.waiting
    closers = [closer for closer in closed if closer.tool_call_id not in waiting]
    new = in_order([*others, last], [*answers, *closers])
    await run.checkpoints.add(run.key, new)
    kept = {message.id: message for message in [*state.messages, *new]}
    chunks += translator.reconcile([*kept.values()])
    answers = [m for m in kept.values() if isinstance(m, ToolMessage)]
    chunks += asked_again(state, run.plan.approved)
    return chunks + translator.finalize(answers, ended=ended, failed=failed)


async def _at_rest(run: Unfinished) -> ThreadState:
    """The thread without unfinished tasks, and with what the request brought. If the run was ended
    at once, that may be unsaved, or saved and not read by a step: then it is merged first, since to
    abandon the step would lose it."""
    plan = run.plan
    if not plan.new or run.request_saved:
        return await run.checkpoints.abandon_pending(run.key)
    state = await run.checkpoints.with_input(run.key)
    if state.checkpoint_id == plan.base:
        await run.checkpoints.abandon_pending(run.key)
        await run.checkpoints.add(run.key, plan.new, plan.point)
    return await run.checkpoints.abandon_pending(run.key)


def _spoken(run: Unfinished, messages: Sequence[AnyMessage]) -> list[AIMessage]:
    """Return the messages that streamed and are not saved; if there are none, the run's last
    message, or an empty one if the model has not said a word."""
    unsaved = unsaved_messages(run.run_id, run.translator)
    return unsaved or [_last_message(run, messages)]


def _last_message(run: Unfinished, messages: Sequence[AnyMessage]) -> AIMessage:
    earlier = run.plan.after.ids
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            if message.id in earlier:
                break
            return message
        if not isinstance(message, ToolMessage):
            break
    return stored.end_message(run.run_id)

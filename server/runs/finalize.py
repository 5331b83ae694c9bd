"""The end of a run that did not come to its own: a stop, a limit from outside, a failure.

One order, whatever the cause: the thread comes to rest with what the request brought; a message
that was saved whole but not streamed is streamed; the last message is marked with the cause, and
every open call gets an answer, in one write; then the chunks that tell of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from graphs import stored
from graphs.history import close_pending
from graphs.parts import partial_message
from graphs.stored import Ended
from server.runs.checkpoints import Checkpoints, ThreadState
from server.runs.endings import end_id
from server.runs.failures import Failure
from server.runs.plan import Plan
from server.runs.translate import Translator
from server.turns.chunks import Chunk
from server.turns.header import ThreadKey

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
    checkpoints: Checkpoints


async def finalize(run: Unfinished, cause: Ended | Failure) -> list[Chunk]:
    """Save what the run leaves, and return its last chunks.

    Raises what the checkpointer raises.
    """
    state = await _at_rest(run)
    unstreamed = _catch_up(run.translator, state.messages)
    ended, failed = (None, cause) if isinstance(cause, Failure) else (cause, None)
    last = stored.with_end(
        _last_message(run, state.messages), ended=ended, error=failed.stored if failed else None
    )
    others = [message for message in state.messages if message.id != last.id]
    closers = close_pending(
        [*others, last],
        "run_failed" if failed else "cancelled",
        _FAILED if failed else _STOPPED,
    )
    await run.checkpoints.add(run.key, _in_order(last, closers))
    answers = [m for m in state.messages if isinstance(m, ToolMessage)]
    return unstreamed + run.translator.finalize([*answers, *closers], ended=ended, failed=failed)


async def _at_rest(run: Unfinished) -> ThreadState:
    """The thread without unfinished tasks, and with what the request brought. That may not be saved
    yet if the run was ended at once; saving it twice changes nothing, since messages have ids."""
    plan = run.plan
    if plan.new and not run.request_saved:
        await run.checkpoints.abandon_pending(run.key)
        await run.checkpoints.add(run.key, plan.new, plan.point)
    return await run.checkpoints.abandon_pending(run.key)


def _catch_up(translator: Translator, messages: Sequence[AnyMessage]) -> list[Chunk]:
    """A message that was saved whole just before the end, and not yet streamed to its end."""
    step = translator.streaming
    saved = [message for message in messages if step and message.id == step.step_id]
    return translator.feed({"type": "updates", "data": {"": {"messages": saved}}})


def _last_message(run: Unfinished, messages: Sequence[AnyMessage]) -> AIMessage:
    """What streamed so far, the run's last message if that is saved, or an empty one if the model
    has not said a word."""
    step = run.translator.streaming
    if step:
        return partial_message(run.run_id, step.step_id, step.parts.parts)
    earlier = {message.id for message in run.plan.after}
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            if message.id in earlier:
                break
            return message
        if not isinstance(message, ToolMessage):
            break
    metadata = stored.ai_metadata(run_id=run.run_id)
    return AIMessage("", id=end_id(run.run_id), response_metadata=metadata)


def _in_order(last: AIMessage, closers: Sequence[ToolMessage]) -> list[AnyMessage]:
    """A call's answer comes before the next message: not every graph's state sees to that."""
    own = {call["id"] for call in last.tool_calls}
    before = [closer for closer in closers if closer.tool_call_id not in own]
    return [*before, last, *(closer for closer in closers if closer.tool_call_id in own)]

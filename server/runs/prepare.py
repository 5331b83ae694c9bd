"""Planning a request on its thread as it is saved; the thread is claimed."""

from dataclasses import replace
from functools import partial
from typing import Any

from langchain_core.messages import AnyMessage

from server.runs.approvals import Decider
from server.runs.branches import BranchPoint, branch_point, with_answers
from server.runs.checkpoints import Checkpoints
from server.runs.interrupts import check_goes_past
from server.runs.plan import Plan, plan
from server.runs.review_answers import resuming
from server.runs.thread_state import NEW_THREAD, ThreadState
from server.turns.header import ThreadKey
from server.turns.requests import InvalidRequest, TurnRequest
from tools.catalogue import Catalogue
from tools.threads import beside_loop


async def prepare(
    key: ThreadKey,
    request: TurnRequest,
    checkpoints: Checkpoints,
    catalogue: Catalogue,
    decider: Decider,
    max_bytes: int,
) -> Plan:
    """What the request means for the thread, which may have `max_bytes` of texts and images;
    `decider` gives its approvals.

    Discards a failed run's unfinished tasks unless the request continues it. Raises InvalidRequest
    if the thread cannot take the request; then nothing has changed.
    """
    state = await checkpoints.load(key) if request.thread_id else NEW_THREAD
    await beside_loop(len(state.messages), partial(_check_size, state, max_bytes))
    if request.approvals or not request.resume:
        request = resuming(request, state.interrupts)
    if not request.resume:
        check_goes_past(request, state.interrupts)
    planned = await _plan_on(state, key, request, checkpoints, catalogue, decider)
    if not state.unfinished:
        return planned
    if request.continue_ or request.resume:
        # The tasks that finished are part of the run again: it streams their results.
        before = await checkpoints.load(key, state.checkpoint_id)
        return await beside_loop(len(before.messages), replace(planned, before=before).looked_up)
    at_rest = replace(await checkpoints.abandon_pending(key), interrupts=state.interrupts)
    planned = await _plan_on(at_rest, key, request, checkpoints, catalogue, decider)
    return replace(planned, discarded=tuple(interrupt.id for interrupt in state.interrupts))


def _check_size(state: ThreadState, max_bytes: int) -> None:
    size = sum(content_bytes(message) for message in state.messages)
    if size > max_bytes:
        raise InvalidRequest(
            "thread_too_large",
            f"The thread has {size} bytes of texts and images; it takes no more beyond "
            f"{max_bytes}. Start a new one, or raise TURNSTREAM_MAX_THREAD_BYTES.",
            409,
        )


def content_bytes(message: AnyMessage) -> int:
    """About how many bytes a message's texts and images take."""
    if isinstance(message.content, str):
        return len(message.content)
    return sum(_block_bytes(block) for block in message.content)


def _block_bytes(block: str | dict[str, Any]) -> int:
    match block:
        case str():
            return len(block)
        case {"text": str(text)}:
            return len(text)
        case {"image_url": {"url": str(url)}}:
            return len(url)
    return 0


async def _plan_on(
    state: ThreadState,
    key: ThreadKey,
    request: TurnRequest,
    checkpoints: Checkpoints,
    catalogue: Catalogue,
    decider: Decider,
) -> Plan:
    if request.head is not None:
        state = await checkpoints.load(key, request.head)
    request, point = branch_point(request, state.messages)
    before = state
    if point is not None:
        begin = point.checkpoint_id or await checkpoints.beginning(key)
        before = await checkpoints.load(key, begin)
        point = with_answers(replace(point, checkpoint_id=begin), before, state.messages)
    elif request.head is not None:
        point = BranchPoint(None, request.head)
    planning = partial(plan, request, before, catalogue, decider, point)
    return await beside_loop(len(before.messages), lambda: planning().looked_up())

"""Planning a request on its thread as it is saved; the thread is claimed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from langchain_core.messages import AnyMessage

from turnstream.server.extensions.base import Branch, Branching
from turnstream.server.runs.approvals import Decider
from turnstream.server.runs.branches import BranchPoint, branch_point, with_answers
from turnstream.server.runs.checkpoints import Checkpoints
from turnstream.server.runs.client_answers import as_approval
from turnstream.server.runs.first_words import changed_words
from turnstream.server.runs.headless_calls import answering
from turnstream.server.runs.interrupts import check_goes_past
from turnstream.server.runs.plan import Plan, plan, plan_update
from turnstream.server.runs.reviewed_calls import review_answer
from turnstream.server.runs.thread_state import ThreadState
from turnstream.server.runs.thread_version import QuestionWaits, is_unseen
from turnstream.server.runs.versions import VersionsOf
from turnstream.server.turns.chunks import Approval, Interrupt
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.requests import ApprovalAnswer, InvalidRequest, Resume, TurnRequest
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.threads import beside_loop


async def prepare(
    key: ThreadKey,
    request: TurnRequest,
    checkpoints: Checkpoints,
    versions: VersionsOf,
    catalogue: Catalogue,
    decider: Decider,
    max_bytes: int,
    *,
    is_new: bool,
) -> Plan:
    """Plan the run of a request on its thread, which may have `max_bytes` of texts and images;
    `decider` gives its approvals. `is_new`: the thread's id was made for this request.

    Discards a failed run's unfinished tasks unless the request continues it. Raises InvalidRequest
    if the thread cannot take the request; then nothing has changed.
    """
    state = checkpoints.new_thread(key) if is_new else await checkpoints.load(key)
    if request.head == "":
        request = replace(request, head=await checkpoints.beginning(key))
    await beside_loop(len(state.messages), partial(_check_size, state, max_bytes))
    request = await _of_version(request, key, state, versions)
    interrupts = state.interrupts if request.head is None else ()
    request = answering(request, interrupts)
    if request.approvals or not request.resume:
        request = resuming(request, interrupts)
    # A run that was stopped may leave calls of its thread open.
    if is_unseen(request) and state.pending("client", "approval"):
        raise QuestionWaits
    if not (request.resume or request.update):
        check_goes_past(request, state.interrupts)
    base = state.checkpoint_id
    planned = await _plan_on(state, key, request, checkpoints, catalogue, decider)
    if state.unfinished and request.head is None and (request.continue_ or request.resume):
        # The tasks that finished are part of the run again: it streams their results.
        before = await checkpoints.load(key, state.checkpoint_id)
        planned = replace(planned, before=before, found=state)
    elif state.unfinished and not (request.update and not request.update.ends):
        at_rest = replace(await checkpoints.abandon_pending(key), interrupts=state.interrupts)
        planned = await _plan_on(at_rest, key, request, checkpoints, catalogue, decider)
        discarded = tuple(interrupt.id for interrupt in state.interrupts)
        planned = replace(planned, discarded=discarded)
        base = at_rest.checkpoint_id
    planned = replace(planned, base=base)
    return await beside_loop(len(planned.before.messages), planned.looked_up)


async def _of_version(
    request: TurnRequest, key: ThreadKey, state: ThreadState, versions: VersionsOf
) -> TurnRequest:
    """The request with the head of the branch that has the version it names, if that is not the
    thread's own. Raises InvalidRequest."""
    if request.version is None:
        return request
    kept, thread = await versions(key), state.shown
    head = await beside_loop(len(thread), partial(kept.head, request.version, thread))
    return request if head is None else replace(request, head=head)


def _check_size(state: ThreadState, max_bytes: int) -> None:
    size = sum(content_bytes(message) for message in state.shown)
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
    branch = state if request.head is None else await checkpoints.load(key, request.head)
    length = len(branch.shown)
    request, point = await beside_loop(length, partial(branch_point, request, branch.shown))
    before = branch
    if point is not None:
        begin = point.checkpoint_id or await checkpoints.beginning(key)
        before = await checkpoints.load(key, begin)
        point = replace(point, checkpoint_id=begin, version=decider.run_id)
        point = await beside_loop(length, partial(with_answers, point, before, branch.shown))
    elif request.head is not None:
        point = BranchPoint(None, request.head)
    planning = partial(plan, request, before, catalogue, decider, point)
    if request.update is not None:
        planning = partial(plan_update, request.update, before, point)
    planned = await beside_loop(len(before.messages), planning)
    if point is None:
        return planned
    dropped = state.checkpoint_id if request.drops_left else None
    branching = Branching(
        left=Branch(state.shown, None if request.drops_left else state.checkpoint_id),
        followed=Branch(branch.shown, branch.checkpoint_id),
        replaced=point.message,
        message_id=planned.user_message_id,
        is_edit=request.message is not None,
    )
    after = [*planned.before.shown, *(planned.new or ())]
    begins = partial(changed_words, state.shown, after)
    words = await beside_loop(len(state.messages), begins)
    return replace(planned, branching=branching, dropped=dropped, first_words=words)


def resuming(request: TurnRequest, interrupts: Sequence[Interrupt]) -> TurnRequest:
    """The request with `resume` in the place of its decisions on calls that these interrupts ask
    about; as it is if it has none.

    Raises InvalidRequest: 409 `not_pending` or `already_answered`; 422 `invalid_approval` or
    `conflicting_actions`.
    """
    asked = {id: question for one in interrupts for id, question in one.approvals.items()}
    given = {item.tool_call_id: item for item in _decisions(request, asked)}
    if not given:
        return request
    others = [item for item in request.answers if item.tool_call_id not in asked]
    if request.message or request.branch or (others and not request.answers_are_copies):
        raise InvalidRequest(
            "conflicting_actions",
            "The request decides on a call and has something else to do: send that when the run "
            "that the decision starts has ended.",
        )
    about = [one for one in interrupts if not given.keys().isdisjoint(one.tool_call_ids)]
    others_answered = request.resume.value if request.resume else {}
    resume = Resume({**others_answered, **{one.id: review_answer(one, given) for one in about}})
    return replace(request, answers=(), approvals=(), resume=resume)


def _decisions(request: TurnRequest, asked: Mapping[str, Approval]) -> Iterator[ApprovalAnswer]:
    if not asked:
        return
    for item in request.approvals:
        question = asked.get(item.tool_call_id)
        if question and item.approval_id in (None, question.id):
            yield item
        elif not request.answers_are_copies:
            raise _refusal(item, question)
    for answer in request.answers:
        if answer.tool_call_id in asked:
            yield as_approval(answer)


def _refusal(item: ApprovalAnswer, question: Approval | None) -> InvalidRequest:
    where = "GET the thread to see which calls wait for an approval."
    if question is None:
        sentence = f"No tool call {item.tool_call_id!r} waits for an approval; {where}"
        return InvalidRequest("not_pending", sentence, 409)
    sentence = f"That question about the tool call {item.tool_call_id!r} was answered; {where}"
    return InvalidRequest("already_answered", sentence, 409)

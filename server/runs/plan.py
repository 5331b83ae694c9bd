"""The plan of a run: the messages that a request puts into its thread, before any model is
called."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, cast
from uuid import uuid4

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    RemoveMessage,
    ToolCall,
    ToolMessage,
)
from langgraph.types import Command

from turnstream.graphs import stored, stored_user
from turnstream.graphs.answers import client_view, failed
from turnstream.graphs.app_context import block
from turnstream.graphs.result_view import shows_marked
from turnstream.graphs.state import add_messages_in_order
from turnstream.server.extensions.base import Branching
from turnstream.server.runs.approvals import (
    MAY_HAVE_RUN,
    Decided,
    Decider,
    check_no_approval_pending,
    decide,
    expired,
    may_have_run,
)
from turnstream.server.runs.branches import BranchPoint
from turnstream.server.runs.client_answers import new_answers, result_of
from turnstream.server.runs.endings import broke_off, settled, was_cut
from turnstream.server.runs.interrupts import is_by_id, resume_command
from turnstream.server.runs.thread_changes import ThreadBefore
from turnstream.server.runs.thread_state import ThreadState
from turnstream.server.runs.transcript import assistant_id, last_spoken, last_turn_id
from turnstream.server.storage.titles import FirstWords
from turnstream.server.turns.chunks import ToolApproval, ToolSettled
from turnstream.server.turns.requests import (
    ImageContent,
    InvalidRequest,
    Resume,
    StateUpdate,
    TextContent,
    TurnRequest,
    UserMessage,
    WrittenMessage,
)
from turnstream.tools.catalogue import Catalogue


@dataclass(frozen=True)
class Plan:
    """The meaning of a request for its thread, of which all is read once.

    `new` is what the request adds; None goes on from the last checkpoint. `runs_graph` is False
    while a question of the turn is still open, and no call is to run: then `new` is only stored.
    """

    user_message_id: str
    before: ThreadState
    """The thread up to what the request adds: up to the branch point, if there is one."""
    new: Sequence[AnyMessage] | None
    settled: Sequence[ToolSettled] = ()
    approvals: Sequence[ToolApproval] = ()
    """The decisions of the request on calls of earlier runs."""
    runs_graph: bool = True
    point: BranchPoint | None = None
    """The run begins a new branch here."""
    resume: Command[Any] | None = None
    """The answers to interrupts, and values for the state: the graph goes on from where it
    stopped."""
    discarded: tuple[str, ...] = ()
    """The interrupts that the request goes past."""
    branching: Branching | None = None
    """The branch that the run leaves, and the one that it goes on from. None: it goes on from the
    end of the thread."""
    dropped: str | None = None
    """The last checkpoint of the branch that the run leaves, if nobody is to see it again."""
    first_words: FirstWords | None = None
    """None: the thread begins as before."""
    base: str | None = None
    """The thread's newest checkpoint as the run begins: a newer one has what the request brought.
    None: there is none."""
    update: StateUpdate | None = None
    """The run changes the state by hand, and runs nothing."""
    found: ThreadState | None = None
    """For a run that goes on after a crash: the thread with the results of the tasks that had
    finished, which `before` lacks since the run streams them again. None: the same as `before`."""

    @property
    def message_id(self) -> str:
        return assistant_id(self.user_message_id)

    @property
    def waiting_on(self) -> frozenset[str]:
        """The ids of the interrupts that the request leaves open as it answers others."""
        given: Any = self.resume.resume if self.resume else None
        if not is_by_id(given):
            return frozenset()
        return frozenset(one.id for one in (self.found or self.before).interrupts).difference(given)

    @property
    def user_message(self) -> HumanMessage | None:
        """The user message of the turn. None: the graph has removed it."""
        return stored_user.named([*(self.new or ()), *self.before.shown], self.user_message_id)

    @cached_property
    def after(self) -> ThreadBefore:
        """The thread as the run begins."""
        new = list(self.new or ())
        shown = add_messages_in_order(list(self.before.shown), [new])
        return ThreadBefore(shown, self.before.fronts)

    @property
    def brings_input(self) -> bool:
        """The graph runs on what is new: its first checkpoint is written before anything else."""
        return self.runs_graph and bool(self.new) and self.update is None

    @property
    def is_new_thread(self) -> bool:
        return self.before.checkpoint_id is None and self.point is None

    @property
    def approved(self) -> list[str]:
        """The ids of the calls that the run is to run, since a person has approved them."""
        return [item.tool_call_id for item in self.approvals if item.approval.approved]

    @property
    def waiting(self) -> set[str | None]:
        """The ids of the calls that wait for a person as the run begins, also of those that it is
        to run."""
        return {call["id"] for call in (self.found or self.before).pending("client", "approval")}

    @property
    def closes_approvals(self) -> bool:
        """True if calls may have waited for an approval before the run."""
        return self.point is not None or bool((self.found or self.before).pending("approval"))

    @property
    def new_message_ids(self) -> set[str]:
        """The ids of the messages that the request adds to the thread."""
        added = {m.id for m in self.new or () if m.id and not isinstance(m, RemoveMessage)}
        return added - {m.id for m in self.before.messages if m.id}

    @cached_property
    def continues(self) -> bool:
        """True if earlier runs have said a part of the turn's message."""
        return isinstance(last_spoken(self.after.messages), AIMessage)

    def looked_up(self) -> Self:
        """The plan, with what its run asks of the whole thread looked up."""
        _ = self.after, self.continues, self.before.unanswered, self.waiting
        return self


def plan(
    request: TurnRequest,
    state: ThreadState,
    catalogue: Catalogue,
    decider: Decider,
    point: BranchPoint | None = None,
) -> Plan:
    """`state` is the thread's, or that at the branch point; `decider` gives the approvals.

    Raises InvalidRequest if the thread cannot take the request.
    """
    if request.resume:
        resume = _resume(request.resume, request.values.input, state)
        return Plan(last_turn_id(state.shown), state, None, resume=resume, point=point)
    if request.continue_:
        return _continue(state, point)
    decided = decide(request, state, catalogue, decider)
    answers = [
        *(point.answers if point else ()),
        *decided.answers,
        *(result_of(item, state, catalogue) for item in new_answers(request, state)),
    ]
    answered = {item.tool_call_id for item in answers}
    if len(answered) < len(answers):
        raise InvalidRequest("already_answered", "The request answers a call twice.", 409)
    pending = [call for call in state.unanswered if call["id"] not in answered]
    if request.message and decided.messages:
        raise InvalidRequest(
            "conflicting_actions",
            "The request decides on a call and has a message: send the message when the run that "
            "the decision starts has ended.",
        )
    if request.message:
        human = _human(request.message, state, block(request.app_context))
    elif point and point.message:
        human = point.message
    elif request.is_input_alone:
        closers = [_closed(call, state) for call in pending]
        told = [settled(closer, client_view(closer)) for closer in closers]
        return Plan(last_turn_id(state.shown), state, [*closers], told)
    elif answers or decided.messages:
        return replace(_answering(state, decided, answers, pending, decider), point=point)
    else:
        raise InvalidRequest(
            "nothing_to_do", "The request brings nothing that the thread does not have.", 409
        )
    if point and point.version:
        human = stored_user.with_version(human, point.version)
    closers = [_closed(call, state) for call in pending]
    new: list[AnyMessage] = [*answers, *closers, human]
    return Plan(
        human.id or "", state, new, [settled(c, client_view(c)) for c in closers], point=point
    )


def _resume(resume: Resume, values: Mapping[str, Any], state: ThreadState) -> Command[Any] | None:
    """The answers, and the values that come with them. Raises InvalidRequest."""
    command = resume_command(resume, state.interrupts, takes_bare=state.takes_bare_answer)
    return replace(command or Command(), update=dict(values)) if values else command


def _answering(
    state: ThreadState,
    decided: Decided,
    answers: Sequence[ToolMessage],
    pending: Sequence[ToolCall],
    decider: Decider,
) -> Plan:
    """The turn goes on when its last question is answered, and calls that were approved run at
    once. A call of the server that is pending, since a crash broke its run off, waits for nobody:
    it is closed; so is one whose question has expired."""
    others = [call for call in pending if call["id"] not in decided.approved]
    closers = [
        *(_closed(call, state) for call in others if not _awaits_person(call, state)),
        *expired(others, state, decider),
    ]
    told = [*decided.answers, *closers]
    return Plan(
        last_turn_id(state.shown),
        state,
        [*_end_marks(state), *decided.messages, *answers, *closers],
        [settled(answer, client_view(answer)) for answer in told],
        decided.approvals,
        runs_graph=bool(decided.approved) or len(closers) == len(others),
    )


def _end_marks(state: ThreadState) -> list[AnyMessage]:
    """Removes the message that says how an earlier run of the turn ended: the turn goes on, and may
    wait again without a further word of the model. Only of the built-in graph: the reducer of
    another may not remove messages."""
    *_, last = state.messages
    if not (isinstance(last, AIMessage) and stored.only_ends_its_run(last)):
        return []
    calling = (m for m in reversed(state.messages) if isinstance(m, AIMessage) and m.tool_calls)
    is_ours = stored.dispositions(next(calling, last)) is not None
    return [cast(AnyMessage, RemoveMessage(last.id or ""))] if is_ours else []


def plan_update(update: StateUpdate, state: ThreadState, point: BranchPoint | None) -> Plan:
    """Plan a change of the state by hand. Raises InvalidRequest for messages that a client may not
    write or remove."""
    if not update.ends:
        _check_is_at_rest(update, state)
    known = {message.id or "": message for message in state.messages}
    removed = _removed(update, known)
    removals = [cast(AnyMessage, RemoveMessage(id)) for id in removed]
    written = [_written(message, known.get(message.id or ""), state) for message in update.messages]
    left = {id: message for id, message in known.items() if id not in removed}
    turn = last_turn_id([*(left | {message.id or "": message for message in written}).values()])
    closers = [_closed(call, state) for call in state.unanswered] if update.ends else []
    new, told = [*removals, *closers, *written], [settled(c, client_view(c)) for c in closers]
    return Plan(turn, state, new, told, runs_graph=False, point=point, update=update)


def _check_is_at_rest(update: StateUpdate, state: ThreadState) -> None:
    """Raises InvalidRequest for a change that would go round a question, or part a call from its
    answer: while calls are open, or, of what a node would have written, while nodes are due."""
    changes_messages = update.messages or update.removed or update.only is not None
    is_due = update.as_node is not None and (state.unfinished or state.interrupts)
    if is_due or (changes_messages and state.unanswered):
        raise InvalidRequest(
            "interrupt_pending",
            "The thread waits for an answer, or has nodes that are due: answer, or send a message, "
            "then change its state.",
            409,
        )


def _removed(update: StateUpdate, known: Mapping[str, AnyMessage]) -> Sequence[str]:
    """Return the ids of the messages that go, the results of their calls with them. Raises
    InvalidRequest for one that there is not, and for a result whose call stays."""
    asked = dict.fromkeys(update.removed)
    if update.only is not None:
        asked |= dict.fromkeys(id for id in known if id not in update.only)
    for id in asked:
        if id not in known:
            raise InvalidRequest(
                "unknown_message",
                f"The thread holds no message {id[:100]!r} to remove; load its state.",
                409,
            )
    going = [one for id in asked if isinstance(one := known[id], AIMessage)]
    calls = {call["id"] for one in going for call in one.tool_calls}
    results = {id: one for id, one in known.items() if isinstance(one, ToolMessage)}
    for id in asked:
        if id in results and results[id].tool_call_id not in calls:
            raise InvalidRequest(
                "value_not_allowed",
                f"The message {id!r} is the result of a call that stays: remove the message that "
                "has the call, and its results go with it.",
            )
    with_them = (id for id, one in results.items() if one.tool_call_id in calls)
    return [*dict.fromkeys([*asked, *with_them])]


def _written(message: WrittenMessage, known: AnyMessage | None, state: ThreadState) -> AnyMessage:
    """Make the message. Raises InvalidRequest if it would take the place of one that has calls, or
    of another kind."""
    kind = HumanMessage if message.role == "user" else AIMessage
    if known is not None and (not isinstance(known, kind) or getattr(known, "tool_calls", None)):
        raise InvalidRequest(
            "value_not_allowed",
            f"The message {message.id!r} of the thread has tool calls, is the result of one, or is "
            f"not the {message.role}'s: it can be removed, not replaced.",
        )
    if known is None and any(one.id == message.id for one in state.removed):
        raise InvalidRequest(
            "value_not_allowed",
            f"The graph has removed the message {message.id!r}: write one of another id.",
        )
    id = message.id or f"msg_{uuid4().hex[:16]}"
    if kind is AIMessage:
        text = "".join(item.text for item in message.content if isinstance(item, TextContent))
        return AIMessage(text, id=id)
    if known is None:
        return _human(UserMessage(message.content, id), state)
    replaced = _human(UserMessage(message.content, f"msg_{uuid4().hex[:16]}"), state)
    metadata = known.response_metadata
    return replaced.model_copy(update={"id": id, "response_metadata": metadata})


def _continue(state: ThreadState, point: BranchPoint | None) -> Plan:
    check_no_approval_pending(state)
    if not (state.unfinished or broke_off(state.messages) or was_cut(state.messages)):
        raise InvalidRequest(
            "nothing_to_continue",
            "The thread's last turn has ended as it should; send a message instead.",
            409,
        )
    new = None if state.unfinished else list[AnyMessage]()
    return Plan(last_turn_id(state.shown), state, new, point=point)


def _awaits_person(call: ToolCall, state: ThreadState) -> bool:
    return state.dispositions.get(call["id"] or "") in ("client", "approval")


def _human(message: UserMessage, state: ThreadState, app_context: str = "") -> HumanMessage:
    id = message.id or f"msg_{uuid4().hex[:16]}"
    if any(known.id == id for known in state.shown):
        raise InvalidRequest(
            "message_exists",
            f"The thread already has a message {id!r}; give a new message an id of its own.",
            409,
        )
    content: str | list[str | dict[str, Any]] = [
        {"type": "text", "text": item.text}
        if isinstance(item, TextContent)
        else {"type": "image_url", "image_url": {"url": item.url}}
        for item in message.content
    ]
    if all(isinstance(item, TextContent) for item in message.content):
        content = message.text
    alts = [item.alt for item in message.content if isinstance(item, ImageContent)]
    metadata = stored_user.human_metadata(
        state.checkpoint_id,
        time.time(),
        alts,
        shows_results=shows_marked(state.results),
        app_context=app_context,
    )
    return HumanMessage(content=content, id=id, response_metadata=metadata)


def _closed(call: ToolCall, state: ThreadState) -> ToolMessage:
    if _awaits_person(call, state):
        sentence = "The user did not answer and wrote a new message instead."
        if may_have_run(call, state):
            sentence = f"{MAY_HAVE_RUN} {sentence}"
        return failed(call, "not_answered", sentence, end="cancelled")
    if state.interrupts:
        sentence = "The user wrote a new message instead of answering what the graph asked."
        return failed(call, "not_answered", sentence, end="cancelled")
    sentence = "The run ended before this call finished."
    return failed(call, "interrupted", sentence, end="cancelled")

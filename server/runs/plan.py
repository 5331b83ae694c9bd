"""What a request means for its thread: the messages that go in, before any model is called."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolCall, ToolMessage
from langgraph.types import Command

from graphs import stored
from graphs.answers import answer, client_view, failed
from graphs.history import pending_calls
from graphs.state import add_messages_in_order
from server.runs.branches import BranchPoint
from server.runs.checkpoints import ThreadState
from server.runs.endings import broke_off, settled
from server.runs.interrupts import resume_command
from server.runs.transcript import assistant_id, last_spoken, last_turn_id
from server.turns.chunks import ToolSettled
from server.turns.requests import (
    InvalidRequest,
    TextContent,
    ToolAnswer,
    TurnRequest,
    UserMessage,
)
from tools.catalogue import Catalogue
from tools.strict_json import text_of


@dataclass(frozen=True, slots=True)
class Plan:
    """`new` is what the request adds; None goes on from the last checkpoint.

    `calls_model` is False while a question of the turn is still open: then `new` is only stored.
    """

    user_message_id: str
    before: ThreadState
    """The thread up to what the request adds: up to the branch point, if there is one."""
    new: Sequence[AnyMessage] | None
    settled: Sequence[ToolSettled] = ()
    calls_model: bool = True
    point: BranchPoint | None = None
    """The run begins a new branch here."""
    resume: Command[Any] | None = None
    """The answers to interrupts: the graph goes on from where it stopped to ask."""
    discarded: tuple[str, ...] = ()
    """The interrupts that the request goes past."""

    @property
    def message_id(self) -> str:
        return assistant_id(self.user_message_id)

    @property
    def after(self) -> list[AnyMessage]:
        """The thread as the run begins."""
        return add_messages_in_order(list(self.before.messages), [list(self.new or ())])

    @property
    def is_new_thread(self) -> bool:
        return self.before.checkpoint_id is None and self.point is None

    @property
    def continues(self) -> bool:
        """Whether earlier runs have said a part of the turn's message."""
        return isinstance(last_spoken(self.after), AIMessage)


def plan(
    request: TurnRequest,
    state: ThreadState,
    catalogue: Catalogue,
    point: BranchPoint | None = None,
) -> Plan:
    """`state` is the thread's, or that at the branch point.

    Raises InvalidRequest if the thread cannot take the request.
    """
    if request.resume:
        resume = resume_command(request.resume, state.interrupts)
        return Plan(last_turn_id(state.messages), state, None, resume=resume)
    if request.continue_:
        return _continue(state)
    messages = list(state.messages)
    answers = [
        *(point.answers if point else ()),
        *(_answered(item, state, catalogue) for item in _new_answers(request, state)),
    ]
    if len({item.tool_call_id for item in answers}) < len(answers):
        raise InvalidRequest("already_answered", "The request answers a call twice.", 409)
    answered = add_messages_in_order(messages, [list(answers)])
    if request.message:
        human = _human(request.message, state)
    elif point:
        human = point.message
    elif answers:
        return _answering(state, answers, pending_calls(answered))
    else:
        raise InvalidRequest(
            "nothing_to_do", "The request brings nothing that the thread does not have.", 409
        )
    closers = [_closed(call, state) for call in pending_calls(answered)]
    new: list[AnyMessage] = [*answers, *closers, human]
    return Plan(
        human.id or "", state, new, [settled(c, client_view(c)) for c in closers], point=point
    )


def _answering(
    state: ThreadState, answers: Sequence[ToolMessage], pending: Sequence[ToolCall]
) -> Plan:
    """The turn goes on when its last question is answered. A call of the server that is pending,
    since a crash broke its run off, waits for nobody: it is closed."""
    broken_off = [call for call in pending if not _awaits_client(call, state)]
    closers = [_closed(call, state) for call in broken_off]
    return Plan(
        last_turn_id(state.messages),
        state,
        [*answers, *closers],
        [settled(closer, client_view(closer)) for closer in closers],
        calls_model=len(broken_off) == len(pending),
    )


def _new_answers(request: TurnRequest, state: ThreadState) -> Sequence[ToolAnswer]:
    if not request.answers_are_copies:
        return request.answers
    pending = {call["id"] for call in pending_calls(state.messages)}
    return [
        item
        for item in request.answers
        # A copy of a client's answer is fine; an answer to a call of the server never is.
        if item.tool_call_id in pending or state.dispositions.get(item.tool_call_id) == "server"
    ]


def _continue(state: ThreadState) -> Plan:
    if not (state.unfinished or broke_off(state.messages)):
        raise InvalidRequest(
            "nothing_to_continue",
            "The thread's last turn has ended as it should; send a message instead.",
            409,
        )
    return Plan(last_turn_id(state.messages), state, None if state.unfinished else [])


def _answered(item: ToolAnswer, state: ThreadState, catalogue: Catalogue) -> ToolMessage:
    call = _pending_call(item.tool_call_id, state)
    if item.is_error:
        text = item.result if isinstance(item.result, str) else text_of(item.result)
        return failed(call, "client_error", text)
    result = item.result
    tool = catalogue.ui_by_name.get(call["name"])
    if tool and tool.check_answer and not _cancels(result):
        try:
            result = tool.check_answer(call["args"], result)
        except ValueError as error:
            raise InvalidRequest(
                "invalid_answer", f"The answer to {item.tool_call_id!r} does not fit. {error}"
            ) from None
    content = result if isinstance(result, str) else text_of(result)
    message = answer(call, content, "result")
    if isinstance(result, str):
        message.artifact = result
    return message


def _pending_call(id: str, state: ThreadState) -> ToolCall:
    for call in state.pending("client"):
        if call["id"] == id:
            return call
    answered = any(isinstance(m, ToolMessage) and m.tool_call_id == id for m in state.messages)
    if answered and state.dispositions.get(id) == "client":
        raise InvalidRequest(
            "already_answered", f"The tool call {id!r} has its answer; the first one counts.", 409
        )
    raise InvalidRequest(
        "not_pending",
        f"No tool call {id!r} is waiting for an answer in this thread; GET the thread to see "
        "which calls are.",
        409,
    )


def _awaits_client(call: ToolCall, state: ThreadState) -> bool:
    return state.dispositions.get(call["id"] or "") == "client"


def _cancels(result: Any) -> bool:
    return isinstance(result, Mapping) and dict(result) == {"cancelled": True}


def _human(message: UserMessage, state: ThreadState) -> HumanMessage:
    id = message.id or f"msg_{uuid4().hex[:16]}"
    if any(known.id == id for known in state.messages):
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
    metadata = stored.human_metadata(state.checkpoint_id)
    return HumanMessage(content=content, id=id, response_metadata=metadata)


def _closed(call: ToolCall, state: ThreadState) -> ToolMessage:
    if _awaits_client(call, state):
        sentence = "The user did not answer and wrote a new message instead."
        return failed(call, "not_answered", sentence, end="cancelled")
    if state.interrupts:
        sentence = "The user wrote a new message instead of answering what the graph asked."
        return failed(call, "not_answered", sentence, end="cancelled")
    sentence = "The run ended before this call finished."
    return failed(call, "interrupted", sentence, end="cancelled")

"""A thread's messages as the turns that every wire format shows: the parts that were streamed."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolCall, ToolMessage

from turnstream.graphs import stored, stored_user
from turnstream.graphs.approvals import asked_in
from turnstream.graphs.calls import parse_args
from turnstream.graphs.history import from_user
from turnstream.graphs.parts import StoredPart, stored_parts
from turnstream.graphs.result_view import ResultView, view_of_turn
from turnstream.graphs.stored_approvals import AskedApproval
from turnstream.server.runs.approval_view import decided_approval, shown_approval
from turnstream.server.runs.causes import TOLD
from turnstream.server.runs.endings import (
    agent_of,
    last_reason,
    model_of,
    run_ended,
    timing_of,
    usage_of,
)
from turnstream.server.runs.interrupts import asking_calls
from turnstream.server.runs.step import made_in
from turnstream.server.turns.chunks import Approval, Disposition, End, Interrupt
from turnstream.server.turns.messages import (
    AssistantTurn,
    MessagePart,
    Reasoning,
    Step,
    Text,
    Turn,
    UserTurn,
)
from turnstream.server.turns.messages import ToolCall as ShownCall
from turnstream.server.turns.requests import ImageContent, TextContent, UserContent


def assistant_id(user_message_id: str) -> str:
    """The id of the assistant message that answers a user message, however many runs it takes."""
    return f"{user_message_id}.a"


@dataclass(frozen=True, slots=True)
class _Draft:
    """A turn that is not built yet."""

    id: str
    human: HumanMessage | None
    spoken: Sequence[AIMessage] = ()
    """Empty: it is the user's turn."""
    is_last: bool = False
    """True if it has what was said last in the thread."""


class Transcript:
    """The turns of a thread, each built when it is asked for: a page of a long thread costs what it
    shows."""

    def __init__(
        self,
        messages: Sequence[AnyMessage],
        dispositions: Mapping[str, Disposition],
        results: ResultView,
        *,
        running: bool = False,
        interrupts: Sequence[Interrupt] = (),
        live_run_id: str | None = None,
        removed: Collection[str] = (),
    ) -> None:
        """`results` shows what clients see of the thread's tools; `running`: the last turn has not
        ended yet; `interrupts`: what the graph has stopped in it to ask; `live_run_id`: of the run
        that works on it; `removed`: the ids of messages that the graph has removed."""
        answers = {m.tool_call_id: m for m in messages if isinstance(m, ToolMessage)}
        reviews = {id: question for one in interrupts for id, question in one.approvals.items()}
        self._calls = _Calls(
            answers,
            dispositions,
            results,
            asked_in(messages),
            reviews,
            live_run_id,
            asking_calls(interrupts),
        )
        self._removed = removed
        self._running, self._asks = running, bool(interrupts)
        self._drafts = [*_drafts(messages)]

    @property
    def ids(self) -> Sequence[str]:
        return [draft.id for draft in self._drafts]

    def turns(self, places: range | None = None) -> tuple[Turn, ...]:
        """Return the turns at these places; None: all."""
        drafts = self._drafts if places is None else self._drafts[places.start : places.stop]
        return tuple(map(self._turn, drafts))

    def _turn(self, draft: _Draft) -> Turn:
        if not draft.spoken and draft.human is not None:
            return UserTurn(
                draft.id,
                user_content(draft.human),
                stored_user.sent_at(draft.human),
                removed=draft.id in self._removed,
            )
        return _assistant_turn(
            draft,
            replace(self._calls, results=view_of_turn(self._calls.results, draft.human)),
            goes_on=self._running and draft.is_last,
            asks=self._asks and draft.is_last,
            removed=self._removed,
        )


def _drafts(messages: Sequence[AnyMessage]) -> Iterator[_Draft]:
    last = last_spoken(messages)
    for human, spoken in _grouped(messages):
        if human is not None:
            yield _Draft(human.id or "", human)
        if spoken:
            id = assistant_id(_turn_id(human))
            yield _Draft(id, human, spoken, is_last=spoken[-1] is last)


def last_turn_id(messages: Sequence[AnyMessage]) -> str:
    """The id that names the last turn: its user message's, or `start` where a thread begins
    without one."""
    turns = [*_grouped(messages)]
    return _turn_id(turns[-1][0]) if turns else "start"


def _turn_id(human: HumanMessage | None) -> str:
    return (human and human.id) or "start"


def last_spoken(messages: Sequence[AnyMessage]) -> AnyMessage | None:
    """The last message of the model's or the user's."""
    users = {id(message) for message in from_user(messages)}
    spoken = (m for m in reversed(messages) if isinstance(m, AIMessage) or id(m) in users)
    return next(spoken, None)


def _grouped(
    messages: Sequence[AnyMessage],
) -> Iterator[tuple[HumanMessage | None, list[AIMessage]]]:
    human: HumanMessage | None = None
    spoken: list[AIMessage] = []
    users = {id(message) for message in from_user(messages)}
    for message in messages:
        if isinstance(message, HumanMessage) and id(message) in users:
            if human or spoken:
                yield human, spoken
            human, spoken = message, []
        elif isinstance(message, AIMessage):
            spoken.append(message)
    if human or spoken:
        yield human, spoken


@dataclass(frozen=True, slots=True)
class _Calls:
    """The thread's knowledge of its tool calls beside their messages, by call id."""

    answers: Mapping[str, ToolMessage]
    dispositions: Mapping[str, Disposition]
    results: ResultView
    asked: Mapping[str, AskedApproval]
    reviews: Mapping[str, Approval]
    """The approvals of the calls that the graph has stopped to ask about."""
    live_run_id: str | None
    begun: Collection[str]
    """The calls whose servers have open questions: the approvals that they had still hold."""

    def shown(self, call: ToolCall, args_text: str) -> ShownCall:
        id = call["id"] or ""
        answer = self.answers.get(id)
        end = stored.end_of(answer) if answer else None
        return ShownCall(
            tool_call_id=id,
            tool_name=call["name"],
            args_text=args_text,
            args=parse_args(args_text),
            disposition=self.dispositions.get(id, "server"),
            end=end,
            result=self.results(answer, call["name"]) if answer else None,
            result_id=answer.id if answer else None,
            duration_ms=stored.duration_ms(answer) if answer else None,
            approval=self._approval(id, end) or self.reviews.get(id),
        )

    def _approval(self, id: str, end: End | None) -> Approval | None:
        asked = self.asked.get(id)
        if asked and asked["decisions"] and id in self.begun:
            return decided_approval(id, asked)
        return shown_approval(id, asked, end, self.live_run_id)


def _assistant_turn(
    draft: _Draft, calls: _Calls, *, goes_on: bool, asks: bool, removed: Collection[str]
) -> AssistantTurn:
    spoken, last = draft.spoken, draft.spoken[-1]
    pending = asks or any(call["id"] not in calls.answers for call in last.tool_calls)
    steps = tuple(
        Step(
            step_id=message.id or "",
            parts=(*(_part(part, calls) for part in stored_parts(message)), *made_in(message)),
            finish_reason=last_reason(message, pending=pending or goes_on or message is not last),
            usage=usage_of(message),
            timing=timing_of(message),
            model=model_of(message),
            agent=agent_of(message),
            removed=(message.id or "") in removed,
        )
        for message in spoken
        if not stored.only_ends_its_run(message)
    )
    if goes_on:
        return AssistantTurn(draft.id, steps)
    ended = stored.ended(last)
    return AssistantTurn(
        draft.id,
        steps,
        last_reason(last, pending=pending),
        run_ended(ended) if ended else None,
        TOLD.shown(stored.error(last)),
    )


def _part(part: StoredPart, calls: _Calls) -> MessagePart:
    if part.call is not None:
        return calls.shown(part.call, part.text)
    return Text(part.text) if part.kind == "text" else Reasoning(part.text)


def user_content(message: AnyMessage) -> tuple[UserContent, ...]:
    """Return the content of a user's message."""
    return tuple(_user_content(message))


def _user_content(message: AnyMessage) -> Iterator[UserContent]:
    if isinstance(message.content, str):
        yield TextContent(message.content)
        return
    alts = stored_user.alts(message)
    for block in message.content:
        match block:
            case str(text) | {"type": "text", "text": str(text)}:
                yield TextContent(text)
            case {"type": "image_url", "image_url": str(url) | {"url": str(url)}}:
                yield ImageContent(url, next(alts))

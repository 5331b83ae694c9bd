"""LangGraph SDK: what a submission means for its thread, which says whose checkpoint it names, what
of it is new, and which questions its `resume` answers."""

from collections.abc import Mapping, Sequence
from typing import Any

from turnstream.server.formats.langchain_messages import Json
from turnstream.server.formats.langgraph.body import Submission
from turnstream.server.formats.langgraph.decisions import decisions
from turnstream.server.formats.langgraph.snapshot import asked_calls
from turnstream.server.formats.langgraph.states import SavedThread, boundary
from turnstream.server.turns.chunks import Interrupt
from turnstream.server.turns.messages import AssistantTurn, ToolCall
from turnstream.server.turns.requests import (
    Branch,
    InvalidRequest,
    Resume,
    ToolAnswer,
    TurnRequest,
    UserMessage,
)


def turn_request(asked: Submission, thread: SavedThread, graph: str | None) -> TurnRequest:
    """`thread` is the branch of it that has the checkpoint. Raises InvalidRequest."""
    messages = thread.messages
    count = _count(asked, messages)
    message = asked.messages.message({one["id"] for one in messages[:count]})
    is_branch = count < len(messages) or thread.head is not None
    answers = () if is_branch else _answers(asked, thread, message)
    return TurnRequest(
        thread_id=thread.thread_id,
        message=message,
        answers=answers,
        answers_are_copies=True,
        head=thread.head,
        values=asked.values,
        graph=graph,
        on_busy=asked.on_busy,
        must_exist=asked.must_exist,
        based_on=asked.based_on,
        **_action(asked, thread, messages, count, message, answers),
    )


def _count(asked: Submission, messages: Sequence[Json]) -> int:
    """How many of the thread's messages the run begins behind."""
    place = asked.branches_at
    return len(messages) if place is None else boundary(messages, place)


def _answers(
    asked: Submission, thread: SavedThread, message: UserMessage | None
) -> tuple[ToolAnswer, ...]:
    return asked.messages.answers(_pending(thread), beside_message=message is not None)


def _pending(thread: SavedThread) -> set[str]:
    """The calls that a client may answer."""
    last = thread.turns[-1] if thread.turns else None
    if not isinstance(last, AssistantTurn):
        return set()
    return {
        part.tool_call_id
        for part in last.parts
        if isinstance(part, ToolCall)
        and part.end is None
        and (part.disposition in ("client", "approval") or part.awaits_approval)
    }


def _action(
    asked: Submission,
    thread: SavedThread,
    messages: Sequence[Json],
    count: int,
    message: UserMessage | None,
    answers: Sequence[ToolAnswer],
) -> Mapping[str, Any]:
    """What the request does beside its message and its answers."""
    if asked.resume is not None:
        if message or answers:
            raise InvalidRequest(
                "conflicting_actions",
                "The body has command.resume and new messages: send one of them.",
            )
        return _resuming(asked.resume, thread)
    if count < len(messages):
        return {"branch": _branch(messages, count, edits=message is not None)}
    if message or answers:
        return {}
    if not asked.messages.given and thread.head is None:
        return _going_on(thread.interrupts)
    raise InvalidRequest(
        "nothing_to_do", "The request brings nothing that the thread does not have.", 409
    )


def _resuming(resume: Resume, thread: SavedThread) -> Mapping[str, Any]:
    """The answer is for the calls that wait for an approval, or for the graph's own interrupts."""
    calls = asked_calls(thread.turns)
    if not calls or thread.interrupts:
        return {"resume": resume}
    return {"approvals": decisions(resume.value, calls)}


def _going_on(interrupts: Sequence[Interrupt]) -> Mapping[str, Any]:
    """No input and no command: LangGraph goes on from the last checkpoint, past breakpoints too."""
    if interrupts and all(one.is_breakpoint for one in interrupts):
        return {"resume": Resume({one.id: None for one in interrupts})}
    return {"continue_": True}


def _branch(messages: Sequence[Json], count: int, *, edits: bool) -> Branch:
    """A message replaces the user's that follows the checkpoint; without one, the answer that
    follows is made anew, from its question on."""
    follows = messages[count]
    if edits:
        if follows["type"] != "human":
            raise InvalidRequest(
                "unsupported_checkpoint",
                "A message replaces one of the user's: take the checkpoint that is the parent of "
                "the state in which that message is first seen.",
            )
        return Branch("edit", follows["id"])
    questions = [one["id"] for one in messages[:count] if one["type"] == "human"]
    if follows["type"] == "human" or not questions:
        raise InvalidRequest(
            "nothing_to_do", "Behind this checkpoint there is no answer to make anew.", 409
        )
    return Branch("regenerate", questions[-1])

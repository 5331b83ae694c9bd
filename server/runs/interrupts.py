"""The interrupts of a graph, and the answers that a request brings."""

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import AnyMessage
from langgraph.types import Command, PregelTask, StateSnapshot
from langgraph.types import Interrupt as GraphInterrupt
from pydantic_core import to_jsonable_python

from turnstream.graphs.sibling_calls import is_asked_by_its_task
from turnstream.server.runs.headless_calls import headless_call, misfit
from turnstream.server.runs.reviewed_calls import reviewed_calls
from turnstream.server.turns.chunks import Interrupt
from turnstream.server.turns.requests import InvalidRequest, Resume, TurnRequest
from turnstream.tools import questions, strict_json

logger = logging.getLogger(__name__)

MAX_CHARS = 200_000
"""Characters of an interrupt's value, as JSON."""
_ID = re.compile(r"[0-9a-f]{32}")
_CHECKPOINT = re.compile(r"@[0-9a-f-]{36}")


def asked(snapshot: StateSnapshot) -> tuple[Interrupt, ...]:
    """The interrupts that wait for an answer, of a snapshot with its subgraphs, each with the
    innermost node that is known to have asked."""
    messages = snapshot.values.get("messages", [])
    return tuple(
        _interrupt(interrupt, task.name, namespace, messages)
        for task, namespace in _tasks(snapshot, ())
        if not _is_around(task)
        for interrupt in task.interrupts
    )


def _interrupt(
    interrupt: GraphInterrupt,
    node: str,
    namespace: tuple[str, ...],
    messages: Sequence[AnyMessage],
) -> Interrupt:
    value, schema = _json(interrupt.value), interrupt.response_schema
    schema = _json(schema) if isinstance(schema, dict) else None
    calls = reviewed_calls(value, schema, messages)
    to_run = headless_call(value, messages)
    return Interrupt(interrupt.id, value, node, namespace, schema, calls, to_run)


def breakpoints(snapshot: StateSnapshot) -> tuple[Interrupt, ...]:
    """Return the breakpoints at which a graph waits: one for each node that is to go on."""
    checkpoint_id = snapshot.config["configurable"]["checkpoint_id"]
    return tuple(
        Interrupt(f"{task.name}@{checkpoint_id}", None, task.name, namespace)
        for task, namespace in _tasks(snapshot, ())
        if not _is_around(task)
    )


def takes_bare_answer(snapshot: StateSnapshot) -> bool:
    """True if exactly one task is open and its own call has asked: only then does an answer without
    an id surely reach the call that has asked."""
    open_tasks = [
        (task, "|".join((*namespace, f"{task.name}:{task.id}")))
        for task, namespace in _tasks(snapshot, ())
        if not _is_around(task) and task.result is None
    ]
    return len(open_tasks) == 1 and all(
        len(task.interrupts) == 1 and is_asked_by_its_task(task.interrupts[0].id, place)
        for task, place in open_tasks
    )


def _is_around(task: PregelTask) -> bool:
    """Check that a subgraph is at work in the task: what the subgraph asks, the task is said to ask
    too, even when it has its answer."""
    return isinstance(task.state, StateSnapshot) and bool(task.state.tasks)


def _tasks(
    snapshot: StateSnapshot, namespace: tuple[str, ...]
) -> Iterator[tuple[PregelTask, tuple[str, ...]]]:
    for task in snapshot.tasks:
        yield task, namespace
        if isinstance(task.state, StateSnapshot):
            yield from _tasks(task.state, (*namespace, f"{task.name}:{task.id}"))


def asking_calls(interrupts: Sequence[Interrupt]) -> frozenset[str]:
    """The ids of the calls whose servers have open questions: these calls have begun."""
    return frozenset(
        str(one.value["tool_call_id"])
        for one in interrupts
        if questions.is_question(one.value, one.response_schema) and "tool_call_id" in one.value
    )


def _json(value: Any) -> Any:
    """As JSON data; `{"hidden": true}` of what cannot be sent: its thread can still be read."""
    try:
        text = strict_json.write(to_jsonable_python(value))
        if len(text) <= MAX_CHARS:
            return strict_json.read(text)
        logger.warning("an interrupt's value is too long for clients and is hidden")
    except Exception:  # noqa: BLE001  what an author's objects raise
        logger.warning("an interrupt's value is not JSON and is hidden from clients")
    return {"hidden": True}


def resume_command(
    resume: Resume, interrupts: Sequence[Interrupt], *, takes_bare: bool
) -> Command[Any] | None:
    """The answers for LangGraph; None if only breakpoints are passed, which take no value.

    `takes_bare`: an answer without an id reaches its question. Raises InvalidRequest.
    """
    given = _given(resume, interrupts)
    values = {id: value for id, value in given.items() if "@" not in id}
    if not values:
        return None
    first = next(iter(values.values()))
    # LangGraph saves a bare value before the graph goes on, answers by id only as they are taken.
    # None is no answer to it, and an object without keys or of ids is taken for answers by id.
    is_bare = takes_bare and first not in (None, {}) and not is_by_id(first)
    return Command(resume=first if is_bare else values)


def _given(resume: Resume, interrupts: Sequence[Interrupt]) -> Mapping[str, Any]:
    """The answers by id."""
    given = resume.value
    if not is_by_id(given):
        if len(interrupts) > 1:
            raise InvalidRequest(
                "invalid_resume",
                f"The thread waits for several answers; send them by id: {_listed(interrupts)}.",
            )
        given = {interrupt.id: given for interrupt in interrupts}
    known = {interrupt.id: interrupt for interrupt in interrupts}
    unknown = [id for id in given if id not in known]
    if unknown or not known:
        which = f"no interrupt {unknown[0][:64]!r}" if unknown else "no interrupt"
        listed = f"It waits for {_listed(interrupts)}." if known else "It waits for no answer."
        raise InvalidRequest(
            "unknown_interrupt", f"The thread has {which} that is open. {listed}", 409
        )
    return {id: _checked(known[id], answer) for id, answer in given.items()}


def _checked(interrupt: Interrupt, answer: Any) -> Any:
    """The answer, which has to fit if a tool's server has asked, or a call that gives the schema of
    its result. Raises InvalidRequest."""
    if interrupt.client_call is not None:
        return _result_checked(interrupt, interrupt.client_call, answer)
    if not questions.is_question(interrupt.value, interrupt.response_schema):
        return answer
    try:
        return questions.checked(interrupt.response_schema, answer)
    except ValueError as error:
        content = ', "content": {...}' if interrupt.value.get("mode") == "form" else ""
        raise InvalidRequest(
            "invalid_resume",
            f"The answer to {interrupt.id!r} does not fit its response_schema. {error} Send "
            f'{{"action": "accept"{content}}} as it says, or {{"action": "decline"}} or '
            '{"action": "cancel"}.',
        ) from None


def _result_checked(interrupt: Interrupt, call_id: str, answer: Any) -> Any:
    """The answer of a client that has run a call: `{call id: result}`, the bare result, or
    `{call id: {"error": text}}`. Raises InvalidRequest."""
    named = isinstance(answer, dict) and answer.keys() == {call_id}
    match answer[call_id] if named else answer:
        case {"error": str(), **rest} if not rest:
            return answer
        case result:
            problem = misfit(interrupt, result)
    if problem is None:
        return answer
    raise InvalidRequest(
        "invalid_resume", f"The answer to {interrupt.id!r} does not fit. {problem}"
    )


def is_by_id(value: Any) -> bool:
    """Check that an answer names its questions: an object, id to value."""
    return isinstance(value, dict) and bool(value) and all(map(_is_id, value))


def _is_id(key: str) -> bool:
    """Check that it is an id as LangGraph gives one to an interrupt, or ours of a breakpoint."""
    return bool(_ID.fullmatch(key) or _CHECKPOINT.fullmatch(key[-37:]))


def check_goes_past(request: TurnRequest, interrupts: Sequence[Interrupt]) -> None:
    """A new message, or input without one, goes past an open interrupt, unless it is not to;
    nothing else does. Raises InvalidRequest."""
    leaves = request.message or request.branch or request.head or request.is_input_alone
    goes_past = leaves and request.on_interrupt == "discard"
    if not interrupts or goes_past:
        return
    example = f'{{"resume": {{"{interrupts[0].id}": answer}}}}'
    raise InvalidRequest(
        "interrupt_pending",
        f"The graph waits for an answer to {_listed(interrupts)}: send {example}; a new message "
        "would discard it.",
        409,
    )


def _listed(interrupts: Sequence[Interrupt]) -> str:
    shown = ", ".join(f"{interrupt.id!r} ({interrupt.node})" for interrupt in interrupts[:5])
    return f"{shown} and {len(interrupts) - 5} more" if len(interrupts) > 5 else shown

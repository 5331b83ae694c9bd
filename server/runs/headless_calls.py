"""Interrupts in which a tool without code of its own asks the client to run its call: LangChain's
headless tools.

    {"type": "tool", "toolCall" | "tool_call": {"id", "name", "args"}}

The client's SDK (`@langchain/langgraph-sdk` 1.15) answers with `{call id: result}`, and with
`{call id: {"error": text}}` if its function fails. Other clients answer the call, as they answer
the calls of tools that they bring along.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from langchain_core.messages import AnyMessage

from turnstream.graphs.ui_tools import is_skipped, result_schema
from turnstream.server.runs.reviewed_calls import open_calls
from turnstream.server.turns.chunks import Disposition, Interrupt
from turnstream.server.turns.requests import InvalidRequest, Resume, ToolAnswer, TurnRequest
from turnstream.tools import schemas
from turnstream.tools.strict_json import text_of


def headless_call(value: Any, messages: Sequence[AnyMessage]) -> str | None:
    """The id of the open call of the thread's last step that an interrupt asks the client to run;
    None: it asks for something else."""
    match value:
        case {"type": "tool", "toolCall": {"id": str(id), "name": str(name)}}:
            pass
        case {"type": "tool", "tool_call": {"id": str(id), "name": str(name)}}:
            pass
        case _:
            return None
    called = any((call["id"], call["name"]) == (id, name) for call in open_calls(messages))
    return id if called else None


def to_clients(interrupts: Sequence[Interrupt]) -> dict[str, Disposition]:
    """The calls that these interrupts ask the client to run, by id."""
    return {one.client_call: "client" for one in interrupts if one.client_call}


def answering(request: TurnRequest, interrupts: Sequence[Interrupt]) -> TurnRequest:
    """The request with `resume` in the place of its answers to calls that these interrupts ask the
    client to run; as it is if it has none. Of a client that sends its answers with each request,
    they are left out of one that goes past the interrupts, or answers one without its id.
    Raises InvalidRequest: `conflicting_actions`, and `invalid_answer` for a result that does not
    fit the schema which the interrupt gives of it."""
    by_call = {one.client_call: one for one in interrupts if one.client_call}
    asked = {call: one.id for call, one in by_call.items()}
    given = [item for item in request.answers if item.tool_call_id in asked]
    if not given:
        return request
    others = tuple(item for item in request.answers if item.tool_call_id not in asked)
    known = request.resume.value if request.resume else {}
    has_more = bool(request.message or request.branch) or not isinstance(known, dict)
    if has_more and request.answers_are_copies:
        return replace(request, answers=others)
    if has_more or (others and not request.answers_are_copies):
        raise InvalidRequest(
            "conflicting_actions",
            "The request answers a call in which the graph waits, and has something else to do: "
            "send that when the run that the answer starts has ended.",
        )
    for item in given:
        if not item.is_error and (problem := misfit(by_call[item.tool_call_id], item.taken)):
            raise InvalidRequest(
                "invalid_answer", f"The answer to {item.tool_call_id!r} does not fit. {problem}"
            )
    answers = {asked[item.tool_call_id]: {item.tool_call_id: _result(item)} for item in given}
    return replace(request, answers=others, resume=Resume({**known, **answers}))


def misfit(asked: Interrupt, result: Any) -> str | None:
    """Return the place where the result of a call does not fit the schema that its interrupt gives,
    in a sentence; None if it fits, or cancels the call."""
    schema = result_schema(asked.response_schema, asked.client_call or "")
    return None if schema is None or is_skipped(result) else schemas.misfit(schema, result)


def _result(item: ToolAnswer) -> Any:
    result = item.taken
    if not item.is_error:
        return result
    return {"error": result if isinstance(result, str) else text_of(result)}

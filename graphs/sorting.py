"""The calls of one model message, sorted: to run, to show, to wait for, or wrong."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from langchain_core.messages import ToolCall, ToolMessage
from langchain_core.tools import BaseTool
from pydantic import BaseModel, ValidationError

from graphs.answers import failed, shown
from graphs.calls import StreamedCall, clean_text, parse_args
from graphs.parts import stored_call
from tools.catalogue import Catalogue
from tools.contract import Points, UITool
from tools.schemas import misfit

MAX_PROBLEM_CHARS = 2000


@dataclass(frozen=True, slots=True)
class SortedCalls:
    """A message's calls as they are to be stored, and the answers that are due at once."""

    calls: Sequence[ToolCall]
    answers: Sequence[ToolMessage]
    goes_on: bool
    """Whether the model gets to see the results: a real or an invalid call, and no UI call."""


def sort_calls(
    calls: Sequence[StreamedCall],
    catalogue: Catalogue,
    client_tools: Sequence[UITool],
    points: Points,
) -> SortedCalls:
    """A UI tool of ours holds against one that the client brought under its name."""
    ui_tools = {**{tool.name: tool for tool in client_tools}, **catalogue.ui_by_name}
    answers = [_answer_at_once(call, catalogue, ui_tools, points) for call in calls]
    ends = any(
        call.given_name not in catalogue.real_by_name
        if found is None
        else found.status == "success"
        for call, found in zip(calls, answers, strict=True)
    )
    return SortedCalls(
        calls=[stored_call(call) for call in calls],
        answers=[found for found in answers if found],
        goes_on=bool(calls) and not ends,
    )


def refuse_all(calls: Sequence[StreamedCall], code: str, sentence: str) -> SortedCalls:
    return SortedCalls(
        calls=[stored_call(call) for call in calls],
        answers=[failed(call, code, sentence) for call in calls],
        goes_on=False,
    )


def _answer_at_once(
    call: StreamedCall, catalogue: Catalogue, ui_tools: Mapping[str, UITool], points: Points
) -> ToolMessage | None:
    """The answer to a call that no tool is to run: an error, or a component that is shown."""
    real, ui = catalogue.real_by_name.get(call.given_name), ui_tools.get(call.given_name)
    if real is None and ui is None:
        return _unknown(call, [*catalogue.real_by_name, *ui_tools])
    args = parse_args(call.args_text)
    if args is None:
        sentence = "The arguments were not one whole JSON object. Call again with valid JSON."
        return failed(call, "invalid_json", sentence)
    try:
        if real:
            check_args(real, args)
            return None
        assert ui is not None
        filled = ui.validate(args, points)
    except ValueError as error:
        return failed(call, "invalid_arguments", clean_text(str(error))[:MAX_PROBLEM_CHARS])
    return None if ui.awaits_client else shown(call, args, filled)


def _unknown(call: StreamedCall, known: list[str]) -> ToolMessage:
    near = get_close_matches(call.given_name, known) or known
    sentence = f"There is no tool of this name. Use one of: {', '.join(near)}."
    return failed(call, "unknown_tool", sentence)


def check_args(tool: BaseTool, args: dict[str, Any]) -> None:
    """Raises ValueError with a sentence for the model if the arguments do not fit the schema."""
    # LangChain makes a new dict of the schema each time, which would be read each time.
    schema = tool.args_schema if isinstance(tool.args_schema, dict) else tool.tool_call_schema
    if isinstance(schema, dict):
        problem = misfit(schema, args)
        if problem:
            raise ValueError(f"The arguments do not fit the schema. {problem}")
    elif issubclass(schema, BaseModel):
        unknown = sorted(set(args) - set(schema.model_fields))
        if unknown:
            raise ValueError(
                f"The arguments do not fit the schema. There is no argument {unknown[0][:64]!r}; "
                f"there are: {', '.join(schema.model_fields) or 'none'}."
            )
        try:
            schema.model_validate(args)
        except ValidationError as error:
            raise ValueError(f"The arguments do not fit the schema. {_problems(error)}.") from None


def _problems(error: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(map(str, item['loc'])) or 'arguments'}: {item['msg']}"
        for item in error.errors(include_url=False, include_input=False)[:5]
    )

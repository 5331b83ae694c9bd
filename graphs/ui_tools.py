"""UI tools of a graph of one's own: tools without code, whose calls the browser draws or answers.

    @ui_tool({"type": "object", "properties": {"seat": {"type": "string"}}, "required": ["seat"]})
    def choose_seat(flight: str, free: list[str]) -> None:
        "Ask the user for a seat on a flight."

A component of the same name draws the arguments. A call that waits is an interrupt in the form of
LangChain's headless tools, so it needs no edge of the graph, and other servers' clients can answer
it. The answer becomes the tool message, and the graph goes on.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any

from langchain_core.messages import ToolCall, ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool
from langgraph.types import interrupt
from pydantic import BaseModel, create_model
from pydantic_core import to_jsonable_python

from turnstream.graphs.answers import answer, failed
from turnstream.tools.contract import ALL_FIELDS, CLIENT_FIELDS, CatalogueError, Disposition
from turnstream.tools.schemas import SchemaFault, accept, misfit
from turnstream.tools.strict_json import text_of

_DEFINITIONS = ("$defs", "definitions")
_CALL_ID = "turnstream_call_id"
_INJECTED = (Annotated[str, InjectedToolCallId], ...)


class GraphUITool(StructuredTool):
    """A UI tool that a graph of one's own runs in the place of its tools."""

    waits: bool
    """True: the call waits for an answer. False: its arguments are its result."""

    @property
    def always_given(self) -> Collection[str]:
        """Its parameters that have no default."""
        return [name for name, declared in self.args.items() if "default" not in declared]

    @property
    def disposition(self) -> Disposition:
        return "client" if self.waits else "shown"


def ui_tool(
    schema: Mapping[str, Any] | type[BaseModel] | None = None,
    *,
    waits: bool = True,
    ends_turn: bool = False,
) -> Callable[[Callable[..., Any]], BaseTool]:
    """Make a UI tool of a function that never runs: its name, its docstring and its parameters are
    those of the tool.

    `schema` is the JSON Schema of an answer, or a Pydantic model of it; None: any JSON. A tool that
    does not wait only shows its arguments. `ends_turn` sets LangChain's `return_direct`: the agent
    ends behind the call. Raises CatalogueError for a schema that cannot be used.
    """
    if schema is not None and not waits:
        raise CatalogueError(
            "ui_tool: a tool that does not wait has no answer: leave out its schema."
        )
    asked = _schema_of({} if schema is None else schema)

    def decorate(function: Callable[..., Any]) -> BaseTool:
        declared = StructuredTool.from_function(
            function, parse_docstring=True, error_on_invalid_docstring=False
        )
        assert isinstance(declared.args_schema, type)
        name, fields = declared.name, {_CALL_ID: _INJECTED}

        def call(**args: Any) -> ToolMessage:
            id = args.pop(_CALL_ID)
            made = ToolCall(name=name, args=to_jsonable_python(args), id=id, type="tool_call")
            return _answered(made, asked) if waits else answer(made, text_of(made["args"]), "shown")

        async def acall(**args: Any) -> ToolMessage:
            return call(**args)

        return GraphUITool(
            name=name,
            description=declared.description,
            args_schema=create_model(name, __base__=declared.args_schema, **fields),  # type: ignore[call-overload]
            func=call,
            coroutine=acall,
            return_direct=ends_turn,
            metadata={CLIENT_FIELDS: (ALL_FIELDS,)},
            waits=waits,
        )

    return decorate


def _schema_of(given: Any) -> dict[str, Any]:
    """Raises CatalogueError."""
    if isinstance(given, type) and issubclass(given, BaseModel):
        given = given.model_json_schema()
    if not isinstance(given, Mapping):
        raise CatalogueError(
            f"ui_tool got {given!r:.100}: write @ui_tool(...) with a JSON Schema or a Pydantic "
            "model of the answer, or @ui_tool() for any."
        )
    schema = dict(given)
    try:
        accept(response_schema("answer", schema))
    except SchemaFault as error:
        raise CatalogueError(
            f"ui_tool: the schema of the answer cannot be used: {error}."
        ) from None
    return schema


def _answered(call: ToolCall, schema: Mapping[str, Any]) -> ToolMessage:
    """Wait for the answer, and return it as the end of the call. The server checks it before: what
    does not fit comes from a client of another server."""
    id = call["id"] or ""
    asked = {"type": "tool", "toolCall": {"id": id, "name": call["name"], "args": call["args"]}}
    given = interrupt(asked, response_schema=response_schema(id, schema))
    if isinstance(given, dict) and given.keys() == {id}:
        given = given[id]
    if isinstance(given, dict) and given.keys() == {"error"} and isinstance(given["error"], str):
        return failed(call, "client_error", given["error"])
    problem = None if is_skipped(given) else misfit(schema, given)
    if problem:
        return failed(call, "invalid_answer", f"The answer does not fit. {problem}")
    content, kept = (given, given) if isinstance(given, str) else (text_of(given), None)
    return answer(call, content, "result", artifact=kept)


def is_skipped(answer: Any) -> bool:
    """Check for the answer of a person who skips the question: `{"cancelled": true}`."""
    return isinstance(answer, dict) and len(answer) == 1 and answer.get("cancelled") is True


def response_schema(call_id: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of the answer to an interrupt that asks for the result of a call:
    `{call id: result}`. Definitions stand at its top, where references find them."""
    inner = {name: value for name, value in schema.items() if name not in _DEFINITIONS}
    outer = {name: schema[name] for name in _DEFINITIONS if name in schema}
    return {"type": "object", "properties": {call_id: inner}, "required": [call_id], **outer}


def result_schema(response: Any, call_id: str) -> Mapping[str, Any] | None:
    """The schema of the result in the schema that an interrupt gives of its answer; None: it gives
    none."""
    properties = response.get("properties") if isinstance(response, dict) else None
    inner = properties.get(call_id) if isinstance(properties, dict) else None
    if not isinstance(inner, dict):
        return None
    return {**inner, **{name: response[name] for name in _DEFINITIONS if name in response}}

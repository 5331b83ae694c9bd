"""Tools of clients for `create_agent`: a middleware that offers those of the state's key `tools`.

    agent = create_agent(model, tools, middleware=[..., ClientTools()])

It needs the package `langchain`, and is imported by who uses it. It stands last among the
middleware: so it sees the tools that others add, and leaves their calls to them.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import lru_cache
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse, hook_config
from langchain.agents.middleware.types import AgentState, OmitFromOutput, ToolCallRequest
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.runtime import Runtime
from langgraph.types import Command

from turnstream.graphs.answers import failed
from turnstream.graphs.brought_tools import StateTool, tools_in
from turnstream.tools import strict_json
from turnstream.tools.schemas import (
    CHECKING_STEPS,
    READING_STEPS,
    Budget,
    SchemaFault,
    ToolSchema,
)

ToolAnswer = ToolMessage | Command[Any]


def _newer(_before: Any, after: Any) -> Any:
    return after


class ClientToolsState(AgentState[Any]):
    # Several tasks of a step may write it: subagents that have the same middleware.
    tools: NotRequired[Annotated[list[dict[str, Any]], OmitFromOutput, _newer]]


class ClientTools(AgentMiddleware[ClientToolsState, Any, Any]):
    """Offers the client's tools to the model, and ends the turn at their calls, behind the agent's
    own calls of the same message. Arguments that do not fit go back to the model. A tool of the
    agent takes precedence over one of the same name."""

    state_schema = ClientToolsState

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        return handler(_offering(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        return await handler(_offering(request))

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolAnswer]
    ) -> ToolAnswer:
        tool = _client_tool(request)
        return handler(request) if tool is None else _checked(request, tool)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolAnswer]]
    ) -> ToolAnswer:
        tool = _client_tool(request)
        return await handler(request) if tool is None else _checked(request, tool)

    @hook_config(can_jump_to=["end"])
    def before_model(self, state: ClientToolsState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        del runtime
        return {"jump_to": "end"} if _waits(state) else None

    @hook_config(can_jump_to=["end"])
    async def abefore_model(
        self, state: ClientToolsState, runtime: Runtime[Any]
    ) -> dict[str, Any] | None:
        return self.before_model(state, runtime)


def _offering(request: ModelRequest[Any]) -> ModelRequest[Any]:
    taken = {*_names(request)}
    tools = [one for one in tools_in(request.state) if one["name"] not in taken]
    functions = [{"type": "function", "function": {**tool}} for tool in tools]
    return request.override(tools=[*request.tools, *functions]) if functions else request


def _names(request: ModelRequest[Any]) -> Iterator[str | None]:
    """Yield the names of the tools that the model is offered without the client's."""
    for tool in request.tools:
        if isinstance(tool, BaseTool):
            yield tool.name
        else:
            yield (tool.get("function") or tool).get("name")
    asked: Any = request.response_format
    if isinstance(asked, ToolStrategy):
        yield from (spec.name for spec in asked.schema_specs)
    else:
        schema = getattr(asked, "schema", asked)
        title = schema.get("title") if isinstance(schema, dict) else None
        yield title or getattr(schema, "__name__", None)


def _client_tool(request: ToolCallRequest) -> StateTool | None:
    """The client's tool that is called; None: the call is the agent's own."""
    if request.tool is not None:
        return None
    name = request.tool_call["name"]
    return next((one for one in tools_in(request.state) if one["name"] == name), None)


def _checked(request: ToolCallRequest, tool: StateTool) -> ToolAnswer:
    """Leave the call open, or answer it if its arguments do not fit. The calls of a message share
    the cost that their checks may have."""
    share = max(1, len(_last_calls(request.state)[0]))
    schema = _read(strict_json.write(tool["parameters"]))
    if isinstance(schema, ToolSchema):
        problem = schema.misfit(request.tool_call["args"], Budget(CHECKING_STEPS // share))
    else:
        problem = f"The tool's schema cannot be used: {schema}."
    if problem is None:
        return Command()
    sentence = f"The arguments do not fit the schema. {problem}"
    return failed(request.tool_call, "invalid_arguments", sentence)


@lru_cache(maxsize=16)
def _read(written: str) -> ToolSchema | SchemaFault:
    """Read a schema once for all calls of a message."""
    try:
        return ToolSchema(strict_json.read(written), Budget(READING_STEPS))
    except SchemaFault as error:
        return error


def _waits(state: ClientToolsState) -> bool:
    """Check that the model's last message with calls has one that the client is to answer."""
    names = {tool["name"] for tool in tools_in(state)}
    calls, answered = _last_calls(state)
    return any(call["name"] in names and call["id"] not in answered for call in calls)


def _last_calls(state: Any) -> tuple[Sequence[ToolCall], set[str]]:
    """Return the calls of the last message of the model that has any, and the ids of those that
    have answers. Tools may have added further messages behind it."""
    answered = set[str]()
    for message in reversed(state.get("messages", [])):
        if isinstance(message, ToolMessage):
            answered.add(message.tool_call_id)
        elif isinstance(message, AIMessage) and message.tool_calls:
            return message.tool_calls, answered
    return (), answered

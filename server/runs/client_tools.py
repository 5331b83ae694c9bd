"""The UI tools that a client brings along for one run.

The built-in graph has them in its context. A graph of one's own has them in its state, where they
stay for the runs of the turn that bring none: a `continue`, answers, decisions.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from langgraph.types import Command

from turnstream.graphs import brought_tools
from turnstream.graphs.attached import AttachedGraph
from turnstream.server.runs.plan import Plan
from turnstream.server.turns.requests import (
    MAX_CLIENT_TOOLS,
    ClientTool,
    InvalidRequest,
    TurnRequest,
)
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.contract import ResultLookup, UITool
from turnstream.tools.schemas import (
    CHECKING_STEPS,
    READING_STEPS,
    Budget,
    SchemaFault,
    ToolSchema,
    accept,
)
from turnstream.tools.strict_json import write

MAX_SCHEMA_CHARS = 100_000
"""Characters of the schemas of all tools of one request."""

RUN_STEPS = 5 * CHECKING_STEPS
"""For checking all calls of a run: a model can make many small ones."""


def brought_tools_of(
    request: TurnRequest, graph: AttachedGraph, catalogue: Catalogue
) -> tuple[UITool, ...]:
    """The tools of a request that its graph takes. Raises InvalidRequest."""
    if not graph.takes_client_tools:
        return ()
    own = () if graph.is_built_in else graph.tool_names
    taken = {*own, *(catalogue.real_by_name if graph.context.is_ours else ())}
    left_out = names_left_out(request, graph, catalogue)
    tools = [tool for tool in request.client_tools if tool.name not in left_out]
    return as_ui_tools(tools, catalogue, taken)


def names_left_out(
    request: TurnRequest, graph: AttachedGraph, catalogue: Catalogue
) -> Sequence[str]:
    """The tools of a request that a graph of one's own is not offered: its own UI tools, whose
    definition holds, and those of the catalogue whose calls have no answer, which nothing would end
    there."""
    if graph.context.is_ours:
        return ()
    ours = {name for name, tool in catalogue.ui_by_name.items() if not tool.awaits_client}
    return [one.name for one in request.client_tools if one.name in ours | graph.ui_tools.keys()]


def as_ui_tools(
    tools: Sequence[ClientTool], catalogue: Catalogue, taken: Collection[str] = ()
) -> tuple[UITool, ...]:
    """Tools that wait for the client. A UI tool of the catalogue takes precedence over one of the
    same name. `taken` are the names of the tools that run on the server.

    Raises InvalidRequest: 409 for the name of a real tool, 422 for a schema that cannot be
    used.
    """
    size = sum(len(write(tool.parameters)) for tool in tools)
    if len(tools) > MAX_CLIENT_TOOLS or size > MAX_SCHEMA_CHARS:
        raise InvalidRequest(
            "too_many_tools",
            f"The client's tools are {len(tools)} with {size} characters of schemas; send at most "
            f"{MAX_CLIENT_TOOLS} with {MAX_SCHEMA_CHARS}.",
        )
    reading, checking = Budget(READING_STEPS), Budget(RUN_STEPS)
    made = []
    for tool in tools:
        if tool.name in taken:
            raise InvalidRequest(
                "tool_name_taken",
                f"{tool.name!r} is a tool that runs on the server; give yours another name.",
                409,
            )
        try:
            brought = _ui_tool(tool, accept(tool.parameters, reading), checking)
        except SchemaFault as error:
            raise InvalidRequest(
                "invalid_tool", f"The parameters of {tool.name!r} cannot be used: {error}."
            ) from None
        made.append(catalogue.ui_by_name.get(tool.name, brought))
    return tuple(made)


def with_client_tools(
    tools: Sequence[UITool], request: TurnRequest, plan: Plan, graph: AttachedGraph
) -> tuple[tuple[UITool, ...], TurnRequest, Plan]:
    """Return the client's tools of a run, and request and plan that put them into the state of a
    graph of one's own. Without tools a message clears what the message before it brought."""
    keys, values = graph.client_tool_keys, request.values
    if not (keys and plan.runs_graph):
        return (*tools,), request, plan
    given, kept = brought_tools.as_state(tools), brought_tools.tools_in(plan.before.brought)
    begins = bool(request.message or request.branch or request.is_input_alone)
    if not begins and (not given or given == kept):
        theirs = (tool for tool in kept if tool["name"] not in graph.tool_names)
        return tuple(map(_kept, theirs)), request, plan
    if begins and not (given or kept):
        return (), request, plan
    if begins and not given:
        keys -= values.input.keys()
    beside = {**plan.before.brought, **(values.input if begins else {})}
    filled = brought_tools.filled(given, keys, beside)
    if plan.new is None:
        resume = plan.resume or Command()
        resume = replace(resume, update={**(resume.update or {}), **filled})
        return (*tools,), request, replace(plan, resume=resume)
    values = replace(values, input={**values.input, **filled})
    return (*tools,), replace(request, values=values), plan


def _kept(tool: Mapping[str, Any]) -> UITool:
    """A tool that the state has: the graph checks the arguments of its calls."""
    return UITool(tool["name"], tool["description"], tool["parameters"], _as_it_is, _as_it_is)


def _as_it_is(args_or_answer: Any, _results: Any) -> Any:
    return args_or_answer


def _ui_tool(tool: ClientTool, schema: ToolSchema, run: Budget) -> UITool:
    def validate(args: dict[str, Any], _results: ResultLookup) -> dict[str, Any]:
        with run.lend(CHECKING_STEPS) as budget:
            problem = schema.misfit(args, budget)
        if problem:
            raise ValueError(f"The arguments do not fit the schema. {problem}")
        return args

    def take(_args: Any, answer: Any) -> Any:
        return answer

    # OpenAI refuses an object without this keyword, and with it the whole request.
    parameters = {"properties": {}, **tool.parameters}
    return UITool(tool.name, tool.description, parameters, validate, take)

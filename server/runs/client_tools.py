"""The UI tools that a client brings along for one run."""

from collections.abc import Sequence
from typing import Any

from turnstream.server.turns.requests import MAX_CLIENT_TOOLS, ClientTool, InvalidRequest
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


def as_ui_tools(tools: Sequence[ClientTool], catalogue: Catalogue) -> tuple[UITool, ...]:
    """Tools that wait for the client. A UI tool of the catalogue takes precedence over one of the
    same name.

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
        if tool.name in catalogue.real_by_name:
            raise InvalidRequest(
                "tool_name_taken",
                f"{tool.name!r} is a tool that runs on the server; give yours another name.",
                409,
            )
        try:
            made.append(_ui_tool(tool, accept(tool.parameters, reading), checking))
        except SchemaFault as error:
            raise InvalidRequest(
                "invalid_tool", f"The parameters of {tool.name!r} cannot be used: {error}."
            ) from None
    return tuple(tool for tool in made if tool.name not in catalogue.ui_by_name)


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

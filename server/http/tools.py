"""POST /tools/{name}: one real tool, for scripts and tests; GET /tools: the catalogue."""

from difflib import get_close_matches
from functools import partial
from typing import Annotated, Any, Literal
from uuid import uuid4

from langchain_core.messages import ToolCall, ToolMessage
from langchain_core.tools import BaseTool
from pydantic import Field
from starlette.endpoints import HTTPEndpoint
from starlette.responses import JSONResponse, Response
from typing_extensions import TypedDict

from turnstream.graphs import stored
from turnstream.graphs.answers import client_view
from turnstream.graphs.approval_rules import ApprovalRules
from turnstream.graphs.classify import check_args
from turnstream.graphs.execution import execute, limits_of
from turnstream.graphs.factories import AUTH_USER
from turnstream.graphs.rights import NEEDS_APPROVAL, NOT_ALLOWED, Refusal, refusal_by_name
from turnstream.server.http.audited import note_call
from turnstream.server.http.operations import Answer, Operation, says
from turnstream.server.http.problems import Problem
from turnstream.server.http.state import ApiRequest, rights
from turnstream.server.runs.graph_user import GraphUser
from turnstream.server.turns.problem_codes import STORAGE, TOOLS, pick
from turnstream.tools.catalogue import Catalogue

STATUSES = {"tool_error": 422, "tool_timeout": 504}
"""The statuses of a call that failed; all else is a 500."""


class ToolJson(TypedDict):
    name: str
    kind: Literal["real", "ui"]
    description: str
    parameters: dict[str, Any]
    approval: Annotated[
        Literal["never", "sometimes", "always"],
        says("The calls of the caller that a person must approve."),
    ]


class ToolsJson(TypedDict):
    tools: list[ToolJson]


class ToolOutcomeJson(TypedDict):
    result: Any
    duration_ms: Annotated[int, Field(ge=0)] | None


class Tools(HTTPEndpoint):
    @Operation("listTools", Answer("The catalogue.", ToolsJson))
    async def get(self, request: ApiRequest) -> Response:
        """List the tools that the caller may use."""
        decide, approvals = rights(request).decide, _approval_rules(request)
        return JSONResponse(
            {
                "tools": [
                    {**tool, "approval": approvals.by_name(tool["name"])}
                    for tool in request.state["catalogue"].current.describe()
                    if decide(tool["name"]) != "deny"
                ]
            }
        )


class Tool(HTTPEndpoint):
    @Operation(
        "callTool",
        Answer("The part of the result that the client may see.", ToolOutcomeJson),
        TOOLS | STORAGE | pick("limit_exceeded"),
        body={"type": "object", "description": "The arguments, as `parameters` of the tool says."},
        examples={"a sum": {"expression": "6 * 7"}},
    )
    async def post(self, request: ApiRequest) -> Response:
        """Call a real tool.

        Rights, validation, time limit, redaction and errors are those of a turn.
        """
        catalogue = request.state["catalogue"].current
        tool = _find(catalogue, request.path_params["name"])
        permitted = rights(request)
        _permit(refusal_by_name(permitted, tool.name))
        args, _ = await request.state["bodies"].read(request, partial(_checked, tool))
        if not await permitted.allows(tool.name, args):
            _permit(NOT_ALLOWED)
        if await _approval_rules(request).needs(tool.name, args):
            _permit(NEEDS_APPROVAL)
        await permitted.take_call(tool.name)
        call = ToolCall(type="tool_call", id=f"call_{uuid4().hex[:24]}", name=tool.name, args=args)

        async def run() -> Any:
            user = GraphUser.of(permitted.principal)
            return await tool.ainvoke(call, {"configurable": {AUTH_USER: user}})

        limits = limits_of(tool, request.state["tool_limits"])
        message = await execute(call, run, limits, catalogue.drawable)
        note_call(request, tool.name, stored.end_of(message), stored.duration_ms(message))
        return _answer(message)


def _approval_rules(request: ApiRequest) -> ApprovalRules:
    permitted, catalogue = rights(request), request.state["catalogue"].current
    return ApprovalRules(catalogue, permitted, GraphUser.of(permitted.principal))


def _permit(refusal: Refusal | None) -> None:
    if refusal:
        raise Problem(403, refusal.code, refusal.message)


def _checked(tool: BaseTool, args: Any) -> dict[str, Any]:
    if not isinstance(args, dict):
        raise Problem(422, "invalid_arguments", "Send the arguments as one JSON object.")
    try:
        check_args(tool, args)
    except ValueError as error:
        raise Problem(422, "invalid_arguments", str(error)) from None
    return args


def _find(catalogue: Catalogue, name: str) -> BaseTool:
    tool = catalogue.real_by_name.get(name)
    if tool:
        return tool
    if name in catalogue.ui_by_name:
        detail = f"{name!r} is a UI tool: it lives in the browser and cannot be called here."
        raise Problem(404, "not_a_real_tool", detail)
    near = get_close_matches(name, catalogue.real_by_name)
    hint = f" Did you mean {', '.join(near)}?" if near else " GET /tools lists them."
    raise Problem(404, "unknown_tool", f"There is no tool {name[:64]!r}.{hint}")


def _answer(message: ToolMessage) -> Response:
    view = client_view(message)
    if stored.end_of(message) == "result":
        return JSONResponse(ToolOutcomeJson(result=view, duration_ms=stored.duration_ms(message)))
    error = dict(view["error"])
    code, detail = error.pop("code"), error.pop("message")
    raise Problem(STATUSES.get(code, 500), code, detail, **error)

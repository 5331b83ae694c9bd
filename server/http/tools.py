"""POST /tools/{name}: one real tool, for scripts and tests; GET /tools: the catalogue."""

from difflib import get_close_matches
from functools import partial
from typing import Any
from uuid import uuid4

from langchain_core.messages import ToolCall, ToolMessage
from langchain_core.tools import BaseTool
from starlette.endpoints import HTTPEndpoint
from starlette.responses import JSONResponse, Response

from turnstream.graphs import stored
from turnstream.graphs.answers import client_view
from turnstream.graphs.approval_rules import ApprovalRules
from turnstream.graphs.classify import check_args
from turnstream.graphs.execution import execute, limits_of
from turnstream.graphs.rights import NEEDS_APPROVAL, NOT_ALLOWED, Refusal, refusal_by_name
from turnstream.server.http.audited import note_call
from turnstream.server.http.problems import Problem
from turnstream.server.http.state import ApiRequest, rights
from turnstream.server.runs.graph_user import AUTH_USER, GraphUser
from turnstream.tools.catalogue import Catalogue

STATUSES = {"tool_error": 422, "tool_timeout": 504}
"""Of a call that failed; 500 for all else."""


class Tools(HTTPEndpoint):
    async def get(self, request: ApiRequest) -> Response:
        """`{"tools": [{"name", "kind": "real" | "ui", "description", "parameters", "approval"}]}`:
        those that the caller may use. `approval` says which calls of the caller's a person must
        approve: `never`, `sometimes` or `always`."""
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
    async def post(self, request: ApiRequest) -> Response:
        """The body is the arguments; the answer is `{"result", "duration_ms"}`, a problem if the
        call failed. Rights, validation, time limit, redaction and errors are those of a turn."""
        tool = _find(request.state["catalogue"].current, request.path_params["name"])
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
        message = await execute(call, run, limits)
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
        return JSONResponse({"result": view, "duration_ms": stored.duration_ms(message)})
    error = dict(view["error"])
    code, detail = error.pop("code"), error.pop("message")
    raise Problem(STATUSES.get(code, 500), code, detail, **error)

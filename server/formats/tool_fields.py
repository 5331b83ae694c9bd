"""Tools in a body: those that the client brings along, its answers to calls, and its decisions on
calls that wait for an approval."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, Field, StringConstraints

from turnstream.server.formats import fields
from turnstream.server.formats.fields import Fault, Fields, Text
from turnstream.server.turns import requests
from turnstream.server.turns.requests import ApprovalAnswer, ClientTool, ToolAnswer
from turnstream.tools import strict_json

ToolName = Annotated[
    str,
    Field(pattern="^[A-Za-z0-9_-]{1,64}$"),
    fields.Otherwise("invalid_tool", "a tool's name has 1 to 64 of A-Z, a-z, 0-9, _ and -"),
]
"""A name that the models' providers take: any other fails the whole request."""
CallId = Annotated[str, StringConstraints(min_length=1)]
Parameters = Annotated[
    dict[str, Any],
    fields.Otherwise("invalid_tool", "send the JSON Schema of an object"),
    fields.FITTING_JSON,
]


class DescribedTool(Fields):
    description: fields.ShortText | None = None
    parameters: Parameters = Field(description="A JSON Schema.")

    def called(self, name: str) -> ClientTool:
        return ClientTool(name, self.description or "", self.parameters)


class NamedTool(DescribedTool):
    name: ToolName


AnyTool = TypeVar("AnyTool", bound=NamedTool)


def _named_once(tools: list[AnyTool]) -> list[AnyTool]:
    names = [tool.name for tool in tools]
    if len(set(names)) < len(names):
        name, times = next(one for one in Counter(names).items() if one[1] > 1)
        raise Fault("invalid_tool", f"has the name {name!r} {times} times: give it once.")
    return tools


ToolList = Annotated[
    list[AnyTool],
    fields.FirstFault(),
    AfterValidator(_named_once),
    Field(json_schema_extra={"maxItems": requests.MAX_CLIENT_TOOLS}),
]
ToolsByName = Annotated[
    dict[ToolName, DescribedTool],
    fields.FirstFault(),
    Field(
        description="UI tools of this run, by name.",
        json_schema_extra={
            "maxProperties": requests.MAX_CLIENT_TOOLS,
            "additionalProperties": False,
        },
    ),
]


def listed_tools(tools: Sequence[NamedTool] | None) -> tuple[ClientTool, ...]:
    return tuple(tool.called(tool.name) for tool in tools or ())


def named_tools(tools: Mapping[str, DescribedTool] | None) -> tuple[ClientTool, ...]:
    return tuple(tool.called(name) for name, tool in (tools or {}).items())


def value_of(content: Any) -> Any:
    """The value that a tool message holds: JSON, or else text."""
    try:
        return strict_json.read(content) if isinstance(content, str) else content
    except ValueError:
        return content


class ToolResult(Fields):
    """An answer to a call."""

    tool_call_id: CallId
    result: fields.Json = None
    is_error: bool | None = None

    @property
    def answer(self) -> ToolAnswer:
        return ToolAnswer(self.tool_call_id, self.result, bool(self.is_error))


class Decision(Fields):
    """A decision on a call that waits for an approval."""

    approved: Annotated[bool, fields.Otherwise("invalid_approval", "send true or false")]
    reason: fields.ShortText | None = None

    def on(
        self, tool_call_id: str, approval_id: str | None, args: Mapping[str, Any] | None = None
    ) -> ApprovalAnswer:
        return ApprovalAnswer(tool_call_id, self.approved, self.reason, args, approval_id)


class DecisionWithArgs(Decision):
    args: fields.JsonObject | None = Field(
        None, description="In the place of the model's; of an approved call."
    )


class _OfCall(Fields):
    tool_call_id: Text
    approval_id: Text | None = None


class DecisionOnCall(DecisionWithArgs, _OfCall):
    """A decision that names its call. The fields of the last base come first."""

    @property
    def answer(self) -> ApprovalAnswer:
        return self.on(self.tool_call_id, self.approval_id, self.args)

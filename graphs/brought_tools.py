"""Tools that a client brings along, as the state of a graph of one's own has them.

    tools           [{"name", "description", "parameters"}], the convention of LangGraph and AG-UI
    ag-ui           {"tools": the same}, a key of AG-UI's adapter
    copilotkit      {"actions": the same}, a key of CopilotKit's

They stay in the state until the next message, so that a run which goes on has them again.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

TOOLS = "tools"
_INNER = {"ag-ui": "tools", "copilotkit": "actions"}
KEYS = frozenset({TOOLS, *_INNER})
"""The keys of a graph's input that take tools."""

StateTool = Mapping[str, Any]
"""`{"name", "description", "parameters"}`."""


class Brought(Protocol):
    """A tool of a client."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def parameters(self) -> Mapping[str, Any]: ...


def as_state(tools: Sequence[Brought]) -> list[StateTool]:
    """Return the tools in the form in which a state has them."""
    return [
        {"name": one.name, "description": one.description, "parameters": dict(one.parameters)}
        for one in tools
    ]


def filled(
    tools: Sequence[StateTool], keys: Collection[str], values: Mapping[str, Any]
) -> dict[str, Any]:
    """Return these keys with the tools in them; `values` is what else the keys hold."""
    made: dict[str, Any] = {}
    for key in sorted(keys):
        before = values.get(key)
        inner = {**(before if isinstance(before, dict) else {}), _INNER.get(key, ""): [*tools]}
        made[key] = [*tools] if key == TOOLS else inner
    return made


def tools_in(values: Any) -> list[StateTool]:
    """Return the tools of a state: those of the first key that has any. What is no tool is left
    out."""
    if not isinstance(values, Mapping):
        return []
    for key in (TOOLS, *_INNER):
        held = values.get(key)
        listed = held.get(_INNER[key]) if key in _INNER and isinstance(held, Mapping) else held
        if tools := [one for one in listed if _is_tool(one)] if isinstance(listed, list) else []:
            return tools
    return []


def _is_tool(value: Any) -> bool:
    match value:
        case {"name": str(), "description": str(), "parameters": {**_schema}}:
            return True
    return False

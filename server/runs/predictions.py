"""The state that a call's arguments predict while they stream, as a graph's author says it in the
metadata of a model.

    {"predict_state": [{"state_key", "tool", "tool_argument"?}]}

AG-UI's adapter for LangGraph reads this key, and CopilotKit's `copilotkit_customize_config` writes
the other one.
"""

from collections.abc import Collection, Mapping
from typing import Any

Predictions = Mapping[str, Mapping[str, str | None]]
"""By the tool's name: the keys of the state, each with the argument that has its value, as in
`ToolCallPart.predicts`."""
_KEYS = ("predict_state", "copilotkit:emit-intermediate-state")
MAX_CHARS = 256
"""Characters of an argument's name."""


def predictions(about: Mapping[str, Any], names: Collection[str]) -> Predictions:
    """Return what a model's metadata predicts of the keys of these names, which clients see:
    nobody would correct a prediction of another."""
    found: dict[str, dict[str, str | None]] = {}
    for entry in _entries(about) if names else ():
        match {"tool_argument": None, **entry} if isinstance(entry, dict) else None:
            case {
                "state_key": str(key),
                "tool": str(tool),
                "tool_argument": str(argument) | (None as argument),
            } if key in names and len(argument or "") <= MAX_CHARS:
                found.setdefault(tool, {})[key] = argument
    return found


def _entries(about: Mapping[str, Any]) -> list[Any]:
    given = next((about[key] for key in _KEYS if about.get(key)), ())
    return [*given] if isinstance(given, list | tuple) else []

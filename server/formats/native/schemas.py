"""The JSON Schema of the native body: one for each thing that a body can ask for."""

from collections.abc import MutableMapping, Sequence

from turnstream.server.formats.body_schemas import NOTHING, Schema, choice, some, variant
from turnstream.server.formats.native.body import ACTIONS, DecisionBody, NativeBody

MODELS = (NativeBody, DecisionBody)
_ASKED: dict[str, Sequence[str]] = {
    "MessageBody": ("message", "tool_results"),
    "ToolResultsBody": ("tool_results", "approvals"),
    "ApprovalsBody": ("approvals", "tool_results"),
    "ContinueBody": ("continue",),
    "RegenerateBody": ("regenerate",),
    "EditBody": ("edit",),
    "ResumeBody": ("resume",),
}
"""By name: the action of a body, and the one that may go with it."""


def bodies(found: MutableMapping[str, Schema]) -> dict[str, Schema]:
    """By name."""
    whole = found.pop(NativeBody.__name__)
    return {name: _asks(whole, *actions) for name, actions in _ASKED.items()}


def components() -> dict[str, Schema]:
    """It is answered in another format."""
    return {}


def _asks(whole: Schema, action: str, *beside: str) -> Schema:
    asked = whole["properties"][action]
    wanted = {**asked, "not": choice(None, [])} if action == "resume" else some(asked)
    least: Schema = {"minItems": 1} if wanted.get("type") == "array" else {}
    others = {name: NOTHING for name in ACTIONS if name not in (action, *beside)}
    return variant(whole, [action], **others, **{action: {**wanted, **least}})

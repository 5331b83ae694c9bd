"""The native body; it is answered in the default format."""

from collections.abc import Mapping
from typing import Any

from turnstream.server.formats.fields import BodyLimits, read
from turnstream.server.formats.format import BodyFormat, Format, Parsed, Schemas
from turnstream.server.turns.requests import ApprovalAnswer

__all__ = ["BODY_FORMAT", "FORMAT", "approval_body"]


def _parse(body: Mapping[str, Any], limits: BodyLimits) -> Parsed:
    # Its many models are made when a body comes.
    from turnstream.server.formats.native.body import parse

    return parse(body, limits)


def approval_body(
    tool_call_id: str, body: Any, *, approval_id: str, limits: BodyLimits
) -> ApprovalAnswer:
    """A decision on a call that the address names."""
    from turnstream.server.formats.native.body import DecisionBody

    decision = read(DecisionBody, body, limits)
    return decision.on(tool_call_id, approval_id, decision.args)


BODY_FORMAT = BodyFormat(_parse, recognises=lambda _body: True)


def _schemas() -> Schemas:
    from turnstream.server.formats.native import schemas

    return schemas


FORMAT = Format(_schemas, BODY_FORMAT, None)

"""AG-UI: `HttpAgent` of `@ag-ui/client`, and what builds on it (CopilotKit, assistant-ui).

A view is the messages that the client has posted.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from turnstream.server.formats.ag_ui.replay import idle, prologue
from turnstream.server.formats.ag_ui.snapshot import pending_interrupts, snapshot
from turnstream.server.formats.ag_ui.stream import AgUiEncoder
from turnstream.server.formats.fields import BodyLimits
from turnstream.server.formats.format import BodyFormat, Format, Parsed, Schemas, WireFormat
from turnstream.server.formats.json_text import dumps

__all__ = ["BODY_FORMAT", "FORMAT", "WIRE_FORMAT"]

WIRE_FORMAT = WireFormat(
    name="ag-ui",
    headers={},
    variant=lambda _view: None,
    needs_turns=lambda _header, _view: True,
    encoder=lambda context, _view: AgUiEncoder(context),
    prologue=lambda context, view, _replay: [*map(dumps, prologue(context, view))],
    idle=lambda context, _view: [*map(dumps, idle(context))],
    snapshot=snapshot,
    waiting=pending_interrupts,
)


def _parse(body: Mapping[str, Any], limits: BodyLimits) -> Parsed:
    # Its many models are made when a body comes.
    from turnstream.server.formats.ag_ui.body import parse

    return parse(body, limits)


BODY_FORMAT = BodyFormat(_parse, WIRE_FORMAT, address="/ag-ui")


def _schemas() -> Schemas:
    from turnstream.server.formats.ag_ui import schemas

    return schemas


def _routes() -> Sequence[Any]:
    from turnstream.server.formats.ag_ui.api import ROUTES

    return ROUTES


FORMAT = Format(_schemas, BODY_FORMAT, WIRE_FORMAT, _routes)

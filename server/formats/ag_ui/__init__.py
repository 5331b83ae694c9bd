"""AG-UI: `HttpAgent` of `@ag-ui/client`, and what builds on it (CopilotKit, assistant-ui).

A view is the messages that the client has posted.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from turnstream.server.formats.ag_ui.interrupts import open_interrupts
from turnstream.server.formats.ag_ui.replay import prologue, started
from turnstream.server.formats.ag_ui.snapshot import snapshot
from turnstream.server.formats.ag_ui.state import state_snapshot
from turnstream.server.formats.ag_ui.stream import AgUiEncoder
from turnstream.server.formats.fields import BodyLimits
from turnstream.server.formats.format import (
    BodyFormat,
    Encoder,
    Format,
    Parsed,
    Schemas,
    StreamContext,
    View,
    WireFormat,
)
from turnstream.server.formats.json_text import dumps
from turnstream.server.turns.chunks import Interrupt
from turnstream.server.turns.messages import Turn

__all__ = ["BODY_FORMAT", "FORMAT", "WIRE_FORMAT"]


def _encoder(context: StreamContext, _view: View) -> Encoder:
    return AgUiEncoder(context)


def _prologue(context: StreamContext, view: View, _replay: bool) -> list[str]:
    return [dumps(payload) for payload in prologue(context, view)]


def _idle(context: StreamContext, _view: View) -> list[str]:
    """A client takes no stream without a run."""
    begun, values = started(context), context.graph_state
    state = [] if values is None else [state_snapshot(values)]
    return [dumps(payload) for payload in (begun, *state, {**begun, "type": "RUN_FINISHED"})]


def _waiting(turns: Sequence[Turn], interrupts: Sequence[Interrupt]) -> Mapping[str, Any]:
    """`pendingInterrupts`, as an agent keeps them."""
    waiting = open_interrupts(turns, interrupts)
    return {"pendingInterrupts": waiting} if waiting else {}


WIRE_FORMAT = WireFormat(
    name="ag-ui",
    headers={},
    variant=lambda _view: None,
    needs_turns=lambda _header, _view: True,
    encoder=_encoder,
    prologue=_prologue,
    idle=_idle,
    snapshot=snapshot,
    waiting=_waiting,
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

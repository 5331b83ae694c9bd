"""assistant-transport: assistant-stream's part chunks, and the state that assistant-ui renders.

A view is the state that the client posted; a client that posted one renders `update-state` alone.
"""

from turnstream.server.formats.assistant_transport.state import StateEncoder, catch_up
from turnstream.server.formats.assistant_transport.stream import PartsEncoder, snapshot
from turnstream.server.formats.format import (
    BodyFormat,
    Format,
    StreamContext,
    View,
    WireFormat,
    deferred,
)
from turnstream.server.formats.json_text import DONE


def _prologue(context: StreamContext, view: View, _replay: bool) -> list[str]:
    return [] if view is None else catch_up(context, view)


def _idle(context: StreamContext, view: View) -> list[str]:
    """assistant-ui takes no 204: it gets what its state lacks, and the end."""
    return [*(_prologue(context, view, False) if context.turns else []), DONE]


WIRE_FORMAT = WireFormat(
    name="assistant-transport",
    variant=lambda view: view is not None,
    needs_turns=lambda _header, view: view is not None,
    encoder=lambda context, view: PartsEncoder() if view is None else StateEncoder(context),
    prologue=_prologue,
    idle=_idle,
    snapshot=snapshot,
)


_body = deferred(__name__, "body")
BODY_FORMAT = BodyFormat(
    lambda fields, limits: _body().parse(fields, limits),
    WIRE_FORMAT,
    recognises=lambda body: isinstance(body.get("commands"), list),
)
FORMAT = Format(_body, BODY_FORMAT, WIRE_FORMAT)

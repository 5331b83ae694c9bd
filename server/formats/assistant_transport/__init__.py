"""assistant-transport: assistant-stream's part chunks, and the state that assistant-ui renders.

A view is the state that the client posted; a client that posted one renders `update-state` alone.
"""

from turnstream.server.formats.assistant_transport.state import StateEncoder, catch_up
from turnstream.server.formats.assistant_transport.stream import PartsEncoder, snapshot
from turnstream.server.formats.format import BodyFormat, Format, WireFormat, deferred
from turnstream.server.formats.json_text import DONE

WIRE_FORMAT = WireFormat(
    name="assistant-transport",
    variant=lambda view: view is not None,
    needs_turns=lambda _header, view: view is not None,
    encoder=lambda context, view: PartsEncoder() if view is None else StateEncoder(context),
    prologue=lambda context, view, _replay: catch_up(context, view),
    # assistant-ui takes no 204: it gets what its state lacks, and the end.
    idle=lambda context, view: [*(catch_up(context, view) if context.turns else []), DONE],
    snapshot=snapshot,
)


_body = deferred(__name__, "body")
BODY_FORMAT = BodyFormat(
    lambda fields, limits: _body().parse(fields, limits),
    WIRE_FORMAT,
    recognises=lambda body: isinstance(body.get("commands"), list),
)
FORMAT = Format(_body, BODY_FORMAT, (WIRE_FORMAT,))

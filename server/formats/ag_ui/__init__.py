"""AG-UI: `HttpAgent` of `@ag-ui/client`, and what builds on it (CopilotKit, assistant-ui).

A view is the messages that the client has posted.
"""

from turnstream.server.formats.ag_ui.snapshot import open_interrupts, snapshot
from turnstream.server.formats.ag_ui.stream import AgUiEncoder, idle, prologue
from turnstream.server.formats.format import BodyFormat, Format, WireFormat, deferred
from turnstream.server.formats.json_text import dumps
from turnstream.server.formats.metadata import given

WIRE_FORMAT = WireFormat(
    name="ag-ui",
    needs_turns=lambda _header, _view: True,
    encoder=lambda context, _view: AgUiEncoder(context),
    prologue=lambda context, view, _replay: [*map(dumps, prologue(context, view))],
    idle=lambda context, _view: [*map(dumps, idle(context))],
    snapshot=snapshot,
    # Under the name by which an agent of AG-UI keeps them.
    waiting=lambda turns, asked: given(pendingInterrupts=open_interrupts(turns, asked) or None),
)
_body, _api = deferred(__name__, "body"), deferred(__name__, "api")
BODY_FORMAT = BodyFormat(
    lambda fields, limits: _body().parse(fields, limits), WIRE_FORMAT, address="/ag-ui"
)
FORMAT = Format(_body, BODY_FORMAT, WIRE_FORMAT, lambda: _api().ROUTES)

"""AG-UI: `HttpAgent` of `@ag-ui/client`, and what builds on it (CopilotKit, assistant-ui).

Two formats of streams and threads: `ag-ui-1.0` for clients that speak 1.0, and `ag-ui` for those
before. A view is the messages that the client has posted.
"""

from functools import partial

from turnstream.server.formats.ag_ui.snapshot import open_interrupts, snapshot
from turnstream.server.formats.ag_ui.stream import AgUiEncoder, idle, prologue
from turnstream.server.formats.ag_ui.subagents import announced
from turnstream.server.formats.format import BodyFormat, Format, WireFormat, deferred
from turnstream.server.formats.json_text import dumps
from turnstream.server.formats.metadata import given


def _wire_format(name: str, version: str | None) -> WireFormat:
    return WireFormat(
        name=name,
        needs_turns=lambda _header, _view: True,
        encoder=lambda context, _view: AgUiEncoder(context, version),
        prologue=lambda context, view, _replay: [*map(dumps, prologue(context, view, version))],
        idle=lambda context, _view: [*map(dumps, idle(context, version))],
        snapshot=partial(snapshot, version=version),
        # Under the name by which an agent of AG-UI keeps them.
        waiting=lambda turns, asked: given(
            pendingInterrupts=open_interrupts(turns, asked, version) or None
        ),
        beside=lambda turns: given(subagents=(version and announced(turns)) or None),
    )


WIRE_FORMAT, WIRE_FORMAT_1_0 = _wire_format("ag-ui", None), _wire_format("ag-ui-1.0", "1.0")
_body, _api = deferred(__name__, "body"), deferred(__name__, "api")
BODY_FORMAT = BodyFormat(
    lambda fields, limits: _body().parse(fields, limits), WIRE_FORMAT, address="/ag-ui"
)
FORMAT = Format(_body, BODY_FORMAT, (WIRE_FORMAT, WIRE_FORMAT_1_0), lambda: _api().ROUTES)

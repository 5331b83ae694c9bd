"""LangGraph's SDK: `useStream`, `client.runs.stream`, assistant-ui's `useLangGraphRuntime`.

A view is the stream modes that the client asked for. Bodies and states belong to the endpoints
under `/langgraph`; the streams, and a thread's messages, are there for any reader.
"""

from turnstream.server.formats.format import Format, View, WireFormat, deferred
from turnstream.server.formats.langgraph import stream
from turnstream.server.formats.langgraph.snapshot import messages


def _modes(view: View) -> stream.Modes:
    modes: stream.Modes = stream.ALL_MODES if view is None else view
    return modes


WIRE_FORMAT = WireFormat(
    name="langgraph",
    headers={},
    variant=_modes,
    needs_turns=lambda _header, _view: True,
    encoder=lambda context, view: stream.LangGraphEncoder(context, _modes(view)),
    prologue=lambda context, view, _replay: stream.prologue(context, _modes(view)),
    idle=lambda _context, _view: [stream.END],
    snapshot=messages,
)


_api = deferred(__name__, "api")
FORMAT = Format(deferred(__name__, "schemas"), None, (WIRE_FORMAT,), lambda: _api().ROUTES)

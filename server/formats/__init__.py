"""The wire formats, and the forms of a request's body. Pure: no HTTP, no graph.

A body of `POST /chat` is recognised by its shape:

    {"commands": [...], ...}                            assistant-transport
    {"id" or "trigger", "messages": [...], ...}         AI SDK
    {"id" or "trigger", "message": {"role", ...}, ...}  AI SDK
    any other object                                    native, answered in assistant-transport

Other forms have an address of their own. Each may also have the keys of
`turnstream.server.formats.graph_values.OfGraph`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from turnstream.server.formats import ag_ui, ai_sdk, assistant_transport, langgraph, native
from turnstream.server.formats.fields import BodyLimits, an_object, read, shown
from turnstream.server.formats.format import BodyFormat, View, WireFormat
from turnstream.server.formats.native import approval_body
from turnstream.server.turns.requests import AttachRequest, InvalidRequest, OnBusy, TurnRequest

__all__ = [
    "BODY_FORMATS",
    "DEFAULT",
    "WIRE_FORMATS",
    "BodyFormat",
    "BodyLimits",
    "PostedTurn",
    "WireFormat",
    "approval_body",
    "parse",
    "wire_format",
]

DEFAULT = assistant_transport.WIRE_FORMAT

BODY_FORMATS: tuple[BodyFormat, ...] = (
    assistant_transport.BODY_FORMAT,
    ai_sdk.BODY_FORMAT,
    ag_ui.BODY_FORMAT,
    native.BODY_FORMAT,
)
"""The first one that recognises a body reads it; the native one recognises any."""

WIRE_FORMATS: Mapping[str, WireFormat] = {
    format.name: format
    for format in (
        *(body.wire_format for body in BODY_FORMATS if body.wire_format),
        langgraph.WIRE_FORMAT,  # its requests have several addresses of their own
    )
}


@dataclass(frozen=True, slots=True)
class PostedTurn:
    """A body, read; `view` belongs to the wire format."""

    request: TurnRequest | AttachRequest
    wire_format: WireFormat
    view: View
    ignored: Sequence[str] = field(default=(), compare=False)
    """The keys of the body that have no effect, each with its place."""


def parse(
    body: Any,
    limits: BodyLimits,
    *,
    format: BodyFormat | None = None,
    graph: str | None = None,
    protocol: str | None = None,
    on_busy: str | None = None,
) -> PostedTurn:
    """Read a body. `format` and `graph` are those of the address, `protocol` and `on_busy`
    those of the query; each of them wins.

    Raises InvalidRequest.
    """
    fields = an_object(body)
    reader = format or _recognised(fields)
    parsed = reader.parse(fields, limits)
    request, asked = parsed.request, dict[str, Any]()
    if graph is not None:
        asked["graph"] = graph
    if on_busy is not None:
        asked["on_busy"] = _on_busy(on_busy)
    if asked and isinstance(request, TurnRequest):
        request = replace(request, **asked)
    own = reader.wire_format or DEFAULT
    answer = own if protocol is None else wire_format(protocol)
    # A view is that of the body's own format; to another it says nothing.
    view = parsed.view if answer.name == own.name else None
    return PostedTurn(request, answer, view, parsed.ignored)


def _on_busy(asked: str) -> OnBusy | None:
    from turnstream.server.formats.graph_values import OfGraph

    return read(OfGraph, {"on_busy": asked}, None).on_busy


def _recognised(body: Mapping[str, Any]) -> BodyFormat:
    return next(format for format in BODY_FORMATS if format.recognises and format.recognises(body))


def wire_format(name: str) -> WireFormat:
    """The wire format that a query names. Raises InvalidRequest."""
    if name in WIRE_FORMATS:
        return WIRE_FORMATS[name]
    raise InvalidRequest(
        "invalid_protocol",
        f"The protocol is {shown(name)}: ask for {' or '.join(WIRE_FORMATS)}.",
    )

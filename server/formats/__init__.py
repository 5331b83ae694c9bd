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
from turnstream.server.formats.format import BodyFormat, Format, View, WireFormat
from turnstream.server.formats.metadata import given
from turnstream.server.formats.native import approval_body, queued_change
from turnstream.server.turns.requests import AttachRequest, InvalidRequest, TurnRequest

__all__ = [
    "BODY_FORMATS",
    "DEFAULT",
    "FORMATS",
    "WIRE_FORMATS",
    "BodyFormat",
    "BodyLimits",
    "Formats",
    "PostedTurn",
    "WireFormat",
    "approval_body",
    "parse",
    "queued_change",
]


@dataclass(frozen=True, slots=True)
class PostedTurn:
    """A body, read; `view` belongs to the wire format."""

    request: TurnRequest | AttachRequest
    wire_format: WireFormat
    view: View
    ignored: Sequence[str] = field(default=(), compare=False)
    """The keys of the body that have no effect, each with its place."""


class Formats:
    """A table of formats, in the order in which they are asked whether a body is theirs."""

    def __init__(self, formats: Sequence[Format]) -> None:
        self.all = tuple(formats)
        self.bodies = tuple(format.body for format in formats if format.body)
        self.wire_formats: Mapping[str, WireFormat] = {
            one.name: one for format in formats for one in format.wire_formats
        }

    def behind(self, others: Sequence[Format]) -> "Formats":
        """Return this table behind other formats."""
        return Formats((*others, *self.all)) if others else self

    def parse(
        self,
        body: Any,
        limits: BodyLimits,
        *,
        format: BodyFormat | None = None,
        graph: str | None = None,
        protocol: str | None = None,
        on_busy: str | None = None,
        on_interrupt: str | None = None,
    ) -> PostedTurn:
        """Read a body. `format` and `graph` are those of the address, the others those of the
        query; each of them wins.

        Raises InvalidRequest.
        """
        fields = an_object(body)
        known = (one for one in self.bodies if one.recognises and one.recognises(fields))
        reader = format or next(known)
        parsed = reader.parse(fields, limits)
        request = parsed.request
        query = given(on_busy=on_busy, on_interrupt=on_interrupt)
        asked: dict[str, Any] = {**given(graph=graph), **(_read(query) if query else {})}
        if asked and isinstance(request, TurnRequest):
            request = replace(request, **asked)
        of_form = reader.wire_format or DEFAULT
        own = parsed.wire_format or of_form
        answer = own if protocol is None else self.wire_format(protocol)
        # A view is that of the body's own formats; to another it says nothing.
        view = parsed.view if answer in (own, of_form) else None
        return PostedTurn(request, answer, view, parsed.ignored)

    def wire_format(self, name: str) -> WireFormat:
        """Return the wire format that a query names. Raises InvalidRequest."""
        if name in self.wire_formats:
            return self.wire_formats[name]
        raise InvalidRequest(
            "invalid_protocol",
            f"The protocol is {shown(name)}: ask for {' or '.join(self.wire_formats)}.",
        )


def _read(query: Mapping[str, str]) -> dict[str, Any]:
    """Read the keys of a body that stand in a query."""
    from turnstream.server.formats.graph_values import OfGraph

    asked = read(OfGraph, query, None)
    return {name: getattr(asked, name) for name in query}


DEFAULT = assistant_transport.WIRE_FORMAT

FORMATS = Formats(
    (
        assistant_transport.FORMAT,
        ai_sdk.FORMAT,
        ag_ui.FORMAT,
        native.FORMAT,  # it recognises any body
        langgraph.FORMAT,
    )
)
BODY_FORMATS, WIRE_FORMATS = FORMATS.bodies, FORMATS.wire_formats
parse = FORMATS.parse

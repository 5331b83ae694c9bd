"""Wire formats. Each is three functions: a body to a TurnRequest, a run's chunks to payloads, and
a history to its snapshot. Pure: no HTTP, no graph.

A body is recognised by its shape, whatever the format of the answer:

    {"commands": [...], ...}                assistant-transport
    {"messages": [...], "trigger", ...}     AI SDK
    any other object                        native, answered in assistant-transport
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from server.protocols import (
    assistant_transport_request,
    assistant_transport_snapshot,
    native,
    ui_message_request,
    ui_message_snapshot,
)
from server.protocols.assistant_transport import PartsEncoder
from server.protocols.fields import Limits, mapping, shown
from server.protocols.history import Turn
from server.protocols.langchain_state_encoder import StateEncoder
from server.protocols.opening import Encoder, Opening
from server.protocols.requests import InvalidRequest, ProtocolName, TurnRequest
from server.protocols.ui_message_stream import UIMessageStreamEncoder

__all__ = ["WIRE_FORMATS", "Limits", "WireFormat", "parse", "protocol_name"]


@dataclass(frozen=True, slots=True)
class WireFormat:
    name: ProtocolName
    headers: Mapping[str, str]
    """Of its streams, besides those that every stream has."""
    encoder: Callable[[Opening], Encoder]
    snapshot: Callable[[Sequence[Turn]], list[dict[str, Any]]]


def _parts_or_state(opening: Opening) -> Encoder:
    return StateEncoder(opening) if opening.with_state else PartsEncoder()


WIRE_FORMATS: Mapping[ProtocolName, WireFormat] = {
    wire_format.name: wire_format
    for wire_format in (
        WireFormat(
            "assistant-transport", {}, _parts_or_state, assistant_transport_snapshot.snapshot
        ),
        WireFormat(
            "ui-message-stream",
            {"x-vercel-ai-ui-message-stream": "v1"},
            UIMessageStreamEncoder,
            ui_message_snapshot.snapshot,
        ),
    )
}


def parse(
    body: Any, limits: Limits, *, protocol: str | None = None, on_busy: str | None = None
) -> TurnRequest:
    """What a body asks for. `protocol` and `on_busy` are those of the query, and win.

    Raises InvalidRequest.
    """
    fields = mapping(body, "The body")
    request = _reader(fields)(fields, limits)
    if protocol is not None:
        request = _answered_in(request, protocol_name(protocol))
    if on_busy is not None:
        request = replace(request, on_busy=native.on_busy(on_busy))
    return request


def _answered_in(request: TurnRequest, protocol: ProtocolName) -> TurnRequest:
    """Only assistant-transport has a state to go with."""
    state = request.state if protocol == "assistant-transport" else None
    return replace(request, protocol=protocol, state=state)


def protocol_name(value: str) -> ProtocolName:
    """The name of a wire format as a query gives it. Raises InvalidRequest."""
    for name in WIRE_FORMATS:
        if name == value:
            return name
    raise InvalidRequest(
        "invalid_protocol",
        f"The protocol is {shown(value)}: ask for {' or '.join(WIRE_FORMATS)}.",
    )


def _reader(body: Mapping[str, Any]) -> Callable[[Mapping[str, Any], Limits], TurnRequest]:
    if isinstance(body.get("commands"), list):
        return assistant_transport_request.parse
    if isinstance(body.get("messages"), list) and "trigger" in body:
        return ui_message_request.parse
    return native.parse

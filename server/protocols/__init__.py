"""The wire formats, and the forms of a request's body. Pure: no HTTP, no graph.

A body of `POST /chat` is recognised by its shape:

    {"commands": [...], ...}                assistant-transport
    {"messages": [...], "trigger", ...}     AI SDK
    any other object                        native, answered in assistant-transport

Other forms have an address of their own. Each may also have what
`turnstream.server.protocols.graph_values` reads: the `graph`, values for it, and the answers that
it is resumed with, and which state of the thread it was made on.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from turnstream.server.protocols import ag_ui, ai_sdk, assistant_transport, langgraph_sdk, native
from turnstream.server.protocols.fields import BodyLimits, mapping, shown
from turnstream.server.protocols.format import BodyFormat, View, WireFormat
from turnstream.server.protocols.graph_values import (
    allowed_tools,
    based_on,
    graph_name,
    graph_values,
    model_name,
    must_exist,
    on_interrupt,
    resume,
    version,
)
from turnstream.server.protocols.native.request import approval_body
from turnstream.server.turns.requests import AttachRequest, InvalidRequest, Resume, TurnRequest

__all__ = [
    "BODY_FORMATS",
    "DEFAULT",
    "WIRE_FORMATS",
    "BodyFormat",
    "BodyLimits",
    "PostedTurn",
    "WireFormat",
    "allowed_tools",
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
        langgraph_sdk.WIRE_FORMAT,  # its requests have several addresses of their own
    )
}


@dataclass(frozen=True, slots=True)
class PostedTurn:
    """A body, read; `view` belongs to the wire format."""

    request: TurnRequest | AttachRequest
    wire_format: WireFormat
    view: View


def parse(
    body: Any,
    limits: BodyLimits,
    *,
    format: BodyFormat | None = None,
    graph: str | None = None,
    protocol: str | None = None,
    on_busy: str | None = None,
) -> PostedTurn:
    """What a body asks for. `format` and `graph` are those of the address, `protocol` and `on_busy`
    those of the query; each of them wins.

    Raises InvalidRequest.
    """
    fields = mapping(body, "The body")
    reader = format or _recognised(fields)
    parsed = reader.parse(fields, limits)
    request, of_graph = parsed.request, reader.of_graph(fields)
    if answers := resume(of_graph, limits):
        request = _resuming(request, answers, has_history=reader.has_history)
    if isinstance(request, TurnRequest):
        request = replace(
            request,
            graph=graph or graph_name(of_graph),
            model=model_name(of_graph),
            values=graph_values(of_graph, limits),
            on_interrupt=on_interrupt(of_graph),
            allowed_tools=allowed_tools(of_graph),
            must_exist=must_exist(of_graph),
            based_on=based_on(of_graph),
            version=version(of_graph),
        )
    if on_busy is not None:
        wanted = native.on_busy(on_busy)
        if isinstance(request, TurnRequest):
            request = replace(request, on_busy=wanted)
    own = reader.wire_format or DEFAULT
    answer = own if protocol is None else wire_format(protocol)
    # A view is that of the body's own format; to another it says nothing.
    view = parsed.view if answer.name == own.name else None
    return PostedTurn(request, answer, view)


def _recognised(body: Mapping[str, Any]) -> BodyFormat:
    return next(format for format in BODY_FORMATS if format.recognises and format.recognises(body))


def _resuming(
    request: TurnRequest | AttachRequest, resume: Resume, *, has_history: bool
) -> TurnRequest:
    """The request with the answers that it resumes the graph with. A client that posts its history
    each time brings no message along. Raises InvalidRequest."""
    if isinstance(request, AttachRequest):
        return TurnRequest(thread_id=request.thread_id, resume=resume)
    is_other = request.message or request.answers or request.approvals or request.branch
    if is_other and not has_history:
        raise InvalidRequest(
            "conflicting_actions", "The body has resume and something else to do: send one of them."
        )
    return replace(request, message=None, answers=(), approvals=(), branch=None, resume=resume)


def wire_format(name: str) -> WireFormat:
    """The wire format that a query names. Raises InvalidRequest."""
    if name in WIRE_FORMATS:
        return WIRE_FORMATS[name]
    raise InvalidRequest(
        "invalid_protocol",
        f"The protocol is {shown(name)}: ask for {' or '.join(WIRE_FORMATS)}.",
    )

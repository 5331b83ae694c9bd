"""The native body; it is answered in assistant-transport."""

from server.protocols.format import BodyFormat
from server.protocols.native.request import on_busy, parse

__all__ = ["BODY_FORMAT", "on_busy"]

BODY_FORMAT = BodyFormat(
    recognises=lambda _body: True, parse=parse, answered_in="assistant-transport"
)

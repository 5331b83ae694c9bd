"""The native body; it is answered in the default format."""

from turnstream.server.protocols.format import BodyFormat
from turnstream.server.protocols.native.body import parse

__all__ = ["BODY_FORMAT"]

BODY_FORMAT = BodyFormat(parse, recognises=lambda _body: True)

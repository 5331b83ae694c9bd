"""The bytes of event streams, cut at the events."""

import re

PING = re.compile(rb": ping[^\r\n]*(?:\r\n\r\n|\n\n)")


def without_pings(stream: bytes) -> bytes:
    return PING.sub(b"", stream)


def frames(stream: bytes) -> list[bytes]:
    """Each frame with the blank line that ends it; comments are left out."""
    *whole, rest = without_pings(stream).split(b"\n\n")
    assert rest == b"", f"the stream broke off in the middle of an event: {rest!r}"
    return [frame + b"\n\n" for frame in whole]


def event_id(frame: bytes) -> str | None:
    found = re.match(rb"id: ([^\n]+)\n", frame)
    return found[1].decode() if found else None


def frames_after(stream: bytes, cursor: str) -> bytes:
    """What a stream says after the event of this id."""
    said = frames(stream)
    ids = [event_id(frame) for frame in said]
    return b"".join(said[ids.index(cursor) + 1 :])

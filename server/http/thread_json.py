"""A thread as JSON, written a message at a time: images make it large, and others get their turn
between two of them."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

LARGE_BYTES = 100_000


async def thread_json(
    entry: Mapping[str, Any], messages: Sequence[Any], rest: Mapping[str, Any]
) -> bytes:
    """One object: the entry's members, `messages`, and the rest's; neither is empty."""
    written = []
    for message in messages:
        written.append(_json(message))
        if len(written[-1]) > LARGE_BYTES:
            await asyncio.sleep(0)
    pieces = (_json(entry)[:-1], b',"messages":[', b",".join(written), b"],", _json(rest)[1:])
    return b"".join(pieces)


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()

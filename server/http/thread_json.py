"""A thread as JSON, written a message at a time: images make it large, and others get their turn
between two of them."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

LARGE_BYTES = 100_000


async def thread_json(
    entry: Mapping[str, object], messages: Sequence[Any], rest: Mapping[str, object]
) -> bytes:
    """One object: the entry's members, `messages`, and the rest's; neither is empty."""
    others = {name: value for name, value in rest.items() if name != "queue"}
    pieces = [as_json(entry)[:-1], b',"messages":[', b",".join(await written(messages)), b"],"]
    if queue := cast("Sequence[Any]", rest.get("queue")):
        pieces += [b'"queue":[', b",".join(await written(queue)), b"],"]
    return b"".join([*pieces, as_json(others)[1:]])


async def written(messages: Sequence[Any]) -> list[bytes]:
    texts, held = list[bytes](), 0
    for message in messages:
        texts.append(as_json(message))
        held += len(texts[-1])
        if held > LARGE_BYTES:
            await asyncio.sleep(0)
            held = 0
    return texts


def as_json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()

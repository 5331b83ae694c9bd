"""The size of the text that a chunk brings to a run's log."""

import json

from turnstream.server.turns.chunks import (
    Aside,
    Chunk,
    Custom,
    GraphState,
    Interrupt,
    PartMade,
    Result,
    Substep,
    TaskFinish,
    TextDelta,
    ToolProgress,
    ToolSettled,
)


def text_bytes(chunk: Chunk) -> int:
    """In UTF-8; of JSON data, of its text. Arguments have come as text before they are whole."""
    if isinstance(chunk, Substep):
        chunk = chunk.chunk
    match chunk:
        case TextDelta() | Aside():
            return _size(chunk.text)
        case PartMade():
            return _size(chunk.part.url)
        case Result() | ToolSettled():
            return _size(json.dumps(chunk.result, ensure_ascii=False))
        case ToolProgress():
            return _size(json.dumps(chunk.data, ensure_ascii=False))
        case Custom() | Interrupt():
            return _size(json.dumps(chunk.value, ensure_ascii=False))
        case TaskFinish():
            return _size(json.dumps(chunk.writes, ensure_ascii=False))
        case GraphState():
            return _size(json.dumps(chunk.values, ensure_ascii=False))
    return 0


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))

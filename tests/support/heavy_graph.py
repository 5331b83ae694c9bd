"""The built-in graph with a tool that computes in the event loop, and one with large results."""

import time
from collections.abc import Callable
from typing import Any

from langchain_core.language_models import BaseChatModel

from turnstream.graphs.chat import build as built_in
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.contract import real_tool

SHAPES: dict[str, Callable[[int], Any]] = {
    "text": lambda size: "x" * size,
    "escapes": lambda size: "\0\u2028\U0001f600" * (size // 3),
    "half pairs": lambda size: "\ud83d" * size,
    "numbers": lambda size: [0.5] * (size // 4),
    "objects": lambda size: [{} for _ in range(size // 3)],
    "names": lambda size: {str(number): number for number in range(size // 16)},
    # A deeper one takes long to free, whoever drops it.
    "nested": lambda size: nested(size // 20),
}


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


@real_tool(client_fields=["*"])
async def compute(seconds: float) -> dict[str, Any]:
    """Compute, and let nobody else have a turn.

    Args:
        seconds: Of the thread's own time.
    """
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
    return {}


@real_tool(client_fields=["*"])
def large(shape: str, size: int) -> dict[str, Any]:
    """Return a large result.

    Args:
        shape: What it is made of.
        size: Its bytes, or so.
    """
    return {"value": SHAPES[shape](size)}


def build(model: BaseChatModel, catalogue: Catalogue, **settings: Any) -> Any:
    tools = Catalogue((*catalogue.real, compute, large), catalogue.ui)
    return built_in(model, tools, **settings)

"""A catalogue for the clients' turns: tools that work, refuse, hang, report their progress, and
need an approval."""

import asyncio
from typing import Any

from langchain_core.tools import ToolException
from langgraph.config import get_stream_writer
from langgraph.prebuilt import ToolRuntime

from turnstream.tools.catalogue import Catalogue
from turnstream.tools.contract import real_tool
from turnstream.tools.ui import render_ui_component, request_user_selection

REFUSAL = "There is no bridge of that name."


@real_tool(client_fields=["sum"])
async def add(a: float, b: float) -> dict[str, Any]:
    """Add two numbers.

    Args:
        a: One.
        b: The other.
    """
    return {"sum": a + b, "private": "for the model alone"}


@real_tool(client_fields=[])
async def find_bridge(name: str) -> dict[str, Any]:
    """Find a bridge; there is none.

    Args:
        name: Its name.
    """
    del name
    raise ToolException(REFUSAL)


@real_tool(client_fields=[])
async def hang() -> dict[str, Any]:
    """Never end."""
    await asyncio.Event().wait()
    return {}


@real_tool(client_fields=["total"])
async def count(to: int, runtime: ToolRuntime[Any, Any]) -> dict[str, Any]:
    """Count, and say each number on the way.

    Args:
        to: The last number.
        runtime: Where the numbers are said.
    """
    for number in range(1, to + 1):
        runtime.emit_output_delta({"counted": number})
    return {"total": to}


@real_tool(client_fields=["total"])
async def tally(to: int, runtime: ToolRuntime[Any, Any]) -> dict[str, Any]:
    """Count, and say each number with LangGraph's stream writer.

    Args:
        to: The last number.
        runtime: Knows the call's id.
    """
    write = get_stream_writer()
    for number in range(1, to + 1):
        write({"tool_call_id": runtime.tool_call_id, "data": {"counted": number}})
        write({"tool_call_id": "call_of_another", "data": "lost"})
        write("a word that belongs to no call")
    return {"total": to}


@real_tool(client_fields=["erased"], needs_approval=True)
async def erase(name: str) -> dict[str, Any]:
    """Erase a file, which takes forever if that is its name.

    Args:
        name: Its name.
    """
    if name == "forever":
        await asyncio.Event().wait()
    return {"erased": name, "private": "for the model alone"}


CATALOGUE = Catalogue(
    (add, find_bridge, hang, count, tally, erase), (render_ui_component, request_user_selection)
)

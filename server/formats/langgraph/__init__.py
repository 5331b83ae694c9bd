"""LangGraph's SDK: `useStream`, `client.runs.stream`, assistant-ui's `useLangGraphRuntime`.

A view is the stream modes that the client asked for. Bodies and states belong to the endpoints
under `/langgraph`; the streams, and a thread's messages, are there for any reader.
"""

from collections.abc import Sequence
from typing import Any

from turnstream.server.formats.format import Format, Schemas, View, WireFormat
from turnstream.server.formats.langgraph.snapshot import messages
from turnstream.server.formats.langgraph.stream import (
    ALL_MODES,
    LangGraphEncoder,
    Modes,
    end,
    prologue,
)

__all__ = ["FORMAT", "WIRE_FORMAT"]


def _modes(view: View) -> Modes:
    modes: Modes = ALL_MODES if view is None else view
    return modes


WIRE_FORMAT = WireFormat(
    name="langgraph",
    headers={},
    variant=_modes,
    needs_turns=lambda _header, _view: True,
    encoder=lambda context, view: LangGraphEncoder(context, _modes(view)),
    prologue=lambda context, view, _replay: prologue(context, _modes(view)),
    idle=lambda _context, _view: [end()],
    snapshot=messages,
)


def _schemas() -> Schemas:
    from turnstream.server.formats.langgraph import schemas

    return schemas


def _routes() -> Sequence[Any]:
    from turnstream.server.formats.langgraph.api import ROUTES

    return ROUTES


FORMAT = Format(_schemas, None, WIRE_FORMAT, _routes)

"""LangGraph's SDK: `useStream`, `client.runs.stream`, assistant-ui's `useLangGraphRuntime`.

A view is the stream modes that the client asked for. Bodies and states belong to the endpoints
under `/langgraph`; the streams, and a thread's messages, are there for any reader.
"""

from collections.abc import Sequence
from typing import Any

from turnstream.server.formats.format import (
    Encoder,
    Format,
    Schemas,
    StreamContext,
    View,
    WireFormat,
)
from turnstream.server.formats.langgraph.modes import ALL_MODES, Modes
from turnstream.server.formats.langgraph.snapshot import messages
from turnstream.server.formats.langgraph.stream import LangGraphEncoder, end, prologue
from turnstream.server.turns.header import RunHeader
from turnstream.server.turns.messages import Turn

__all__ = ["FORMAT", "WIRE_FORMAT"]


def _modes(view: View) -> Modes:
    modes: Modes = ALL_MODES if view is None else view
    return modes


def _needs_turns(_header: RunHeader, _view: View) -> bool:
    return True


def _encoder(context: StreamContext, view: View) -> Encoder:
    return LangGraphEncoder(context, _modes(view))


def _prologue(context: StreamContext, view: View, _replay: bool) -> list[str]:
    return prologue(context, _modes(view))


def _idle(_context: StreamContext, _view: View) -> list[str]:
    return [end()]


def _snapshot(turns: Sequence[Turn]) -> list[dict[str, Any]]:
    return messages(turns)


WIRE_FORMAT = WireFormat(
    name="langgraph",
    headers={},
    variant=_modes,
    needs_turns=_needs_turns,
    encoder=_encoder,
    prologue=_prologue,
    idle=_idle,
    snapshot=_snapshot,
)


def _schemas() -> Schemas:
    from turnstream.server.formats.langgraph import schemas

    return schemas


def _routes() -> Sequence[Any]:
    from turnstream.server.formats.langgraph.api.routes import ROUTES

    return ROUTES


FORMAT = Format(_schemas, None, WIRE_FORMAT, _routes)

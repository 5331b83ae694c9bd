"""A format of three events, to show that a format is one folder: `begin`, `word` and `end`."""

import json
from collections.abc import Sequence
from typing import Any

from turnstream.server.formats.fields import BodyLimits, Fields, Text, read
from turnstream.server.formats.format import (
    BodyFormat,
    Format,
    Parsed,
    Schemas,
    StreamContext,
    View,
    WireFormat,
)
from turnstream.server.turns.chunks import Chunk, Done, StepStart, TextDelta
from turnstream.server.turns.messages import AssistantTurn, Turn, UserTurn
from turnstream.server.turns.messages import Text as SaidText
from turnstream.server.turns.requests import TextContent, TurnRequest, UserMessage


class ToyBody(Fields):
    say: Text
    thread: str | None = None


def _parse(body: Any, limits: BodyLimits) -> Parsed:
    asked = read(ToyBody, body, limits)
    return Parsed(TurnRequest(asked.thread, UserMessage((TextContent(asked.say),))))


class ToyEncoder:
    def encode(self, chunk: Chunk) -> list[str]:
        match chunk:
            case StepStart():
                return [json.dumps({"type": "begin", "id": chunk.step_id})]
            case TextDelta():
                return [json.dumps({"type": "word", "id": chunk.step_id, "text": chunk.text})]
            case Done():
                return [json.dumps({"type": "end"})]
        return []


def _snapshot(turns: Sequence[Turn]) -> list[dict[str, Any]]:
    return [{"by": _role(turn), "text": _text(turn)} for turn in turns]


def _role(turn: Turn) -> str:
    return "user" if isinstance(turn, UserTurn) else "assistant"


def _text(turn: Turn) -> str:
    if isinstance(turn, AssistantTurn):
        return "".join(part.text for part in turn.parts if isinstance(part, SaidText))
    return "".join(one.text for one in turn.content if isinstance(one, TextContent))


def _nothing(_context: StreamContext, _view: View, *_more: Any) -> list[str]:
    return []


WIRE_FORMAT = WireFormat(
    name="toy",
    headers={},
    variant=lambda _view: None,
    needs_turns=lambda _header, _view: False,
    encoder=lambda _context, _view: ToyEncoder(),
    prologue=_nothing,
    idle=_nothing,
    snapshot=_snapshot,
)
BODY_FORMAT = BodyFormat(_parse, WIRE_FORMAT, address="/toy")


def _schemas() -> Schemas:
    from tests.formats.toy import schemas

    return schemas


def _routes() -> Sequence[Any]:
    from tests.formats.toy.api import ROUTES

    return ROUTES


FORMAT = Format(_schemas, BODY_FORMAT, (WIRE_FORMAT,), _routes)

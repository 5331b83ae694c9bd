"""The AI SDK's UI message stream v1 (`useChat`)."""

from collections.abc import Mapping
from typing import Any

from turnstream.server.formats.ai_sdk.stream import UIMessageStreamEncoder, prologue, snapshot
from turnstream.server.formats.format import BodyFormat, Format, WireFormat, deferred
from turnstream.server.formats.json_text import DONE

WIRE_FORMAT = WireFormat(
    name="ui-message-stream",
    headers={"x-vercel-ai-ui-message-stream": "v1"},
    needs_turns=lambda header, _view: header.continues,
    encoder=lambda context, _view: UIMessageStreamEncoder(context),
    prologue=lambda context, _view, replay: prologue(context, replay=replay),
    idle=lambda _context, _view: [DONE],
    snapshot=snapshot,
)


def _recognises(body: Mapping[str, Any]) -> bool:
    """`id` or `trigger`, which no native body has, beside `messages`, or beside a `message` that
    has a `role`."""
    last = body.get("message")
    has_last = isinstance(last, dict) and "role" in last
    has_history = has_last or isinstance(body.get("messages"), list)
    return has_history and ("id" in body or "trigger" in body)


_body = deferred(__name__, "body")
BODY_FORMAT = BodyFormat(
    lambda fields, limits: _body().parse(fields, limits), WIRE_FORMAT, recognises=_recognises
)
FORMAT = Format(_body, BODY_FORMAT, (WIRE_FORMAT,))

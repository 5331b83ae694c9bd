"""The native body; it is answered in the default format."""

from typing import Any

from turnstream.server.formats.fields import BodyLimits, read
from turnstream.server.formats.format import BodyFormat, Format, deferred
from turnstream.server.turns.requests import ApprovalAnswer, UserMessage

_body = deferred(__name__, "body")


def approval_body(
    tool_call_id: str, body: Any, *, approval_id: str, limits: BodyLimits
) -> ApprovalAnswer:
    """A decision on a call that the address names."""
    decision = read(_body().DecisionBody, body, limits)
    answer: ApprovalAnswer = decision.on(tool_call_id, approval_id, decision.args)
    return answer


def queued_change(body: Any, *, limits: BodyLimits) -> tuple[UserMessage | None, int | None]:
    """The message and the place that a request gets which waits for its turn; None: it keeps its
    own. Raises InvalidRequest."""
    change = read(_body().QueuedChangeBody, body, limits)
    message = None if change.message is None else _body().user_message(change.message)
    return message, change.place


BODY_FORMAT = BodyFormat(
    lambda fields, limits: _body().parse(fields, limits), recognises=lambda _body: True
)
FORMAT = Format(_body, BODY_FORMAT)

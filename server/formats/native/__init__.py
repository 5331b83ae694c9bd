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


def message_body(body: Any, *, limits: BodyLimits) -> UserMessage:
    """A message in the place of one that waits for its turn. Raises InvalidRequest."""
    message: UserMessage = _body().user_message(
        read(_body().QueuedMessageBody, body, limits).message
    )
    return message


BODY_FORMAT = BodyFormat(
    lambda fields, limits: _body().parse(fields, limits), recognises=lambda _body: True
)
FORMAT = Format(_body, BODY_FORMAT)

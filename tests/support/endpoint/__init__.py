"""A strict OpenAI-compatible endpoint: a real HTTP server that plays scripted replies.

    rules       what it refuses, pure: refusal(body) -> Refusal | None
    own_keys    what some servers take beside OpenAI's keys
    script      the steps of a reply          failures    the usual error statuses
    wire        a reply as bytes              wires       the same for other providers
    play        a reply to a connection
    serving     uvicorn on a free port        exchange    one request, and what became of it
    endpoint    StrictEndpoint                paces       replies for measuring

`python -m tests.support.endpoint --help` runs it alone.
"""

from tests.support.endpoint.endpoint import StrictEndpoint
from tests.support.endpoint.exchange import Exchange
from tests.support.endpoint.refusal import Body, Refusal
from tests.support.endpoint.rules import refusal
from tests.support.endpoint.script import (
    Args,
    Break,
    Call,
    CloseClean,
    Cut,
    Delay,
    Fail,
    Finish,
    Nothing,
    Pause,
    Raw,
    Reply,
    Say,
    Think,
    Together,
    Usage,
    call_reply,
    reply,
    text_reply,
)

__all__ = [
    "Args",
    "Body",
    "Break",
    "Call",
    "CloseClean",
    "Cut",
    "Delay",
    "Exchange",
    "Fail",
    "Finish",
    "Nothing",
    "Pause",
    "Raw",
    "Refusal",
    "Reply",
    "Say",
    "StrictEndpoint",
    "Think",
    "Together",
    "Usage",
    "call_reply",
    "refusal",
    "reply",
    "text_reply",
]

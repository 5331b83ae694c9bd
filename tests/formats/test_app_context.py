"""The texts that an app brings for the model, in the bodies of its clients."""

from dataclasses import replace
from typing import Any

import pytest

from turnstream.server.formats import BODY_FORMATS, BodyLimits, PostedTurn, parse
from turnstream.server.formats.app_context import BEYOND, MAX_BYTES
from turnstream.server.turns.requests import AppContext, TurnRequest

Json = dict[str, Any]
LIMITS = BodyLimits(max_message_chars=100)
(AG_UI,) = (format for format in BODY_FORMATS if format.address == "/ag-ui")
KIND = AppContext("", "Be kind.")
PLACE = AppContext("The page", "Orders")


def ag_ui(*before: Json, context: Any = None) -> PostedTurn:
    said = [*before, {"id": "u1", "role": "user", "content": "Hi"}]
    return parse({"threadId": "t1", "messages": said, "context": context}, LIMITS, format=AG_UI)


def ai_sdk(*before: Json, limits: BodyLimits = LIMITS, **fields: Any) -> PostedTurn:
    user = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "Hi"}]}
    return parse({"id": "t1", "messages": [*before, user], **fields}, limits)


def transport(**fields: Any) -> PostedTurn:
    message = {"role": "user", "parts": [{"type": "text", "text": "Hi"}]}
    command = {"type": "add-message", "message": message}
    return parse({"commands": [command], "state": {}, **fields}, LIMITS)


def texts(posted: PostedTurn) -> tuple[AppContext, ...]:
    assert isinstance(posted.request, TurnRequest)
    return posted.request.app_context


def in_parts(text: str) -> list[Json]:
    return [{"type": "text", "text": text}]


@pytest.mark.parametrize(
    ("posted", "expected"),
    [
        (ag_ui(context=[{"description": "The page", "value": "Orders"}]), [PLACE]),
        (ag_ui({"role": "system", "content": "Be kind."}), [KIND]),
        (ag_ui({"role": "developer", "content": in_parts("Be kind.")}), [KIND]),
        (
            ag_ui(
                {"role": "system", "content": "Be kind."},
                context=[{"description": "The page", "value": "Orders"}],
            ),
            [PLACE, KIND],
        ),
        (ag_ui(context=[{"description": "n", "value": {"a": 1}}]), [AppContext("n", '{"a":1}')]),
        (ai_sdk(system="Be kind."), [KIND]),
        (ai_sdk({"role": "system", "parts": in_parts("Be kind.")}), [KIND]),
        (transport(system="Be kind."), [KIND]),
    ],
)
def test_what_an_app_says_is_brought_along(posted: PostedTurn, expected: list[AppContext]) -> None:
    assert list(texts(posted)) == expected
    assert not posted.ignored


@pytest.mark.parametrize("context", [None, [], {}, 3, [None, 1, {}, {"value": ""}, {"x": 1}]])
def test_what_says_nothing_is_no_reason_to_refuse_a_turn(context: Any) -> None:
    assert not texts(ag_ui({"role": "system", "content": context}, context=context))
    assert not texts(ai_sdk({"role": "system", "parts": context}, system=None))


def test_the_same_text_is_brought_once() -> None:
    system = {"role": "system", "content": "Be kind."}
    assert texts(ag_ui(system, system)) == (KIND,)


def test_texts_beyond_the_bound_are_cut_and_named() -> None:
    first = {"description": "é", "value": "a" * 5_000}
    posted = ag_ui(
        context=[first, {"description": "", "value": "ü" * 5_000}, first | {"value": "b"}]
    )
    one, two = texts(posted)
    assert one == AppContext("é", "a" * 5_000)
    assert two.value == "ü" * ((MAX_BYTES - 5_002) // 2)
    assert [*posted.ignored] == [BEYOND]


def test_where_texts_of_apps_are_not_taken_they_are_named() -> None:
    limits = replace(LIMITS, takes_app_context=False)
    posted = ai_sdk(limits=limits, system="Be kind.")
    assert (texts(posted), [*posted.ignored]) == ((), ["context"])
    assert not ai_sdk(limits=limits).ignored


def test_half_a_character_is_not_brought() -> None:
    posted = ai_sdk(system="a\ud800")
    assert (texts(posted), [*posted.ignored]) == ((AppContext("", "a?"),), [])

"""Images in bodies and in loaded threads: each format's form, what they show, what is refused."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.pictures import data_url, gif, jpeg_head, png, webp_head
from turnstream.server.formats.ag_ui import WIRE_FORMAT as AG_UI
from turnstream.server.formats.ag_ui.body import parse as parse_ag_ui
from turnstream.server.formats.ai_sdk import WIRE_FORMAT as AI_SDK
from turnstream.server.formats.ai_sdk.body import parse as parse_ai_sdk
from turnstream.server.formats.assistant_transport import WIRE_FORMAT as PARTS
from turnstream.server.formats.assistant_transport.body import parse as parse_commands
from turnstream.server.formats.fields import BodyLimits
from turnstream.server.formats.format import Parsed
from turnstream.server.formats.langgraph import WIRE_FORMAT as LANGGRAPH
from turnstream.server.formats.langgraph.body import input_messages, new_message
from turnstream.server.formats.native.body import parse as parse_native
from turnstream.server.turns.messages import UserTurn
from turnstream.server.turns.requests import (
    ImageContent,
    InvalidRequest,
    TextContent,
    TurnRequest,
    UserMessage,
)

Json = dict[str, Any]
Read = Callable[[list[Json]], UserMessage | None]

LIMITS = BodyLimits(max_message_chars=1000)
PIXEL = data_url(png(1, 1))
BARE = PIXEL.partition(",")[2]
WEB = "https://a.org/b.png"


def message_of(parsed: Parsed) -> UserMessage | None:
    assert isinstance(parsed.request, TurnRequest)
    return parsed.request.message


def alt_of(message: UserMessage) -> str | None:
    first = message.content[0]
    assert isinstance(first, ImageContent)
    return first.alt


def native(parts: list[Json]) -> UserMessage | None:
    return message_of(parse_native({"message": {"parts": parts}}, LIMITS))


def commands(parts: list[Json]) -> UserMessage | None:
    command = {"type": "add-message", "message": {"role": "user", "parts": parts}}
    return message_of(parse_commands({"commands": [command]}, LIMITS))


def ai_sdk(parts: list[Json]) -> UserMessage | None:
    message = {"role": "user", "parts": parts}
    body = {"messages": [message], "trigger": "submit-message"}
    return message_of(parse_ai_sdk(body, LIMITS))


def ag_ui(parts: list[Json]) -> UserMessage | None:
    message = {"id": "u1", "role": "user", "content": parts}
    return message_of(parse_ag_ui({"messages": [message]}, LIMITS))


def langgraph(parts: list[Json]) -> UserMessage | None:
    given = input_messages([{"type": "human", "content": parts}], LIMITS)
    return new_message(given, (), LIMITS)


SENT: list[tuple[Read, Json, str | None]] = [
    (native, {"type": "image", "image": PIXEL, "alt": "A leaf"}, "A leaf"),
    (native, {"type": "image", "image": PIXEL, "alt": None}, None),
    (native, {"type": "image", "image": PIXEL, "alt": "  "}, None),
    (commands, {"type": "image", "image": PIXEL, "filename": "leaf.png"}, "leaf.png"),
    (commands, {"type": "image", "image": PIXEL}, None),
    (
        ai_sdk,
        {"type": "file", "mediaType": "image/png", "url": PIXEL, "filename": "leaf.png"},
        "leaf.png",
    ),
    (ai_sdk, {"type": "file", "mediaType": "image/png", "url": PIXEL}, None),
    *(
        (ag_ui, {"type": "image", "source": source, "metadata": metadata}, alt)
        for source in (
            {"type": "data", "value": BARE, "mimeType": "image/png"},
            {"type": "url", "value": PIXEL},
        )
        for metadata, alt in (({"filename": "leaf.png"}, "leaf.png"), ("leaf", None), ({}, None))
    ),
    (
        ag_ui,
        {"type": "binary", "mimeType": "image/png", "data": BARE, "filename": "leaf.png"},
        "leaf.png",
    ),
    (ag_ui, {"type": "binary", "mimeType": "image/png", "url": PIXEL}, None),
    (
        langgraph,
        {"type": "image_url", "image_url": {"url": PIXEL}, "metadata": {"name": "leaf.png"}},
        "leaf.png",
    ),
    (
        langgraph,
        {"type": "image", "data": BARE, "mimeType": "image/png", "metadata": {"alt": "A leaf"}},
        "A leaf",
    ),
    (langgraph, {"type": "image", "url": PIXEL}, None),
]


@pytest.mark.parametrize(("read", "part", "alt"), SENT)
def test_an_image_comes_in_each_clients_form_with_what_it_shows(
    read: Read, part: Json, alt: str | None
) -> None:
    message = read([part])
    assert message is not None
    assert message.content == (ImageContent(PIXEL),)
    assert alt_of(message) == alt


def test_a_file_of_another_kind_is_refused_in_each_form() -> None:
    pdf = {"mimeType": "application/pdf", "data": BARE}
    for read, part in (
        (ai_sdk, {"type": "file", "mediaType": "application/pdf", "url": PIXEL}),
        (ag_ui, {"type": "binary", **pdf}),
        (langgraph, {"type": "file", **pdf}),
        (native, {"type": "file", **pdf}),
    ):
        with pytest.raises(InvalidRequest) as refused:
            read([part])
        assert refused.value.code == "unsupported_part"


@pytest.mark.parametrize(
    ("url", "says"),
    [
        (data_url(gif(1, 1)), "its bytes are those of image/gif"),
        (data_url(jpeg_head(1, 1), "gif"), "its bytes are those of image/jpeg"),
        (data_url(b"<svg onload=alert(1)>"), "not those of a PNG, JPEG, GIF or WebP"),
        (data_url(b"RIFF\0\0\0\0WAVE", "webp"), "not those of a PNG, JPEG, GIF or WebP"),
        (data_url(b"<svg/>", "svg+xml"), "data:image/svg"),
    ],
)
def test_an_image_that_is_not_what_it_says_is_refused(url: str, says: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        native([{"type": "image", "image": url}])
    assert refused.value.code == "invalid_image"
    assert says in refused.value.message


@pytest.mark.parametrize(
    "url",
    [
        data_url(png(1, 1), "PNG"),
        data_url(jpeg_head(1, 1), "jpeg"),
        data_url(gif(1, 1), "gif"),
        data_url(webp_head(1, 1, "VP8L"), "webp"),
        WEB,
    ],
)
def test_an_image_of_each_kind_is_taken_and_an_address_as_it_is(url: str) -> None:
    message = native([{"type": "image", "image": url}])
    assert message is not None
    assert message.content == (ImageContent(url),)


@pytest.mark.parametrize(
    ("alt", "code"),
    [("x" * 1001, "value_too_long"), (7, "invalid_body"), ("\ud83d", "invalid_text")],
)
def test_what_an_image_shows_is_a_short_text(alt: Any, code: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        native([{"type": "image", "image": PIXEL, "alt": alt}])
    assert (refused.value.code, "message.parts[0].alt" in refused.value.message) == (code, True)


def test_a_message_is_named_by_its_text_or_else_by_what_its_images_show() -> None:
    bare, named = ImageContent(PIXEL), ImageContent(PIXEL, "A leaf")
    assert UserMessage((named, TextContent("Which?"))).title == "Which?"
    assert UserMessage((bare, named)).title == "A leaf"
    assert UserMessage((bare,)).title == "Image"


def test_what_an_image_shows_is_in_a_loaded_thread_of_each_format() -> None:
    turn = UserTurn("u1", (ImageContent(PIXEL, "A leaf"), ImageContent(WEB)))
    (parts,) = PARTS.snapshot([turn])
    assert parts["parts"] == [
        {"type": "image", "image": PIXEL, "alt": "A leaf"},
        {"type": "image", "image": WEB},
    ]
    (ui,) = AI_SDK.snapshot([turn])
    assert [part.get("filename") for part in ui["parts"]] == ["A leaf", None]
    (ag,) = AG_UI.snapshot([turn])
    assert [part.get("metadata") for part in ag["content"]] == [{"filename": "A leaf"}, None]
    (human,) = LANGGRAPH.snapshot([turn])
    assert [block.get("metadata") for block in human["content"]] == [{"name": "A leaf"}, None]


@pytest.mark.parametrize(
    ("format", "read", "key"),
    [
        (PARTS, native, "parts"),
        (PARTS, commands, "parts"),
        (AI_SDK, ai_sdk, "parts"),
        (AG_UI, ag_ui, "content"),
        (LANGGRAPH, langgraph, "content"),
    ],
)
def test_what_a_format_shows_of_an_image_it_reads_again(format: Any, read: Read, key: str) -> None:
    turn = UserTurn("u1", (ImageContent(PIXEL, "A leaf"), TextContent("Which?")))
    (shown,) = format.snapshot([turn])
    message = read(shown[key])
    assert message is not None
    assert message.content == turn.content
    assert alt_of(message) == "A leaf"

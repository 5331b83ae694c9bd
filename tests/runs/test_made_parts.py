"""Images, files and sources that a model gives with its text are parts of its message."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.graph import START, MessagesState, StateGraph

from tests.graphs.zoo import Animal
from tests.graphs.zoo.served import served
from tests.support.backend import backend, key_of, message
from tests.support.documented import check_event
from tests.support.langgraph_reader import named_frames
from tests.support.raw_model import DONE, chunk, event, raw_model, say, stream
from tests.support.served_run import LANGGRAPH, VARIANTS, serve_run
from turnstream.graphs.made_parts import MAX_SENT_CHARS, MadeFile, SentParts, made_parts
from turnstream.graphs.model_options import ModelOptions
from turnstream.graphs.openai_model import open_model
from turnstream.server.formats import WIRE_FORMATS
from turnstream.server.turns.chunks import FilePart, SourcePart
from turnstream.server.turns.messages import AssistantTurn, MessagePart, Text

PIXEL = "iVBORw0KGgo="
IMAGE = {"type": "image", "base64": PIXEL, "mime_type": "image/png"}
CITED = {"type": "citation", "url": "https://a.example/x", "title": "X"}
CONTENT: list[Any] = [{"type": "text", "text": "See:", "annotations": [CITED, CITED]}, IMAGE]
PDF = {"type": "file", "base64": "JVBERg==", "mime_type": "application/pdf", "filename": "a.pdf"}
OTHER = {"type": "citation", "url": "https://a.example/y"}
WORDLESS: list[Any] = [
    PDF,
    {"type": "text", "text": "", "annotations": [CITED]},
    IMAGE,
    {"type": "text", "text": "", "annotations": [OTHER]},
]
FILE = FilePart(f"data:image/png;base64,{PIXEL}", "image/png")


def reply(_: Sequence[BaseMessage], __: Sequence[str]) -> str:
    return "See:"


def drawing(model: BaseChatModel) -> Any:
    """Its first node streams text, and stores it with an image; the others store whole messages."""

    async def speak(state: MessagesState) -> dict[str, Any]:
        said = await model.ainvoke(state["messages"])
        return {"messages": [AIMessage(CONTENT, id=said.id)]}

    async def draw(state: MessagesState) -> dict[str, Any]:  # noqa: ARG001
        return {"messages": [AIMessage([IMAGE], id=None)]}

    async def collect(state: MessagesState) -> dict[str, Any]:  # noqa: ARG001
        return {"messages": [AIMessage(WORDLESS)]}

    builder = StateGraph(MessagesState)
    builder.add_sequence([speak, draw, collect])
    builder.add_edge(START, "speak")
    return builder.compile()


async def test_what_a_model_makes_is_a_part_in_the_stream_and_in_the_thread(
    tmp_path: Path,
) -> None:
    animal = Animal("drawing", drawing, reply, "", thread=())
    async with served(tmp_path / "t.db", animal) as home:
        for words in ("Draw", "Again"):
            run = await serve_run(home.inside, message(words))
            run.check_chunks()
            for variant in VARIANTS:
                await run.check_format(variant)
            for frame in named_frames(await run.bytes_after(LANGGRAPH, 0)):
                check_event(frame.event, frame.data)
        turns = await home.inside.reader.turns(key_of())
        said = turns[1]
        assert isinstance(said, AssistantTurn)
        first, second, third = said.steps
        source = SourcePart(f"{first.step_id}.source-1", "https://a.example/x", "X")
        assert first.parts == (Text("See:"), source, FILE)
        assert second.parts == (FILE,)
        assert len(third.parts) == 4
        native = WIRE_FORMATS["assistant-transport"].snapshot(turns)[1]["parts"]
        wordless = ["file", "source", "file", "source"]
        assert [part["type"] for part in native] == ["text", "source", "file", "file", *wordless]
        ai_sdk = WIRE_FORMATS["ui-message-stream"].snapshot(turns)[1]["parts"]
        kinds = [part["type"] for part in ai_sdk if part["type"] != "step-start"]
        others = ["file", "source-url", "file", "source-url"]
        assert kinds == ["text", "source-url", "file", "file", *others]
        cited = {"type": "citation", "url": "https://a.example/x", "title": "X"}
        data = f"data:image/png;base64,{PIXEL}"
        image = {"type": "image_url", "image_url": {"url": data}}
        pdf = {"source_type": "base64", "data": "JVBERg==", "mime_type": "application/pdf"}
        content = [message["content"] for message in WIRE_FORMATS["langgraph"].snapshot(turns)[1:4]]
        assert content == [
            [{"type": "text", "text": "See:", "annotations": [cited]}, image],
            [image],
            [
                {"type": "file", **pdf, "metadata": {"filename": "a.pdf"}},
                {"type": "text", "text": "", "annotations": [cited, OTHER]},
                image,
            ],
        ]


X, Y = "https://a.example/x", "https://a.example/y"
CITATION = {"type": "url_citation", "url_citation": {"url": X, "title": "X", "start_index": 0}}
PICTURE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
FOUND = {"citations": [X, Y], "search_results": [{"url": X, "title": "X", "date": None}]}
SENT: dict[str, tuple[bytes, list[MessagePart]]] = {
    "annotations in deltas": (
        say("See:")
        + event(chunk({"annotations": [CITATION]}))
        + event(chunk({"annotations": [CITATION], "content": ""}, "stop")),
        [Text("See:"), SourcePart("", X, "X")],
    ),
    "citations and results of each chunk": (
        event(chunk({"content": "See"}, **FOUND))
        + event(chunk({"content": ":"}, **FOUND))
        + event(chunk({}, "stop", **FOUND)),
        [Text("See:"), SourcePart("", X, "X"), SourcePart("", Y)],
    ),
    "an image in a delta": (
        say("See:") + event(chunk({"images": [PICTURE]})) + event(chunk({}, "stop")),
        [Text("See:"), FILE],
    ),
    "an image alone": (event(chunk({"images": [PICTURE]})) + event(chunk({}, "stop")), [FILE]),
}


@pytest.mark.parametrize("name", SENT)
async def test_what_a_server_sends_beside_the_text_is_a_part_and_is_not_sent_back(
    tmp_path: Path, name: str
) -> None:
    """The keys of OpenAI and OpenRouter, Perplexity, and OpenRouter."""
    sent, expected = SENT[name]
    async with (
        raw_model([stream(sent, DONE)]) as server,
        open_model("m", ModelOptions("test", server.url)) as model,
        backend(tmp_path / "t.db", model) as inside,
    ):
        run = await serve_run(inside, message("Search"))
        run.check_chunks()
        for variant in VARIANTS:
            await run.check_format(variant)
        said = run.kept[-1]
        assert isinstance(said, AssistantTurn)
        assert [
            replace(part, source_id="") if isinstance(part, SourcePart) else part
            for part in said.parts
        ] == expected
        assert run.reason == "stop"
        await serve_run(inside, message("And?"))
        assert b"And?" in server.bodies[-1]
        assert PIXEL.encode() not in server.bodies[-1]
        assert X.encode() not in server.bodies[-1]


async def test_images_beyond_the_bound_are_left_out() -> None:
    sent = SentParts()
    large = MadeFile("data:image/png;base64," + "A" * MAX_SENT_CHARS, "image/png")
    sent.add([large, MadeFile("https://a.example/i.png", "image/*"), large])
    assert sent.extras == {"images": [{"image_url": {"url": "https://a.example/i.png"}}]}


@pytest.mark.parametrize(
    "extras",
    [
        {"annotations": [{"url_citation": 5}, 5, {"url": "javascript:1"}], "citations": {}},
        {"images": [{"image_url": {"url": 5}}, 5, {"image_url": "file:///etc/passwd"}]},
    ],
    ids=str,
)
def test_what_cannot_be_read_beside_the_content_is_left_out(extras: Any) -> None:
    assert made_parts(AIMessage("x", additional_kwargs=extras)) == []


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image", "url": "file:///etc/passwd"},
        {"type": "image", "file_id": "f1"},
        {"type": "text", "text": "x", "annotations": [{"type": "citation", "url": "javascript:1"}]},
        {"type": "text", "text": "x", "annotations": 5},
        {"type": "image", "url": 5},
    ],
    ids=str,
)
def test_what_no_client_can_open_is_left_out(block: Any) -> None:
    assert made_parts(AIMessage([block])) == []


def test_an_image_by_its_address_has_the_type_that_is_known() -> None:
    web = {"type": "image_url", "image_url": {"url": "https://a.example/i.png"}}
    (made,) = made_parts(AIMessage([web]))
    assert made == ("https://a.example/i.png", "image/*", None)

"""The parts of a model's message: a thread that is loaded has the very parts that streamed."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from tests.support.scripted_model import ScriptedModel, call, finish, reasoning, text
from turnstream.graphs import stored
from turnstream.graphs.agent import Agent
from turnstream.graphs.calls import StreamedCall
from turnstream.graphs.classify import Classifier
from turnstream.graphs.context import TurnContext
from turnstream.graphs.limits import Limits
from turnstream.graphs.parts import PartAssembler, StreamedPart, partial_message, stored_parts
from turnstream.tools.catalogue import Catalogue

Seen = list[tuple[str, str]]
SERIALIZER = JsonPlusSerializer()


def streamed(chunks: Sequence[AIMessage]) -> list[StreamedPart]:
    assembler = PartAssembler("msg-1", set())
    for chunk in chunks:
        assembler.feed(chunk)
    return assembler.parts


def seen(parts: Sequence[StreamedPart]) -> Seen:
    return [
        ("call", part.args_text or "{}")
        if isinstance(part, StreamedCall)
        else (part.kind, part.text)
        for part in parts
    ]


def reread(message: AIMessage) -> Seen:
    """The parts of a message that went through the checkpointer."""
    loaded = SERIALIZER.loads_typed(SERIALIZER.dumps_typed(message))
    return [(part.kind, part.text) for part in stored_parts(loaded)]


def stepped(chunks: Sequence[AIMessageChunk]) -> AIMessage:
    """The message that the agent stores of these chunks."""
    model = ScriptedModel.of([*chunks, finish()])
    agent = Agent(model, Classifier(Catalogue((), ())), Limits(), "")
    said = asyncio.run(agent.step([HumanMessage("Go")], TurnContext()))
    assert isinstance(said[0], AIMessage)
    return said[0]


def text_block(words: str) -> AIMessageChunk:
    return AIMessageChunk(content=[{"type": "text", "text": words, "index": 1}])


def test_text_of_one_kind_goes_on_in_its_part_and_another_opens_one() -> None:
    chunks = [reasoning("I "), reasoning("see."), text("It "), text("is."), reasoning("Hm.")]
    assert seen(streamed(chunks)) == [
        ("reasoning", "I see."),
        ("text", "It is."),
        ("reasoning", "Hm."),
    ]


def test_text_between_calls_stays_between_them() -> None:
    chunks = [
        text("One: "),
        call('{"a":1}', name="one", id="c1", index=0),
        text("two: "),
        call('{"b":2}', name="two", id="c2", index=1),
        text("done."),
    ]
    wanted = [
        ("text", "One: "),
        ("call", '{"a":1}'),
        ("text", "two: "),
        ("call", '{"b":2}'),
        ("text", "done."),
    ]
    assert seen(streamed(chunks)) == wanted
    assert reread(stepped(chunks)) == wanted


def test_arguments_are_kept_in_the_models_own_words() -> None:
    for written in ('{ "a" : 1 }', '{"a": 1, "b"', "{bad", "[1]", '{"a":1.0}', '{"a":1,"a":2}'):
        assert reread(stepped([call(written, name="one", id="c1")])) == [("call", written)]


def test_a_call_without_arguments_has_the_empty_object() -> None:
    assert reread(stepped([call("", name="one", id="c1")])) == [("call", "{}")]


def test_reasoning_that_stands_beside_the_content_is_reasoning_too() -> None:
    chunk = AIMessageChunk(content="", additional_kwargs={"reasoning_content": "Let me see."})
    chunks = [chunk, text("It is.")]
    wanted = [("reasoning", "Let me see."), ("text", "It is.")]
    assert seen(streamed(chunks)) == wanted
    assert reread(stepped(chunks)) == wanted


def test_a_providers_own_blocks_are_kept_as_they_were() -> None:
    block = {"type": "reasoning", "reasoning": "R", "index": 0, "extras": {"signature": "s"}}
    message = stepped([AIMessageChunk(content=[block]), text_block("T")])
    assert isinstance(message.content, list)
    assert message.content[0] == block
    assert reread(message) == [("reasoning", "R"), ("text", "T")]


@pytest.mark.parametrize("kind", [text, reasoning, text_block])
def test_half_a_character_is_replaced_wherever_it_stands(kind: Any) -> None:
    chunks = [kind("a\ud83d"), kind("b")]
    [(_, words)] = seen(streamed(chunks))
    assert words == "a\ufffdb"
    assert [said for _, said in reread(stepped(chunks))] == [words]


def test_a_message_that_was_cut_off_has_the_parts_so_far() -> None:
    chunks = [reasoning("Hm."), text("It is"), call('{"a": 1, "b', name="one", id="c1")]
    cut = partial_message("r", "msg-1", streamed(chunks))
    assert reread(cut) == [("reasoning", "Hm."), ("text", "It is"), ("call", '{"a": 1, "b')]
    assert cut.tool_calls[0]["args"] == {}, "what a parser makes of half the text is not kept"
    assert (stored.run_id(cut), stored.dispositions(cut)) == ("r", ["invalid"])


words = st.text(st.characters(codec=None), max_size=3)


@st.composite
def messages(draw: st.DrawFn) -> list[AIMessageChunk]:
    """What a model may stream: text and reasoning in any turn, calls begun, cut and mixed."""
    begun: list[int] = []
    chunks: list[AIMessageChunk] = []
    for _ in range(draw(st.integers(0, 10))):
        kind = draw(st.sampled_from(["text", "block", "reasoning", "beside", "call", "args"]))
        said = draw(words)
        if kind == "call":
            begun.append(len(begun))
            id = draw(st.sampled_from([f"c{len(begun)}", None, "same"]))
            chunks.append(call(said, name="one", id=id, index=begun[-1]))
        elif kind == "args" and begun:
            args = draw(st.sampled_from(['{"a":', "1", "}", "", said]))
            chunks.append(call(args, index=draw(st.sampled_from(begun))))
        elif kind == "reasoning":
            chunks.append(reasoning(said))
        elif kind == "beside":
            chunks.append(AIMessageChunk(content="", additional_kwargs={"reasoning_content": said}))
        else:
            chunks.append(text_block(said) if kind == "block" else text(said))
    return chunks


@given(messages())
def test_a_stored_message_has_the_very_parts_that_streamed(chunks: list[AIMessageChunk]) -> None:
    wanted = seen(streamed(chunks))
    assert reread(stepped(chunks)) == wanted
    assert reread(partial_message("r", "msg-1", streamed(chunks))) == wanted

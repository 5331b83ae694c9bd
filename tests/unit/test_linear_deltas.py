"""What one delta costs does not depend on how much was said before it."""

import json
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk

from tests.support.scripted_model import call, finish, text
from turnstream.graphs.calls import MAX_VALUES, CallAssembler, StreamedCall, parse_args
from turnstream.graphs.chunk_folding import Folded
from turnstream.graphs.chunk_shape import ModelFault
from turnstream.graphs.json_end import JsonEnd
from turnstream.graphs.model_wire import Events, as_bytes
from turnstream.graphs.streamed_generation import StreamedGeneration, Whole

HEAD: dict[str, Any] = {"name": "one", "id": "c1"}
OBJECTS = ["{}", '{"a": "}{"}', '{"a": [{"b": "\\\\"}]}', ' {"a": "\\""} ', '{"a":1} ', '{"a"\n:1}']
BROKEN = [
    "{bad}",
    '{"a":1}}',
    "[]",
    '{"a":1} {}',
    '"{}"',
    '{"a":[}',
    "\\{}",
    "",
    " ",
    '{"a":"\\u12"}',
]


def cut(text: str, places: list[int]) -> list[str]:
    ends = [0, *sorted(place for place in places if place <= len(text)), len(text)]
    return [text[a:b] for a, b in pairwise(ends)]


texts = st.one_of(
    st.sampled_from([*OBJECTS, *BROKEN]),
    st.text(alphabet='{}[]":,\\a1 \n', max_size=20),
    st.dictionaries(st.text(max_size=3), st.text(max_size=5), max_size=3).map(json.dumps),
)


@given(texts, st.lists(st.integers(0, 30), max_size=4))
def test_a_call_is_whole_when_its_text_is_one_object_however_it_is_cut(
    text: str, places: list[int]
) -> None:
    streamed, so_far = StreamedCall("c1", "one", "one"), ""
    for piece in cut(text, places):
        streamed.add(piece)
        so_far += piece
        assert streamed.is_whole() == (bool(so_far) and parse_args(so_far) is not None)
        assert streamed.args_text == so_far
        assert streamed.args == parse_args(so_far)


def test_an_end_that_is_passed_is_no_end() -> None:
    end = JsonEnd()
    end.feed('{"a": "}"}')
    assert end.is_reached
    end.feed(" ")
    assert end.is_reached
    end.feed("{}")
    assert not end.is_reached


@pytest.mark.parametrize(
    "filler", ["x", "}", '"}{"', "\\"], ids=["text", "ends", "both", "escapes"]
)
def test_a_head_with_every_fragment_takes_time_in_proportion(filler: str) -> None:
    def feed(size: int) -> Callable[[], object]:
        deltas = [call('{"a": "', **HEAD), *[call(filler, **HEAD)] * size]

        def run() -> None:
            assembler = CallAssembler("msg-1", ())
            for delta in deltas:
                assembler.feed(delta)

        return run

    proportionate(feed, 1000)


def test_many_calls_take_time_in_proportion() -> None:
    def feed(size: int) -> Callable[[], object]:
        delta = AIMessageChunk(content="")
        delta.tool_call_chunks = [
            {"type": "tool_call_chunk", "index": n, "id": f"c{n}", "name": "one", "args": "{}"}
            for n in range(size)
        ]
        return lambda: CallAssembler("msg-1", ()).feed(delta)

    proportionate(feed, 800)


def test_a_sum_that_streamed_takes_time_in_proportion() -> None:
    def feed(size: int) -> Callable[[], object]:
        pieces = [call('{"a": 1, ', **HEAD), *[call("z", index=0)] * size]

        def run() -> None:
            whole = Whole()
            chunks = [StreamedGeneration(message=piece).part_of(whole) for piece in pieces]
            total = chunks[0] + list[ChatGenerationChunk](chunks[1:])
            assert isinstance(total.message, AIMessageChunk)
            assert len(total.message.invalid_tool_calls) == 1

        return run

    proportionate(feed, 800)


def proportionate(work_of: Callable[[int], Callable[[], object]], size: int) -> None:
    """Four times the work takes less than twelve times the time: a square takes sixteen."""
    small, large = work_of(size), work_of(4 * size)
    assert best(large) < 12 * best(small)


def best(run: Callable[[], object]) -> float:
    seconds = []
    for _ in range(3):
        start = time.thread_time()
        run()
        seconds.append(time.thread_time() - start)
    return min(seconds)


def test_more_values_than_arguments_have_are_no_arguments() -> None:
    many = '{"a": [' + ",".join(["1"] * MAX_VALUES) + "]}"
    assert parse_args(many) is None
    assert parse_args('{"a": "' + "x" * len(many) + '"}') is not None


def test_a_sum_is_the_same_whether_it_streamed_or_not() -> None:
    pieces = [
        text("Hel", id="msg-1"),
        text("lo"),
        call('{"a"', name="one", id="c1", index=0),
        call(":1}", index=0),
        call("{bad", name="two", id="c2", index=1),
        finish("tool_calls"),
    ]
    whole = Whole()
    streamed = [StreamedGeneration(message=piece).part_of(whole) for piece in pieces]
    apart = [StreamedGeneration(message=piece) for piece in pieces]
    total = streamed[0] + list[ChatGenerationChunk](streamed[1:])
    assert total == apart[0] + list[ChatGenerationChunk](apart[1:])
    message = total.message
    assert isinstance(message, AIMessageChunk)
    assert (message.content, message.id) == ("Hello", "msg-1")
    assert [(c["name"], c["args"]) for c in message.tool_calls] == [("one", {"a": 1})]
    assert [(c["name"], c["args"]) for c in message.invalid_tool_calls] == [("two", "{bad")]
    assert message.response_metadata["finish_reason"] == "tool_calls"
    assert message.usage_metadata == {"input_tokens": 7, "output_tokens": 5, "total_tokens": 12}


def test_a_sum_that_streamed_is_not_added_up_again() -> None:
    pieces, whole = [text("Hel"), text("lo")], Whole()
    first, second = (StreamedGeneration(message=piece).part_of(whole) for piece in pieces)
    pieces[1].content = "p"
    rest: list[ChatGenerationChunk] = [second]
    assert (first + rest).message.content == "Hello"


def says(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}


def calls(index: int, args: str, name: str | None = None) -> dict[str, Any]:
    head = {"id": name, "type": "function"} if name else {}
    function = {"arguments": args} | ({"name": name} if name else {})
    return says({"tool_calls": [{"index": index, "function": function, **head}]})


chunks = st.lists(
    st.one_of(
        st.builds(says, st.fixed_dictionaries({"content": st.sampled_from(["a", "\u00e9", ""])})),
        st.builds(
            calls,
            st.integers(0, 2),
            st.sampled_from(["{", "}", "", "\\"]),
            st.sampled_from([None, "one", "two"]),
        ),
        st.just(says({"role": "assistant", "content": None})),
        st.just({"choices": []}),
        st.just(says({}, "stop")),
        st.just({"choices": [], "usage": {"prompt_tokens": 1}}),
    ),
    max_size=12,
)
ENDS = st.sampled_from(["\n\n", "\r\n\r\n", "\r\r", "\n: a comment\n\n"])


@given(chunks, ENDS, st.lists(st.integers(0, 2000), max_size=5))
def test_what_comes_together_says_the_same_however_it_comes(
    given: list[dict[str, Any]], end: str, places: list[int]
) -> None:
    raw = "".join(f"data: {json.dumps(chunk)}{end}" for chunk in given).encode()
    ends = [0, *sorted(place for place in places if place <= len(raw)), len(raw)]
    events = Events(10_000)
    passed = [event for a, b in pairwise(ends) for event in events.feed(raw[a:b])]
    lines = as_bytes(passed).replace(b"\r", b"\n").splitlines()
    read = [json.loads(line[6:]) for line in lines if line.startswith(b"data: ")]
    assert len(read) <= len(given)
    assert said(read) == said(given)
    assert [event.chunk() for event in passed if isinstance(event, Folded)] == read


Said = list[tuple[str, Any]]


def said(chunks: list[dict[str, Any]]) -> Said:
    """Text joined, argument text behind its head, in order; ends and usage where they stand."""
    found: Said = []
    for chunk in chunks:
        for choice in chunk["choices"]:
            delta = choice["delta"]
            add(found, "text", delta.get("content") or "")
            for piece in delta.get("tool_calls") or ():
                if piece.get("id"):
                    found.append((f"head of {piece['index']}", piece["id"]))
                add(found, f"args of {piece['index']}", piece["function"]["arguments"])
            if choice["finish_reason"]:
                found.append(("end", choice["finish_reason"]))
        if chunk.get("usage"):
            found.append(("usage", chunk["usage"]))
    return found


def add(found: Said, kind: str, text: str) -> None:
    if text and found and found[-1][0] == kind:
        text = found.pop()[1] + text
    if text:
        found.append((kind, text))


def test_a_thousand_deltas_that_come_together_are_one_event() -> None:
    raw = b"".join(
        b"data: %s\n\n" % json.dumps(says({"content": "x"})).encode() for _ in "x" * 1000
    )
    (event,) = Events(10_000).feed(raw)
    assert isinstance(event, Folded)
    assert event.chunk()["choices"][0]["delta"]["content"] == "x" * 1000


def test_halves_of_a_character_that_words_stand_between_are_not_joined() -> None:
    pieces = ["\\ud83d", "x", "\\ude00"]
    deltas = [f'data: {{"choices": [{{"delta": {{"content": "{text}"}}}}]}}\n\n' for text in pieces]
    events = Events(10_000).feed("".join(deltas).encode())
    said = json.loads(as_bytes(events)[6:])["choices"][0]["delta"]["content"]
    assert "\U0001f600" not in said
    assert "x" in said


def test_an_event_is_read_no_further_than_its_limit() -> None:
    events = Events(100)
    events.feed(b"data: " + b"x" * 90)
    with pytest.raises(ModelFault, match="over 100 bytes"):
        events.feed(b"x" * 10)


def test_what_follows_the_last_event_is_not_read() -> None:
    events = Events(100)
    assert events.feed(b"data: [DONE]\n\ndata: nonsense\n\n") == [b"data: [DONE]\n\n"]
    assert events.feed(b"x" * 1000) == []

"""What a model's server may send that costs as much as it can, and a strategy for more of it."""

import json
from collections.abc import Callable

from hypothesis import strategies as st

from tests.support.raw_model import (
    Answer,
    call,
    chunk,
    endless,
    event,
    finish,
    say,
    stream,
)

MESSAGE_BYTES = 950_000
"""Just under what a message of the model may have."""
END = finish("tool_calls")


def one_call(name: str, args: str) -> bytes:
    return stream(call(args, name, "call_1"), END)


def many_values(item: str, name: str = "calculator", key: str = "expression") -> bytes:
    values = f"{item}," * (MESSAGE_BYTES // (len(item) + 1))
    return one_call(name, f'{{"{key}": [{values[:-1]}]}}')


def fragments(args: str, size: int) -> bytes:
    pieces = (call(args[start : start + size]) for start in range(0, len(args), size))
    return stream(call("", "calculator", "call_1"), *pieces, END)


ANSWERS: dict[str, Callable[[], Answer]] = {
    "one text": lambda: stream(say("x" * MESSAGE_BYTES), finish()),
    "one text of blanks": lambda: stream(say(" \n" * (MESSAGE_BYTES // 2)), finish()),
    "one text of NULs": lambda: stream(say("\x01" * MESSAGE_BYTES), finish()),
    "one text of pairs": lambda: stream(say("\U0001f600" * (MESSAGE_BYTES // 4)), finish()),
    "a text that is too long": lambda: stream(say("x" * 5_000_000), finish()),
    "10 000 words": lambda: stream(*[say("word ")] * 10_000, finish()),
    "one thought": lambda: stream(
        event(chunk({"reasoning_content": "x" * MESSAGE_BYTES})), say("So."), finish()
    ),
    "blocks of text": lambda: stream(
        event(chunk({"content": [{"type": "text", "text": "x"}] * 20_000})), finish()
    ),
    "one fragment": lambda: one_call("calculator", json.dumps({"expression": "1" * 120_000})),
    "one fragment of a sum": lambda: one_call(
        "calculator", json.dumps({"expression": "1+" * (MESSAGE_BYTES // 2)})
    ),
    "10 000 fragments": lambda: fragments(json.dumps({"expression": "(" * 10_000}), 1),
    "an unfinished call": lambda: one_call("calculator", '{"expression": "' + "1" * MESSAGE_BYTES),
    "arguments of arrays": lambda: many_values("[]"),
    "arguments of objects": lambda: many_values("{}"),
    "arguments of numbers": lambda: many_values("1"),
    "arguments of nobody's tool": lambda: many_values("[]", "missing"),
    "arguments of a question": lambda: many_values("{}", "request_user_selection", "options"),
    "arguments of a drawing": lambda: many_values("{}", "render_ui_component", "props"),
    "names of arguments": lambda: one_call(
        "calculator", json.dumps({f"k{number}": 0 for number in range(70_000)})
    ),
    "deep arguments": lambda: one_call("calculator", "[" * MESSAGE_BYTES),
    "deep objects": lambda: one_call("calculator", '{"a":' * (MESSAGE_BYTES // 5)),
    "long numbers": lambda: many_values("9" * 4000),
    "calls": lambda: stream(*[call("{}", "calculator", f"call_{n}", n) for n in range(240)], END),
    "events of many choices": lambda: stream(
        event({**chunk({}), "choices": chunk({"content": "x"})["choices"] * 20_000}), finish()
    ),
    "an event of objects": lambda: stream(event({**chunk({}), "x": [{}] * 1_500_000}), finish()),
    "an event of long numbers": lambda: stream(
        event({**chunk({"content": "x"}), "x": [10**3999] * 1200}), finish()
    ),
    "lines of data": lambda: stream(b"data: \n" * 300_000 + b"\n", finish()),
    "empty events": lambda: stream(b"\n" * 300_000, say("So."), finish()),
    "fields of nobody": lambda: stream(b"x: y\n" * 300_000 + b"\n", say("So."), finish()),
    "text without an end": lambda: endless(say("x" * 1000)),
    "words without an end": lambda: endless(say("word " * 10) * 100),
    "fragments without an end": lambda: endless(call("[" * 1000, "calculator", "call_1")),
    "a line without an end": lambda: endless(b"x" * 10_000),
    "an error without an end": lambda: endless(b"x" * 10_000, b"HTTP/1.1 400 No\r\n\r\n"),
}
SILENT: dict[str, bytes] = {
    "comments": b":\n\n" * 100,
    "lines of comments": b":\n" * 100,
    "empty deltas": event(chunk({})) * 100,
    "thoughts that nobody reads": event(chunk({"reasoning_content": "x"})) * 100,
    "events without choices": event({"choices": [], "usage": None}) * 100,
}
"""What says nothing, and never ends."""

names = st.sampled_from(["calculator", "render_ui_component", "request_user_selection", "missing"])
texts = st.sampled_from(["x", " ", "\n", "{", "}", "[", '"', "\\", "word ", "1", "é", "\U0001f600"])
events: st.SearchStrategy[bytes] = st.one_of(
    st.builds(lambda text, times: say(text * times), texts, st.integers(0, 50_000)),
    st.builds(lambda text: event(chunk({"reasoning_content": text})), texts),
    st.builds(
        lambda text, times, name, id, index: call(text * times, name, id, index),
        texts,
        st.integers(0, 20_000),
        st.none() | names,
        st.none() | st.sampled_from(["call_1", "call_2"]),
        st.none() | st.integers(-1, 260),
    ),
    st.sampled_from([finish(), finish("tool_calls"), finish("length"), b":\n\n", b"data: {\n\n"]),
    st.binary(max_size=20),
)


class Drawn(bytes):
    """An answer that was made at random."""

    def __repr__(self) -> str:
        return f"{len(self)} bytes: {self[:1000]!r}"


@st.composite
def answers(draw: st.DrawFn) -> Drawn:
    drawn = draw(st.lists(st.tuples(events, st.sampled_from([1, 1, 2, 10, 300])), max_size=8))
    return Drawn(stream(*(piece * times for piece, times in drawn))[:4_000_000])

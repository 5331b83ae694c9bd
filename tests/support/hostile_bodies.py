"""Request bodies of any size that cost as much as a body can, and a strategy for more of them."""

import json
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

Sized = Callable[[int], bytes]
"""A body of so many bytes, or a little less."""

PIXEL = "data:image/png;base64,iVBORw0KGgo="
PARTS = (
    json.dumps({"type": "text", "text": "x"}).encode(),
    json.dumps({"type": "image", "image": PIXEL}).encode(),
)
TOOL = b'{"parameters":{"type":"object"}}'
WHERE: dict[str, bytes] = {
    "a native message": b'{"message":%s}',
    "a key of nobody": b'{"message":"Hi","x":%s}',
    "the parts of a message": b'{"message":{"parts":%s}}',
    "an image": b'{"message":{"parts":[{"type":"image","image":%s}]}}',
    "an answer of a tool": b'{"tool_results":[{"tool_call_id":"c","result":%s}]}',
    "answers of tools": b'{"tool_results":%s}',
    "a client's tools": b'{"message":"Hi","client_tools":%s}',
    "a schema": b'{"message":"Hi","client_tools":[{"name":"a","parameters":%s}]}',
    "commands": b'{"commands":%s}',
    "assistant-ui's state": b'{"commands":[],"state":%s}',
    "assistant-ui's tools": b'{"commands":[],"tools":%s}',
    "a history": b'{"id":"c","trigger":"submit-message","messages":%s}',
    "the last of a history": b'{"id":"c","trigger":"submit-message","messages":[%s]}',
    "an assistant's parts": b'{"id":"c","trigger":"submit-message",'
    b'"messages":[{"id":"m","role":"assistant","parts":%s}]}',
}
"""Places of the bodies of `POST /chat`."""


def repeated(item: bytes, size: int) -> bytes:
    """The item again and again, with commas between."""
    return ((item + b",") * max(1, size // (len(item) + 1)))[:-1]


def array(item: bytes) -> Sized:
    return lambda size: b"[" + repeated(item, size) + b"]"


def nested(head: bytes, tail: bytes) -> Sized:
    def value(size: int) -> bytes:
        levels = size // (len(head) + len(tail))
        return head * levels + b"0" + tail * levels

    return value


def text(piece: bytes) -> Sized:
    return lambda size: b'"' + piece * (size // len(piece)) + b'"'


def members(value: bytes) -> Sized:
    """An object of many names."""

    thousand = b",".join(b'"#%03d":%s' % (number, value) for number in range(1000))

    def of(size: int) -> bytes:
        count = max(1, size // (len(thousand) + 4001))
        return b"{%s}" % b",".join(thousand.replace(b"#", b"%05d" % n) for n in range(count))

    return of


def at(place: str, value: Sized) -> Sized:
    frame = WHERE[place]
    return lambda size: frame % value(size - len(frame))


BODIES: dict[str, Sized] = {
    "a text": at("a native message", text(b"word ")),
    "a text of escapes": at("a native message", text(b"\\u0041")),
    "a text of pairs": at("a native message", text(b"\\ud83d\\ude00")),
    "a text of half pairs": at("a native message", text(b"\\ud83d")),
    "a text of blanks": at("a native message", text(b" ")),
    "a text of line ends": at("a native message", text(b"\\n")),
    "a text that has no end": lambda size: b'{"message":"' + b"x" * size,
    "blanks before the body": lambda size: b" " * size + b'{"message":"Hi"}',
    "no JSON": lambda size: b"x" * size,
    "no UTF-8": lambda size: b'{"message":"' + b"\xc3\xa9" * (size // 2) + b'\xff"}',
    "deep arrays": at("a key of nobody", nested(b"[", b"]")),
    "deep arrays without an end": lambda size: b"[" * size,
    "deep objects": at("a key of nobody", nested(b'{"a":', b"}")),
    "objects": at("a key of nobody", array(b"{}")),
    "arrays": at("an answer of a tool", array(b"[]")),
    "arrays of arrays": at("a key of nobody", array(b"[[[[[[[[]]]]]]]]")),
    "small numbers": at("an answer of a tool", array(b"1")),
    "decimals": at("an answer of a tool", array(b"0.1e-7")),
    "long numbers": at("a key of nobody", array(b"9" * 4000)),
    "one number": at("a key of nobody", lambda size: b"9" * size),
    "one decimal": at("a key of nobody", lambda size: b"0." + b"9" * size),
    "nulls": at("commands", array(b"null")),
    "empty texts": at("a history", array(b'""')),
    "names": at("a key of nobody", members(b"0")),
    "names of the body": members(b"0"),
    "one name": lambda size: b"{" + repeated(b'"a":0', size) + b"}",
    "one long name": lambda size: b'{"' + b"x" * size + b'":0}',
    "parts of a message": at("the parts of a message", array(PARTS[0])),
    "images": at("the parts of a message", array(PARTS[1])),
    "a large image": at(
        "an image",
        lambda size: (
            b'"data:image/png;base64,iVBORw0KGgo%s"' % (b"A" * (min(size, 7_900_000) - 11))
        ),
    ),
    "an image that is none": at("an image", text(b"x")),
    "an address of an image": at("an image", lambda size: b'"https://a.org/%s"' % (b"a" * size)),
    "answers": at("answers of tools", array(b'{"tool_call_id":"c","result":0}')),
    "an answer of objects": at("an answer of a tool", array(b'{"a":1}')),
    "a long answer": at("an answer of a tool", text(b"\\u0000")),
    "tools": at("a client's tools", array(b'{"name":"a",' + TOOL[1:])),
    "tools by name": at("assistant-ui's tools", members(TOOL)),
    "a schema of names": at("a schema", members(b"true")),
    "deep schemas": at("a schema", nested(b'{"not":', b"}")),
    "commands": at(
        "commands",
        array(b'{"type":"add-message","message":{"role":"user","parts":[%s]}}' % PARTS[0]),
    ),
    "results in commands": at(
        "commands", array(b'{"type":"add-tool-result","toolCallId":"c","result":0}')
    ),
    "a state": at("assistant-ui's state", members(b"[]")),
    "a history of messages": at("a history", array(b'{"role":"user","parts":[%s]}' % PARTS[0])),
    "outputs of a message": at(
        "an assistant's parts",
        array(b'{"type":"tool-a","toolCallId":"c","state":"output-available","output":0}'),
    ),
}


AG_UI = b'{"threadId":"t","messages":[%s,{"id":"u","role":"user","content":"Hi"}]}'
RUN = b'{"assistant_id":"chat","input":{"messages":%s}}'


def framed(frame: bytes, value: Sized) -> Sized:
    return lambda size: frame % value(size - len(frame))


def items(item: bytes) -> Sized:
    """Objects in a row, `#` in each its own number."""
    return lambda size: b",".join(
        item.replace(b"#", b"%d" % number) for number in range(size // (len(item) + 7))
    )


def objects(frame: bytes, item: bytes, most: int) -> Sized:
    """As many as there may be JSON values in a body."""
    return lambda size: frame % items(item)(min(size, most * (len(item) + 7)))


ELSEWHERE: dict[str, tuple[str, Sized]] = {
    "a history of AG-UI": (
        "/ag-ui",
        objects(AG_UI, b'{"id":"m#","role":"assistant","content":"x"}', 14_000),
    ),
    "results of AG-UI": (
        "/ag-ui",
        objects(AG_UI, b'{"id":"m#","role":"tool","toolCallId":"c#","content":"{}"}', 11_000),
    ),
    "calls of AG-UI": (
        "/ag-ui",
        framed(AG_UI % b'{"id":"a","role":"assistant","toolCalls":%s}', array(b'{"id":"c"}')),
    ),
    "a text of AG-UI": (
        "/ag-ui",
        framed(AG_UI % b'{"id":"a","role":"user","content":%s}', text(b"x ")),
    ),
    "tools of AG-UI": (
        "/ag-ui",
        framed(
            b'{"messages":[{"role":"user","content":"Hi"}],"tools":%s}',
            array(b'{"name":"a","parameters":{}}'),
        ),
    ),
    "answers of AG-UI": (
        "/ag-ui",
        framed(
            b'{"messages":[{"role":"user","content":"Hi"}],"resume":%s}',
            array(b'{"interruptId":"i","status":"resolved","payload":1}'),
        ),
    ),
    "messages of LangGraph": (
        "/langgraph/threads/t/runs/stream",
        framed(
            RUN % b"[%s]",
            items(b'{"type":"human","id":"h#","content":"x"}'),
        ),
    ),
    "results of LangGraph": (
        "/langgraph/threads/t/runs/stream",
        objects(
            RUN % b'[%s,{"type":"human","content":"Hi"}]',
            b'{"type":"tool","id":"t#","tool_call_id":"c#","content":"{}"}',
            9_000,
        ),
    ),
    "modes of LangGraph": (
        "/langgraph/threads/t/runs/stream",
        framed(
            b'{"assistant_id":"chat","input":{"messages":"Hi"},"stream_mode":%s}',
            array(b'"values"'),
        ),
    ),
    "an answer of LangGraph": (
        "/langgraph/threads/t/runs/stream",
        framed(b'{"assistant_id":"chat","command":{"resume":%s}}', array(b'{"type":"approve"}')),
    ),
    "a search of LangGraph": (
        "/langgraph/threads/search",
        framed(b'{"metadata":%s}', members(b"0")),
    ),
}
"""Bodies of other addresses: where they are posted to."""


def within(outer: str, item: Sized) -> Sized:
    """The item in an array, an object or a nesting that fills the rest of the size."""

    def value(size: int) -> bytes:
        one = item(min(size // 4, 200))
        if outer == "array":
            return array(one)(size)
        if outer == "object":
            return members(one)(size)
        return b"[" * (size // 100) + one + b"]" * (size // 100)

    return value


scalars: st.SearchStrategy[Any] = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4)
)
fillings: st.SearchStrategy[Sized] = st.one_of(
    scalars.map(lambda value: array(json.dumps(value).encode())),
    st.text(min_size=1, max_size=3).map(lambda piece: text(json.dumps(piece)[1:-1].encode())),
    st.tuples(scalars, scalars).map(
        lambda pair: array(b"[%s,%s]" % tuple(json.dumps(v).encode() for v in pair))
    ),
    st.just(lambda size: b"9" * size),
)
values: st.SearchStrategy[Sized] = st.recursive(
    fillings,
    lambda inner: st.builds(within, st.sampled_from(["array", "object", "nesting"]), inner),
    max_leaves=3,
)
bodies: st.SearchStrategy[Sized] = st.builds(at, st.sampled_from(sorted(WHERE)), values)

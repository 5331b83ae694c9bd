"""Any history that a thread may hold, tidy or not, to draw from."""

from typing import Any

from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

CALL_IDS = ["c1", "c2", "call_0", "", "x" * 41]
NAMES = ["calculator", "request_user_selection", "get current time", "", "n" * 65, "ümlaut"]

texts = st.sampled_from(["", " ", "Hello.", "Zeit \U0001f600"])
call_ids = st.sampled_from(CALL_IDS)
names = st.sampled_from(NAMES)
message_ids = st.sampled_from(["m1", "m2", "m3", None])
args = st.dictionaries(st.sampled_from(["a", "b"]), st.none() | st.integers(0, 9), max_size=2)
user_names = st.sampled_from([None, None, None, "ada", "Ada Lovelace", "a<b"])

calls = st.builds(
    lambda id, name, given: {"type": "tool_call", "id": id, "name": name, "args": given},
    call_ids | st.none(),
    names,
    args,
)
invalid_calls = st.builds(
    lambda id, name, given: {
        "type": "invalid_tool_call",
        "id": id,
        "name": name,
        "args": given,
        "error": None,
    },
    call_ids | st.none(),
    names | st.none(),
    st.sampled_from(["{bad", "", None]),
)
raw_calls = st.builds(
    lambda id, name: {"id": id, "type": "function", "function": {"name": name, "arguments": "{b"}},
    call_ids,
    names,
)


def _text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


text_blocks = texts.map(_text_block)
image_blocks = st.just(
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
)
model_blocks = st.one_of(
    text_blocks,
    texts,
    st.just({"type": "reasoning", "reasoning": "Hm."}),
    st.just({"type": "thinking", "thinking": "Hm.", "signature": "s"}),
    st.just({"type": "tool_use", "id": "c1", "name": "calculator", "input": {}}),
)

user_messages: st.SearchStrategy[AnyMessage] = st.builds(
    lambda content, id, name: HumanMessage(content, id=id, name=name),
    texts | st.lists(text_blocks | image_blocks | texts, max_size=2),
    message_ids,
    user_names,
)


@st.composite
def model_messages(draw: st.DrawFn) -> AnyMessage:
    """A model's message: calls that parsed, calls that did not, calls in the provider's form."""
    beside = {"tool_calls": draw(st.lists(raw_calls, max_size=2))} if draw(st.booleans()) else {}
    return AIMessage(
        draw(texts | st.lists(model_blocks, max_size=3)),
        id=draw(message_ids),
        name=draw(user_names),
        tool_calls=draw(st.lists(calls, max_size=3)),
        invalid_tool_calls=draw(st.lists(invalid_calls, max_size=1)),
        additional_kwargs=beside,
    )


tool_messages: st.SearchStrategy[AnyMessage] = st.builds(
    lambda content, id, call_id, status: ToolMessage(
        content, id=id, tool_call_id=call_id, status=status
    ),
    texts | st.lists(text_blocks | texts, max_size=2),
    message_ids,
    call_ids,
    st.sampled_from(["success", "error"]),
)
system_messages: st.SearchStrategy[AnyMessage] = st.builds(SystemMessage, texts)

histories = st.lists(
    st.one_of(user_messages, model_messages(), tool_messages, system_messages), max_size=8
)

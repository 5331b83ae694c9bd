"""LangGraph SDK: what the images of a thread cost on the wire, and who still gets them."""

import json
from pathlib import Path
from typing import Any

from tests.support.endpoint import StrictEndpoint, call_reply, text_reply
from tests.support.gated_tools import GatedTools
from tests.support.pictures import data_url, jpeg_head
from tests.support.serving import endpoint_settings, serving

IMAGE = data_url(jpeg_head(9, 9) + bytes(15_000), "jpeg")
SIX: Any = [{"type": "image_url", "image_url": {"url": IMAGE}}] * 6
THREAD = "/langgraph/threads/t1"


def asks(*content: Any) -> dict[str, Any]:
    return {"assistant_id": "chat", "input": {"messages": [{"type": "human", "content": content}]}}


async def test_a_history_has_the_images_of_a_thread_once_and_a_stream_where_clients_take_them(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("Six."), text_reply("Yes."), call_reply(("pay", '{"word": "x"}')))
    tools = GatedTools().catalogue
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint), tools) as client:
        run = f"{THREAD}/runs/stream"
        first = await client.http.post(run, json=asks({"type": "text", "text": "See"}, *SIX))
        assert first.status_code == 200, first.text
        streams = [
            await client.http.post(run, json=asks({"type": "text", "text": word}))
            for word in ("Really?", "Pay.")
        ]
        state = (await client.http.get(f"{THREAD}/state")).json()
        history = await client.http.post(f"{THREAD}/history", json={"limit": 20})
        states = history.json()
        older = states[1]["checkpoint"]["checkpoint_id"]
        whole = (await client.http.get(f"{THREAD}/state/{older}")).json()
    thread = len(json.dumps(state["values"]))
    assert thread > 6 * len(IMAGE)
    assert len(history.content) < 1.5 * thread
    assert states[0]["values"] == state["values"]
    for one in states[1:-1]:
        blocks = one["values"]["messages"][0]["content"]
        assert [block["type"] for block in blocks] == ["text", *["image_url"] * 6]
        assert {block["image_url"]["url"] for block in blocks[1:]} == {"data:,"}
    assert IMAGE in json.dumps(whole["values"])
    # A client's state is replaced by each `values`: by those ahead of the run, and at its end.
    assert b"__interrupt__" in streams[1].content
    assert [stream.text.count(IMAGE) for stream in streams] == [12, 12]

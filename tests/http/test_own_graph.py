"""A graph that is not ours, named by a setting and served over HTTP."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.endpoint import StrictEndpoint, call_reply, text_reply
from tests.support.serving import endpoint_settings, serving


@pytest.fixture
async def endpoint() -> AsyncIterator[StrictEndpoint]:
    async with StrictEndpoint() as endpoint:
        yield endpoint
        assert endpoint.refused == []


async def test_the_setting_names_it(tmp_path: Path, endpoint: StrictEndpoint) -> None:
    own = endpoint_settings(tmp_path / "t.db", endpoint, graph="docs.examples.own_graph:build")
    endpoint.script(call_reply(("multiply", '{"a": 6, "b": 7}')), text_reply("It is 42."))
    async with serving(own) as client:
        thread_id, events = await client.turn({"message": "6 * 7?"})
        assert [e.data["result"] for e in events if e.type == "result"] == [{"product": 42}]
        thread = await client.thread(thread_id, protocol="ui-message-stream")
        assert thread["messages"][-1]["parts"][-1]["text"] == "It is 42."

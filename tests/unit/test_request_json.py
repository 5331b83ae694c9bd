"""A model request's JSON, with its tools kept."""

import json
from typing import Any

import pytest

from turnstream.graphs.chunk_stream import KEPT_TOOLS, RequestJson

TOOLS = [{"type": "function", "function": {"name": "suche", "description": "Größe, “ok”"}}]


@pytest.mark.parametrize(
    "body",
    [
        {"model": "m", "messages": [{"role": "user", "content": 'é\n"x"'}], "tools": TOOLS},
        {"tools": TOOLS},
        {"tools": TOOLS, "stream": True},
        {"model": "m", "stream": True},
        {"model": "m", "tools": None},
        {},
    ],
)
def test_a_request_says_what_it_was_given(body: dict[str, Any]) -> None:
    requests = RequestJson()
    for _ in range(2):
        assert json.loads(requests.write(body).read()) == body


def test_each_list_of_tools_has_its_own_text() -> None:
    requests = RequestJson()
    for _ in range(2):
        for number in range(2 * KEPT_TOOLS):
            tools = [{"name": f"tool_{number}"}]  # may get the id of one that is forgotten
            assert json.loads(requests.write({"tools": tools}).read()) == {"tools": tools}


def test_what_is_no_json_is_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        RequestJson().write({"temperature": float("nan")})


async def test_requests_share_the_text_of_their_tools() -> None:
    requests = RequestJson()
    bodies = [requests.write({"model": "m", "user": str(n), "tools": TOOLS}) for n in range(2)]
    assert bodies[0].parts[1] is bodies[1].parts[1]
    assert bodies[0].read() != bodies[1].read()


async def test_a_request_is_sent_in_one_piece_as_often_as_it_is_asked_for() -> None:
    body = RequestJson().write({"model": "m", "tools": TOOLS})
    for _ in range(2):
        assert [piece async for piece in body] == [body.read()]
    assert len(body) == len(body.read())

"""A format that is added by its folder alone: its address, its streams, its schemas."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest

from tests.formats import toy
from tests.support.serving import Client, parse_events, serving, settings
from turnstream.server.formats import FORMATS, Formats


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    formats = Formats((toy.FORMAT, *FORMATS.all))
    async with serving(settings(tmp_path / "t.db"), formats=formats) as client:
        yield client


async def test_a_turn_streams_in_its_events_and_is_replayed_in_them(client: Client) -> None:
    answer = await client.http.post("/toy", json={"say": "What is 6 * 7?", "thread": "t1"})
    events = [event.data for event in parse_events(answer.content)]
    assert {event["type"] for event in events} == {"begin", "word", "end"}
    assert events[-1] == {"type": "end"}
    start = {"protocol": "toy", "last_event_id": f"{answer.headers['X-Run-Id']}:0"}
    again = await client.http.get("/chat/t1/stream", params=start)
    assert again.content == answer.content
    _, native = await client.turn({"message": "And 6 * 8?"}, params={"protocol": "toy"})
    assert native[-1].data == {"type": "end"}


async def test_a_thread_is_loaded_in_its_messages(client: Client) -> None:
    await client.http.post("/toy", json={"say": "What is 6 * 7?", "thread": "t1"})
    # The client of other tests compares answers with a document that has no such format.
    async with httpx.AsyncClient(base_url=client.url) as http:
        asked, said = (await http.get("/threads/t1?protocol=toy")).json()["messages"]
    assert asked == {"by": "user", "text": "What is 6 * 7?"}
    assert "42" in said["text"]


@pytest.mark.parametrize(
    ("body", "code", "named"),
    [
        ({}, "invalid_body", "say"),
        ({"say": 7}, "invalid_body", "say is 7: send a string"),
        ([], "invalid_body", "send a JSON object"),
    ],
)
async def test_a_bad_body_is_refused_by_its_model(
    client: Client, body: Any, code: str, named: str
) -> None:
    answer = await client.http.post("/toy", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, code)
    assert named in answer.json()["detail"]


async def test_the_document_has_its_address_its_body_and_its_messages(client: Client) -> None:
    document = (await client.http.get("/openapi.json")).json()
    schemas = document["components"]["schemas"]
    operation = document["paths"]["/toy"]["post"]
    assert operation["summary"] == "Start a run and stream it in three kinds of events"
    body = operation["requestBody"]["content"]["application/json"]
    assert body["schema"] == {"$ref": "#/components/schemas/Toy.Body"}
    jsonschema.validate(body["examples"]["a message"]["value"], schemas["Toy.Body"])
    assert "toy" in schemas["Protocol"]["enum"]
    assert {"$ref": "#/components/schemas/Message.toy"} in schemas["Message"]["anyOf"]

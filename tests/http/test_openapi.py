"""GET /openapi.json of a real server, and every example that it has."""

import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest
import pytest_asyncio
from openapi_spec_validator import validate

from tests.support.examples import EXAMPLES, body_of
from tests.support.serving import Client, serving, settings
from tests.support.users import authenticating, client_of, keys_settings, named
from turnstream.server.extensions.openapi.document import shared_text
from turnstream.server.runs.served_models import ServedModels

FEEDBACK = "/threads/{thread_id}/feedback"
OF_USERS = [("POST", "/login"), ("POST", "/logout")]
"""Operations of a server that recognises its callers."""
NAMES = [(*place, name) for place, its in EXAMPLES.items() for name in its if place not in OF_USERS]


async def document_of(client: Any) -> dict[str, Any]:
    answer = await client.http.get("/openapi.json")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    found: dict[str, Any] = answer.json()
    return found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    given = {"feedback": True, "undo_seconds": 60, "ping_seconds": 0.2}
    async with serving(settings(tmp_path_factory.mktemp("examples") / "t.db", **given)) as client:
        yield client


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("method", "path", "name"), NAMES)
async def test_an_example_is_answered_as_the_document_says(
    client: Client, method: str, path: str, name: str
) -> None:
    """What is answered is compared with the document by the client of the tests."""
    example, given = EXAMPLES[method, path][name], body_of((method, path), name)
    assert (await client.http.request("DELETE", "/me", json={"confirm": "local"})).is_success
    known: dict[str, str] = {}
    if "{thread}" in example.path.values():
        known["{thread}"], _ = await client.turn({"message": "What is 6 * 7?"})
        known["{run}"] = (await client.thread(known["{thread}"]))["run_id"]
    sent: dict[str, Any] = {"headers": example.headers, "params": example.query}
    body = {} if given is None else {"json": given}
    address = path.format(**filled(example.path, known))
    answer = await client.http.request(method, address, **sent, **body)
    assert answer.status_code == example.status, answer.text


async def test_where_a_proxy_logs_people_in_nobody_logs_in_or_has_a_session(
    tmp_path: Path,
) -> None:
    async with serving(authenticating(tmp_path / "t.db", auth=("header",))) as client:
        for method, path in OF_USERS:
            for name, example in EXAMPLES[method, path].items():
                given = body_of((method, path), name)
                answer = await client.http.request(method, path, json=given, headers=named("ann"))
                assert answer.status_code == example.status, answer.text


def filled(path: Mapping[str, str], known: Mapping[str, str]) -> dict[str, str]:
    return {name: known.get(value, value) for name, value in path.items()}


async def test_the_document_has_the_limits_and_names_of_its_server(tmp_path: Path) -> None:
    given = {"max_message_chars": 123, "max_images": 3, "client_context": ("mood",)}
    async with serving(settings(tmp_path / "t.db", **given)) as client:
        schemas = (await document_of(client))["components"]["schemas"]
        kinds = schemas["MessageBody"]["properties"]
        text, _ = kinds["message"]["anyOf"]
        assert text["maxLength"] == 123
        assert kinds["model"]["anyOf"][0] == {"enum": ["offline"]}
        assert [*kinds["configurable"]["anyOf"][0]["properties"]] == ["mood"]


async def test_without_authentication_the_document_names_no_credentials(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        found = await document_of(client)
    assert "securitySchemes" not in found["components"]
    assert "401" not in found["paths"]["/threads"]["get"]["responses"]


async def test_with_authentication_only_callers_get_the_document(tmp_path: Path) -> None:
    async with serving(keys_settings(tmp_path)) as client:
        assert (await client.http.get("/openapi.json")).status_code == 401
        async with client_of(client, "ann") as ann:
            found = await document_of(ann)
    validate(found)  # Three seconds: tests of what differs elsewhere leave it out.
    assert found["components"]["securitySchemes"].keys() == {"credentials", "key", "session"}
    assert found["paths"]["/threads"]["get"]["security"] == [{"credentials": []}, {"session": []}]
    assert {"key": []} in found["paths"]["/langgraph/info"]["get"]["security"]
    assert found["paths"]["/health"]["get"]["security"] == []
    assert found["components"]["schemas"]["Confirmation"]["properties"]["confirm"] == {
        "const": "ann"
    }


async def test_without_the_setting_there_is_no_such_address(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db", openapi=False)) as client:
        async with httpx.AsyncClient(base_url=client.url) as http:
            answer = await http.get("/openapi.json")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
        assert "extensions" not in (await client.http.get("/me")).json()


async def test_the_document_lists_its_own_route_behind_those_of_the_core(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db", feedback=True)) as client:
        paths = [*(await document_of(client))["paths"]]
    assert paths.index("/export") + 1 == paths.index("/openapi.json")
    assert paths.index("/openapi.json") < paths.index("/ag-ui") < paths.index(FEEDBACK)


async def test_the_document_is_made_once_for_all_callers(tmp_path: Path) -> None:
    shared_text.cache_clear()
    async with serving(keys_settings(tmp_path)) as client:
        texts = {}
        for name in ("ann", "bob", "ann"):
            async with client_of(client, name) as caller:
                texts[name] = (await caller.http.get("/openapi.json")).text
    assert shared_text.cache_info().misses == 1
    assert texts["ann"] != texts["bob"]
    assert texts["ann"].replace('{"const":"ann"}', '{"const":"bob"}') == texts["bob"]


async def test_a_change_of_what_is_served_is_in_the_next_document(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        before = await document_of(client)
        assert client.state is not None
        (model,) = client.state["models"].by_name.values()
        client.state["models"] = ServedModels({"offline": model, "second": model})
        after = await document_of(client)
    models = [
        found["components"]["schemas"]["MessageBody"]["properties"]["model"]["anyOf"][0]
        for found in (before, after)
    ]
    assert models == [{"enum": ["offline"]}, {"enum": ["offline", "second"]}]


async def test_each_line_of_an_export_fits_the_document(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        for message in ("What is 6 * 7?", "Let me choose between red, green and blue"):
            await client.turn({"message": message})
        lines = (await client.http.get("/export")).text.splitlines()
        assert len(lines) == 2
        components = (await document_of(client))["components"]
        for line in lines:
            schema = {"$ref": "#/components/schemas/ThreadLine", "components": components}
            jsonschema.validate(json.loads(line), schema)


async def test_another_method_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        for path, method, allowed in (("/chat", "GET", "POST"), ("/threads", "PUT", "GET")):
            answer = await client.http.request(method, path)
            assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")
            assert allowed in answer.headers["allow"]


async def test_a_tool_part_whose_state_is_no_text_is_passed_over(tmp_path: Path) -> None:
    part = {"type": "tool-choose", "toolCallId": "c1", "state": []}
    body = {
        "id": "t1",
        "trigger": "submit-message",
        "messages": [{"role": "assistant", "parts": [part]}],
    }
    async with serving(settings(tmp_path / "t.db")) as client:
        answer = await client.http.post("/chat", json=body)
        assert (answer.status_code, answer.json()["code"]) == (409, "nothing_to_do")

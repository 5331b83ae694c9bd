"""Components of the deployer: what the server tells of them, and their files."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.support.endpoint import StrictEndpoint, call_reply
from tests.support.serving import PROJECT, endpoint_settings, parse_events, serving, settings
from turnstream.server.app import STATIC
from turnstream.server.http.static import KEEP, POLICY
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.contract import CatalogueError, real_tool
from turnstream.tools.ui import render_ui_component

FOLDER = PROJECT / "tests" / "data" / "components"


@real_tool(client_fields=[])
def acknowledge(alarm: int) -> dict[str, Any]:
    """Acknowledge an alarm.

    Args:
        alarm: Its number.
    """
    return {"alarm": alarm}


TOOLS = Catalogue((acknowledge,), (render_ui_component,))


async def test_a_component_is_listed_with_its_schema_and_its_files(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db", components=(FOLDER,)), TOOLS) as client:
        [gauge] = (await client.http.get("/components")).json()["components"]
        assert gauge["name"] == "alarm_gauge"
        assert [*gauge["schema"]["properties"]][:2] == ["title", "value"]
        assert gauge["actions"]["acknowledge"] == {
            "label": "Acknowledge",
            "tool": "acknowledge",
            "arguments": {"alarm": "alarm"},
        }
        folder = gauge["draw"].removesuffix("draw.js")
        for address in (gauge["draw"], gauge["text"], gauge["style"], f"{folder}steps.js"):
            file = await client.http.get(address)
            assert file.text == (FOLDER / "alarm_gauge" / address.rpartition("/")[2]).read_text()
            assert file.headers["cache-control"] == KEEP
            assert file.headers["content-security-policy"] == POLICY
        for other in (
            folder.replace(gauge["version"], "0" * 12) + "draw.js",
            f"{folder}README.md",
            f"{folder}../../../../pyproject.toml",
            folder,
        ):
            assert (await client.http.get(other)).status_code == 404, other


DRAWN = {"component": "alarm_gauge", "props": {"value": 70, "alarm": 7}}


async def test_clients_of_other_formats_have_the_call_and_what_it_shows(tmp_path: Path) -> None:
    async with StrictEndpoint() as endpoint:
        own = endpoint_settings(tmp_path / "t.db", endpoint, components=(FOLDER,))
        async with serving(own, TOOLS) as client:
            endpoint.script(call_reply(("render_ui_component", json.dumps(DRAWN)), ids=("r1",)))
            body = {"message": "Show the load"}
            async with client.chat(body, params={"protocol": "ui-message-stream"}) as stream:
                await stream.rest()
            told = [e.data for e in parse_events(bytes(stream.raw)) if isinstance(e.data, dict)]
            shown = next(one for one in told if one["type"] == "tool-output-available")
            assert (shown["toolCallId"], shown["output"]) == ("r1", DRAWN)
            endpoint.script(call_reply(("render_ui_component", json.dumps(DRAWN)), ids=("r2",)))
            asked = {"id": "q1", "role": "user", "content": "Show the load"}
            posted: Any = {"threadId": "t2", "runId": "r", "messages": [asked], "tools": []}
            answer = await client.http.post("/ag-ui", json=posted)
            told = [event.data for event in parse_events(answer.content)]
            args = "".join(one["delta"] for one in told if one["type"] == "TOOL_CALL_ARGS")
            assert json.loads(args) == DRAWN
            result = next(one for one in told if one["type"] == "TOOL_CALL_RESULT")
            assert json.loads(result["content"]) == DRAWN


async def test_the_document_of_the_api_has_a_schema_for_each_component(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db", components=(FOLDER,)), TOOLS) as client:
        schemas = (await client.http.get("/openapi.json")).json()["components"]["schemas"]
        assert {"Component.alarm_gauge", "Component.table"} <= schemas.keys()
        call = {"$ref": "#/components/schemas/ComponentCall", "components": {"schemas": schemas}}
        validator = Draft202012Validator(call)
        assert validator.is_valid(DRAWN)
        assert not validator.is_valid({**DRAWN, "props": {"value": "much"}})


async def test_what_tools_keep_in_the_folder_of_a_component_is_not_served(tmp_path: Path) -> None:
    folder = tmp_path / "components" / "gauge"
    private = [".git/config.json", ".env.json", "node_modules/a/index.js", "sub/.hidden.css"]
    public = ["schema.json", "draw.js", "sub/index.html", "404.html"]
    for name in (*private, *public):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(SCHEMA)
    own = settings(tmp_path / "t.db", components=(folder.parent,))
    async with serving(own, TOOLS) as client:
        [gauge] = (await client.http.get("/components")).json()["components"]
        root = gauge["draw"].removesuffix("draw.js")
        for name, status in [*((name, 404) for name in private), *((name, 200) for name in public)]:
            assert (await client.http.get(root + name)).status_code == status, name
        for name in ("sub", "sub/", "missing.js"):
            answer = await client.http.get(root + name)
            assert answer.status_code == 404, name
            assert SCHEMA not in answer.text
    for name in private:
        (folder / name).write_text("changed")
    async with serving(own, TOOLS) as client:
        [same] = (await client.http.get("/components")).json()["components"]
        assert same["version"] == gauge["version"]


async def test_the_model_is_told_of_a_component_and_its_props_are_checked(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    right = '{"component": "alarm_gauge", "props": {"value": 70}}'
    wrong = '{"component": "alarm_gauge", "props": {"value": 170}}'
    endpoint.script(
        call_reply(("render_ui_component", wrong)), call_reply(("render_ui_component", right))
    )
    own = endpoint_settings(tmp_path / "t.db", endpoint, components=(FOLDER,))
    async with serving(own, TOOLS) as client:
        await client.turn({"message": "Show the load"})
    [tool] = [
        tool["function"]
        for tool in endpoint.requests[0]["tools"]
        if tool["function"]["name"] == "render_ui_component"
    ]
    assert tool["description"] == render_ui_component.description
    told = tool["parameters"]["properties"]["props"]["description"]
    assert (
        "- alarm_gauge, one measured value between its limits: value (number from 0 to 100), "
        "unit?, alarm? (number of the alarm, where there is one), readings? (up to 20 numbers)\n"
        in told
    )
    assert "props.value: should be a number, at least 0, at most 100" in str(endpoint.requests[1])


async def test_the_sources_of_the_page_have_those_of_its_components(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db"), page=STATIC) as client:
        for name in ("index.js", "alert/text.js", "line_chart/draw.js"):
            file = await client.http.get(f"/components/{name}")
            assert file.text == (STATIC / "components" / name).read_text(), name


async def test_a_server_without_components_of_its_own_lists_none(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        assert (await client.http.get("/components")).json() == {"components": []}
        assert (await client.http.get("/components/alert/0/draw.js")).status_code == 404


SCHEMA = '{"type": "object", "properties": {"a": {"type": "string"}}}'
GAUGE = {"gauge/draw.js": "", "gauge/schema.json": SCHEMA}


@pytest.mark.parametrize(
    ("files", "fault"),
    [
        (None, "is not a folder"),
        ({}, "holds no component"),
        ({"gauge/schema.json": SCHEMA}, "gauge has no draw.js"),
        ({"gauge/draw.js": ""}, "schema.json: No such file"),
        ({"Gauge/draw.js": "", "Gauge/schema.json": SCHEMA}, "a component's name"),
        ({"gauge/draw.js": "", "gauge/schema.json": "[]"}, "schema.json is not a JSON object"),
        (
            {"gauge/draw.js": "", "gauge/schema.json": '{"type": "array"}'},
            'cannot be used: it must be the JSON Schema of an object ("type": "object")',
        ),
        (
            {
                "gauge/draw.js": "",
                "gauge/schema.json": SCHEMA.replace('"a"', '"title"', 1).replace(
                    '"string"', '"integer"'
                ),
            },
            'its property "title", which the page shows, must be a string',
        ),
        ({"alert/draw.js": "", "alert/schema.json": SCHEMA}, "Two components are named 'alert'"),
        (
            {
                "gauge/draw.js": "",
                "gauge/schema.json": SCHEMA,
                "gauge/actions.json": '{"stop": {"tool": "stop"}}',
            },
            "actions.json cannot be used: stop.label: Field required",
        ),
        (
            {
                "gauge/draw.js": "",
                "gauge/schema.json": SCHEMA,
                "gauge/actions.json": '{"stop": {"label": "S", "tool": "acknowledge", '
                '"arguments": {"alarm": "b"}}}',
            },
            "'stop' takes 'b', which is no property",
        ),
        (
            {
                "gauge/draw.js": "",
                "gauge/schema.json": SCHEMA,
                "gauge/actions.json": '{"stop": {"label": "S", "tool": "stop"}}',
            },
            "'stop' calls the tool 'stop', which this server does not have",
        ),
        (
            GAUGE
            | {
                "gauge/actions.json": '{"stop": {"label": "S", "tool": "acknowledge", '
                '"arguments": {"alarm": "a", "why": "a"}}}'
            },
            "'stop' fills 'why', which is no argument of the tool 'acknowledge'",
        ),
        (
            GAUGE | {"gauge/actions.json": '{"stop": {"label": "S", "tool": "acknowledge"}}'},
            "'stop' leaves out 'alarm', a required argument of the tool 'acknowledge'",
        ),
    ],
)
async def test_a_component_that_cannot_be_served_keeps_the_server_from_starting(
    tmp_path: Path, files: dict[str, str] | None, fault: str
) -> None:
    folder = tmp_path / "components"
    for name, text in (files or {}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    if files == {}:
        folder.mkdir()
    with pytest.raises(CatalogueError) as refused:
        async with serving(settings(tmp_path / "t.db", components=(folder,)), TOOLS):
            pass
    assert fault in str(refused.value)
    assert "\n" not in str(refused.value)


async def test_a_button_may_call_a_tool_of_an_mcp_server_that_is_down(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "components" / "gauge"
    folder.mkdir(parents=True)
    (folder / "draw.js").write_text("")
    (folder / "schema.json").write_text(SCHEMA)
    (folder / "actions.json").write_text('{"stop": {"label": "S", "tool": "desk_stop"}}')
    down = {"url": "http://127.0.0.1:9/mcp", "turnstream": {"optional": True}}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"desk": down}}))
    own = settings(tmp_path / "t.db", components=(folder.parent,), mcp=tmp_path / "mcp.json")
    async with serving(own, TOOLS) as client:
        assert "'stop' calls the tool 'desk_stop', which this server does not have" in caplog.text
        refused = await client.http.post("/tools/desk_stop", json={})
        assert refused.status_code == 404


async def test_components_that_no_tool_can_draw_are_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    own = settings(tmp_path / "t.db", components=(FOLDER,))
    async with serving(own, Catalogue((acknowledge,), ())):
        assert "TURNSTREAM_COMPONENTS: no model can draw its components" in caplog.text


GRAPH = """
from langchain.agents import create_agent
from tests.graphs.zoo.model import ReplyingModel
from turnstream.graphs.ui_tools import ui_tool


@ui_tool(waits=False)
def gauge({parameters}) -> None:
    "Show a gauge."


def make():
    return create_agent(ReplyingModel(replies=lambda *_: "Hi."), tools=[gauge])
"""


@pytest.mark.parametrize(
    ("parameters", "fault"),
    [
        ("value: float, unit: str", "fills 'unit', which is no property"),
        ("title: str", "leaves out 'value', a required property"),
        ("value: float", None),
    ],
)
async def test_a_component_takes_the_parameters_of_the_ui_tool_of_its_name(
    parameters: str, fault: str | None, tmp_path: Path
) -> None:
    folder = tmp_path / "components" / "gauge"
    folder.mkdir(parents=True)
    (folder / "schema.json").write_text(
        '{"type": "object", "properties": {"value": {"type": "number"}}, "required": ["value"], '
        '"additionalProperties": false}'
    )
    (folder / "draw.js").write_text("")
    (tmp_path / "gauges.py").write_text(GRAPH.format(parameters=parameters))
    own = settings(
        tmp_path / "t.db", components=(folder.parent,), graph=f"{tmp_path / 'gauges.py'}:make"
    )
    if fault is None:
        async with serving(own):
            return
    with pytest.raises(CatalogueError, match=fault):
        async with serving(own):
            """It does not start."""

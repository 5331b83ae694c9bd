"""UI tools that a client brings along for a run, and the list of those that the server has."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.endpoint import call_reply, text_reply
from tests.support.sample_tools import CATALOGUE
from tests.support.scripted_server import ScriptedServer, scripted_server

THREAD = "thread-1"
SCHEMA = {
    "type": "object",
    "properties": {"of": {"type": "string"}},
    "required": ["of"],
    "additionalProperties": False,
}
COLOUR = {"name": "pick_colour", "description": "The user picks.", "parameters": SCHEMA}
PICK = ("pick_colour", '{"of":"tea"}')


def native(*tools: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"thread_id": THREAD, "message": "Paint", "client_tools": list(tools), **fields}


def assistant_ui(*tools: dict[str, Any]) -> dict[str, Any]:
    message = {"role": "user", "parts": [{"type": "text", "text": "Paint"}]}
    return {
        "commands": [{"type": "add-message", "message": message}],
        "tools": {tool["name"]: {k: tool[k] for k in tool if k != "name"} for tool in tools},
        "state": {"thread_id": THREAD, "messages": []},
    }


def ai_sdk(*tools: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": THREAD,
        "messages": [{"id": "u1", "role": "user", "parts": [{"type": "text", "text": "Paint"}]}],
        "trigger": "submit-message",
        "tools": assistant_ui(*tools)["tools"],
    }


BODIES = pytest.mark.parametrize("body_with", [native, assistant_ui, ai_sdk])


async def post(server: ScriptedServer, body: dict[str, Any]) -> httpx.Response:
    return await server.http.http.post("/chat", json=body)


def offered(server: ScriptedServer, number: int = 1) -> dict[str, dict[str, Any]]:
    """The tools of the n-th request to the model, by name; each name once."""
    functions = [tool["function"] for tool in server.endpoint.requests[number - 1]["tools"]]
    by_name = {function["name"]: function for function in functions}
    assert len(by_name) == len(functions)
    return by_name


async def the_call(server: ScriptedServer) -> dict[str, Any]:
    messages = await server.messages(THREAD, "assistant-transport")
    call: dict[str, Any] = messages[1]["parts"][0]
    return call


@BODIES
async def test_a_brought_tool_is_offered_and_its_call_waits_for_the_client(
    body_with: Any, tmp_path: Path
) -> None:
    async with scripted_server(
        tmp_path, call_reply(PICK, ids=("call_1",)), text_reply("Green.")
    ) as server:
        await post(server, body_with(COLOUR))
        assert offered(server)["pick_colour"] == COLOUR
        assert (await the_call(server))["state"] == "pending"
        assert (await server.http.thread(THREAD))["pending"] == [
            {"tool_call_id": "call_1", "tool_name": "pick_colour", "args": {"of": "tea"}}
        ]
        answer = [{"tool_call_id": "call_1", "result": "green"}]
        await post(server, {"thread_id": THREAD, "tool_results": answer})
        assert (await the_call(server))["result"] == "green"
        assert "pick_colour" not in offered(server, 2)


async def test_arguments_that_do_not_fit_a_brought_tool_go_back_to_the_model(
    tmp_path: Path,
) -> None:
    wrong = call_reply(("pick_colour", '{"of":7}'), ids=("call_1",))
    async with scripted_server(tmp_path, wrong, text_reply("Sorry.")) as server:
        await post(server, native(COLOUR))
        call = await the_call(server)
        assert (call["state"], call["result"]["error"]["code"]) == ("error", "invalid_arguments")
        assert "$.of" in call["result"]["error"]["message"]


async def test_a_tool_that_is_no_longer_brought_is_unknown(tmp_path: Path) -> None:
    async with scripted_server(
        tmp_path, call_reply(PICK, ids=("call_1",)), text_reply("Oh.")
    ) as server:
        await post(server, {"thread_id": THREAD, "message": "Paint"})
        assert (await the_call(server))["result"]["error"]["code"] == "unknown_tool"


@BODIES
async def test_the_name_of_a_real_tool_is_taken(body_with: Any, tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as server:
        answer = await post(server, body_with(COLOUR | {"name": "add"}))
        assert (answer.status_code, answer.json()["code"]) == (409, "tool_name_taken")
        assert "'add'" in answer.json()["detail"]
        assert (await server.http.http.get(f"/threads/{THREAD}")).status_code == 404


@BODIES
async def test_of_a_ui_tool_that_the_server_has_too_the_servers_definition_holds(
    body_with: Any, tmp_path: Path
) -> None:
    alert = '{"component":"alert","props":{"message":"High tide"}}'
    async with scripted_server(
        tmp_path, call_reply(("render_ui_component", alert), ids=("call_1",))
    ) as server:
        await post(server, body_with(COLOUR | {"name": "render_ui_component"}))
        ours = CATALOGUE.ui_by_name["render_ui_component"]
        assert offered(server)["render_ui_component"] == {
            "name": ours.name,
            "description": ours.description,
            "parameters": ours.parameters,
        }
        assert (await the_call(server))["state"] == "shown"


@pytest.mark.parametrize(
    "parameters",
    [
        {"type": "array"},
        {"type": "object", "oneOf": [{}]},
        {"type": "object", "properties": {"of": {"type": "colour"}}},
        {"type": "object", "properties": 7},
    ],
)
async def test_parameters_that_are_no_schema_of_an_object_are_refused(
    parameters: dict[str, Any], tmp_path: Path
) -> None:
    async with scripted_server(tmp_path) as server:
        answer = await post(server, native(COLOUR | {"parameters": parameters}))
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_tool")


async def test_a_brought_tool_without_arguments_needs_no_properties(tmp_path: Path) -> None:
    async with scripted_server(tmp_path, text_reply("Green.")) as server:
        await post(server, native(COLOUR | {"parameters": {"type": "object"}}))
        assert offered(server)["pick_colour"]["parameters"] == {"type": "object", "properties": {}}


async def test_a_schema_that_points_elsewhere_is_refused(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as server:
        elsewhere = {"$ref": f"{server.url}/health"}
        schema = {"type": "object", "properties": {"of": elsewhere}}
        answer = await post(server, native(COLOUR | {"parameters": schema}))
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_tool")
        assert f"{server.url}/health" in answer.json()["detail"]


async def test_references_that_double_at_each_level_cost_nothing(tmp_path: Path) -> None:
    twice = {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(60)}
    schema = {
        "type": "object",
        "properties": {"of": {"$ref": "#/$defs/a0"}},
        "$defs": {**twice, "a60": {"type": "string"}},
    }
    async with scripted_server(tmp_path, call_reply(PICK, ids=("call_1",))) as server:
        await post(server, native(COLOUR | {"parameters": schema}))
        assert offered(server)["pick_colour"]["parameters"] == schema
        assert (await the_call(server))["state"] == "pending"


async def test_calls_that_are_too_costly_to_check_are_answered_as_wrong(tmp_path: Path) -> None:
    """Each of them is small. Together they may cost a run no more than a few large ones."""
    schema = {"type": "object", "properties": {"of": {"allOf": [{"minLength": 1}] * 1500}}}
    calls = [("pick_colour", f'{{"of":"{index}"}}') for index in range(60)]
    ids = [f"call_{index}" for index in range(60)]
    async with scripted_server(tmp_path, call_reply(*calls, ids=tuple(ids))) as server:
        await post(server, native(COLOUR | {"parameters": schema}))
        messages = await server.messages(THREAD, "assistant-transport")
        parts = [part for part in messages[1]["parts"] if part["type"] == "tool-call"]
        wrong = [part["result"]["error"] for part in parts if part["state"] == "error"]
        assert 0 < len(wrong) < 60
        assert {error["code"] for error in wrong} == {"invalid_arguments"}
        assert all("too costly to check" in error["message"] for error in wrong)


async def test_the_list_of_tools_says_what_the_model_is_offered(tmp_path: Path) -> None:
    async with scripted_server(tmp_path, text_reply("Hello.")) as server:
        tools = (await server.http.http.get("/tools")).json()["tools"]
        await post(server, {"message": "Hello"})
        assert {tool["name"]: tool["kind"] for tool in tools} == {
            **{tool.name: "real" for tool in CATALOGUE.real},
            **{tool.name: "ui" for tool in CATALOGUE.ui},
        }
        for tool in tools:
            function = offered(server)[tool["name"]]
            assert function["description"] == tool["description"]
            assert json.dumps(function["parameters"]) == json.dumps(tool["parameters"])

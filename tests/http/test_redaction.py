"""Nothing of a result but its client fields reaches the wire: a secret in every tool's result."""

import functools
import inspect
import json
import logging
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tests.support.endpoint import StrictEndpoint, call_reply, text_reply
from tests.support.run_chunks import QUESTION, SELECTION
from tests.support.serving import Client, endpoint_settings, serving
from turnstream.tools.builtin import REAL
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.contract import NEEDS_APPROVAL, real_tool
from turnstream.tools.solar.visits import add_visit
from turnstream.tools.ui import render_ui_component, request_user_selection

SECRET = "hunter2-s3cret"
ARGS: dict[str, dict[str, Any]] = {
    "calculator": {"expression": "17 * 23"},
    "multiply": {"a": 6, "b": 7},
    "get_current_time": {"timezone": "UTC"},
    "convert_units": {"value": 1, "from_unit": "km", "to_unit": "m"},
    "list_loggers": {},
    "get_fleet_overview": {},
    "analyze_inverter_health": {"logger": 4},
    "get_power_curve": {"logger": 3},
    "compare_loggers": {"targets": ["site A", "site B"]},
    "calculate_financial_savings": {},
    "calculate_performance_ratio": {},
    "forecast_production": {},
    "diagnose_error_codes": {"codes": [3105]},
    "schedule_maintenance": {"logger": 3, "date": "2026-12-01", "work": "repair"},
    "list_maintenance": {},
    "cancel_maintenance": {"visit": "M-1"},
}
MISSES: dict[str, dict[str, Any]] = {
    "get_power_curve": {"logger": 3, "start": "2026-03-01"},
    "analyze_inverter_health": {"logger": 13},
    "calculate_performance_ratio": {"start": "2023-01-01", "end": "2023-02-01"},
    "list_loggers": {"site": "Z"},
}
STATE: dict[str, Any] = {"messages": []}
BODIES: dict[str, dict[str, Any]] = {
    "assistant-transport": {"message": "Go"},
    "ui-message-stream": {
        "messages": [{"id": "u1", "role": "user", "parts": [{"type": "text", "text": "Go"}]}],
        "trigger": "submit-message",
        "id": "t1",
    },
    "update-state": {
        "state": STATE,
        "commands": [
            {
                "type": "add-message",
                "message": {"role": "user", "parts": [{"type": "text", "text": "Go"}]},
            }
        ],
    },
}


def leaky(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of a tool, with a field more in all that it returns."""

    def with_secret(returned: Any) -> Any:
        parts = returned if isinstance(returned, tuple) else (returned,)
        leaked = tuple({**part, "internal": SECRET, SECRET: {"nested": SECRET}} for part in parts)
        return leaked if isinstance(returned, tuple) else leaked[0]

    @functools.wraps(function)
    def leak(*args: Any, **kwargs: Any) -> Any:
        return with_secret(function(*args, **kwargs))

    @functools.wraps(function)
    async def leak_later(*args: Any, **kwargs: Any) -> Any:
        return with_secret(await function(*args, **kwargs))

    return leak_later if inspect.iscoroutinefunction(function) else leak


@pytest.fixture(autouse=True)
def _secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every real tool of the catalogue leaks, where it is itself and nothing filters yet."""
    for tool in REAL:
        run: Any = getattr(tool, "coroutine", None)
        cells = dict(zip(run.__code__.co_freevars, run.__closure__, strict=True))
        function = cells["function"].cell_contents
        monkeypatch.setattr(cells["function"], "cell_contents", leaky(function))
        monkeypatch.setitem(tool.metadata or {}, NEEDS_APPROVAL, False)


@pytest.fixture(autouse=True)
def _visit_to_cancel() -> None:
    add_visit(3, date(2026, 12, 1), "inspection", None)


def calls_of(args: dict[str, dict[str, Any]]) -> Any:
    return call_reply(*((name, json.dumps(given)) for name, given in args.items()))


def test_every_real_tool_is_called() -> None:
    assert set(ARGS) == {tool.name for tool in REAL}


@pytest.mark.parametrize("shape", BODIES)
async def test_no_secret_of_any_result_is_on_the_wire(
    shape: str, tmp_path: Path, endpoint: StrictEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint.script(calls_of(ARGS), text_reply("Done."))
    caplog.set_level(logging.INFO)
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
        said = await everything(client, {"thread_id": "t1", **BODIES[shape]}, "t1")
        results = [m for m in endpoint.requests[1]["messages"] if m["role"] == "tool"]
        assert len(results) == len(ARGS)
        assert all(SECRET in result["content"] for result in results), "the model sees it all"
        leaks = [where for where, text in said.items() if SECRET in text]
        assert leaks == []
        assert "391" in said["stream"], "what may be seen is"
    assert SECRET not in caplog.text


@pytest.mark.parametrize("shape", BODIES)
async def test_no_secret_of_a_miss_comes_out_through_recovery(
    shape: str, tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    """Misses are written a second time, with a hint, and lead to a question of the server's own."""
    endpoint.script(calls_of(MISSES), calls_of(MISSES))
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
        said = await everything(client, {"thread_id": "t1", **BODIES[shape]}, "t1")
        thread = await client.thread("t1")
        asked = thread["messages"][-1]["parts"][-1]
        assert (asked["toolName"], asked["state"]) == (SELECTION, "pending")
        answer = {"value": asked["args"]["options"][0]["value"]}
        endpoint.script(text_reply("Done."))
        results = [{"tool_call_id": asked["toolCallId"], "result": answer}]
        more = await everything(client, {"thread_id": "t1", "tool_results": results}, "t1")
        assert [where for where, text in (said | more).items() if SECRET in text] == []


async def test_no_secret_of_a_result_that_is_settled_later_is_on_the_wire(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    """Beside a question, which is typed past: the next run tells how the calls before it ended."""
    endpoint.script(call_reply(("calculator", '{"expression":"1+1"}'), (SELECTION, QUESTION)))
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
        first = await everything(client, {"thread_id": "t1", "message": "Go"}, "t1")
        second = await everything(client, {"thread_id": "t1", "message": "Never mind"}, "t1")
        assert "tool-settled" in second["stream"]
        assert [where for where, text in (first | second).items() if SECRET in text] == []


async def test_no_secret_is_in_what_a_component_is_filled_with(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    args = '{"component":"line_chart","props":{},"data_from":"get_power_curve"}'
    endpoint.script(
        calls_of({"get_power_curve": {"logger": 3}}), call_reply(("render_ui_component", args))
    )
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
        said = await everything(client, {"thread_id": "t1", "message": "Go"}, "t1")
        assert '"shown"' in said["hydrate assistant-transport"]
        assert [where for where, text in said.items() if SECRET in text] == []


async def everything(client: Client, body: dict[str, Any], thread_id: str) -> dict[str, str]:
    """All that the server says of a turn, by where it says it."""
    async with client.chat(body) as stream:
        await stream.rest()
        said = {"stream": bytes(stream.raw).decode(), "headers": str(stream.response.headers)}
        run_id = stream.run_id
    cursor = f"{run_id}:0"
    for protocol in ("assistant-transport", "ui-message-stream"):
        query = {"protocol": protocol}
        replay = await client.http.get(
            f"/chat/{thread_id}/stream", params={**query, "last_event_id": cursor}
        )
        thread = await client.http.get(f"/threads/{thread_id}", params=query)
        assert (replay.status_code, thread.status_code) == (200, 200)
        said |= {f"replay {protocol}": replay.text, f"hydrate {protocol}": thread.text}
    resumed = await client.http.post(
        "/chat", json={"commands": [], "state": STATE, "threadId": thread_id}
    )
    said["state"] = resumed.text
    said["threads"] = (await client.http.get("/threads")).text
    return said


async def test_no_secret_comes_out_of_a_tool_that_is_called_over_http(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
        for name, args in [*ARGS.items(), *MISSES.items()]:
            answer = await client.http.post(f"/tools/{name}", json=args)
            assert answer.status_code == 200, answer.text
            assert answer.json()["result"]
            assert SECRET not in answer.text, name
        assert SECRET not in (await client.http.get("/tools")).text


@pytest.mark.parametrize(
    "returned",
    [
        {"shown": 1, "secret": SECRET},
        {"secret": SECRET},
        {"error": SECRET},
        {"status": "no_data", "secret": SECRET},
        {"status": "no_data_in_window", "available": [{"start": SECRET, "end": SECRET}]},
    ],
    ids=["beside what may be seen", "alone", "as an error", "in a miss", "in a window"],
)
async def test_a_field_that_is_not_named_is_not_seen_whatever_it_is_called(
    returned: dict[str, Any], tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    @real_tool(client_fields=["shown"])
    async def peek() -> dict[str, Any]:
        """Look."""
        return returned

    own = Catalogue((peek,), (render_ui_component, request_user_selection))
    endpoint.script(call_reply(("peek", "{}")), call_reply(("peek", "{}")), text_reply("Done."))
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint), own) as client:
        said = await everything(client, {"thread_id": "t1", "message": "Go"}, "t1")
        assert SECRET in str(endpoint.requests[1]), "the model sees it"
        assert [where for where, text in said.items() if SECRET in text] == []

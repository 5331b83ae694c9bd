"""POST /tools/{name}: one real tool over HTTP, with a turn's validation, limits and errors."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import date
from pathlib import Path
from typing import Any

import httpx
import pytest
from langchain_core.tools import ToolException

from tests.support.serving import serving, settings
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.contract import real_tool
from turnstream.tools.solar.visits import add_visit
from turnstream.tools.ui import render_ui_component

SECRET = "postgres://admin:hunter2@db"


@real_tool(client_fields=["total", "sides"])
async def roll(count: int, sides: int = 6) -> dict[str, Any]:
    """Roll dice.

    Args:
        count: How many.
        sides: Of each.
    """
    return {"total": count * sides, "sides": sides, "seed": SECRET}


@real_tool(client_fields=["word"])
async def wait() -> dict[str, Any]:
    """Wait for ever."""
    await asyncio.Event().wait()
    return {}


@real_tool(client_fields=["word"])
def refuse(word: str) -> dict[str, Any]:
    """Refuse.

    Args:
        word: The word.
    """
    raise ToolException(f"There is no {word!r}. Try 'b'.")


@real_tool(client_fields=["word"])
def fail() -> dict[str, Any]:
    """Fail."""
    raise RuntimeError(SECRET)


@real_tool(client_fields=["value"])
def give(value: Any) -> dict[str, Any]:
    """Give a value.

    Args:
        value: The value; nan stands for NaN.
    """
    return {"value": float("nan") if value == "nan" else value}


@asynccontextmanager
async def server(path: Path, **values: Any) -> AsyncIterator[httpx.AsyncClient]:
    """The whole server on these tools."""
    tools = Catalogue((roll, wait, refuse, fail, give), (render_ui_component,))
    async with serving(settings(path / "t.db", **values), tools) as client:
        yield client.http


@pytest.fixture
async def http(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    async with server(tmp_path) as http:
        yield http


def problem(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    said: dict[str, Any] = answer.json()
    assert (said["status"], said["code"]) == (status, code)
    assert said["detail"]
    return said


async def test_a_tool_runs_and_answers_with_what_a_client_may_see(http: httpx.AsyncClient) -> None:
    answer = await http.post("/tools/roll", json={"count": 2})
    assert answer.status_code == 200
    said = answer.json()
    assert said["result"] == {"total": 12, "sides": 6}
    assert said["duration_ms"] >= 0
    assert set(said) == {"result", "duration_ms"}
    assert SECRET not in answer.text


async def test_it_is_the_result_that_a_turn_would_show(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        direct = await client.http.post("/tools/calculator", json={"expression": "17 * 23"})
        _, events = await client.turn({"message": "What is 17 * 23?"})
        [shown] = [event.data["result"] for event in events if event.type == "result"]
        assert direct.json()["result"] == shown


@pytest.mark.parametrize(
    ("args", "named"),
    [
        ({}, "count"),
        ({"count": "many"}, "count"),
        ({"count": 1, "sides": None}, "sides"),
        ({"count": 1.5}, "count"),
    ],
)
async def test_arguments_that_do_not_fit_are_refused_by_name(
    args: dict[str, Any], named: str, http: httpx.AsyncClient
) -> None:
    said = problem(await http.post("/tools/roll", json=args), 422, "invalid_arguments")
    assert named in said["detail"]


@pytest.mark.parametrize("args", [[], [1], "count", 1, None, True])
async def test_arguments_are_an_object(args: Any, http: httpx.AsyncClient) -> None:
    body = json.dumps(args).encode()
    headers = {"Content-Type": "application/json"}
    problem(await http.post("/tools/roll", content=body, headers=headers), 422, "invalid_arguments")


@pytest.mark.parametrize("body", [b"", b"{", b'{"count": NaN}', b"\xff\xfe", b"[" * 100_000])
async def test_a_body_that_is_no_json_is_refused(body: bytes, http: httpx.AsyncClient) -> None:
    answer = await http.post(
        "/tools/roll", content=body, headers={"Content-Type": "application/json"}
    )
    problem(answer, 400, "malformed_json")


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
async def test_a_body_of_another_type_is_refused(kind: str, http: httpx.AsyncClient) -> None:
    """Any page may send those to a local server without asking."""
    answer = await http.post("/tools/roll", content=b'{"count": 1}', headers={"Content-Type": kind})
    problem(answer, 415, "not_json")


async def test_a_body_that_is_too_large_is_refused(
    tmp_path: Path,
) -> None:
    async with server(tmp_path, max_body_bytes=100) as http:
        problem(await http.post("/tools/give", json={"value": "x" * 200}), 413, "body_too_large")


async def test_a_tool_that_takes_too_long_is_a_gateways_timeout(
    tmp_path: Path,
) -> None:
    async with server(tmp_path, tool_timeout_seconds=0.05) as http:
        said = problem(await http.post("/tools/wait", json={}), 504, "tool_timeout")
        assert "0.05 seconds" in said["detail"]


async def test_a_refusal_is_in_the_tools_own_words(http: httpx.AsyncClient) -> None:
    said = problem(await http.post("/tools/refuse", json={"word": "a"}), 422, "tool_error")
    assert said["detail"] == "There is no 'a'. Try 'b'."


async def test_a_failure_has_an_id_of_the_log_and_says_nothing_else(
    http: httpx.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        answer = await http.post("/tools/fail", json={})
    said = problem(answer, 500, "tool_failed")
    assert "hunter2" not in answer.text
    assert "RuntimeError" not in answer.text
    [record] = [one for one in caplog.records if said["id"] in one.getMessage()]
    assert record.exc_info is not None
    assert str(record.exc_info[1]) == SECRET


async def test_a_result_that_is_no_json_is_a_failure(http: httpx.AsyncClient) -> None:
    problem(await http.post("/tools/give", json={"value": "nan"}), 500, "tool_failed")


async def test_a_result_too_big_for_a_client_is_replaced_by_its_size(
    tmp_path: Path,
) -> None:
    async with server(tmp_path, max_result_bytes=50) as http:
        answer = await http.post("/tools/give", json={"value": "x" * 100})
        result = {"truncated": True, "bytes": len('{"value": ""}') + 100, "max_bytes": 50}
        assert answer.json()["result"] == result


async def test_a_ui_tool_cannot_be_called_here(http: httpx.AsyncClient) -> None:
    said = problem(await http.post("/tools/render_ui_component", json={}), 404, "not_a_real_tool")
    assert "browser" in said["detail"]


@pytest.mark.parametrize(("name", "hint"), [("rol", "roll"), ("zzz", "GET /tools")])
async def test_an_unknown_tool_is_told_with_a_hint(
    name: str, hint: str, http: httpx.AsyncClient
) -> None:
    said = problem(await http.post(f"/tools/{name}", json={}), 404, "unknown_tool")
    assert hint in said["detail"]


async def test_an_unknown_name_is_not_echoed_at_length(http: httpx.AsyncClient) -> None:
    said = problem(await http.post(f"/tools/{'z' * 3000}", json={}), 404, "unknown_tool")
    assert len(said["detail"]) < 200


async def test_a_foreign_page_may_not_call_tools(http: httpx.AsyncClient) -> None:
    for origin in ("https://evil.example", "null"):
        answer = await http.post("/tools/roll", json={"count": 1}, headers={"Origin": origin})
        problem(answer, 403, "origin_not_allowed")
    own = str(http.base_url).rstrip("/")
    answer = await http.post("/tools/roll", json={"count": 1}, headers={"Origin": own})
    assert answer.status_code == 200


async def test_another_host_name_is_refused(http: httpx.AsyncClient) -> None:
    answer = await http.post("/tools/roll", json={"count": 1}, headers={"Host": "evil.example"})
    problem(answer, 403, "host_not_allowed")


async def test_the_catalogue_tells_what_can_be_called(http: httpx.AsyncClient) -> None:
    tools = {tool["name"]: tool for tool in (await http.get("/tools")).json()["tools"]}
    assert {name: tool["kind"] for name, tool in tools.items()} == {
        **dict.fromkeys(("roll", "wait", "refuse", "fail", "give"), "real"),
        "render_ui_component": "ui",
    }
    assert tools["roll"]["parameters"]["required"] == ["count"]
    assert tools["roll"]["description"].startswith("Roll dice.")


async def test_calls_stand_beside_runs_and_leave_no_thread(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        answers = await asyncio.gather(
            *(client.http.post("/tools/multiply", json={"a": n, "b": 2}) for n in range(20)),
        )
        assert [answer.json()["result"]["product"] for answer in answers] == [
            2 * n for n in range(20)
        ]
        assert (await client.http.get("/threads")).json()["threads"] == []


async def test_the_solar_tools_answer_over_http(tmp_path: Path) -> None:
    add_visit(3, date(2026, 12, 1), "cleaning", None)
    async with serving(settings(tmp_path / "t.db")) as client:
        for name, args in SOLAR.items():
            answer = await client.http.post(f"/tools/{name}", json=args)
            assert answer.json()["result"]["status"] == "ok", name


SOLAR: dict[str, dict[str, Any]] = {
    "list_loggers": {},
    "get_fleet_overview": {},
    "analyze_inverter_health": {"logger": 4},
    "get_power_curve": {"logger": "inverter 3"},
    "compare_loggers": {"targets": ["site A", "site B"]},
    "calculate_financial_savings": {},
    "calculate_performance_ratio": {},
    "forecast_production": {},
    "diagnose_error_codes": {"codes": [3105]},
    "list_maintenance": {},
    "cancel_maintenance": {"visit": "M-1"},
}

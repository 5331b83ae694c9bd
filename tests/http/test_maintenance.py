"""Maintenance visits through POST /chat and in the file that servers share."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tests.support.forked_server import forked_server
from tests.support.serving import Client, serving, settings, text_of
from turnstream.tools.solar.visits import FILE_VARIABLE, add_visit, cancel_visit

DAY = date(2026, 12, 1)


async def results(client: Client, message: str) -> tuple[list[Any], str]:
    """The tools' results of a turn, as the client sees them, and what was said."""
    _, events = await client.turn({"message": message})
    return [event.data["result"] for event in events if event.type == "result"], text_of(events)


async def test_visits_are_shown_as_a_table_and_cancelled_in_a_talk(tmp_path: Path) -> None:
    add_visit(3, DAY, "inspection", "Bring a ladder")
    async with serving(settings(tmp_path / "t.db")) as client:
        [listed, shown], _ = await results(client, "Which maintenance is planned?")
        assert [visit["id"] for visit in listed["visits"]] == ["M-1"]
        assert shown["component"] == "table"
        assert [row["note"] for row in shown["props"]["rows"]] == ["Bring a ladder"]
        [cancelled], said = await results(client, "Cancel visit M-1")
        assert cancelled["visit"]["state"] == "cancelled"
        assert said.endswith("is cancelled.")
        _, said = await results(client, "Which maintenance is planned?")
        assert said.endswith("No visit is planned.")


async def test_what_one_process_plans_another_lists_and_cancels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FILE_VARIABLE, str(tmp_path / "maintenance.db"))
    visit, _ = add_visit(3, DAY, "inspection", None)
    async with forked_server(tmp_path / "t.db") as server:
        tools = server.client.http
        listed = await tools.post("/tools/list_maintenance", json={})
        assert [found["id"] for found in listed.json()["result"]["visits"]] == [visit.visit_id]
        cancelled = await tools.post("/tools/cancel_maintenance", json={"visit": visit.visit_id})
        assert cancelled.json()["result"]["visit"]["state"] == "cancelled"
    assert cancel_visit(visit.number)[1] is False

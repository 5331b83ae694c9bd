"""LangGraph's wire is as its transcripts have it, to the word."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.documented import check_event
from tests.support.langgraph_golden import FILES, SCENARIOS, played


@pytest.mark.parametrize("name", SCENARIOS)
async def test_a_scenario_is_told_as_it_was_recorded(name: str, tmp_path: Path) -> None:
    assert await played(name, tmp_path) == (FILES / f"{name}.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_event_fits_the_openapi_document(name: str) -> None:
    told = [*events_in(json.loads((FILES / f"{name}.json").read_text(encoding="utf-8")))]
    assert told
    for event in told:
        check_event(event["event"], event["data"])


def events_in(value: Any) -> Any:
    if isinstance(value, dict) and {"event", "data", "id"} <= value.keys():
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from events_in(inner)


def test_there_is_a_transcript_for_each_scenario_alone() -> None:
    assert {file.stem for file in FILES.glob("*.json")} == {*SCENARIOS}

"""`turnstream new` writes a project that runs at once, and whose own tests pass."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.environment import isolate
from tests.support.serving import serving, settings
from turnstream.server.__main__ import main


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    isolate(monkeypatch, tmp_path)
    return tmp_path


async def test_a_new_project_calls_its_tool_and_asks_its_user_without_a_key(here: Path) -> None:
    assert main(["new", "my-agent"]) == 0
    assert {file.name for file in (here / "my-agent").iterdir()} == {
        *("agent.py", "test_agent.py", "langgraph.json", "Dockerfile"),
    }
    graph = str(here / "my-agent" / "langgraph.json")
    async with serving(settings(here / "t.db", graph=graph)) as client:
        _, events = await client.turn({"message": "Roll 3 dice with 6 sides"})
        results = [event.data["result"] for event in events if event.type == "result"]
        assert len(results[0]["rolls"]) == 3
        thread_id, _ = await client.turn({"message": "Let me choose between tea and coffee"})
        (waiting,) = (await client.thread(thread_id))["pending"]
        assert waiting["tool_name"] == "request_user_selection"


def test_the_tests_of_a_new_project_pass(here: Path) -> None:
    assert main(["new", "my-agent"]) == 0
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    subprocess.run(command, check=True, cwd=here / "my-agent", timeout=120)


@pytest.mark.parametrize("name", ["a/b", "..", "", "taken", "file"])
def test_a_name_that_is_taken_or_none_is_one_sentence(
    name: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "taken").mkdir()
    (here / "taken" / "x").touch()
    (here / "file").touch()
    assert main(["new", name]) == 2
    said = capsys.readouterr().err
    assert said.startswith("turnstream: ")
    assert said.count("\n") == 1

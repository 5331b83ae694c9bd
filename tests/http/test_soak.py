"""`make soak`, briefly: a healthy server passes, and one that leaks does not."""

import asyncio
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.benchmarks.soak.gauges import FIGURES
from tests.benchmarks.soak.visitor import VISITS
from tests.support.samples import sample
from tests.support.serving import PROJECT

pytestmark = pytest.mark.full
MINUTES = sample(1.0, 0.2)


async def soak(picture: Path, *options: str) -> tuple[int | None, str]:
    """Exit code and what it said."""
    named = ("--minutes", str(MINUTES), "--visitors", "6", "--picture", str(picture))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.benchmarks.soak", *named, *options),
        cwd=PROJECT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    return process.returncode, said.decode()


def faults(said: str) -> list[str]:
    """Times are judged where the soak has the machine to itself, not beside other tests."""
    slower = {f"FAILED: {figure.name} grows" for figure in FIGURES if figure.unit == "ms"}
    return [line for line in said.splitlines() if line.startswith("FAILED") and line not in slower]


@pytest.mark.long
async def test_under_a_mix_of_use_nothing_grows_and_nothing_is_left(tmp_path: Path) -> None:
    picture = tmp_path / "soak.svg"

    _, said = await soak(picture)

    assert faults(said) == [], said
    assert all(f"{figure.title}: rise" in said for figure in FIGURES)
    drawn = ElementTree.fromstring(picture.read_text())
    lines = drawn.findall(".//{http://www.w3.org/2000/svg}polyline")
    assert len(lines) == len(FIGURES)
    if MINUTES >= 1:  # else a rare one may not have had its turn
        assert all(f" x {name}" in said for name, _, _ in VISITS), said


async def test_a_server_that_keeps_something_of_each_request_fails(tmp_path: Path) -> None:
    code, said = await soak(tmp_path / "soak.svg", "--server", "tests.support.leaking_server")

    assert code == 1
    for figure in ("memory", "open files", "tasks"):
        assert f"FAILED: {figure} grows" in said, said
    for left in ("tasks", "open files"):
        assert any(
            "left when all is over" in line and left in line for line in said.splitlines()
        ), said

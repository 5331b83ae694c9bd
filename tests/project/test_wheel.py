"""Who has a graph installs a wheel and serves the graph from its own folder."""

import asyncio
import os
import re
import shutil
import site
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.support.samples import LONG
from tests.support.serving import (
    PROJECT,
    Client,
    announced,
    drained,
    http_client,
    process,
    text_of,
)
from tests.support.user_project import use, write_project

pytestmark = pytest.mark.full
PARTS = (
    ".package",
    "server",
    "graphs",
    "tools",
    "static",
    "pyproject.toml",
    "README.md",
    "LICENSE",
)
PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")


def run(*command: str | Path) -> None:
    subprocess.run(command, check=True, timeout=300)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The console script of an environment that has the wheel.

    In a long run its dependencies are installed too; else it finds those of this environment.
    """
    folder = tmp_path_factory.mktemp("wheel")
    source, environment = folder / "source", folder / "environment"
    tracked = subprocess.check_output(["git", "ls-files", *PARTS], cwd=PROJECT, text=True)
    for name in tracked.splitlines():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PROJECT / name, source / name)
    run(*PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, source)
    (wheel,) = folder.glob("*.whl")
    run(sys.executable, "-m", "venv", "--without-pip", environment)
    constraints = ("--constraint", PROJECT / "constraints.txt") if LONG else ("--no-deps",)
    run(*PIP, "--python", environment / "bin" / "python", "install", *constraints, wheel)
    if not LONG:
        (packages,) = environment.glob("lib/*/site-packages")
        (packages / "dependencies.pth").write_text("\n".join(site.getsitepackages()))
    return environment / "bin" / "turnstream"


@asynccontextmanager
async def served(command: Path, folder: Path, *arguments: str) -> AsyncIterator[Client]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("TURNSTREAM_", "OPENAI_"))}
    server = await asyncio.create_subprocess_exec(
        command, *arguments, "--port", "0", cwd=folder, env=clean, stderr=asyncio.subprocess.PIPE
    )
    assert server.stderr is not None
    try:
        url, log = await announced(server.stderr)
        drain = asyncio.create_task(drained(server.stderr, log))
        async with http_client(url) as http:
            yield Client(http)
        server.terminate()
        assert await server.wait() == 0
        await drain
    finally:
        if server.returncode is None:
            server.kill()
            await server.wait()


def help_of(command: Path) -> str:
    return subprocess.check_output([command, "--help"], cwd=command.parent, text=True)


@pytest.mark.long
@pytest.mark.timeout(400)
async def test_the_wheel_serves_a_users_project_from_its_folder(
    installed: Path, tmp_path: Path
) -> None:
    assert help_of(installed).startswith("usage: turnstream [dev] [GRAPH]")
    write_project(tmp_path)
    async with served(installed, tmp_path) as client:
        page = await client.http.get("/")
        assert (page.status_code, "<title>" in page.text) == (200, True)
        named = re.findall(r'(?:href|src)="([^"#]+)"', page.text)
        assert named
        for name in named:
            assert (await client.http.get(name)).status_code == 200, name
        thread_id, events = await client.turn({"message": "Hello"})
        assert text_of(events) == "Ahoy, stranger. That was 1."
    async with served(installed, tmp_path, "./agent.py:builder") as client:
        _, events = await client.turn({"message": "Again", "thread_id": thread_id})
        assert text_of(events) == "Ahoy, stranger. That was 3."


async def test_installed_it_serves_a_project_whose_packages_have_the_names_of_our_folders(
    installed: Path, tmp_path: Path
) -> None:
    project = tmp_path / "turnstream"  # In the working directory it hides nothing of ours.
    write_project(project)
    command = ("-m", "turnstream.server", "--port", "0")
    place = {"python": str(installed.with_name("python")), "folder": str(tmp_path)}
    graph = "turnstream/agent.py:graph"
    await use(project, partial(process, tmp_path / "t.db", command, **place, GRAPH=graph))

"""The extension of docs/extensions.md, installed as a package of its own."""

import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.support.serving import PROJECT, Process, process
from tests.support.waiting import until

PAGE = (PROJECT / "docs/extensions.md").read_text(encoding="utf-8")
NEWER = """
from sqlalchemy import text

class Newer(Words):
    version = 2

    @staticmethod
    def migrate(connection, version):
        connection.execute(text("ALTER TABLE words ADD COLUMN language VARCHAR"))
"""


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found
    return found[1]


def install(folder: Path, source: str, name: str = "Words") -> None:
    """Install the package into `folder / "site"`, in place of an earlier one."""
    package = folder / "package"
    package.mkdir(exist_ok=True)
    (package / "turnstream_words.py").write_text(source, encoding="utf-8")
    project = block("toml").replace("turnstream_words:Words", f"turnstream_words:{name}")
    (package / "pyproject.toml").write_text(project, encoding="utf-8")
    options = ("--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation")
    target = ("--upgrade", "--target", str(folder / "site"))
    command = (sys.executable, "-m", "pip", "install", *options, *target, str(package))
    subprocess.run(command, check=True, capture_output=True)


async def get(server: Process, path: str) -> httpx.Response:
    """The client of other tests compares answers with a document without the extension."""
    async with httpx.AsyncClient(base_url=server.url) as http:
        return await http.get(path)


def test_the_example_has_about_forty_lines() -> None:
    assert len([line for line in block("python").splitlines() if line.strip()]) <= 44


@pytest.mark.full
async def test_the_example_survives_restarts_an_upgrade_and_forgets_a_deleted_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    install(tmp_path, block("python"))
    async with process(tmp_path / "t.db") as server:
        on = b"extensions: audit, openapi, search, versions, words"
        await until(lambda: on in b"".join(server.log))
        await server.client.turn({"message": "What is 6 * 7?", "thread_id": "t1"})
        (count,) = (await get(server, "/words/t1")).json()
        assert count > 0
        async with httpx.AsyncClient(base_url=server.url) as http:
            answer = await http.post("/chat", json={"message": "word " * 501})
        assert (answer.status_code, answer.json()["code"]) == (422, "too_many_words")
        assert '"extensions":{"words":' in (await get(server, "/export")).text
    install(tmp_path, block("python") + NEWER, "Newer")
    for _ in range(2):
        async with process(tmp_path / "t.db") as server:
            assert (await get(server, "/words/t1")).json() == [count]
    async with process(tmp_path / "t.db") as server:
        await server.client.http.delete("/threads/t1?at_once=true")
        assert (await get(server, "/words/t1")).json() == []

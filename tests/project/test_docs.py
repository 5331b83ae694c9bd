"""Each code block of the documents is run, is tested elsewhere, or says why it is not run."""

import asyncio
import json
import os
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.support.code_blocks import Block, blocks, fits, indented_code, masked
from tests.support.serving import PROJECT, announced, drained
from tests.support.waiting import WAIT_SECONDS

PAGES = sorted(
    (*PROJECT.glob("*.md"), *PROJECT.glob("docs/*.md"), PROJECT / "tools" / "solar" / "README.md")
)
STARTS_SERVERS = [PROJECT / "README.md", PROJECT / "docs" / "start.md"]
SERVED = [PROJECT / "docs" / f"{name}.md" for name in ("audit", "solar", "tools", "users")]
"""Pages whose commands need the built-in graph to be served."""
PLAYED = [*STARTS_SERVERS, *SERVED]
MARKS = ("run", "file", "output", "tested by", "not run")
FAIL_EARLY = 'set -eu; curl() { command curl --fail-with-body "$@"; }\n'
"""A refused request fails its command."""

every_page = pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])


@every_page
def test_every_block_says_how_it_is_tested(page: Path) -> None:
    for block in blocks(page):
        assert block.mark in MARKS, f"{block.place} has no mark: see tests/support/code_blocks.py"
        if block.mark == "not run":
            assert len(block.detail) > 10, f"{block.place} gives no reason"
        if block.mark in ("run", "file", "output"):
            assert page in PLAYED, f"{block.place} is on a page that no test plays"
    assert not indented_code(page), "fence the code"


@every_page
def test_a_block_that_is_tested_elsewhere_is_read_there(page: Path) -> None:
    for block in blocks(page):
        if block.mark == "tested by":
            test = (PROJECT / block.detail).read_text(encoding="utf-8")
            assert page.name in test, f"{block.detail} does not read {block.place}"


@every_page
def test_every_block_can_be_parsed(page: Path) -> None:
    for block in blocks(page):
        try:
            _parse(block)
        except (SyntaxError, ValueError, subprocess.CalledProcessError) as error:
            raise AssertionError(f"{block.place}: {error}") from error


def _parse(block: Block) -> None:
    if block.language == "python":
        compile(textwrap.dedent(block.text), block.place, "exec")
    elif block.language == "json" and "..." not in block.text:
        json.loads(block.text)
    elif block.language == "toml":
        tomllib.loads(block.text)
    elif block.language == "sh":
        subprocess.run(["bash", "-n"], input=block.text, text=True, check=True)


@pytest.mark.timeout(120)
@pytest.mark.full
@pytest.mark.parametrize("page", PLAYED, ids=[page.stem for page in PLAYED])
async def test_the_commands_of_a_page_work(page: Path, tmp_path: Path) -> None:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("TURNSTREAM_", "OPENAI_"))}
    environment = {
        **clean,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "TURNSTREAM_PORT": "0",
        "TURNSTREAM_OFFLINE_WORD_SECONDS": "0",
    }
    served = [Block(page, 0, "sh", "turnstream", "run", "server")] if page in SERVED else []
    parts: list[list[Block]] = [served]
    for block in blocks(page):
        if (block.mark, block.detail) == ("run", "server"):
            parts.append([])
        parts[-1].append(block)
    for part in parts:
        await _play(part, tmp_path, environment)


async def _play(part: list[Block], folder: Path, environment: dict[str, str]) -> None:
    """Run the blocks up to the next server."""
    server = part.pop(0) if part and part[0].detail == "server" else None
    printed = ""
    async with _serving(server, folder, environment) as url:
        for block in part:
            if block.mark == "file":
                (folder / block.detail).write_text(block.text)
            elif block.mark == "run":
                printed = await _printed(block, url, folder, environment)
            elif block.mark == "output":
                assert fits(masked(block.text), masked(printed)), f"{block.place}: {printed}"


@asynccontextmanager
async def _serving(
    block: Block | None, folder: Path, environment: dict[str, str]
) -> AsyncIterator[str]:
    """Serve what the block says, and yield the address; serve nothing without a block."""
    if block is None:
        yield ""
        return
    process = await asyncio.create_subprocess_exec(
        *block.text.split(), cwd=folder, env=environment, stderr=asyncio.subprocess.PIPE
    )
    assert process.stderr is not None
    try:
        url, log = await announced(process.stderr)
        drain = asyncio.create_task(drained(process.stderr, log))
        yield url
        process.terminate()
        assert await process.wait() == 0
        await drain
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _printed(block: Block, url: str, folder: Path, environment: dict[str, str]) -> str:
    script = block.text
    for host in ("localhost", "127.0.0.1"):
        script = script.replace(f"{host}:8000", url.removeprefix("http://"))
    process = await asyncio.create_subprocess_exec(
        *("bash", "-c", FAIL_EARLY + script),
        cwd=folder,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(WAIT_SECONDS):
        out, _ = await process.communicate()
    assert process.returncode == 0, f"{block.place}: {out.decode()}"
    return out.decode()


def test_a_document_never_names_a_package_that_is_not_published() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert "pip install turnstream" not in text, page
        assert "pip install 'turnstream[" not in text, page


def test_an_output_is_compared_line_by_line() -> None:
    printed = masked("id: wvJdzLACJGA:1\ndata: a\n\ndata: b\n")
    assert fits(masked("id: JWzRlqF4qOJ:1\n...\ndata: b"), printed)
    assert fits(["..."], [])
    assert not fits(masked("id: JWzRlqF4qOJ:1\n...\ndata: c"), printed)
    assert not fits(masked("id: JWzRlqF4qOJ:2\n..."), printed)

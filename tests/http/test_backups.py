"""The drill of docs/deploy.md: a copy of a database in use is put in its place, and the server goes
on from it."""

import asyncio
import os
from pathlib import Path

import pytest
from pydantic import SecretStr

from tests.support.endpoint import Pause, Reply, Say, StrictEndpoint, text_reply
from tests.support.postgres_server import binaries
from tests.support.reverse_proxies import block, require
from tests.support.serving import Client, endpoint_settings, serving, text_of
from tests.support.waiting import eventually
from turnstream.server.extensions.built_in import BUILT_IN
from turnstream.server.extensions.built_in import ServerSettings as Settings
from turnstream.server.extensions.loading import engine_of
from turnstream.server.storage.location import PostgresUrl

OF_THE_PAGE = "postgresql://turnstream@db.example.org"


async def follow(beginning: str, **places: str) -> None:
    """Run the commands of the page that begin with this comment, with other places."""
    script = block("deploy.md", "sh", beginning)
    for place, own in places.items():
        script = script.replace(place, own)
    path = f"{binaries()}{os.pathsep}{os.environ['PATH']}"
    process = await asyncio.create_subprocess_exec(
        *("bash", "-eu", "-c", script),
        env={**os.environ, "PATH": path},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    printed, _ = await process.communicate()
    assert process.returncode == 0, printed.decode()


def folders(tmp_path: Path) -> dict[str, str]:
    """Make the folders of the page below `tmp_path`."""
    places = {"/var/lib/turnstream": tmp_path / "data", "/var/backups": tmp_path / "copies"}
    for folder in places.values():
        folder.mkdir()
    return {place: str(folder) for place, folder in places.items()}


async def copy_in_use(
    settings: Settings, endpoint: StrictEndpoint, copy: str, **places: str
) -> None:
    """Make the copy while one thread is at rest, and another has a live run; then go on."""
    pause = Pause(asyncio.Event())
    endpoint.script(text_reply("First."), Reply((Say("Half "), pause)), text_reply("Lost."))
    async with serving(settings) as client:
        await client.turn({"thread_id": "t1", "message": "One"})
        async with client.chat({"thread_id": "t2", "message": "Two"}) as stream:
            await stream.until("text-delta")
            await follow(copy, **places)
            await client.http.post("/chat/t2/stop")
            await stream.rest()
        await client.turn({"thread_id": "t1", "message": "After the copy"})


async def go_on(settings: Settings, endpoint: StrictEndpoint) -> None:
    """Serve the copy: it has what there was when it was made, and both threads go on."""
    endpoint.script(text_reply("Second."), text_reply("Whole."))
    engine = engine_of(BUILT_IN, settings)
    found = await engine.examine(settings.database, settings.busy_seconds)
    assert {finding.level for finding in found} == {"ok"}
    async with serving(settings) as client:
        assert len((await client.thread("t1"))["messages"]) == 2
        _, events = await client.turn({"thread_id": "t1", "message": "Again"})
        assert text_of(events) == "Second."
        await eventually(lambda: is_interrupted(client))
        _, events = await client.turn({"thread_id": "t2", "message": "And now?"})
        assert text_of(events) == "Whole."


async def is_interrupted(client: Client) -> bool:
    return bool((await client.thread("t2"))["run_state"] == "interrupted")


async def test_a_copy_of_a_file_in_use_is_put_in_its_place(tmp_path: Path) -> None:
    require("sqlite3")
    places = folders(tmp_path)
    async with StrictEndpoint() as endpoint:
        settings = endpoint_settings(tmp_path / "data" / "turnstream.db", endpoint)
        await copy_in_use(settings, endpoint, "a copy of the file", **places)
        await follow("the file of a copy", **places)
        assert (tmp_path / "data" / "turnstream.db").stat().st_mode & 0o777 == 0o600
        await go_on(settings, endpoint)


@pytest.mark.full
async def test_a_dump_of_a_postgres_in_use_is_loaded_into_another_database(
    tmp_path: Path, postgres_url: PostgresUrl, empty_postgres_url: PostgresUrl, redis_url: str
) -> None:
    places = {
        **folders(tmp_path),
        f"{OF_THE_PAGE}/turnstream": postgres_url.secret,
        f"{OF_THE_PAGE}/restored": empty_postgres_url.secret,
    }
    async with StrictEndpoint() as endpoint:
        made = endpoint_settings(tmp_path / "unused.db", endpoint, lease_seconds=1)
        shared = {"redis": SecretStr(redis_url)}
        settings = made.model_copy(update={**shared, "database": postgres_url})
        await copy_in_use(settings, endpoint, "a copy of the Postgres database", **places)
        await follow("the Postgres database of a copy", **places)
        restored = made.model_copy(update={**shared, "database": empty_postgres_url})
        await go_on(restored, endpoint)

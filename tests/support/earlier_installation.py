"""An installation as an earlier version leaves it: a configuration, a policy, a used database.

`python -m tests.support.earlier_installation FOLDER` records one with the version of this tree: the
files of the installation, and in recorded.json what the server says of it after a start. With the
URLs of an empty Postgres database and of a Redis behind it the threads are in Postgres. The test of
upgrades opens the recorded ones with later versions.
"""

import asyncio
import json
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import AbstractAsyncContextManager, closing
from pathlib import Path
from typing import Any

import psycopg

from tests.support.postgres_server import binaries
from tests.support.serving import PROJECT, Client, Process, process, server_variables
from tests.support.waiting import WAIT_SECONDS
from turnstream import __version__

POLICY = """\
default_role = "user"

[roles.user]
tools = ["*"]
approval = ["multiply"]

[roles.user.limits]
requests_per_minute = 600
"""
CONFIGURATION = {
    "AUTH": "keys",
    "AUDIT_DAYS": "36500",
    "FEEDBACK": "true",
    "MAX_STEPS": "8",
    "MAX_RUN_SECONDS": "60",
    "LOG_FORMAT": "json",
    "POLICY": "policy.toml",
}
"""Settings, without their prefix."""
DATABASE = "turnstream.db"
DUMP = "postgres.sql"
PEOPLE = ("ann", "bob")
THREADS = {
    "talked": ["What is 17 * 23, and what time is it in Tokyo?", "Draw a line chart of 1, 4, 9"],
    "asked": ["Let me choose between red, green and blue"],
    "waiting": ["Multiply 6 by 7"],
    "edited": ["Draw a line chart of 1, 4, 9"],
}
"""Messages of ann, by thread."""


def copied(recorded: Path, folder: Path) -> Path:
    """Copy a recorded installation to a folder of a test. A clone has no rights of its files: the
    server has made its database for its user alone."""
    copy = Path(shutil.copytree(recorded, folder / "installation"))
    if (copy / "turnstream.sqlite").exists():
        database = (copy / "turnstream.sqlite").rename(copy / DATABASE)
        database.chmod(0o600)
    return copy


def restore(recorded: Path, url: str) -> None:
    """Fill an empty Postgres database with the dump of a recorded installation."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute((recorded / DUMP).read_bytes())


def installed(folder: Path, **more: str) -> AbstractAsyncContextManager[Process]:
    """Serve an installation with its own configuration."""
    settings = json.loads((folder / "settings.json").read_text(encoding="utf-8"))
    settings["POLICY"] = str(folder / settings["POLICY"])
    return process(folder / DATABASE, **settings, **more)


def administer(folder: Path, *arguments: str, **engines: str) -> str:
    """Run a command of an administrator on the database, and return what it prints."""
    command = (sys.executable, "-P", "-m", "turnstream.server", *arguments)
    variables = server_variables(folder / DATABASE, engines)
    return subprocess.check_output(command, cwd=PROJECT, env=variables, text=True)


def caller(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


async def said(client: Client) -> dict[str, Any]:
    """Return what a caller sees of the installation: the list, and each thread."""
    listed = (await client.http.get("/threads")).json()
    ids = sorted(each["id"] for each in listed["threads"])
    return {"list": listed["threads"], "threads": {name: await client.thread(name) for name in ids}}


async def at_rest(client: Client) -> dict[str, Any]:
    """Return what a caller sees when no run is live: a run on Postgres that a crash ended is found
    when its lease has lapsed."""
    found = await said(client)
    async with asyncio.timeout(WAIT_SECONDS):
        while any(each["run_state"] == "live" for each in found["list"]):
            await asyncio.sleep(0.05)
            found = await said(client)
    return found


async def record(folder: Path, **engines: str) -> None:
    """Make the installation, and write what the server says of it."""
    _configure(folder)
    if engines:
        administer(folder, "migrate", **engines)
    keys = {name: administer(folder, "keys", "add", name, **engines).split()[-1] for name in PEOPLE}
    async with installed(folder, **engines) as server:
        await _use(server.client, keys)
        server.terminate()
        await server.exit_status()
    async with installed(folder, OFFLINE_WORD_SECONDS="0.05", **engines) as server:
        server.client.http.headers.update(caller(keys["ann"]))
        body = {"thread_id": "crashed", "message": "Tell me a long story"}
        async with server.client.chat(body) as stream:
            await stream.until("text-delta")
            await asyncio.sleep(3)
            server.kill()
    if engines:
        _dump(engines["DATABASE"], folder / DUMP)
    else:
        _put_into_one_file(folder / DATABASE)
    for name in ("turnstream.db-wal", "turnstream.db-shm", "turnstream.db.lock", "maintenance.db"):
        (folder / name).unlink(missing_ok=True)
    recorded: dict[str, Any] = {"version": __version__, "keys": keys}
    with tempfile.TemporaryDirectory() as name:
        copy = Path(shutil.copytree(folder, Path(name) / "copy"))
        async with installed(copy, **engines) as server:
            for person, key in keys.items():
                server.client.http.headers.update(caller(key))
                recorded[person] = await at_rest(server.client)
    (folder / "recorded.json").write_text(json.dumps(recorded, indent=1) + "\n", encoding="utf-8")
    if not engines:
        (folder / DATABASE).rename(folder / "turnstream.sqlite")  # git ignores *.db


def _put_into_one_file(database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("VACUUM")


def _dump(url: str, file: Path) -> None:
    """Write a Postgres database as statements that any version since 14 reads."""
    plain = ("--inserts", "--rows-per-insert=100", "--no-owner", "--no-privileges", "--no-comments")
    dumped = subprocess.check_output([binaries() / "pg_dump", *plain, url], text=True)
    lines = (each for each in dumped.splitlines() if not each.startswith(("--", "\\")))
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _configure(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "policy.toml").write_text(POLICY, encoding="utf-8")
    settings = json.dumps(CONFIGURATION, indent=1) + "\n"
    (folder / "settings.json").write_text(settings, encoding="utf-8")


async def _use(client: Client, keys: dict[str, str]) -> None:
    """Leave one thread of each kind."""
    client.http.headers.update(caller(keys["ann"]))
    for thread_id, messages in THREADS.items():
        for message in messages:
            await client.turn({"thread_id": thread_id, "message": message})
    first = (await client.thread("edited"))["messages"][0]["id"]
    edit = {"message_id": first, "message": "Draw a line chart of 2, 3, 5"}
    await client.turn({"thread_id": "edited", "edit": edit})
    answer = (await client.thread("talked"))["messages"][1]["id"]
    given = {"message_id": answer, "value": "up", "reason": "It is right."}
    (await client.http.post("/threads/talked/feedback", json=given)).raise_for_status()
    change = {"title": "Sums and clocks", "pinned": True}
    (await client.http.patch("/threads/talked", json=change)).raise_for_status()
    client.http.headers.update(caller(keys["bob"]))
    await client.turn({"thread_id": "talked", "message": "What is 6 * 7?"})


if __name__ == "__main__":
    folder, *urls = sys.argv[1:]
    shared = {"DATABASE": urls[0], "REDIS": urls[1], "LEASE_SECONDS": "1"} if urls else {}
    asyncio.run(record(Path(folder), **shared))

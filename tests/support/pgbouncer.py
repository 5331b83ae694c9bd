"""PgBouncer in front of a Postgres database, as Debian has it."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.postgres_server import UNPRIVILEGED, free_port
from turnstream.server.storage.location import PostgresUrl

CONFIGURATION = """
[databases]
* = host={given.hostname} port={given.port} user={given.username}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {own_port}
unix_socket_dir =
auth_type = any
pool_mode = {pool_mode}
"""


@asynccontextmanager
async def pgbouncer(url: PostgresUrl, pool_mode: str) -> AsyncIterator[PostgresUrl]:
    """The database's URL by way of PgBouncer. Skips the test where that is not installed."""
    program, given, own_port = _program(), urlsplit(url.secret), free_port()
    with tempfile.TemporaryDirectory() as folder:
        file = _written(
            folder, CONFIGURATION.format(given=given, own_port=own_port, pool_mode=pool_mode)
        )
        process = await asyncio.create_subprocess_exec(
            *(program, "-q", str(file)),
            user=None if os.geteuid() else UNPRIVILEGED,  # It does not run as root.
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            await _listening(own_port, process)
            place = f"{given.username}@127.0.0.1:{own_port}"
            yield PostgresUrl(given._replace(netloc=place).geturl())
        finally:
            process.terminate()
            await process.wait()


def _written(folder: str, configuration: str) -> Path:
    """A file that another user can read."""
    Path(folder).chmod(0o755)
    file = Path(folder, "pgbouncer.ini")
    file.write_text(configuration)
    return file


def _program() -> str:
    found = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    if found is None and os.environ.get("CI"):
        pytest.fail("pgbouncer is not installed; under CI none of these tests may be skipped")
    if found is None:
        pytest.skip("pgbouncer is not installed: apt-get install pgbouncer")
    return found


async def _listening(port: int, process: asyncio.subprocess.Process) -> None:
    while process.returncode is None:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except ConnectionRefusedError:
            await asyncio.sleep(0.02)
        else:
            writer.close()
            return
    raise RuntimeError(f"PgBouncer ended with {process.returncode}")

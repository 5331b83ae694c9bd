"""The databases that tests run on.

A Postgres server is started when the first test asks for one, and shared by all processes of the
run; each process has a database of its own, which is emptied for each test: that takes some
milliseconds, and to make one a tenth of a second. The variable TURNSTREAM_TEST_POSTGRES names
another server, by the URL of a database whose user may make others.
"""

import fcntl
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from turnstream.server.storage.location import PostgresUrl

PROJECT = Path(__file__).parent.parent.parent
START_SECONDS = 60


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """One process of the test run at a time."""
    with (folder / "postgres.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def start_server() -> str:
    """The URL of a server that ends with this test run."""
    folder = Path(tempfile.mkdtemp(prefix="turnstream-postgres-"))
    folder.chmod(0o755)  # the server's user goes through it
    owner = os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()
    module = "tests.support.postgres_server"
    server = subprocess.Popen(
        [sys.executable, "-m", module, str(folder), str(owner)],
        cwd=PROJECT,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + START_SECONDS
    while not (folder / "url").exists():
        assert server.poll() is None, "the Postgres server for tests does not start"
        assert time.monotonic() < deadline, "the Postgres server for tests does not start"
        time.sleep(0.05)
    # It ends after this process, which does not wait for it.
    server.returncode = 0
    return (folder / "url").read_text()


def database_of(server: str, name: str) -> str:
    return urlsplit(server)._replace(path=f"/{name}").geturl()


def make_template(server: str) -> str:
    """A database that is migrated; its name."""
    from turnstream.server.extensions.workers.postgres.opened import migrate_here

    name = f"turnstream_template_{secrets.token_hex(4)}"
    administer(server, f"CREATE DATABASE {name}")
    migrate_here(PostgresUrl(database_of(server, name)))
    return name


def administer(server: str, *statements: str) -> None:
    import psycopg

    with psycopg.connect(server, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The URL of a server, and its database that others are copied from."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with alone(shared):
        note = shared / "postgres"
        if not note.exists():
            server = os.environ.get("TURNSTREAM_TEST_POSTGRES") or start_server()
            note.write_text(f"{server}\n{make_template(server)}")
        server, template = note.read_text().split("\n")
    return server, template


@contextmanager
def database(server: str, template: str | None = None) -> Iterator[PostgresUrl]:
    """A database, copied from another; without one it is empty."""
    name = f"turnstream_test_{secrets.token_hex(6)}"
    copied = f" TEMPLATE {template}" if template else ""
    administer(server, f"CREATE DATABASE {name}{copied}")
    try:
        yield PostgresUrl(database_of(server, name))
    finally:
        administer(server, f"DROP DATABASE {name} WITH (FORCE)")


LEAVE = """
    SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
    AND backend_type = 'client backend'
"""
FORGET = """
    DO $$ DECLARE stored text; BEGIN
        FOR stored IN SELECT tablename FROM pg_tables WHERE schemaname = 'public'
            AND tablename NOT IN ('turnstream_schema', 'cursor_secret')
            AND tablename NOT LIKE '%_migrations'
        LOOP EXECUTE format('DELETE FROM %I', stored); END LOOP;
    END $$
"""
BEGIN_ANEW = """
    SELECT setval(format('%I', sequencename)::regclass, start_value, false) FROM pg_sequences
"""


@pytest.fixture(scope="session")
def reused_database(postgres_server: tuple[str, str]) -> Iterator[PostgresUrl]:
    server, template = postgres_server
    with database(server, template) as url:
        yield url


@pytest.fixture
def postgres_url(reused_database: PostgresUrl) -> PostgresUrl:
    """A migrated database with nothing in it. Its schema is to stay as it is."""
    administer(reused_database.secret, LEAVE, FORGET, BEGIN_ANEW)
    return reused_database


@pytest.fixture
def own_postgres_url(postgres_server: tuple[str, str]) -> Iterator[PostgresUrl]:
    """The same for a test that changes the schema."""
    server, template = postgres_server
    with database(server, template) as url:
        yield url


@pytest.fixture
def empty_postgres_url(postgres_server: tuple[str, str]) -> Iterator[PostgresUrl]:
    with database(postgres_server[0]) as url:
        yield url

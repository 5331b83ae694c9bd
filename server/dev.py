"""`turnstream dev [GRAPH]`: the server for the developer of a graph, on loopback alone.

It tells what a node raised, shows the results of tools, and starts anew when a file of the project
changes. A process that has our imports listens and watches; it forks the server, which imports the
project: so a new one is there in the time that the project takes.
"""

import logging
import multiprocessing
import os
import re
import signal
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path

import uvicorn
import uvloop
from uvicorn.supervisors.basereload import HANDLED_SIGNALS
from uvicorn.supervisors.statreload import StatReload

from turnstream.graphs.project_file import project_file
from turnstream.server.announcement import is_loopback
from turnstream.server.extensions.loading import declared, named
from turnstream.server.launch import REFUSALS, StartError, listen, read_settings, refused, serve
from turnstream.server.settings import LOOPBACK, Settings

WATCHED = (".py", ".toml")
WATCHED_NAMES = ("langgraph.json", ".env")
MAX_FILES = 5_000
POLL_SECONDS = 0.25
_IMPORT = re.compile(
    r"^[ \t]*(?:from|import)[ \t]+((?:langchain|langgraph|openai|anthropic)[\w.]*)", re.MULTILINE
)
_BESIDE = ("__pycache__", "node_modules", "site-packages")

logger = logging.getLogger("turnstream")


def main(arguments: Sequence[str]) -> int:
    """Return the exit status: 0 after an orderly end, 2 if the server cannot start."""
    try:
        settings = _read(arguments)
        listener = listen(settings.host, settings.port)
    except REFUSALS as error:
        return refused(error)
    folders = _folders(settings.graph)
    _import_ahead(folders)
    config = uvicorn.Config("turnstream", log_config=None, reload_delay=POLL_SECONDS)
    target = partial(_serve, arguments)
    _Reload(config, target, [listener], folders, settings.components).run()
    return 0


def _read(arguments: Sequence[str]) -> Settings:
    """Raises StartError, ExtensionError."""
    settings = read_settings(arguments, declared(named(arguments)))
    if not is_loopback(settings.host) or set(settings.allowed_hosts) - set(LOOPBACK):
        raise StartError(
            "turnstream dev shows exceptions and results of tools, and serves this machine alone: "
            "leave --host and --allowed-hosts out, or start turnstream without dev"
        )
    return settings


def _serve(arguments: Sequence[str], sockets: list[socket.socket]) -> None:
    """Serve in a process of its own, until it is told to end."""
    for number in HANDLED_SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    try:
        extensions = declared(named(arguments))
        uvloop.run(serve(_read(arguments), sockets[0], extensions, is_development=True))
    except REFUSALS as error:
        refused(error)
        logger.warning("the server starts again when a file of the project changes")
        sys.exit(2)
    except Exception:
        logger.exception("the server broke off; it starts again when a file changes")
        sys.exit(1)


class _Reload(StatReload):
    """uvicorn's reloader, with forked processes and the project's files alone."""

    def __init__(
        self,
        config: uvicorn.Config,
        target: partial[None],
        sockets: list[socket.socket],
        folders: Sequence[Path],
        components: Sequence[Path],
    ) -> None:
        super().__init__(config, target, sockets)
        self._folders, self._components = folders, components

    def startup(self) -> None:
        for number in HANDLED_SIGNALS:
            signal.signal(number, self.signal_handler)
        self._start()

    def restart(self) -> None:
        self.mtimes = {}
        self.process.terminate()  # It lets its live runs finish.
        self.process.join()
        self._start()

    def _start(self) -> None:
        # Before the server reads them: a change from here on starts it again.
        for file in self.iter_py_files():
            with suppress(OSError):
                self.mtimes[file] = file.stat().st_mtime
        forked = multiprocessing.get_context("fork")
        process = forked.Process(target=self.target, kwargs={"sockets": self.sockets})
        self.process = process  # type: ignore[assignment]
        process.start()

    def iter_py_files(self) -> Iterator[Path]:
        yield from _files(self._folders)
        for folder in self._components:
            yield from (path for path in folder.rglob("*") if path.is_file())


def _folders(setting: str) -> Sequence[Path]:
    """The folders of the project that a setting names."""
    with suppress(OSError, ValueError):
        project = project_file(setting)
        if project:
            return project.folders
    module = setting.rpartition(":")[0]
    if module.endswith(".py"):
        return [Path(module).resolve().parent]
    return [Path.cwd()]


def _files(folders: Sequence[Path]) -> Iterator[Path]:
    """Without those of environments, packages and hidden folders; MAX_FILES of them."""
    seen: set[Path] = set()
    for folder in folders:
        for place, inner, names in os.walk(folder):
            if "pyvenv.cfg" in names:
                inner.clear()
                continue
            inner[:] = [one for one in inner if one[0] != "." and one not in _BESIDE]
            for name in names:
                if name.endswith(WATCHED) or name in WATCHED_NAMES:
                    seen.add(Path(place, name))
            if len(seen) > MAX_FILES:
                break
    yield from seen


def _import_ahead(folders: Sequence[Path]) -> None:
    """Import what the project's files import of LangChain, once for all its servers."""
    found: set[str] = set()
    for file in _files(folders):
        if file.suffix == ".py":
            with suppress(OSError, UnicodeError):
                found.update(_IMPORT.findall(file.read_text("utf-8")))
    for name in sorted(found):
        with suppress(Exception):
            import_module(name)

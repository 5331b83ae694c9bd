"""Start the server: settings -> listener -> uvicorn. A fault that keeps it from starting is one
line.

The first argument may be the graph: `turnstream ./agent.py:graph`. In a folder with a
langgraph.json it is that project's, unless another is named.
"""

import gc
import logging
import os
import socket
import sys
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import NoReturn
from urllib.parse import parse_qs, urlsplit

import uvloop
from pydantic import ValidationError
from pydantic_settings import CliApp
from pydantic_settings.exceptions import SettingsError

from turnstream.graphs.faults import GraphError
from turnstream.graphs.model_options import ModelSetupError
from turnstream.server.announcement import announce, is_loopback
from turnstream.server.app import PAGE, STATIC, create_app
from turnstream.server.connections import ConnectionLimits
from turnstream.server.extensions.base import Extension, ExtensionError
from turnstream.server.extensions.built_in import BUILT_IN
from turnstream.server.extensions.loading import (
    ADMINISTRATION,
    check_methods,
    declared,
    named,
    settings_with,
)
from turnstream.server.logs.formats import LogFormat
from turnstream.server.logs.messages import escape
from turnstream.server.logs.setup import configure
from turnstream.server.options import full_help
from turnstream.server.page import PageError
from turnstream.server.serving import Server, with_state
from turnstream.server.settings import Settings
from turnstream.server.settings_faults import faults
from turnstream.server.storage.interfaces import StorageError
from turnstream.tools.contract import CatalogueError

PROJECT_FILE = "langgraph.json"
GC_THRESHOLDS = (10_000, 10, 50)
"""Rarer collections than Python's own (700, 10, 10). A full one stops the server for a millisecond
each 1200 objects, of which a stream has a thousand, and finds next to nothing: what a run leaves is
freed by its reference counts, but for some 40 objects."""
logger = logging.getLogger("turnstream")


NO_AUTHENTICATION = (
    "on {host} everyone who reaches the port could read, change and delete every thread: set "
    "TURNSTREAM_AUTH to keys, jwt, header or module:function (to 'off' if they all may), or listen "
    "on 127.0.0.1"
)


class StartError(Exception):
    """The server cannot start; the message is for the person who starts it."""


REFUSALS = (
    StartError,
    StorageError,
    CatalogueError,
    GraphError,
    ModelSetupError,
    ExtensionError,
    PageError,
)
"""Errors that keep the server from starting; each is told in one line."""


def main(arguments: Sequence[str]) -> int:
    """Return the exit status: 0 after an orderly end, 2 if the server cannot start, 1 if it broke
    off."""
    configure("text")
    if arguments[:1] == ["dev"] and not {"-h", "--help"}.intersection(arguments):
        from turnstream.server import dev

        return dev.main(arguments[1:])
    if arguments[:1] and arguments[0] in ADMINISTRATION:
        from turnstream.server.commands import run

        return run(arguments)
    try:
        extensions = declared(named(arguments))
        commands = {name: run for each in extensions for name, run in each.commands.items()}
        if arguments[:1] and arguments[0] in commands:
            return commands[arguments[0]](arguments[1:])
        if arguments[:1] and any(arguments[0] in each.administration for each in extensions):
            from turnstream.server.commands import run

            return run(arguments)
        if {"-h", "--help"}.intersection(arguments):
            sys.stdout.write(full_help(settings_with(extensions)))
            return 0
        settings = read_settings(arguments, extensions)
    except (StartError, ExtensionError) as error:
        return refused(error)
    configure(settings.log_format)
    try:
        with listen(settings.host, settings.port) as listener:
            uvloop.run(serve(settings, listener, extensions))
    except REFUSALS as error:
        if settings.debug and error.__cause__:
            logger.exception("the server cannot start", exc_info=error.__cause__)
        return refused(error, settings.log_format)
    except Exception:
        logger.exception("the server broke off")
        return 1
    return 0


def refused(error: Exception, log_format: LogFormat = "text") -> int:
    """Say in a line why the server cannot start, and return the exit status."""
    if log_format == "json":
        logger.critical(str(error))
    else:
        sys.stderr.write(f"turnstream: {escape(str(error))}\n")
    return 2


def read_settings(
    arguments: Sequence[str], extensions: Sequence[type[Extension]] = BUILT_IN
) -> Settings:
    """Raises StartError naming each setting that has a bad value, and what is allowed;
    ExtensionError."""
    _refuse_secrets(arguments)
    named = arguments[:1] and not arguments[0].startswith("-")
    options = ["--graph", *arguments] if named else [*arguments]
    if Path(PROJECT_FILE).is_file() and not _has_variable("TURNSTREAM_GRAPH"):
        options = ["--graph", PROJECT_FILE, *options]  # The last of an option holds.
    try:
        settings = CliApp.run(settings_with(extensions), cli_args=options)
    except ValidationError as error:
        raise StartError(faults(error)) from None
    except SettingsError as error:
        raise StartError(str(error)) from None
    check_methods(extensions, settings)
    if not is_loopback(settings.host) and "auth" not in settings.model_fields_set:
        raise StartError(NO_AUTHENTICATION.format(host=settings.host or "every address"))
    return settings


def _refuse_secrets(arguments: Sequence[str]) -> None:
    """Raises StartError for a key or a password: every user of the machine can read the command
    lines of its processes."""
    for argument, following in zip_longest(arguments, arguments[1:], fillvalue=""):
        option, equals, value = argument.partition("=")
        if not option.startswith("--"):
            continue
        name = option[2:].replace("-", "_").upper()
        # argparse takes the beginning of an option for the whole of it.
        is_key = "OPENAI_API_KEY".startswith(name) and name.startswith("OPENAI_A")
        if is_key or _has_password(value if equals else following):
            variable = name if name.startswith("OPENAI_") else f"TURNSTREAM_{name}"
            variable = "OPENAI_API_KEY" if is_key else variable
            raise StartError(
                f"{option} on a command line can be read by every user of this machine. Put what "
                f"it holds into the environment, as {variable}."
            )


def _has_password(value: str) -> bool:
    try:
        parts = urlsplit(value)
        return bool(parts.scheme and (parts.password or parse_qs(parts.query).get("password")))
    except ValueError:
        return False


def _has_variable(name: str) -> bool:
    """Look the name up in any case, as the settings do; an empty value does not count."""
    return any(value for key, value in os.environ.items() if key.upper() == name)


def listen(host: str, port: int) -> socket.socket:
    """A bound socket; port 0 takes a free one. Raises StartError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only where the protocol is named. Without it the second segment of an
    # answer waits for the client's delayed ACK, some 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen()
    except OSError as error:
        listener.close()
        raise StartError(
            f"cannot listen on {host}:{port}: {error.strerror or error}. Choose another with "
            "--port or TURNSTREAM_PORT (0: a free one), --host or TURNSTREAM_HOST."
        ) from None
    return listener


async def serve(
    settings: Settings,
    listener: socket.socket,
    extensions: Sequence[type[Extension]] = BUILT_IN,
    *,
    is_development: bool = False,
) -> None:
    page = STATIC if is_development else PAGE
    app = create_app(settings, extensions=extensions, page=page, is_development=is_development)
    async with app.router.lifespan_context(app) as state:
        assert state is not None
        names = [each.name for each in state["extensions"]]
        announce(
            settings,
            listener.getsockname()[1],
            [*state["graphs"].by_name],
            names,
            is_development=is_development,
        )
        gc.collect()
        gc.freeze()  # What is there by now stays: the collector need not look at it again.
        gc.set_threshold(*GC_THRESHOLDS)
        limits = ConnectionLimits.of(settings)
        server = Server(with_state(app, state), state["runs"], settings.drain_seconds, limits)
        await server.serve(sockets=[listener])
        if state["runs"].unsaved:
            _leave_at_once()


def _leave_at_once() -> NoReturn:
    """To unwind a run takes as long as to save it, and there was no time for that."""
    logging.shutdown()
    os._exit(0)

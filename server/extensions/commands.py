"""Commands, of extensions and of the server: how one is named and carried out on the server's
database, times as people write and read them, tables."""

import argparse
import asyncio
import os
import re
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_settings.exceptions import SettingsError

from turnstream.server.extensions.base import ExtensionError
from turnstream.server.extensions.recording import AuditRecorder
from turnstream.server.logs.messages import escape
from turnstream.server.settings import Settings
from turnstream.server.settings_faults import faults
from turnstream.server.storage.interfaces import StorageError, StorageUnavailable
from turnstream.server.storage.opened import ServerStore, StorageEngine

DAY_SECONDS = 86_400

_DAYS = re.compile(r"([1-9][0-9]{0,4})d")

AnySettings = TypeVar("AnySettings", bound=Settings)


class CommandError(Exception):
    """The command cannot be carried out; the message is for who gave it."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command of an administrator: the options that it was given, and what it works on."""

    store: ServerStore
    options: argparse.Namespace
    recorder: Callable[[], Awaitable[AuditRecorder]]
    """Opens what records the administrator's deeds. Raises ExtensionError, StorageError,
    StorageUnavailable."""


def add_command(
    group: Any,
    name: str,
    carry_out: Callable[[Command], Awaitable[None]],
    help: str,
    *,
    creates: bool = False,
    opens_tables: bool = True,
) -> argparse.ArgumentParser:
    """`creates`: it may make the database. `opens_tables` False: it looks itself whether the tables
    of its extension are there."""
    parser: argparse.ArgumentParser = group.add_parser(name, help=help, description=help)
    parser.set_defaults(carry_out=carry_out, creates=creates, opens_tables=opens_tables)
    return parser


def carried_out(work: Coroutine[None, None, None]) -> int:
    """Return the exit status: 0, or 2 if the command cannot be carried out; a line says why."""
    try:
        asyncio.run(work)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read has enough, as `head` does; Python would complain as it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (CommandError, ExtensionError, StorageError, StorageUnavailable) as error:
        sys.stderr.write(f"turnstream: {error}\n")
        return 2
    return 0


def of_environment(settings: type[AnySettings]) -> AnySettings:
    """Read settings. Raises CommandError."""
    try:
        return settings.model_validate({})
    except ValidationError as error:
        raise CommandError(faults(error)) from None
    except SettingsError as error:
        raise CommandError(str(error)) from None


@asynccontextmanager
async def open_database(
    settings: Settings, engine: StorageEngine, *, makes: bool = False
) -> AsyncIterator[ServerStore]:
    """Open the server's database, beside servers that may run. With `makes` it is made if there is
    none. Raises CommandError, StorageError."""
    database = settings.database
    if isinstance(database, Path) and not database.exists() and not makes:
        raise CommandError(f"there is no database {str(database)!r}: set TURNSTREAM_DATABASE")
    async with engine.open_store(database, settings.busy_seconds) as store:
        yield store


def moment(option: str, text: str, *, ahead: bool) -> float:
    """`30d`, from now on or before now, or a date: a Unix time. Raises CommandError."""
    days = _DAYS.fullmatch(text)
    if days:
        seconds = int(days[1]) * DAY_SECONDS
        return time.time() + (seconds if ahead else -seconds)
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        raise CommandError(
            f"{option} {text!r}: give days such as 30d, or a date such as 2027-01-31"
        ) from None
    return date.replace(tzinfo=date.tzinfo or UTC).timestamp()


def shown_time(moment: float | None, *, seconds: bool = False) -> str:
    form = "%Y-%m-%d %H:%M:%S" if seconds else "%Y-%m-%d %H:%M"
    return datetime.fromtimestamp(moment, UTC).strftime(form) if moment else "-"


def write_table(rows: Sequence[Sequence[str]]) -> None:
    """Columns as wide as their widest cell; what steers a terminal is written out."""
    shown = [[escape(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    for row in shown:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        sys.stdout.write(f"{line.rstrip()}\n")

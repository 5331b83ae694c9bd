"""`turnstream keys`, `threads`, `audit`, `extensions`, `migrate`: the commands of an
administrator.

They may run while the server does.
"""

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError
from pydantic_settings.exceptions import SettingsError

from turnstream.server.commands import audit, extensions, keys, migrate, threads
from turnstream.server.commands.command import Command, CommandError
from turnstream.server.settings import Settings
from turnstream.server.settings_faults import faults
from turnstream.server.storage.interfaces import StorageError, StorageUnavailable
from turnstream.server.storage.opened import StorageOptions, open_command_store


def run(arguments: Sequence[str]) -> int:
    """The exit status: 0, 2 if the command cannot be understood or carried out."""
    options = _parser().parse_args(arguments)
    try:
        asyncio.run(_carried_out(options, _settings()))
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read has enough, as `head` does; Python would complain as it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (CommandError, StorageError, StorageUnavailable) as error:
        sys.stderr.write(f"turnstream: {error}\n")
        return 2
    return 0


def _settings() -> Settings:
    """Those of the environment. Raises CommandError."""
    try:
        return Settings.model_validate({})
    except ValidationError as error:
        raise CommandError(faults(error)) from None
    except SettingsError as error:
        raise CommandError(str(error)) from None


async def _carried_out(options: argparse.Namespace, settings: Settings) -> None:
    if options.alone:
        await options.alone(settings, options)
        return
    database = settings.database
    if isinstance(database, Path) and not database.exists() and not options.creates:
        raise CommandError(f"there is no database {str(database)!r}: set TURNSTREAM_DATABASE")
    async with open_command_store(database, StorageOptions(settings.busy_seconds)) as store:
        await options.carry_out(Command(store, settings, options))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("turnstream", description="The database is the server's.")
    parser.set_defaults(alone=None)
    groups = parser.add_subparsers(required=True)
    for group in (keys, threads, audit, extensions, migrate):
        group.add_to(groups)
    return parser

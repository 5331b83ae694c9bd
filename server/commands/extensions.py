"""`turnstream extensions`: the tables of extensions in the database."""

from typing import Any

from turnstream.server.extensions.commands import Command, CommandError, add_command
from turnstream.server.storage.extension_tables import drop


def add_to(groups: Any) -> None:
    help = "the tables of extensions"
    group = groups.add_parser("extensions", help=help, description=help).add_subparsers(
        required=True
    )
    dropping = add_command(group, "drop", _drop, "drop the tables of an extension, with their rows")
    dropping.add_argument("name", help="the name of the extension")


async def _drop(command: Command) -> None:
    name = command.options.name
    if not await command.store.write(drop, name):
        raise CommandError(f"the database has no tables of an extension {name!r}")

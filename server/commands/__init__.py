"""`turnstream keys`, `threads`, `extensions`, `migrate`: the commands of an administrator.

They may run while the server does.
"""

import argparse
from collections.abc import Sequence

from turnstream.server.commands import extensions, keys, migrate, threads
from turnstream.server.commands.command import Command
from turnstream.server.extensions.commands import carried_out, of_environment, open_database
from turnstream.server.extensions.loading import declared, named, settings_with


def run(arguments: Sequence[str]) -> int:
    """The exit status: 0, 2 if the command cannot be understood or carried out."""
    return carried_out(_carry_out(_parser().parse_args(arguments)))


async def _carry_out(options: argparse.Namespace) -> None:
    there_are = declared(named())
    settings = of_environment(settings_with(there_are))
    if options.alone:
        await options.alone(settings, options)
        return
    async with open_database(settings, makes=options.creates) as store:
        await options.carry_out(Command(store, settings, options, there_are))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("turnstream", description="The database is the server's.")
    parser.set_defaults(alone=None)
    groups = parser.add_subparsers(required=True)
    for group in (keys, threads, extensions, migrate):
        group.add_to(groups)
    return parser

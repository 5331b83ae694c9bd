"""The commands of an administrator: `turnstream threads`, `extensions`, `migrate`, and those of
extensions, such as `turnstream keys`.

They may run while the server does.
"""

import argparse
from collections.abc import Sequence
from functools import partial

from turnstream.server.commands import extensions, migrate, threads
from turnstream.server.extensions.base import Extension
from turnstream.server.extensions.commands import (
    Command,
    CommandError,
    carried_out,
    of_environment,
    open_database,
)
from turnstream.server.extensions.loading import (
    ExtensionType,
    declared,
    engine_of,
    named,
    settings_with,
    switched_on,
    tables_of,
)
from turnstream.server.extensions.recording import AuditRecorder, in_order
from turnstream.server.settings import Settings
from turnstream.server.storage.extension_tables import are_there, is_registered
from turnstream.server.storage.opened import ServerStore


def run(arguments: Sequence[str]) -> int:
    """The exit status: 0, 2 if the command cannot be understood or carried out."""
    return carried_out(_carry_out(arguments))


async def _carry_out(arguments: Sequence[str]) -> None:
    there_are = declared(named())
    options = _parser(there_are).parse_args(arguments)
    settings = of_environment(settings_with(there_are))
    engine = engine_of(there_are, settings)
    if options.alone:
        await options.alone(settings, engine, options)
        return
    async with open_database(settings, engine, makes=options.creates) as store:
        if options.extension and options.opens_tables:
            await _open_tables(store, options.extension, makes=options.creates)
        recorder = partial(_recorder, store, settings, there_are)
        await options.carry_out(Command(store, options, recorder))


async def _open_tables(store: ServerStore, extension: ExtensionType, *, makes: bool) -> None:
    """Open the tables of an extension. A command that only looks makes none: servers without the
    extension would not start on the database any more. Raises CommandError."""
    tables = tables_of([extension])
    if makes or await store.read(is_registered, extension.name):
        await store.open_extensions(tables, is_shared=False)
    elif not await store.read(are_there, tables):
        raise CommandError(f"the database has nothing of the extension {extension.name!r} yet")


async def _recorder(
    store: ServerStore, settings: Settings, there_are: Sequence[ExtensionType]
) -> AuditRecorder:
    recording_ones = [each for each in there_are if each.record is not Extension.record]
    recording = in_order(switched_on(recording_ones, settings))
    await store.open_extensions(tables_of(recording), is_shared=False)
    return AuditRecorder(recording, records=True)


def _parser(there_are: Sequence[ExtensionType]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("turnstream", description="The database is the server's.")
    parser.set_defaults(alone=None, extension=None)
    groups = parser.add_subparsers(required=True)
    for each in there_are:
        for name, add in each.administration.items():
            add(groups)
            groups.choices[name].set_defaults(extension=each)
    for group in (threads, extensions, migrate):
        group.add_to(groups)
    return parser

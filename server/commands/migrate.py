"""`turnstream migrate`: the schema of a Postgres database."""

import argparse
import sys
from typing import Any

from turnstream.server.extensions.commands import CommandError
from turnstream.server.settings import Settings
from turnstream.server.storage.opened import StorageEngine


def add_to(groups: Any) -> None:
    help = "bring the schema of the database to this version, as a server does when it starts"
    parser = groups.add_parser("migrate", help=help, description=help)
    parser.add_argument("--check", action="store_true", help="only say whether it is due: status 2")
    parser.set_defaults(alone=_migrate)


async def _migrate(settings: Settings, engine: StorageEngine, options: argparse.Namespace) -> None:
    due = await engine.migrate(settings.database, checks=options.check)
    if due and options.check:
        raise CommandError(f"{settings.database} is to be migrated: turnstream migrate")
    done = "was migrated" if due else "has the schema of this version"
    sys.stdout.write(f"{settings.database} {done}\n")

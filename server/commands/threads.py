"""`turnstream threads`: whose threads they are."""

import sys
from typing import Any

from turnstream.server.callers.principal import check_id
from turnstream.server.extensions.commands import Command, CommandError, add_command
from turnstream.server.storage.also import Also
from turnstream.server.storage.ownership import assign
from turnstream.server.turns.audit_records import AuditRecord


def add_to(groups: Any) -> None:
    threads = groups.add_parser("threads", help="threads").add_subparsers(required=True)
    assign = add_command(threads, "assign", _assign, "give all threads to another owner")
    assign.add_argument("--from", dest="old", required=True, help="owner; 'local': no login")
    assign.add_argument("--to", dest="new", required=True, help="owner")


async def _assign(command: Command) -> None:
    old, new = command.options.old, command.options.new
    for owner in (old, new):
        try:
            if owner != "local":
                check_id(owner)
        except ValueError as error:
            raise CommandError(f"{owner!r}: {error}") from None
    recorder = await command.recorder()

    def recording(count: int) -> Also:
        return recorder.joining(AuditRecord("threads_assigned", old, name=new, count=count))

    moved = await assign(command.store, old, new, recording)
    sys.stdout.write(f"{moved.count} threads of {old} are {new}'s now\n")
    if moved.left:
        raise CommandError(
            f"left with {old}, since a run is live or {new} has one of the same "
            f"id: {', '.join(moved.left)}"
        )

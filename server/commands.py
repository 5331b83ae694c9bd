"""`turnstream keys`, `turnstream threads`: what an administrator does with the database.

They may run while the server does.
"""

import argparse
import asyncio
import re
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from server.settings import Settings
from server.storage.credential_store import SqliteCredentialStore
from server.storage.interfaces import StorageError, StorageUnavailable
from server.storage.ownership import assign
from server.storage.store import SqliteStore, open_store
from server.users.keys import new_key
from server.users.principal import check_id

_DAYS = re.compile(r"([1-9][0-9]{0,4})d")


class CommandError(Exception):
    """The command cannot be carried out; the message is for who gave it."""


def run(arguments: Sequence[str]) -> int:
    """The exit status: 0, 2 if the command cannot be understood or carried out."""
    options = _parser().parse_args(arguments)
    settings = Settings.model_validate({})
    try:
        asyncio.run(_carried_out(options, settings))
    except (CommandError, StorageError, StorageUnavailable) as error:
        sys.stderr.write(f"turnstream: {error}\n")
        return 2
    return 0


async def _carried_out(options: argparse.Namespace, settings: Settings) -> None:
    if not settings.database.exists() and not options.creates:
        raise CommandError(
            f"there is no database {str(settings.database)!r}: set TURNSTREAM_DATABASE"
        )
    async with open_store(settings.database, round(settings.busy_seconds * 1000)) as store:
        carry_out: Callable[[SqliteStore, argparse.Namespace], Awaitable[None]] = options.carry_out
        await carry_out(store, options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("turnstream", description="The database is the server's.")
    groups = parser.add_subparsers(required=True)
    keys = groups.add_parser("keys", help="API keys").add_subparsers(required=True)
    add = _command(keys, "add", _add_key, "make a key and show it, once", creates=True)
    add.add_argument("name", metavar="NAME", help="id of the caller whose key it is")
    add.add_argument("--role", help="role in the policy")
    add.add_argument("--expires", metavar="D", help="30d, or a date: 2027-01-31")
    _command(keys, "list", _list_keys, "all keys, without their secrets")
    revoke = _command(keys, "revoke", _revoke_key, "refuse a key from now on")
    revoke.add_argument("id", metavar="ID", help="as `keys list` shows it")
    threads = groups.add_parser("threads", help="threads").add_subparsers(required=True)
    assign = _command(threads, "assign", _assign_threads, "give all threads to another owner")
    assign.add_argument("--from", dest="old", required=True, help="owner; 'local': no login")
    assign.add_argument("--to", dest="new", required=True, help="owner")
    return parser


def _command(
    group: Any,
    name: str,
    carry_out: Callable[[SqliteStore, argparse.Namespace], Awaitable[None]],
    help: str,
    *,
    creates: bool = False,
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = group.add_parser(name, help=help, description=help)
    parser.set_defaults(carry_out=carry_out, creates=creates)
    return parser


async def _add_key(store: SqliteStore, options: argparse.Namespace) -> None:
    expires_at = _expiry(options.expires) if options.expires else None
    try:
        text, key = new_key(options.name, options.role, expires_at)
    except ValueError as error:
        raise CommandError(f"{options.name!r}: {error}") from None
    await SqliteCredentialStore(store).add_key(key)
    sys.stderr.write(f"key {key.id} of {key.principal}; it is shown this once:\n")
    sys.stdout.write(f"{text}\n")


async def _list_keys(store: SqliteStore, _options: argparse.Namespace) -> None:
    rows: list[tuple[str, ...]] = [
        ("ID", "CALLER", "ROLE", "CREATED", "EXPIRES", "LAST USED", "STATE")
    ]
    now = time.time()
    for key in await SqliteCredentialStore(store).keys():
        state = "valid" if key.is_valid(now) else "revoked" if key.revoked_at else "expired"
        times = (key.created_at, key.expires_at, key.last_used_at)
        rows.append((key.id, key.principal, key.role or "-", *map(_day, times), state))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        sys.stdout.write(f"{line.rstrip()}\n")


async def _revoke_key(store: SqliteStore, options: argparse.Namespace) -> None:
    if not await SqliteCredentialStore(store).revoke_key(options.id, time.time()):
        raise CommandError(f"there is no valid key {options.id!r}; `keys list` shows them")


async def _assign_threads(store: SqliteStore, options: argparse.Namespace) -> None:
    for owner in (options.old, options.new):
        try:
            if owner != "local":
                check_id(owner)
        except ValueError as error:
            raise CommandError(f"{owner!r}: {error}") from None
    moved = await assign(store, options.old, options.new)
    sys.stdout.write(f"{moved.count} threads of {options.old} are {options.new}'s now\n")
    if moved.left:
        raise CommandError(
            f"left with {options.old}, since a run is live or {options.new} has one of the same "
            f"id: {', '.join(moved.left)}"
        )


def _expiry(text: str) -> float:
    days = _DAYS.fullmatch(text)
    if days:
        return time.time() + int(days[1]) * 86_400
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise CommandError(
            f"--expires {text!r}: give days such as 30d, or a date such as 2027-01-31"
        ) from None
    expires_at = moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
    if expires_at <= time.time():
        raise CommandError(f"--expires {text!r} is in the past")
    return expires_at


def _day(moment: float | None) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M") if moment else "-"

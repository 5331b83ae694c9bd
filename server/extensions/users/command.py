"""`turnstream keys`: API keys."""

import sys
import time
from typing import Any

from turnstream.server.extensions.commands import (
    Command,
    CommandError,
    add_command,
    moment,
    shown_time,
    write_table,
)
from turnstream.server.extensions.users.credential_store import SqlCredentialStore
from turnstream.server.extensions.users.keys import new_key
from turnstream.server.turns.audit_records import AuditRecord


def add_to(groups: Any) -> None:
    keys = groups.add_parser("keys", help="API keys").add_subparsers(required=True)
    add = add_command(keys, "add", _add, "make a key and show it, once", creates=True)
    add.add_argument("name", metavar="NAME", help="id of the caller whose key it is")
    add.add_argument("--role", help="role in the policy")
    add.add_argument("--expires", metavar="D", help="30d, or a date: 2027-01-31")
    add_command(keys, "list", _list, "all keys, without their secrets")
    revoke = add_command(keys, "revoke", _revoke, "refuse a key from now on")
    revoke.add_argument("id", metavar="ID", help="as `keys list` shows it")


async def _add(command: Command) -> None:
    options = command.options
    expires_at = _expiry(options.expires) if options.expires else None
    try:
        text, key = new_key(options.name, options.role, expires_at)
    except ValueError as error:
        raise CommandError(f"{options.name!r}: {error}") from None
    recorder = await command.recorder()
    also = recorder.joining(AuditRecord("key_added", key.principal, name=key.id))
    await SqlCredentialStore(command.store).add_key(key, also)
    sys.stderr.write(f"key {key.id} of {key.principal}; it is shown this once:\n")
    sys.stdout.write(f"{text}\n")


async def _list(command: Command) -> None:
    rows: list[tuple[str, ...]] = [
        ("ID", "CALLER", "ROLE", "CREATED", "EXPIRES", "LAST USED", "STATE")
    ]
    now = time.time()
    for key in await SqlCredentialStore(command.store).keys():
        state = "valid" if key.is_valid(now) else "revoked" if key.revoked_at else "expired"
        times = (key.created_at, key.expires_at, key.last_used_at)
        rows.append((key.id, key.principal, key.role or "-", *map(shown_time, times), state))
    write_table(rows)


async def _revoke(command: Command) -> None:
    store, id = SqlCredentialStore(command.store), command.options.id
    key = await store.key(id)
    recorder = await command.recorder()
    owner = key.principal if key else None
    also = recorder.joining(AuditRecord("key_revoked", owner, name=id))
    if not await store.revoke_key(id, time.time(), also):
        raise CommandError(f"there is no valid key {id!r}; `keys list` shows them")


def _expiry(text: str) -> float:
    expires_at = moment("--expires", text, ahead=True)
    if expires_at <= time.time():
        raise CommandError(f"--expires {text!r} is in the past")
    return expires_at

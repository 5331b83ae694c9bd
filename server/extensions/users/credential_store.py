"""API keys, browser sessions and the secrets that sign cookies, in the store's database."""

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from turnstream.server.extensions.base import Database, Write
from turnstream.server.extensions.users.credentials import ApiKey, BrowserSession, SessionSecret
from turnstream.server.extensions.users.tables import api_keys, browser_sessions, session_secrets
from turnstream.server.storage.also import Also, perform

_KEY = (
    api_keys.c.id,
    api_keys.c.principal,
    api_keys.c.role,
    api_keys.c.digest,
    api_keys.c.created_at,
    api_keys.c.expires_at,
    api_keys.c.last_used_at,
    api_keys.c.revoked_at,
)
_SESSION = (
    browser_sessions.c.id,
    browser_sessions.c.principal,
    browser_sessions.c.roles,
    browser_sessions.c.display_name,
    browser_sessions.c.method,
    browser_sessions.c.key_id,
    browser_sessions.c.created_at,
    browser_sessions.c.expires_at,
)


class SqlCredentialStore:
    """Implements `CredentialStore`."""

    def __init__(self, database: Database) -> None:
        self._read, self._write = database.read, database.write

    async def add_key(self, key: ApiKey, also: Also = ()) -> None:
        def add(connection: Connection) -> None:
            connection.execute(insert(api_keys).values(_values(key)))
            perform(connection, also)

        await self._write(add)

    async def key(self, key_id: str) -> ApiKey | None:
        return await self._read(_key, key_id)

    async def keys(self) -> Sequence[ApiKey]:
        def keys(connection: Connection) -> list[ApiKey]:
            rows = connection.execute(select(*_KEY).order_by(api_keys.c.created_at))
            return [ApiKey(*row) for row in rows]

        return await self._read(keys)

    async def revoke_key(self, key_id: str, now: float, also: Also = ()) -> bool:
        def revoke(connection: Connection) -> bool:
            revoked = connection.execute(
                update(api_keys)
                .where(api_keys.c.id == key_id, api_keys.c.revoked_at.is_(None))
                .values(revoked_at=now)
            )
            connection.execute(delete(browser_sessions).where(browser_sessions.c.key_id == key_id))
            perform(connection, also if revoked.rowcount else ())
            return bool(revoked.rowcount)

        return await self._write(revoke)

    async def note_use(self, key_id: str, now: float) -> None:
        def note(connection: Connection) -> None:
            connection.execute(
                update(api_keys).where(api_keys.c.id == key_id).values(last_used_at=now)
            )

        await self._write(note)

    async def begin_session(self, session: BrowserSession, also: Also = ()) -> None:
        def begin(connection: Connection) -> None:
            expired = browser_sessions.c.expires_at <= session.created_at
            connection.execute(delete(browser_sessions).where(expired))
            row = {**_values(session), "roles": json.dumps(session.roles)}
            connection.execute(insert(browser_sessions).values(row))
            perform(connection, also)

        await self._write(begin)

    async def session(self, session_id: str) -> tuple[BrowserSession, ApiKey | None] | None:
        def session(connection: Connection) -> tuple[BrowserSession, ApiKey | None] | None:
            row = connection.execute(
                select(*_SESSION).where(browser_sessions.c.id == session_id)
            ).first()
            if row is None:
                return None
            found = _session(row)
            return found, _key(connection, found.key_id) if found.key_id else None

        return await self._read(session)

    async def end_session(self, session_id: str, also: Also = ()) -> None:
        def end(connection: Connection) -> None:
            connection.execute(delete(browser_sessions).where(browser_sessions.c.id == session_id))
            perform(connection, also)

        await self._write(end)

    async def secrets(self) -> Sequence[SessionSecret]:
        return await self._read(_secrets)

    async def rotate_secret(
        self, added: SessionSecret, newest_before: float, oldest: float
    ) -> None:
        def rotate(connection: Connection) -> None:
            newest = connection.scalar(select(func.max(session_secrets.c.created_at)))
            if newest is None or newest < newest_before:
                connection.execute(insert(session_secrets).values(_values(added)))
            connection.execute(delete(session_secrets).where(session_secrets.c.created_at < oldest))

        await self._write(rotate)


def forgetting(principal: str) -> Sequence[Write]:
    """Return what deletes the keys and sessions of a caller."""
    return [
        delete(each).where(each.c.principal == principal) for each in (api_keys, browser_sessions)
    ]


def _key(connection: Connection, key_id: str) -> ApiKey | None:
    row = connection.execute(select(*_KEY).where(api_keys.c.id == key_id)).first()
    return ApiKey(*row) if row else None


def _session(row: Row[*tuple[Any, ...]]) -> BrowserSession:
    values = {**row._mapping, "roles": tuple(json.loads(row.roles))}
    return BrowserSession(**values)


def _secrets(connection: Connection) -> Sequence[SessionSecret]:
    columns = (session_secrets.c.secret, session_secrets.c.created_at)
    rows = connection.execute(select(*columns).order_by(session_secrets.c.number))
    return [SessionSecret(*row) for row in rows]


def _values(record: ApiKey | BrowserSession | SessionSecret) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__slots__}

"""Browser sessions: a signed cookie whose session is in the database, so that a logout ends it.

The secrets that sign are changed once a day; a cookie is good under any of them that may have
signed it. A cookie that no secret has signed never reaches the database.
"""

import hashlib
import secrets
import time
from dataclasses import replace

from itsdangerous import BadSignature, Signer

from turnstream.server.callers.principal import Principal
from turnstream.server.extensions.users.credentials import (
    BrowserSession,
    CredentialStore,
    SessionSecret,
)
from turnstream.server.extensions.users.faults import Unauthenticated
from turnstream.server.extensions.users.keys import principal_of
from turnstream.server.extensions.users.remembered import Remembered
from turnstream.server.storage.also import Also

SECRET_SECONDS = 24 * 3600
"""Seconds for which a secret signs new cookies."""
RELOAD_SECONDS = 10
"""A signature that no known secret made has them loaded again, once in so long."""
MAX_COOKIE_CHARS = 200
SALT = "turnstream session"


class Sessions:
    """`seconds` is how long a session lasts; one that was begun with a key or a token ends with
    that, if it does earlier."""

    def __init__(self, store: CredentialStore, seconds: float) -> None:
        self._store = store
        self._seconds = seconds
        self._sessions = Remembered(store.session)
        self._signer = Signer([], SALT)
        self._loaded = -float(RELOAD_SECONDS)

    async def begin(self, principal: Principal, also: Also = ()) -> tuple[str, Principal]:
        """A new session's cookie, and the caller as it has them."""
        now = time.time()
        token = secrets.token_urlsafe(24)
        session = BrowserSession(
            id=_session_id(token),
            principal=principal.id,
            roles=principal.roles,
            display_name=principal.display_name,
            method=principal.method,
            key_id=principal.credential,
            created_at=now,
            expires_at=min(now + self._seconds, principal.expires_at or float("inf")),
        )
        await self._store.rotate_secret(
            SessionSecret(secrets.token_urlsafe(32), now),
            newest_before=now - SECRET_SECONDS,
            oldest=now - SECRET_SECONDS - self._seconds,
        )
        await self._load()
        await self._store.begin_session(session, also)
        return self._signer.sign(token).decode(), _principal(session, principal)

    async def authenticate(self, cookie: str) -> Principal:
        """Raises Unauthenticated, StorageUnavailable."""
        found = await self._sessions.get(_session_id(await self._token(cookie)))
        if found is None:
            raise Unauthenticated("the session has ended")
        session, key = found
        now = time.time()
        if session.expires_at <= now or (session.key_id and not (key and key.is_valid(now))):
            raise Unauthenticated("the session has expired")
        return _principal(session, principal_of(key) if key else _by_itself(session))

    async def end(self, principal: Principal, also: Also = ()) -> None:
        if principal.session:
            await self._store.end_session(principal.session, also)
            self._sessions.forget(principal.session)

    def forget_all(self) -> None:
        """Remember no session: they may be gone from the store."""
        self._sessions.forget_all()

    async def _token(self, cookie: str) -> str:
        if len(cookie) > MAX_COOKIE_CHARS:
            raise Unauthenticated("not a session's cookie")
        if not self._signer.validate(cookie) and self._may_load():
            await self._load()
        try:
            return self._signer.unsign(cookie).decode()
        except BadSignature:
            raise Unauthenticated("not a session's cookie") from None

    def _may_load(self) -> bool:
        """Another process may have a newer secret."""
        return time.monotonic() - self._loaded >= RELOAD_SECONDS

    async def _load(self) -> None:
        self._loaded = time.monotonic()
        stored = await self._store.secrets()
        self._signer = Signer([each.secret for each in stored], SALT, digest_method=hashlib.sha256)


def _session_id(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _principal(session: BrowserSession, principal: Principal) -> Principal:
    return replace(principal, session=session.id, expires_at=session.expires_at)


def _by_itself(session: BrowserSession) -> Principal:
    """The caller as the login had them: nobody else keeps them."""
    return Principal(
        session.principal,
        session.roles,
        session.display_name,
        session.method,  # type: ignore[arg-type]
    )

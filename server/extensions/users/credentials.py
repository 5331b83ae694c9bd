"""Stored credentials: API keys and browser sessions, never their secrets themselves."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from turnstream.server.storage.also import Also


@dataclass(frozen=True, slots=True)
class ApiKey:
    """Times are Unix times."""

    id: str
    """Public: the part of the key that lists and logs show."""
    principal: str
    role: str | None
    digest: str
    """SHA-256 of the key, in hex."""
    created_at: float
    expires_at: float | None = None
    last_used_at: float | None = None
    revoked_at: float | None = None

    def is_valid(self, now: float) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """A login by a cookie. Times are Unix times."""

    id: str
    """SHA-256 of the session's token, in hex."""
    principal: str
    roles: tuple[str, ...]
    display_name: str
    method: str
    key_id: str | None
    """The API key that it was begun with: it ends with that."""
    created_at: float
    expires_at: float


@dataclass(frozen=True, slots=True)
class SessionSecret:
    secret: str
    created_at: float


class CredentialStore(Protocol):
    """Every method is one transaction, and raises StorageUnavailable if that cannot be done.
    `also` are writes that join the transaction."""

    async def add_key(self, key: ApiKey, also: Also = ()) -> None: ...

    async def key(self, key_id: str) -> ApiKey | None: ...

    async def keys(self) -> Sequence[ApiKey]:
        """All of them, the oldest first."""

    async def revoke_key(self, key_id: str, now: float, also: Also = ()) -> bool:
        """Revoke a key; its sessions end with it. False: there is no such key that was not revoked
        yet, and nothing is recorded."""

    async def note_use(self, key_id: str, now: float) -> None: ...

    async def begin_session(self, session: BrowserSession, also: Also = ()) -> None:
        """Store it, and forget those that have expired by then."""

    async def session(self, session_id: str) -> tuple[BrowserSession, ApiKey | None] | None:
        """A session and the key that it was begun with."""

    async def end_session(self, session_id: str, also: Also = ()) -> None: ...

    async def secrets(self) -> Sequence[SessionSecret]:
        """Return the secrets that sign cookies, the oldest first."""

    async def rotate_secret(
        self, added: SessionSecret, newest_before: float, oldest: float
    ) -> None:
        """Add the secret if the newest is from before a time; drop those from before another."""

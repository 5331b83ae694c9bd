"""API keys: `ts_{id}_{secret}`. A key is shown once, when it is made.

The database has its SHA-256: a slow hash protects short secrets, and these are 256 random bits.
"""

import asyncio
import hashlib
import re
import secrets
import time
from hmac import compare_digest

from turnstream.server.callers.principal import Principal, check_id
from turnstream.server.extensions.users.credentials import ApiKey, CredentialStore
from turnstream.server.extensions.users.faults import Unauthenticated
from turnstream.server.extensions.users.remembered import Remembered
from turnstream.server.storage.interfaces import StorageUnavailable

PREFIX = "ts_"
_KEY = re.compile(r"ts_([0-9a-f]{12})_([A-Za-z0-9-]{43,44})")
USE_SECONDS = 60
"""The time of a key's last use is stored once in so long."""


def new_key(
    principal: str, role: str | None = None, expires_at: float | None = None
) -> tuple[str, ApiKey]:
    """A key, and what is stored of it. Raises ValueError if the caller cannot have this id."""
    check_id(principal)
    id = secrets.token_hex(6)
    # No underscore in the secret: a double click selects the whole key, and the parts are clear.
    text = f"{PREFIX}{id}_{secrets.token_urlsafe(32).replace('_', '-')}"
    return text, ApiKey(id, principal, role, _digest(text), time.time(), expires_at)


def principal_of(key: ApiKey) -> Principal:
    return Principal(
        key.principal,
        roles=(key.role,) if key.role else (),
        display_name=key.principal,
        method="key",
        credential=key.id,
        expires_at=key.expires_at,
    )


class ApiKeys:
    """Recognises API keys."""

    def __init__(self, store: CredentialStore) -> None:
        self._store = store
        self._keys = Remembered(store.key)
        self._noted: dict[str, float] = {}
        """When the last use of a key was stored, on the monotonic clock."""
        self._notes: set[asyncio.Task[None]] = set()

    def takes(self, credential: str) -> bool:
        return credential.startswith(PREFIX)

    def forget_all(self) -> None:
        """Remember no key: they may be gone from the store."""
        self._keys.forget_all()

    async def authenticate(self, credential: str) -> Principal:
        """Raises Unauthenticated, StorageUnavailable."""
        parts = _KEY.fullmatch(credential)
        if parts is None:
            raise Unauthenticated("not the form of an API key")
        key, digest = self._keys.peek(parts[1]), _digest(credential)
        if key is None or not compare_digest(key.digest, digest):
            # Whatever is wrong is refused after one look into the database.
            key = await self._keys.look_up(parts[1])
            stored = key.digest if key else _digest("")
            if not compare_digest(stored, digest) or key is None:
                raise Unauthenticated("no such API key")
        if not key.is_valid(time.time()):
            raise Unauthenticated(f"API key {key.id} is revoked or has expired")
        self._note_use(key.id)
        return principal_of(key)

    def _note_use(self, key_id: str) -> None:
        now = time.monotonic()
        if now - self._noted.get(key_id, -USE_SECONDS) < USE_SECONDS:
            return
        self._noted[key_id] = now
        task = asyncio.create_task(self._store_use(key_id))
        self._notes.add(task)
        task.add_done_callback(self._notes.discard)

    async def _store_use(self, key_id: str) -> None:
        try:
            await self._store.note_use(key_id, time.time())
        except StorageUnavailable:
            self._noted.pop(key_id, None)  # The next use is as good.


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()

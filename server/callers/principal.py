"""The principal: a caller who was recognised."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from turnstream.server.turns.header import LOCAL_OWNER
from turnstream.tools.strict_json import clean_text

MAX_ID_CHARS = 255

Method = Literal["off", "key", "token", "proxy", "function", "approval", "queue"]
"""The way in which a caller was recognised: authentication is off; an API key; a JWT; headers of a
trusted proxy; a function of the user's own. Or another person, who may do so, has approved a call
of theirs; or a request of theirs has waited for its turn."""


@dataclass(frozen=True, slots=True)
class Principal:
    """Raises ValueError if `id` is empty, too long, reserved or has control characters."""

    id: str
    """Unique among all callers, and the owner of their threads. Whoever comes with the same id by
    another method is the same person."""
    roles: tuple[str, ...] = ()
    display_name: str = ""
    method: Method = "off"
    credential: str | None = None
    """The public id of the API key in use."""
    session: str | None = None
    """The public id of the browser session in use."""
    expires_at: float | None = None
    """Unix time at which the credentials end."""
    token: str | None = field(default=None, repr=False, compare=False)
    """The JWT that the caller came with, or the token that the user's own function found; for
    servers of tools that are told it. Never stored."""

    user: Any = field(default=None, repr=False, compare=False)
    """The user as the user's own function returned them, for rules of theirs."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    """Headers of the request that a langgraph.json gives to its graphs."""

    def __post_init__(self) -> None:
        if self.method != "off":
            check_id(self.id)
        # An issuer or a function of the user's may give half a surrogate pair, which no UTF-8 has.
        object.__setattr__(self, "display_name", clean_text(self.display_name))
        object.__setattr__(self, "roles", tuple(map(clean_text, self.roles)))

    @property
    def owner(self) -> str:
        return self.id


LOCAL = Principal(LOCAL_OWNER)
"""The one caller there is while authentication is off."""


def check_id(id: str) -> None:
    """Raises ValueError if this cannot be the id of a caller who was authenticated."""
    if id == LOCAL_OWNER:
        raise ValueError(f"{LOCAL_OWNER!r} is the owner of threads made without authentication")
    if not 1 <= len(id) <= MAX_ID_CHARS or not id.isprintable() or id != id.strip():
        raise ValueError(f"a caller's id has 1 to {MAX_ID_CHARS} printable characters")

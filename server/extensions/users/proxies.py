"""Callers that a reverse proxy has logged in: oauth2-proxy, Authelia and the like.

Such a proxy names the caller in a header. Anybody can send a header, so it counts only if it comes
straight from a trusted proxy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from turnstream.server.callers.addresses import Network, is_within
from turnstream.server.callers.principal import Principal
from turnstream.server.extensions.users.faults import Unauthenticated


@dataclass(frozen=True, slots=True)
class ProxyHeaders:
    """The names of headers, lowercase; groups become roles."""

    user_header: str
    groups_header: str
    trusted: Sequence[Network]

    def authenticate(self, peer: str, headers: Mapping[str, str]) -> Principal | None:
        """None: no trusted proxy names anybody. Raises Unauthenticated for an id that cannot be."""
        if not headers.get(self.user_header, "").strip() or not is_within(peer, self.trusted):
            return None
        try:
            user = _decoded(headers[self.user_header]).strip()
            groups = _decoded(headers.get(self.groups_header, "")).split(",")
            roles = tuple(group.strip() for group in groups if group.strip())
            return Principal(user, roles, user, "proxy")
        except ValueError as error:
            raise Unauthenticated(str(error)) from None


def _decoded(value: str) -> str:
    """A header's UTF-8, which HTTP libraries read as Latin-1. Raises ValueError."""
    return value.encode("latin-1").decode()

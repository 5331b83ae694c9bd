"""Callers that a reverse proxy has logged in: oauth2-proxy, Authelia and the like.

Such a proxy names the caller in a header. Anybody can send a header, so it counts only if it comes
straight from a trusted proxy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from turnstream.server.callers.principal import Principal, Unauthenticated

Network = IPv4Network | IPv6Network


def networks(names: Sequence[str]) -> tuple[Network, ...]:
    """Raises ValueError for what is not an address or a network such as 10.0.0.0/8."""
    return tuple(ip_network(name, strict=False) for name in names)


def unmapped(address: str) -> str:
    """`::ffff:10.0.0.1`, as a socket for both families has it, is 10.0.0.1."""
    try:
        ip = ip_address(address)
    except ValueError:
        return address
    return str(getattr(ip, "ipv4_mapped", None) or ip)


def is_within(address: str, trusted: Sequence[Network]) -> bool:
    try:
        ip = ip_address(unmapped(address))
    except ValueError:
        return False
    return any(ip in network for network in trusted)


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

"""Callers that a reverse proxy has logged in: oauth2-proxy, Authelia and the like.

Such a proxy names the caller in a header. Anybody can send a header, so it counts only if it comes
straight from a trusted proxy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from server.users.principal import Principal, Unauthenticated

Network = IPv4Network | IPv6Network


def networks(names: Sequence[str]) -> tuple[Network, ...]:
    """Raises ValueError for what is not an address or a network such as 10.0.0.0/8."""
    return tuple(ip_network(name, strict=False) for name in names)


def is_within(address: str, trusted: Sequence[Network]) -> bool:
    try:
        ip = ip_address(address)
    except ValueError:
        return False
    mapped = getattr(ip, "ipv4_mapped", None)
    return any((mapped or ip) in network for network in trusted)


@dataclass(frozen=True, slots=True)
class ProxyHeaders:
    """The names of headers, lowercase; groups become roles."""

    user_header: str
    groups_header: str
    trusted: Sequence[Network]

    def authenticate(self, peer: str, headers: Mapping[str, str]) -> Principal | None:
        """None: no trusted proxy names anybody. Raises Unauthenticated for an id that cannot be."""
        user = headers.get(self.user_header, "").strip()
        if not user or not is_within(peer, self.trusted):
            return None
        groups = headers.get(self.groups_header, "").split(",")
        roles = tuple(group.strip() for group in groups if group.strip())
        try:
            return Principal(user, roles, user, "proxy")
        except ValueError as error:
            raise Unauthenticated(str(error)) from None

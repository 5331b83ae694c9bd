"""Addresses of clients and proxies: their networks, and the addresses that count as one client."""

from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Network = IPv4Network | IPv6Network

IPV6_PREFIX = 64
"""Bits of an IPv6 address that one client cannot choose."""


def client_at(address: str) -> str:
    """The address, or of IPv6 its network; one that cannot be read is a client of its own."""
    try:
        ip = ip_address(address.partition("%")[0])
    except ValueError:
        return address[:64]
    if not isinstance(ip, IPv6Address):
        return str(ip)
    if ip.ipv4_mapped:
        return str(ip.ipv4_mapped)
    return str(ip_network(f"{ip}/{IPV6_PREFIX}", strict=False))


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

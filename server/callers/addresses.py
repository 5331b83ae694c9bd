"""The addresses that count as one client."""

from ipaddress import IPv6Address, ip_address, ip_network

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

"""Which IP addresses belong to the public internet."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

_GLOBAL_UNICAST_6 = IPv6Network("2000::/3")
_REFUSED_4 = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/3",
        # The metadata and DNS service that a cloud (Azure) gives its machines at an otherwise public address.
        "168.63.129.16/32",
    )
)  # fmt: skip
"""IPv4 networks that are no public destination. Python's own table differs between its releases."""
_REFUSED_6 = tuple(
    IPv6Network(text)
    for text in (
        # Special purposes (Teredo, ORCHID, benchmarks), documentation twice, 6to4, which embeds any IPv4 address.
        "2001::/23", "2001:db8::/32", "3fff::/20", "2002::/16",
    )
)  # fmt: skip
"""Parts of the global unicast space that are no public destination."""


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Return whether an address belongs to the public internet: global unicast, without special purpose.

    Addresses that embed an IPv4 address (mapped, NAT64, 6to4, Teredo) are refused in any case.
    """
    if isinstance(address, IPv4Address):
        return address.is_global and not any(address in network for network in _REFUSED_4)
    return address in _GLOBAL_UNICAST_6 and not any(address in network for network in _REFUSED_6)

"""Hosts that are not the public internet, told from their spelling; nothing is resolved here.

The HTTP client judges the resolved address again; this is the gate's look at what a call says that
it will fetch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from hermes_core.patterns import lazy

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

HostRisk: TypeAlias = Literal["", "private", "metadata", "invalid"]

_METADATA_NAMES = frozenset({"metadata", "metadata.google.internal", "metadata.goog"})
_METADATA = ("169.254.0.0/16", "100.100.100.200/32", "fd00:ec2::254/128")
"""Where AWS, Google, Azure and Alibaba hand out a machine's credentials, as they document it."""
_NAT64 = "64:ff9b::/96"  # RFC 6052
_PRIVATE_NAME = lazy(r"localhost|.+\.(?:localhost|local|internal|lan|home\.arpa)|[^.:]+")
_NUMBER = lazy(r"0x[0-9a-f]+|[0-9]+")


def host_risk(target: str) -> HostRisk:
    """What kind of place a URL or host names; "" is the public internet."""
    from ipaddress import ip_network
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(target if "://" in target else f"//{target}")
        host = (parts.hostname or "").rstrip(".")
        address = _address(host)
    except ValueError:
        return "invalid"
    if not host or parts.scheme not in ("", "http", "https", "ws", "wss"):
        return "invalid"
    if host in _METADATA_NAMES:
        return "metadata"
    if address is None:
        return "private" if _PRIVATE_NAME.fullmatch(host) else ""
    if any(address in ip_network(network) for network in _METADATA):
        return "metadata"
    special = not address.is_global or address.is_multicast or address.is_reserved
    return "private" if special else ""


def _address(host: str) -> IPv4Address | IPv6Address | None:
    """The address that ``host`` spells, an embedded IPv4 one unwrapped; None for a name."""
    from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

    if ":" not in host:
        numbers = host.split(".")
        spelled = len(numbers) <= 4 and all(_NUMBER.fullmatch(part) for part in numbers)
        return _spelled_ipv4(numbers) if spelled else None
    address = ip_address(host.split("%")[0])
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped:
            return address.ipv4_mapped
        if address in ip_network(_NAT64):
            return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def _spelled_ipv4(numbers: list[str]) -> IPv4Address:
    """An IPv4 address as ``inet_aton`` reads it: decimal, octal, hexadecimal, fewer than four parts."""
    from ipaddress import IPv4Address

    *high, low = [
        int(part, 16) if part.startswith("0x") else int(part, 8 if part[0] == "0" else 10)
        for part in numbers
    ]
    value = low
    for place, number in enumerate(high):
        value += number << (24 - 8 * place)
    return IPv4Address(value)

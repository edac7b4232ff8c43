"""Decides where a registered URL may lead: what it names is a request that the server makes."""

import ipaddress

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

METADATA = frozenset(
    ipaddress.ip_address(each) for each in ("100.100.100.200", "fd00:ec2::254", "168.63.129.16")
)
"""Where clouds hand out credentials, beside 169.254.0.0/16."""

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


def is_allowed(text: str, *, private: bool) -> bool:
    """Whether the address (without a zone) may be connected to.

    Never those that are link-local, multicast, unspecified, reserved or a cloud's metadata;
    loopback and private networks only with ``private``.
    """
    address = _meant(ipaddress.ip_address(text.partition("%")[0]))
    if address in METADATA or _is_never_a_module(address):
        return False
    return private or address.is_global


def _is_never_a_module(address: Address) -> bool:
    # To Python ::1 is reserved.
    reserved = address.is_reserved and not address.is_loopback
    return address.is_link_local or address.is_multicast or address.is_unspecified or reserved


def _meant(address: Address) -> Address:
    """The IPv4 address that an IPv6 one leads to, if it does."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour or address

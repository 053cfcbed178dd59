"""IP addresses and prefixes, parsed and printed like Go's net package.

A missing address is not an error: it prints as `<nil>`.

Mirrors: net ParseIP, ParseCIDR, IP.String, IPNet.String; utils/net ParseIPSloppy; pkg/types IPNet
"""

from __future__ import annotations

import ipaddress
import re
import socket
from typing import Final
from urllib.parse import urlsplit

from kubesim.values import value_object

_LEADING_ZEROS = re.compile(r"\b0+(?=[0-9])")
_MAPPED = bytes(10) + b"\xff\xff"


def parse_ip(text: str) -> bytes | None:
    """The 16 bytes of an IP address, or None for any other text (net.ParseIP). IPv4 becomes an IPv4-mapped IPv6
    address.
    """
    try:
        if ":" in text:
            return socket.inet_pton(socket.AF_INET6, text)
        return _MAPPED + socket.inet_pton(socket.AF_INET, text)
    except (OSError, ValueError):
        return None


def parse_ip_sloppy(text: str) -> bytes | None:
    """Parse an address like the kubelet: IPv4 octets may have leading zeros and are decimal (netutils
    ParseIPSloppy)."""
    return parse_ip(text if ":" in text else _LEADING_ZEROS.sub("", text))


def is_ipv4(address: bytes) -> bool:
    return address.startswith(_MAPPED)


def ip_text(address: bytes) -> str:
    if address.startswith(_MAPPED):
        return socket.inet_ntop(socket.AF_INET, address[12:])
    return str(ipaddress.IPv6Address(address))


def url_problem(url: str) -> str:
    """Why a URL cannot be fetched; empty if its host and port are well-formed."""
    if any(character <= " " or character == "\x7f" for character in url):
        return "it has a space or a control character"
    try:
        parts = urlsplit(url)
    except ValueError:
        return "its host is malformed"
    try:
        port = parts.port
    except ValueError:
        port = 0
    if port == 0:
        return "its port is not a number from 1 to 65535"
    if not parts.hostname:
        return "it has no host"
    return "its host is malformed" if "%" in parts.hostname and not parts.hostname.count(":") else ""


@value_object
class IP:
    """An address, like a non-nil net.IP."""

    packed: bytes

    @property
    def is_ipv4(self) -> bool:
        return is_ipv4(self.packed)

    def __str__(self) -> str:
        return ip_text(self.packed)


@value_object
class IPNet:
    """An address with a prefix length, like net.IPNet; the zero value has no address."""

    ip: IP | None = None
    prefix: int = 0

    @property
    def is_ipv4(self) -> bool:
        return self.ip is not None and self.ip.is_ipv4

    def __str__(self) -> str:
        return "<nil>" if self.ip is None else f"{self.ip}/{self.prefix}"


NO_NET: Final = IPNet()


def ip_from_text(text: str) -> IP | None:
    """Parse an address like net.IP.UnmarshalText: empty text is no address."""
    if not text:
        return None
    packed = parse_ip(text)
    if packed is None:
        raise ValueError(f"invalid IP address: {text}")
    return IP(packed)


def parse_cidr(text: str) -> IPNet:
    """Parse `10.2.3.1/24` without masking the address."""
    address, slash, prefix = text.partition("/")
    packed = parse_ip(address)
    if not slash or packed is None or not prefix.isascii() or not prefix.isdigit():
        raise ValueError(f"invalid CIDR address: {text}")
    bits = 128 if ":" in address else 32
    if len(prefix) > 8 or int(prefix) > bits:
        raise ValueError(f"invalid CIDR address: {text}")
    length = int(prefix)
    if bits == 128 and is_ipv4(packed):
        length = max(0, length - 96)  # a mapped address prints as IPv4, and so does its mask
    return IPNet(IP(packed), length)

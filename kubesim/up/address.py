"""Restricts the served address to loopback, unless the user allows others."""

from __future__ import annotations

from ipaddress import ip_address

from kubesim.errors import UsageError


def check_address(host: str, *, allowed: bool, flag: str = "--listen") -> None:
    """Raises UsageError for an address that is not allowed."""
    if allowed or is_loopback_host(host):
        return
    raise UsageError(
        f"{flag} {host}: other machines could reach it: add --allow-remote if they may, or listen on 127.0.0.1"
    )


def is_loopback_host(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"

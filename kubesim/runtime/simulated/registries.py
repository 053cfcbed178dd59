"""containerd's errors for failed pulls.

Remote registries exist and contain every image, unless the scenario configures it otherwise. The node has no local
registry: connections to loopback are refused.

Mirrors: containerd remotes/docker (resolver.go Resolve, MatchLocalhost), pkg/cri/server/image_pull.go defaultScheme.
"""

from __future__ import annotations

import ipaddress
from functools import lru_cache

from kubesim.api.images import DEFAULT_DOMAIN, parse_normalized

HTTP_PORT = 80


@lru_cache(maxsize=4096)
def connection_refused(image: str) -> str:
    """The error of the pull; empty if the registry is not at a loopback address."""
    reference = parse_normalized(image)
    authority, _, repository = reference.name.partition("/")
    host, port = _host_and_port(authority)
    address = "::1" if host == "localhost" else host
    if not _is_loopback(address):
        return ""
    endpoint = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
    url = f"http://{authority}/v2/{repository}/manifests/{reference.digest or reference.tag}"
    request = f'failed to do request: Head "{url}": dial tcp {endpoint}: connect: connection refused'
    return _pull_failure(image, request)


def not_found(image: str) -> str:
    """The error of a pull if the registry does not have the image."""
    return _pull_failure(image, f"{_in_full(image)}: not found")


def unauthorized(image: str, has_credentials: bool) -> str:
    """The error of a pull without valid credentials."""
    reference = parse_normalized(image)
    host, _, repository = reference.name.partition("/")
    if has_credentials:
        url = f"https://{host}/v2/{repository}/manifests/{reference.digest or reference.tag}"
        return _pull_failure(image, f"unexpected status from HEAD request to {url}: 401 Unauthorized")
    why = "authorization failed: no basic auth credentials"
    if host == DEFAULT_DOMAIN:
        why = "server message: insufficient_scope: authorization failed"
    return _pull_failure(image, f"pull access denied, repository does not exist or may require authorization: {why}")


def _pull_failure(image: str, cause: str) -> str:
    full = _in_full(image)
    return f'failed to pull and unpack image "{full}": failed to resolve reference "{full}": {cause}'


def _in_full(image: str) -> str:
    reference = parse_normalized(image)
    tag = f":{reference.tag}" if reference.tag else ""
    return reference.name + tag + (f"@{reference.digest}" if reference.digest else "")


def _host_and_port(authority: str) -> tuple[str, int]:
    host, colon, port = authority.rpartition(":")
    if not colon or "]" in port:
        host, port = authority, str(HTTP_PORT)
    return host.strip("[]"), int(port)


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False

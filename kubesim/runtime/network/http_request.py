"""The GET request of an httpGet action: address, URL and headers.

Used by HTTP probes and by HTTP lifecycle hooks; only the User-Agent differs (`kube-probe`, `kube-lifecycle`).

Mirrors: pkg/probe/http/request.go NewRequestForHTTPGetAction, pkg/probe/util.go ResolveContainerPort, and of Go's
net/url what a path in a manifest can reach (Parse, String).
"""

from __future__ import annotations

import re
from urllib.parse import quote, unquote_to_bytes, urljoin, urlsplit

from kubesim.api.pod import Container, HTTPGetAction, HTTPHeader
from kubesim.errors import KubesimError
from kubesim.features.rules import DEFAULT_RULES, Rules
from kubesim.golang.text import quoted
from kubesim.runtime.network.node_network import NodeRequest, join_host_port

KUBELET_VERSION = "1.36"

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_VALID_PATH = re.compile(r"[A-Za-z0-9\-_.~$&+,/:;=@!'()*\[\]%]*")
_VALID_FRAGMENT = re.compile(r"[A-Za-z0-9\-_.~$&+,/:;=?@!'()*\[\]%]*")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+\-.]*:")
_PATH_SAFE = "$&+,/:;=@"
_FRAGMENT_SAFE = _PATH_SAFE + "?!()*"


class BadRequest(KubesimError):
    """The action has no valid request; the text is the kubelet's."""


def new_request_for_http_get_action(
    action: HTTPGetAction,
    container: Container,
    pod_ip: str,
    user_agent_fragment: str,
    rules: Rules = DEFAULT_RULES,
) -> NodeRequest:
    """The request; the default host is the pod's address."""
    scheme = action.scheme.lower() or "http"
    host = action.host or pod_ip
    port = resolve_container_port(action.port, container, rules)
    target, fragment = _escaped(action.path)
    headers = _header_map(action.http_headers)
    headers.setdefault("User-Agent", [f"kube-{user_agent_fragment}/{KUBELET_VERSION}"])
    if not headers.setdefault("Accept", ["*/*"])[0]:
        del headers["Accept"]  # an empty value removes the header
    host_header = headers.pop("Host", [""])[0]
    return NodeRequest(
        scheme=scheme,
        host=host,
        port=port,
        target=target or "/",
        url=f"{scheme}://{join_host_port(host, port)}{target}{fragment}",
        headers=tuple((name, value) for name in sorted(headers) for value in headers[name]),
        host_header=host_header,
    )


def resolve_container_port(port: int | str, container: Container, rules: Rules = DEFAULT_RULES) -> int:
    """A port number from a number, a container port's name, or a number as text."""
    number = _port_number(port, container, rules) if isinstance(port, str) else port
    if 0 < number < 65536:
        return number
    raise BadRequest(f"invalid port number: {number}")


def _port_number(name: str, container: Container, rules: Rules) -> int:
    for port in container.ports:
        if port.name == name:
            return port.container_port
    if not rules.reads_port_name_as_number:
        raise BadRequest(f"port {quoted(name)} not found")
    if not _INTEGER.fullmatch(name):
        raise BadRequest(f"strconv.Atoi: parsing {quoted(name)}: invalid syntax")
    if not -(1 << 63) <= int(name) < 1 << 63:
        raise BadRequest(f"strconv.Atoi: parsing {quoted(name)}: value out of range")
    return int(name)


def _header_map(headers: tuple[HTTPHeader, ...]) -> dict[str, list[str]]:
    out: dict[str, list[str]] = {}
    for header in headers:
        out.setdefault(canonical_header(header.name), []).append(header.value)
    return out


def canonical_header(name: str) -> str:
    """`x-api-KEY` -> `X-Api-Key`; an invalid header name stays unchanged."""
    if not _TOKEN.fullmatch(name):
        return name
    return "-".join(part[:1].upper() + part[1:].lower() for part in name.split("-"))


def _escaped(path: str) -> tuple[str, str]:
    """A manifest's path in Go's format: (path with query, fragment with its #)."""
    raw, mark, fragment = path.partition("#")
    raw, asks, query = raw.partition("?")
    if _SCHEME.match(raw):  # a full URL: only its path is used; the host is the action's
        raw = raw.partition(":")[2]
    if raw.startswith("//") and not raw.startswith("///"):
        raw = "".join(raw[2:].partition("/")[1:])
    if _CONTROL.search(path.partition("#")[0]) or _BAD_ESCAPE.search(raw + mark + fragment):
        # Go cannot parse it; the kubelet then uses the whole text as path, including question marks.
        return _rooted(quote(path, safe=_PATH_SAFE)), ""
    if not _VALID_PATH.fullmatch(raw):
        raw = quote(unquote_to_bytes(raw), safe=_PATH_SAFE)
    if fragment and not _VALID_FRAGMENT.fullmatch(fragment):
        fragment = quote(unquote_to_bytes(fragment), safe=_FRAGMENT_SAFE)
    return _rooted(raw) + asks + query, f"#{fragment}" if fragment else ""


def _rooted(path: str) -> str:
    return path if not path or path.startswith("/") else "/" + path


def redirected(request: NodeRequest, location: str) -> NodeRequest:
    """The request that follows a redirect: same headers and a referer; a custom Host only for a relative location."""
    url = urljoin(request.url, location)
    try:
        parts, port = urlsplit(url), urlsplit(url).port
    except ValueError as error:
        raise BadRequest(f"failed to parse Location header {quoted(location)}: {error}") from error
    scheme = parts.scheme.lower()
    headers = request.headers
    if not request.header("Referer") and not (request.scheme == "https" and scheme == "http"):
        headers = (*headers, ("Referer", request.url))
    return NodeRequest(
        scheme=scheme,
        host=_hostname(parts.netloc),
        port=port or (443 if scheme == "https" else 80),
        target=(parts.path or "/") + (f"?{parts.query}" if parts.query else ""),
        url=url,
        headers=headers,
        host_header="" if urlsplit(location).scheme else request.host_header,
    )


def _hostname(netloc: str) -> str:
    """The host of a URL as written: urllib's own property is lower case, Go's is not."""
    host = netloc.rpartition("@")[2]
    return host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]

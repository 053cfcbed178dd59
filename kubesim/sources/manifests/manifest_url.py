"""Requests of the HTTP source, and the evaluation of responses.

`simulated_url.py` and `real_url.py` implement the requests. `UrlReader` is the pure part of the source: it parses a
response into pods and decides what to log. An invalid text is reported once; the same text again is not a failure.

Mirrors: pkg/kubelet/config/http.go sourceURL.run, extractFromURL
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from http import HTTPStatus
from typing import Protocol
from urllib.parse import urlsplit, urlunsplit

from kubesim.api.pod import Pod
from kubesim.api.timestamps import SECOND
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.sources.manifests.static_pod import Manifest, manifest_text, read_manifest
from kubesim.values import value_object

LOGGED_FAILURES = 3  # consecutive ones; the next one adds that later ones are not logged
OK = 200
REQUEST_TIMEOUT = 10 * SECOND  # for the whole exchange including the body

Header = Mapping[str, tuple[str, ...]]


class FetchError(Exception):
    """A request without a complete response; the text is that of Go's http package."""


@value_object
class UrlAnswer:
    status: int
    body: bytes = b""
    reason: str = ""

    @property
    def status_line(self) -> str:
        """The status line, such as `404 Not Found`."""
        phrase = self.reason or next((known.phrase for known in HTTPStatus if known == self.status), "")
        return f"{self.status} {phrase}".rstrip()


class ManifestUrl(Protocol):
    url: str
    is_real: bool  # its response can change without an event of the simulation

    async def get(self) -> UrlAnswer:
        """Send the request. Raises FetchError."""
        ...

    def watch(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call back when the response may have changed; call the returned function to stop."""
        ...


@value_object
class Tls:
    """Trusted CAs (the system's without a file), and the client certificate."""

    ca_file: str = ""
    cert_file: str = ""
    key_file: str = ""
    server_name: str = ""
    insecure_skip_verify: bool = False


@value_object
class UrlOptions:
    header: Header = field(default_factory=dict)
    tls: Tls = Tls()
    timeout: int = REQUEST_TIMEOUT


@value_object
class Reading:
    """The result of a response: the wanted pods (None: unknown), and messages to log."""

    pods: tuple[Pod, ...] | None = None
    note: str = ""


class UrlReader:
    """Parses responses; remembers the last text and the number of consecutive failures."""

    def __init__(self, url: str, node_name: str, gates: FeatureGates = DEFAULT_GATES) -> None:
        self._url = url
        self._shown = without_password(url)
        self._node_name = node_name
        self._gates = gates
        self._data: bytes | None = None
        self._failures = 0
        self._again_fails = False

    @property
    def is_idle(self) -> bool:
        """Whether an identical response would change nothing."""
        return self._again_fails and self._failures > LOGGED_FAILURES if self._failures else self._data is not None

    def take(self, answer: UrlAnswer | FetchError) -> Reading:
        pods, error = self._extract(answer)
        if not error:
            failed, self._failures = self._failures, 0
            return Reading(pods, "Successfully read pods from URL" if failed else "")
        note = ""
        if self._failures < LOGGED_FAILURES:
            note = f"Failed to read pods from URL: {error}"
        elif self._failures == LOGGED_FAILURES:
            note = f"Failed to read pods from URL. Dropping verbosity of this message to V(4): {error}"
        self._failures += 1
        return Reading(pods, note)

    def _extract(self, answer: UrlAnswer | FetchError) -> tuple[tuple[Pod, ...] | None, str]:
        self._again_fails = True
        if isinstance(answer, FetchError):
            return None, str(answer)
        if answer.status != OK:
            return None, f"{self._shown}: {answer.status_line}"
        if not answer.body:
            return (), f"zero-length data received from {self._shown}"
        self._again_fails = False
        if answer.body == self._data:
            return None, ""
        self._data = answer.body
        found = read_manifest(Manifest("url", self._url, self._node_name, manifest_text(answer.body)), self._gates)
        if found.error:
            return None, found.error.replace(self._url, self._shown)
        return found.pods, ""


def without_password(url: str) -> str:
    """The URL without its password, for printing."""
    parts = urlsplit(url)
    if parts.password is None:
        return url
    _, _, host = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{parts.username}:***@{host}"))

"""Authenticates and authorizes requests to a kubelet's port with the help of the API server.

A client has a certificate of the cluster's CA, or a token that the API server reviews; then the API server decides
whether the user may. Its answers are cached as long as the configuration says.

Mirrors: cmd/kubelet/app/auth.go BuildAuth; apiserver/pkg/authentication/request/union, authorization/authorizerfactory
"""

from __future__ import annotations

import hashlib
import ssl
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kubesim.clock import LoopClock
from kubesim.cluster.remote.transport import Transport
from kubesim.cluster.served.access import ApiUser, Attributes
from kubesim.errors import ApiError, UsageError
from kubesim.up.node.client import request
from kubesim.values import value_object

_TOKENS = "/apis/authentication.k8s.io/v1/tokenreviews"
_ACCESS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_CLIENT_CA = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
_ANONYMOUS = ApiUser("system:anonymous", ("system:unauthenticated",))
_MOST_CACHED = 4096


@value_object
class AccessSettings:
    """Fields `authentication` and `authorization` of a KubeletConfiguration; times in microseconds."""

    anonymous: bool
    webhook: bool
    always_allow: bool
    client_ca: str  # in PEM; empty: no client certificates
    token_ttl: int
    allowed_ttl: int
    refused_ttl: int


async def access_settings(values: Mapping[str, Any], transport: Transport) -> AccessSettings:
    """The settings of a configuration. Without a file of its own, the kubelet uses the client CA that the API server
    publishes. Raises UsageError."""
    file = values["authentication.x509.clientCAFile"]
    return AccessSettings(
        anonymous=bool(values["authentication.anonymous.enabled"]),
        webhook=bool(values["authentication.webhook.enabled"]),
        always_allow=values["authorization.mode"] == "AlwaysAllow",
        client_ca=_read(file) if file else await _published_ca(transport),
        token_ttl=values["authentication.webhook.cacheTTL"],
        allowed_ttl=values["authorization.webhook.cacheAuthorizedTTL"],
        refused_ttl=values["authorization.webhook.cacheUnauthorizedTTL"],
    )


def _read(file: str) -> str:
    try:
        text = Path(file).read_text()
        ssl.create_default_context(cadata=text)
    except (OSError, ValueError) as error:  # an SSLError is an OSError
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"authentication.x509.clientCAFile {file}: {why}") from None
    return text


async def _published_ca(transport: Transport) -> str:
    try:
        found = await request(transport, "get", _CLIENT_CA)
    except ApiError:
        return ""  # the cluster publishes none, or not to us
    text = (found.get("data") or {}).get("client-ca-file", "")
    try:
        ssl.create_default_context(cadata=text)
    except (ssl.SSLError, ValueError):
        return ""
    return str(text)


class KubeletAccess:
    """Decides for all nodes of a process. `clock` is the wall clock."""

    def __init__(self, settings: AccessSettings, transport: Transport, clock: LoopClock) -> None:
        self.settings = settings
        self._transport = transport
        self._clock = clock
        self._users: dict[bytes, tuple[int, ApiUser | None]] = {}
        self._decisions: dict[tuple[ApiUser, Attributes], tuple[int, bool]] = {}

    async def user(self, certificate: Mapping[str, Any] | None, authorization: str) -> ApiUser | None:
        """The user of a request; None: it is not authenticated."""
        if certificate:
            return user_of_certificate(certificate)
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() == "bearer" and token and self.settings.webhook:
            if (found := await self._user_of_token(token.strip())) is not None:
                return found
            return None  # an invalid token is refused even where anonymous requests are allowed
        return _ANONYMOUS if self.settings.anonymous else None

    async def _user_of_token(self, token: str) -> ApiUser | None:
        key = hashlib.sha256(token.encode()).digest()
        known = self._users.get(key)
        if known is not None and known[0] > self._clock.now():
            return known[1]
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
        try:
            status = (await request(self._transport, "create", _TOKENS, review)).get("status") or {}
        except ApiError:
            return None
        info, user = status.get("user") or {}, None
        if status.get("authenticated"):
            user = ApiUser(info.get("username", ""), tuple(info.get("groups") or ()))
        self._remember(self._users, key, (self._clock.now() + self.settings.token_ttl, user))
        return user

    async def allows(self, user: ApiUser, asked: Attributes) -> bool:
        """Raises ApiError if the API server does not answer."""
        if self.settings.always_allow:
            return True
        known = self._decisions.get((user, asked))
        if known is not None and known[0] > self._clock.now():
            return known[1]
        attributes = {
            "verb": asked.verb, "version": "v1", "resource": asked.resource, "subresource": asked.subresource,
            "name": asked.name,
        }  # fmt: skip
        spec = {"user": user.name, "groups": list(user.groups), "resourceAttributes": attributes}
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
        answer = await request(self._transport, "create", _ACCESS, review)
        allowed = bool((answer.get("status") or {}).get("allowed"))
        ttl = self.settings.allowed_ttl if allowed else self.settings.refused_ttl
        self._remember(self._decisions, (user, asked), (self._clock.now() + ttl, allowed))
        return allowed

    def _remember(self, cache: dict[Any, Any], key: object, value: object) -> None:
        if len(cache) >= _MOST_CACHED:
            cache.clear()
        cache[key] = value


def user_of_certificate(certificate: Mapping[str, Any]) -> ApiUser:
    """The common name is the user, organizations are the groups. Mirrors: request/x509 CommonNameUserConversion"""
    pairs = [pair for part in certificate.get("subject", ()) for pair in part]
    name = next((value for key, value in pairs if key == "commonName"), "")
    groups = [value for key, value in pairs if key == "organizationName"]
    return ApiUser(name, (*groups, "system:authenticated"))


def client_verifying(tls: Callable[[], ssl.SSLContext], client_ca: str) -> ssl.SSLContext:
    """A TLS context that asks clients for a certificate of this CA."""
    context = tls()
    if client_ca:
        context.verify_mode = ssl.CERT_OPTIONAL
        context.load_verify_locations(cadata=client_ca)
    return context

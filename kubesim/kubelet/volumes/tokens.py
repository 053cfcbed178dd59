"""Service account tokens for projected volumes: requested once, cached, and refreshed before they expire.

A token has the claims of a real one (issuer, subject, audience, times, bound pod), but nothing verifies it.

Mirrors: pkg/kubelet/token/token_manager.go
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from json.encoder import encode_basestring_ascii as _quoted
from typing import Any

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.api.timestamps import SECOND
from kubesim.errors import ApiError
from kubesim.kubelet.volumes.spec import VolumeError
from kubesim.values import value_object

MAX_AGE = 24 * 3600 * SECOND
DEFAULT_SECONDS = 3600
ISSUER = "https://kubernetes.default.svc.cluster.local"

Read = Callable[[str, str, str], ApiObject]  # kind, namespace, name; asks the API server, raises ApiError
_Kind = tuple[str, int]  # audience, seconds


@value_object
class _Token:
    text: str
    issued: int
    expires: int

    def requires_refresh(self, now: int) -> bool:
        """Whether 80 % of the token's lifetime has passed, or a day."""
        return now > min(self.issued + MAX_AGE, self.expires - (self.expires - self.issued) // 5)


class TokenManager:
    def __init__(self, now: Callable[[], int], read: Read) -> None:
        self._now = now
        self._read = read
        self._tokens: dict[str, dict[_Kind, _Token]] = {}  # by pod UID

    def get(self, pod: Pod, source: Mapping[str, Any]) -> str:
        """The token. Raises VolumeError."""
        seconds = source.get("expirationSeconds") or DEFAULT_SECONDS
        kind = (source.get("audience") or "", seconds)
        tokens, now = self._tokens.setdefault(pod.metadata.uid, {}), self._now()
        known = tokens.get(kind)
        if known is not None and not known.requires_refresh(now):
            return known.text
        try:
            self._read("ServiceAccount", pod.metadata.namespace, pod.spec.service_account_name)
        except ApiError as error:
            if known is None:
                raise VolumeError(f"failed to fetch token: {error}") from None
            if now > known.expires:
                name = f'"{pod.spec.service_account_name}"/"{pod.metadata.namespace}"'
                raise VolumeError(f"token {name} expired and refresh failed: {error}") from None
            return known.text
        token = _Token(_signed(pod, kind[0] or ISSUER, now, seconds), now, now + seconds * SECOND)
        tokens[kind] = token
        return token.text

    def forget(self, uid: str) -> None:
        """Remove the tokens of a deleted pod."""
        self._tokens.pop(uid, None)


def _signed(pod: Pod, audience: str, now: int, seconds: int) -> str:
    metadata, account = pod.metadata, pod.spec.service_account_name
    bound = (
        f'{{"namespace": {_quoted(metadata.namespace)}, '
        f'"pod": {{"name": {_quoted(metadata.name)}, "uid": {_quoted(metadata.uid)}}}, '
        f'"serviceaccount": {{"name": {_quoted(account)}}}}}'
    )
    claims = (  # hand-written for speed: an encoder takes ten times as long, and every pod has a token
        f'{{"aud": [{_quoted(audience)}], "exp": {now // SECOND + seconds}, "iat": {now // SECOND}, '
        f'"iss": {_quoted(ISSUER)}, "kubernetes.io": {bound}, '
        f'"sub": {_quoted(f"system:serviceaccount:{metadata.namespace}:{account}")}}}'
    )
    body = f"{_HEADER}.{_encoded(claims.encode())}"
    return f"{body}.{_encoded(hashlib.sha256(body.encode()).digest())}"


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


_HEADER = _encoded(b'{"alg":"none"}')

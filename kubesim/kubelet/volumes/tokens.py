"""Service account tokens for projected volumes: requested once, cached, and refreshed before they expire.

A token has the claims of a real one (issuer, subject, audience, times, bound pod). In the process of the cluster it is
signed with the cluster's key, as by the API server; elsewhere no API server accepts it.

Mirrors: pkg/kubelet/token/token_manager.go
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from json.encoder import encode_basestring_ascii as _quoted
from typing import Any

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.api.pods.signed_token import ISSUER
from kubesim.api.timestamps import SECOND
from kubesim.errors import ApiError
from kubesim.kubelet.volumes.spec import VolumeError
from kubesim.values import value_object

MAX_AGE = 24 * 3600 * SECOND
DEFAULT_SECONDS = 3600

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
    def __init__(self, now: Callable[[], int], read: Read, sign: Callable[[str], str]) -> None:
        self._now = now
        self._read = read
        self._sign = sign
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
            account = self._read("ServiceAccount", pod.metadata.namespace, pod.spec.service_account_name)
        except ApiError as error:
            if known is None:
                raise VolumeError(f"failed to fetch token: {error}") from None
            if now > known.expires:
                name = f'"{pod.spec.service_account_name}"/"{pod.metadata.namespace}"'
                raise VolumeError(f"token {name} expired and refresh failed: {error}") from None
            return known.text
        claims = _claims(pod, account.metadata.uid, kind[0] or ISSUER, (now // SECOND, seconds))
        token = _Token(self._sign(claims), now, now + seconds * SECOND)
        tokens[kind] = token
        return token.text

    def forget(self, uid: str) -> None:
        """Remove the tokens of a deleted pod."""
        self._tokens.pop(uid, None)


def _claims(pod: Pod, account_uid: str, audience: str, times: tuple[int, int]) -> str:
    metadata, account, (now, seconds) = pod.metadata, pod.spec.service_account_name, times
    bound = (
        f'{{"namespace": {_quoted(metadata.namespace)}, '
        f'"pod": {{"name": {_quoted(metadata.name)}, "uid": {_quoted(metadata.uid)}}}, '
        f'"serviceaccount": {{"name": {_quoted(account)}, "uid": {_quoted(account_uid)}}}}}'
    )
    return (  # hand-written for speed: an encoder takes ten times as long, and every pod has a token
        f'{{"aud": [{_quoted(audience)}], "exp": {now + seconds}, "iat": {now}, '
        f'"iss": {_quoted(ISSUER)}, "kubernetes.io": {bound}, "nbf": {now}, '
        f'"sub": {_quoted(f"system:serviceaccount:{metadata.namespace}:{account}")}}}'
    )

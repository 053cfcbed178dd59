"""Service account tokens as text: claims with a signature, as a JSON web token.

The cluster that verifies a token also signed it, so the algorithm is HS256 with one secret key: no public key exists.
Without a key nothing is valid.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from functools import lru_cache
from typing import Any

ISSUER = "https://kubernetes.default.svc"
LEGACY_ISSUER = "kubernetes/serviceaccount"
KEY_BYTES = 32
ALGORITHM = "HS256"


class TokenError(Exception):
    """Why a token is not valid. Empty: it is no token of a service account."""


def signed(claims: str, key: bytes) -> str:
    """The token with these claims, which are JSON."""
    body = f"{_header(key)}.{_encoded(claims.encode())}"
    return f"{body}.{_signature(body, key)}"


def verified(token: str, key: bytes) -> dict[str, Any]:
    """The claims of a token with a valid signature. Raises TokenError.

    Mirrors: pkg/serviceaccount/jwt.go AuthenticateToken, hasCorrectIssuer
    """
    if token.count(".") != 2 or not token.isascii():
        raise TokenError
    body, _, signature = token.rpartition(".")
    header, _, claims = body.partition(".")
    found, about = _decoded(claims), _decoded(header)
    if found.get("iss") not in (ISSUER, LEGACY_ISSUER) or not about:
        raise TokenError
    if about.get("kid", "") not in ("", _key_id(key)):
        raise TokenError("invalid signature, no keys found")
    authentic = hmac.compare_digest(signature.encode(), _signature(body, key).encode())
    if not (key and authentic and about.get("alg") == ALGORITHM):
        raise TokenError("go-jose/go-jose: error in cryptographic primitive")
    return found


def _decoded(part: str) -> dict[str, Any]:
    """The JSON object in a part of a token; empty if there is none."""
    try:
        value = json.loads(base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _signature(body: str, key: bytes) -> str:
    return _encoded(hmac.digest(key, body.encode(), "sha256"))


@lru_cache(maxsize=8)
def _header(key: bytes) -> str:
    return _encoded(json.dumps({"alg": ALGORITHM, "kid": _key_id(key)}, separators=(",", ":")).encode())


def _key_id(key: bytes) -> str:
    return _encoded(hashlib.sha256(b"key of service account tokens: " + key).digest())


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")

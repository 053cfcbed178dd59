"""Credentials for an image from a pod's pull secrets.

A secret of type kubernetes.io/dockerconfigjson or kubernetes.io/dockercfg lists registries or registry paths, each with
user and password. All entries that match an image are tried, more specific ones first.

Mirrors: pkg/credentialprovider (keyring.go BasicDockerKeyring, config.go DockerConfigEntry, secrets/secrets.go
MakeDockerKeyring)
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from kubesim.api.configuration import configuration
from kubesim.api.images import DEFAULT_DOMAIN, parse_normalized
from kubesim.api.meta import ApiObject
from kubesim.errors import KubesimError
from kubesim.values import value_object

_CONFIG_JSON = ("kubernetes.io/dockerconfigjson", ".dockerconfigjson")
_CONFIG = ("kubernetes.io/dockercfg", ".dockercfg")
_DEFAULT_DOMAIN_ENTRY = "index.docker.io"


class InvalidPullSecret(KubesimError):
    """A pull secret that cannot be decoded: no image can be pulled with it."""


@value_object
class PullSecret:
    """The origin of a credential, and its hash."""

    uid: str
    namespace: str
    name: str
    credential_hash: str

    def is_at(self, other: PullSecret) -> bool:
        return (self.uid, self.namespace, self.name) == (other.uid, other.namespace, other.name)


@value_object
class AuthConfig:
    username: str
    password: str
    source: PullSecret


def lookup_pull_credentials(image: str, secrets: Iterable[ApiObject]) -> tuple[AuthConfig, ...]:
    """The credentials for an image in the order they are tried. Raises InvalidPullSecret."""
    by_registry: dict[str, list[AuthConfig]] = {}
    for secret in secrets:
        for registry, entry in _entries(secret):
            by_registry.setdefault(_key(registry), []).append(_auth_config(secret, entry))
    if not by_registry:
        return ()
    repository = parse_normalized(image).name
    # Sorted in reverse, so that a path precedes its registry.
    found = [
        auth
        for registry in sorted(by_registry, reverse=True)
        if _matches(registry, repository)
        for auth in by_registry[registry]
    ]
    if not found and repository.startswith(f"{DEFAULT_DOMAIN}/"):
        found = by_registry.get(_DEFAULT_DOMAIN_ENTRY, [])
    return tuple(found)


def _entries(secret: ApiObject) -> list[tuple[str, Mapping[str, Any]]]:
    kind = secret.extra.get("type", "")
    for wanted, key in (_CONFIG_JSON, _CONFIG):
        text = configuration(secret).get(key) if kind == wanted else None
        if text:
            try:
                content = json.loads(text)
                auths = content.get("auths") if wanted == _CONFIG_JSON[0] else content
                return list((auths or {}).items())
            except (ValueError, AttributeError) as error:
                raise InvalidPullSecret(f"secret {secret.metadata.name}: {error}") from None
    return []


def _key(registry: str) -> str:
    """The lookup key: `https://host/v1/` becomes the host; other paths stay."""
    registry = registry.removeprefix("https://").removeprefix("http://")
    host, slash, path = registry.partition("/")
    path = slash + path
    if path.startswith(("/v1/", "/v2/")):
        path = path[3:]
    return host if path in ("", "/") else host + path


def _auth_config(secret: ApiObject, entry: Mapping[str, Any]) -> AuthConfig:
    username, password = entry.get("username", ""), entry.get("password", "")
    if entry.get("auth"):
        username, password = _decoded(secret, entry["auth"])
    shown = {"username": username, "password": password, "email": entry.get("email", "")}
    digest = hashlib.sha256(json.dumps({key: value for key, value in shown.items() if value}).encode()).hexdigest()
    metadata = secret.metadata
    return AuthConfig(username, password, PullSecret(metadata.uid, metadata.namespace, metadata.name, digest))


def _decoded(secret: ApiObject, auth: str) -> tuple[str, str]:
    try:
        text = base64.b64decode(auth + "=" * (-len(auth) % 4), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise InvalidPullSecret(f"secret {secret.metadata.name}: {error}") from None
    username, colon, password = text.partition(":")
    if not colon:
        raise InvalidPullSecret("unable to parse auth field, must be formatted as base64(username:password)")
    return username, password


def _matches(registry: str, repository: str) -> bool:
    """Parts of the host may be globs; ports must be equal; the path must be a prefix."""
    host, _, path = registry.partition("/")
    image_host, _, image_path = repository.partition("/")
    name, _, port = host.partition(":")
    image_name, _, image_port = image_host.partition(":")
    parts, image_parts = name.split("."), image_name.split(".")
    if port != image_port or len(parts) != len(image_parts) or not image_path.startswith(path):
        return False
    return all(fnmatchcase(image_part, part) for part, image_part in zip(parts, image_parts, strict=True))

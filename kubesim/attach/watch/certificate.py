"""The organisations in a kubeconfig's client certificate, read locally: a member of system:masters has all permissions.

The permissions of a token are known only to the server, and a review request would be a write.
"""

from __future__ import annotations

import base64
import binascii
import os
import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

MASTERS = "system:masters"
_ORGANISATION = bytes.fromhex("060355040a")
_CONTEXT_0 = 0xA0

WARNING = (
    f"the client certificate is of {MASTERS}: it has all permissions, and no rule of the cluster limits it. "
    f"kubesim sends "
    "nothing but get, list and watch; use an account with the permissions that `kubesim attach --print-rbac` "
    "prints instead"
)
UNKNOWN = "these credentials are not a client certificate, so their rights cannot be checked here"


def privileges(paths: str, context: str) -> str:
    """One line about what a kubeconfig's credentials permit; empty if nothing is noteworthy."""
    try:
        certificate = _client_certificate(paths, context)
    except KeyError:
        # If the file is unusable, connecting reports the reason, unless a pod connects with its token.
        return UNKNOWN if "KUBERNETES_SERVICE_HOST" in os.environ else ""
    if certificate is None:
        return UNKNOWN
    return WARNING if MASTERS in organisations(certificate) else ""


def organisations(pem: str) -> list[str]:
    """The organisations (O) in the subject of the first certificate; none if it is unreadable."""
    try:
        end = pem.index("-----END CERTIFICATE-----") + len("-----END CERTIFICATE-----")
        der = ssl.PEM_cert_to_DER_cert(pem[pem.index("-----BEGIN") : end])
        certificate = next(_items(der))[1]
        fields = list(_items(next(_items(certificate))[1]))
        # version (optional), serial number, algorithm, issuer, validity, subject
        subject = fields[5 if fields[0][0] == _CONTEXT_0 else 4][1]
        return list(_organisations_in(subject))
    except (ValueError, IndexError, StopIteration, binascii.Error):
        return []


def _organisations_in(name: bytes) -> Iterator[str]:
    for _, relative in _items(name):
        for _, attribute in _items(relative):
            parts = list(_items(attribute))
            if attribute.startswith(_ORGANISATION) and len(parts) > 1:
                yield parts[1][1].decode("utf-8", "replace")


def _items(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The elements of a DER sequence: tag and content."""
    position = 0
    while position < len(data):
        tag, length = data[position], data[position + 1]
        position += 2
        if length & 0x80:
            size = length & 0x7F
            length = int.from_bytes(data[position : position + size], "big")
            position += size
        yield tag, data[position : position + length]
        position += length


def _client_certificate(paths: str, context: str) -> str | None:
    """The client certificate of the context. As in kubectl, the first file that defines a name wins. KeyError: the
    context or its user is not defined."""
    contexts: dict[str, Mapping[str, Any]] = {}
    users: dict[str, tuple[Mapping[str, Any], Path]] = {}
    current = context
    for path in (Path(part).expanduser() for part in paths.split(os.pathsep) if part):
        try:
            config = yaml.safe_load(path.read_text()) or {}
            current = current or str(config.get("current-context") or "")
            for entry in config.get("contexts") or ():
                contexts.setdefault(entry["name"], entry["context"])
            for entry in config.get("users") or ():
                users.setdefault(entry["name"], (entry["user"], path.parent))
        except (OSError, yaml.YAMLError, AttributeError, KeyError, TypeError, ValueError, RecursionError):
            continue
    try:
        user, folder = users[str(contexts[current].get("user"))]
        if user.get("client-certificate-data"):
            return str(base64.b64decode(user["client-certificate-data"]), "ascii", "replace")
        if user.get("client-certificate"):
            return Path(folder / user["client-certificate"]).read_text()
    except (OSError, ValueError, AttributeError, TypeError):
        return None  # connecting reports the reason
    return None

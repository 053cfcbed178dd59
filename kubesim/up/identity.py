"""Identity and access of the server: a certificate created at the start, a token, and the kubeconfig with both.

The standard library cannot write certificates, so `openssl` does. The key is in a directory that only this user can
read, and that is removed before the first connection.
"""

from __future__ import annotations

import base64
import json
import os
import ssl
import subprocess
import tempfile
from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import Path

from kubesim.errors import UsageError
from kubesim.values import value_object

CLUSTER = "kubesim"
_DAYS = 365
_NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
_ADDRESSES = ("127.0.0.1", "::1", "10.96.0.1")


@value_object
class Identity:
    """The identity of a server: its TLS context, and the certificate with which clients verify it."""

    tls: ssl.SSLContext
    certificate: str  # in PEM


def make_identity(hosts: Sequence[str] = ()) -> Identity:
    """A new key with a certificate for loopback and these hosts. Raises UsageError."""
    with tempfile.TemporaryDirectory(prefix="kubesim-") as directory:
        key, certificate = Path(directory, "tls.key"), Path(directory, "tls.crt")
        words = [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-days", str(_DAYS), "-subj", f"/CN={CLUSTER}", "-addext", f"subjectAltName={alternative_names(hosts)}",
            "-keyout", str(key), "-out", str(certificate),
        ]  # fmt: skip
        try:
            done = subprocess.run(words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        except FileNotFoundError:
            raise UsageError("openssl is not installed, and it makes the certificate of the server") from None
        if done.returncode != 0:
            problem = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise UsageError(f"openssl cannot make the certificate of the server: {problem}")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        return Identity(context, certificate.read_text())


def alternative_names(hosts: Sequence[str]) -> str:
    """The names in openssl's format; an address that means "all interfaces" is omitted."""
    names = dict.fromkeys([*_NAMES, *_ADDRESSES, *(host for host in hosts if host not in ("", "0.0.0.0", "::"))])
    return ",".join(f"{'IP' if _is_address(name) else 'DNS'}:{name}" for name in names)


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def kubeconfig(server: str, certificate: str, token: str) -> str:
    """The kubeconfig, as JSON, which is also YAML."""
    cluster = {"server": server, "certificate-authority-data": base64.b64encode(certificate.encode()).decode()}
    value = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": CLUSTER, "cluster": cluster}],
        "users": [{"name": CLUSTER, "user": {"token": token}}],
        "contexts": [{"name": CLUSTER, "context": {"cluster": CLUSTER, "user": CLUSTER}}],
        "current-context": CLUSTER,
    }
    return json.dumps(value, indent=2) + "\n"


def write_private(path: Path, text: str) -> None:
    """Write a file atomically that only this user can read. Raises UsageError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(descriptor, "w") as file:  # mkstemp makes it readable only for its owner
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise UsageError(f"{path}: cannot write the kubeconfig: {error.strerror or error}") from None


def is_ours(path: Path) -> bool:
    """Whether `kubesim up` wrote this file, and nothing was added later."""
    try:
        value = json.loads(path.read_text())
        return [each["name"] for each in value["clusters"]] == [CLUSTER]
    except (OSError, ValueError, TypeError, KeyError):
        return False

"""Identity and access of the server: a certificate created at the start, a token, and the kubeconfig with both.

The standard library cannot write certificates, so `openssl` does. The key is in a directory that only this user can
read, and that is removed before the first connection; then it is in memory only.
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

from kubesim.api.pods.signed_token import KEY_BYTES
from kubesim.clock.wall import unique_name
from kubesim.errors import UsageError
from kubesim.values import value_object

CLUSTER = "kubesim"
MASTERS = "system:masters"  # the group of the API server where it is a client of kubelets
_DAYS = 365
_NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
_ADDRESSES = ("127.0.0.1", "::1", "10.96.0.1")


@value_object
class Identity:
    """The identity of a server: its certificate, with which clients verify it, and the file with it and its key."""

    certificate: str  # in PEM
    pair: bytes

    def server_tls(self) -> ssl.SSLContext:
        """A TLS context of a server."""
        return self._loaded(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))

    def client_tls(self) -> ssl.SSLContext:
        """A TLS context of a client with this certificate, which verifies no server: kubelets sign their own."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return self._loaded(context)

    def _loaded(self, context: ssl.SSLContext) -> ssl.SSLContext:
        descriptor = os.memfd_create("kubesim-identity")  # ssl reads keys from files only
        with os.fdopen(descriptor, "wb") as file:
            file.write(self.pair)
            file.flush()
            context.load_cert_chain(f"/proc/self/fd/{descriptor}")
        return context


def make_identity(hosts: Sequence[str] = ()) -> Identity:
    """A new key with a certificate for loopback and these hosts. Raises UsageError."""
    with tempfile.TemporaryDirectory(prefix="kubesim-") as directory:
        key, certificate = Path(directory, "tls.key"), Path(directory, "tls.crt")
        words = [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-days", str(_DAYS), "-subj", f"/O={MASTERS}/CN={CLUSTER}",
            "-addext", f"subjectAltName={alternative_names(hosts)}", "-keyout", str(key), "-out", str(certificate),
        ]  # fmt: skip
        try:
            done = subprocess.run(words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        except FileNotFoundError:
            raise UsageError("openssl is not installed, and it makes the certificate of the server") from None
        if done.returncode != 0:
            problem = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise UsageError(f"openssl cannot make the certificate of the server: {problem}")
        return Identity(certificate.read_text(), key.read_bytes() + certificate.read_bytes())


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


def new_token_key() -> bytes:
    """A random key for service account tokens."""
    return bytes.fromhex(unique_name(KEY_BYTES))


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
        raise UsageError(f"{path}: cannot write it: {error.strerror or error}") from None


def is_ours(path: Path) -> bool:
    """Whether `kubesim up` wrote this file, and nothing was added later."""
    try:
        value = json.loads(path.read_text())
        return [each["name"] for each in value["clusters"]] == [CLUSTER]
    except (OSError, ValueError, TypeError, KeyError):
        return False

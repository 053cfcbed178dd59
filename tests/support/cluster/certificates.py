"""Certificates for one test, created with the openssl command: a CA, and certificates that it signs."""

from __future__ import annotations

import base64
import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

_NAMES = "subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:api.example"


def _openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, as files."""

    cert: Path
    key: Path

    def data(self) -> tuple[str, str]:
        """Certificate and key in the inline form of a kubeconfig."""
        return _base64(self.cert), _base64(self.key)


def _base64(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


class Authority:
    """A CA that signs every request."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        self._directory = directory
        self.own = Pair(directory / "ca.crt", directory / "ca.key")
        self._request("ca", "/CN=test authority", "-x509", "-addext", "keyUsage=critical,keyCertSign", "-out", "ca.crt")

    @property
    def data(self) -> str:
        return _base64(self.own.cert)

    def _request(self, name: str, subject: str, *more: str) -> None:
        *options, out = more
        _openssl(
            "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj", subject, "-keyout", str(self._directory / f"{name}.key"), *options, str(self._directory / out),
        )  # fmt: skip

    def sign(self, name: str, subject: str) -> Pair:
        pair = Pair(self._directory / f"{name}.crt", self._directory / f"{name}.key")
        extensions = self._directory / f"{name}.ext"
        extensions.write_text(_NAMES)
        self._request(name, subject, "-out", f"{name}.csr")
        _openssl(
            "x509", "-req", "-days", "2", "-in", str(self._directory / f"{name}.csr"), "-CA", str(self.own.cert),
            "-CAkey", str(self.own.key), "-CAcreateserial", "-extfile", str(extensions), "-out", str(pair.cert),
        )  # fmt: skip
        return pair

    def server_context(self, *, ask_for_certificates: bool = False) -> ssl.SSLContext:
        pair = self.sign("server", "/CN=api")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pair.cert, pair.key)
        context.load_verify_locations(self.own.cert)
        context.verify_mode = ssl.CERT_REQUIRED if ask_for_certificates else ssl.CERT_NONE
        return context

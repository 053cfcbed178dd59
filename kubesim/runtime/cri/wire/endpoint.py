"""Endpoints of CRI as the kubelet's flags write them: `unix:///run/containerd/containerd.sock`."""

from __future__ import annotations

from importlib.util import find_spec

from kubesim.errors import UsageError

SCHEME = "unix://"
MAX_PATH = 107  # of the address of a Unix socket


def socket_path(endpoint: str, flag: str) -> str:
    """The path of the socket. Raises UsageError."""
    path = endpoint.removeprefix(SCHEME)
    if not path.startswith("/"):
        raise UsageError(f"{flag} {endpoint}: must be the absolute path of a Unix socket: unix:///run/containerd.sock")
    if len(path.encode()) > MAX_PATH:
        raise UsageError(
            f"{flag} {endpoint}: the path of a Unix socket has at most {MAX_PATH} bytes: use a shorter one"
        )
    return path


def require_grpc(what: str) -> None:
    """Raises UsageError if the package is not installed."""
    if find_spec("grpc") is None or find_spec("google.protobuf") is None:
        raise UsageError(f"{what} needs grpcio and protobuf: pip install 'kubesim[cri]'")

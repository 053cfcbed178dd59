"""The only way to a real API server: finds the credentials, and opens a connection, read-only by default.

Packages beyond the base installation are imported on use.
"""

from __future__ import annotations

from importlib.util import find_spec

from kubesim.clock import Clock
from kubesim.cluster.remote.kubeconfig import find_access
from kubesim.cluster.remote.refusals import DecisiveTransport
from kubesim.cluster.remote.transport import CONNECT_S, TIMEOUT_S, ReadOnlyTransport, Transport
from kubesim.errors import UsageError


def connect(
    clock: Clock,
    kubeconfig: str = "",
    context: str = "",
    *,
    may_write: bool = False,
    request_timeout_s: float | None = TIMEOUT_S,
    connect_timeout_s: float | None = CONNECT_S,
) -> Transport:
    """Connect to the cluster of a kubeconfig (see `find_access`). The first call sends the first request.

    A connection must be established within `connect_timeout_s`, and each get and list answered completely within
    `request_timeout_s`, in the time of the loop; None: no limit.
    """
    for package in ("aiohttp", "kubernetes"):
        if find_spec(package) is None:
            raise UsageError(
                f"the Python package {package} is missing: run `make demo` in a clone, or pip install {package}"
            )
    from kubesim.cluster.remote.http_transport import HttpTransport

    transport = DecisiveTransport(
        HttpTransport(find_access(kubeconfig, context), clock, request_timeout_s, connect_timeout_s)
    )
    return transport if may_write else ReadOnlyTransport(transport)

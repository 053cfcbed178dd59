"""The DNS settings of a pod's sandbox, as the kubelet gives them to a runtime and a runtime to CNI plugins."""

from __future__ import annotations

from collections.abc import Sequence

from kubesim.values import value_object


@value_object
class DNSConfig:
    """CRI's: what becomes the resolv.conf of a sandbox. None is Go's nil list."""

    servers: Sequence[str] | None = None
    searches: Sequence[str] | None = None
    options: Sequence[str] | None = None

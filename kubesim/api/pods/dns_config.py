"""The DNS settings of a pod's sandbox: the kubelet passes them to the runtime, and the runtime to CNI plugins."""

from __future__ import annotations

from collections.abc import Sequence

from kubesim.values import value_object


@value_object
class DNSConfig:
    """The CRI type DNSConfig: the content of a sandbox's resolv.conf. None is Go's nil list."""

    servers: Sequence[str] | None = None
    searches: Sequence[str] | None = None
    options: Sequence[str] | None = None

"""Service environment variables: for Services of the pod's namespace, and always for `kubernetes` in `default`.

Pure functions; `environment.py` merges the result into a container's environment.

Mirrors: pkg/kubelet/envvars/envvars.go FromServices; pkg/kubelet/kubelet_pods.go getServiceEnvVarMap
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from kubesim.api.meta import ApiObject

if TYPE_CHECKING:  # imported only for types: a kubelet without Services does not load it
    from kubesim.api.workloads.services import Service, ServicePort

MASTER_NAMESPACE = "default"
MASTER_SERVICES = frozenset({"kubernetes"})
_WITHOUT_ADDRESS = ("", "None")  # unassigned or headless clusterIP


class ServiceLister(Protocol):
    """Services known to the kubelet's informer."""

    @property
    def has_synced(self) -> bool:
        """Whether the Services have been listed at least once."""
        ...

    def list(self) -> Iterable[ApiObject]: ...


def get_service_env_var_map(services: Iterable[Service], namespace: str, *, enable_links: bool) -> dict[str, str]:
    """Names and values, in the order of Service names. Of duplicate names the last one wins."""
    mapped: dict[str, Service] = {}
    for service in services:
        metadata = service.metadata
        name, own = metadata.name, metadata.namespace
        if service.spec.cluster_ip in _WITHOUT_ADDRESS:
            continue
        if own == MASTER_NAMESPACE and name in MASTER_SERVICES:
            mapped.setdefault(name, service)
        elif own == namespace and enable_links:
            mapped[name] = service
    return dict(from_services(mapped[name] for name in sorted(mapped)))


def from_services(services: Iterable[Service]) -> list[tuple[str, str]]:
    """The host and port variables of each Service. Services without an address are skipped."""
    result: list[tuple[str, str]] = []
    for service in services:
        address, ports = service.spec.cluster_ip, service.spec.ports
        if address in _WITHOUT_ADDRESS:
            continue
        prefix = _variable_name(service.metadata.name)
        result.append((f"{prefix}_SERVICE_HOST", address))
        result.append((f"{prefix}_SERVICE_PORT", str(ports[0].port)))
        result += [
            (f"{prefix}_SERVICE_PORT_{_variable_name(port.name)}", str(port.port)) for port in ports if port.name
        ]
        result += _link_variables(prefix, address, ports)
    return result


def _link_variables(prefix: str, address: str, ports: tuple[ServicePort, ...]) -> list[tuple[str, str]]:
    """The variables of Docker links. The first port is also available without a number."""
    result: list[tuple[str, str]] = []
    host = f"[{address}]" if ":" in address else address
    for number, port in enumerate(ports):
        protocol = port.protocol or "TCP"
        lower = protocol.lower()
        url = f"{lower}://{host}:{port.port}"
        if number == 0:
            result.append((f"{prefix}_PORT", url))
        link = f"{prefix}_PORT_{port.port}_{protocol.upper()}"
        result += (
            (link, url),
            (f"{link}_PROTO", lower),
            (f"{link}_PORT", str(port.port)),
            (f"{link}_ADDR", address),
        )
    return result


def _variable_name(name: str) -> str:
    return name.replace("-", "_").upper()

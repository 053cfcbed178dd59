"""The variables by which a container finds Services: those of its namespace, and always `kubernetes` of `default`.

Pure functions; `environment.py` merges the result into the environment of a container.

Mirrors: pkg/kubelet/envvars/envvars.go FromServices; pkg/kubelet/kubelet_pods.go getServiceEnvVarMap
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from kubesim.api.meta import ApiObject

if TYPE_CHECKING:  # a kubelet that never sees a Service does not need the type
    from kubesim.api.workloads.services import Service, ServicePort

MASTER_NAMESPACE = "default"
MASTER_SERVICES = frozenset({"kubernetes"})
_WITHOUT_ADDRESS = ("", "None")  # not allocated, headless


class ServiceLister(Protocol):
    """Services as the kubelet's informer knows them."""

    @property
    def has_synced(self) -> bool:
        """Whether they have been listed at least once."""
        ...

    def list(self) -> Iterable[ApiObject]: ...


def get_service_env_var_map(services: Iterable[Service], namespace: str, *, enable_links: bool) -> dict[str, str]:
    """Names and values, by name of the Service. Where two Services give the same variable, the last one counts."""
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
    """Where each Service can be found. Services without an address are left out."""
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
    """The variables that Docker's links set in a container; the first port is also the one without a number."""
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

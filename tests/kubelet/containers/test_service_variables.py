"""Service variables in a container.

Mirrors: pkg/kubelet/envvars/envvars_test.go TestFromServices: its 7 Services, one test here for each.
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.workloads.services import Service
from kubesim.kubelet.containers.service_variables import from_services, get_service_env_var_map


def service(name: str, address: str, *ports: tuple[str, int, str], namespace: str = "default") -> Service:
    """A port is a name, a number and a protocol."""
    listed: list[dict[str, Any]] = [
        {"name": name, "port": number, "protocol": protocol} for name, number, protocol in ports
    ]
    metadata = {"name": name, "namespace": namespace}
    return Service.from_json({"metadata": metadata, "spec": {"clusterIP": address, "ports": listed}})


def link(prefix: str, address: str, port: int, protocol: str) -> list[str]:
    name, lower = f"{prefix}_PORT_{port}_{protocol}", protocol.lower()
    host = f"[{address}]" if ":" in address else address
    url = f"{lower}://{host}:{port}"
    return [f"{name}={url}", f"{name}_PROTO={lower}", f"{name}_PORT={port}", f"{name}_ADDR={address}"]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(
            service("foo-bar", "1.2.3.4", ("", 8080, "TCP")),
            [
                "FOO_BAR_SERVICE_HOST=1.2.3.4",
                "FOO_BAR_SERVICE_PORT=8080",
                "FOO_BAR_PORT=tcp://1.2.3.4:8080",
                *link("FOO_BAR", "1.2.3.4", 8080, "TCP"),
            ],
            id="foo-bar",
        ),
        pytest.param(
            service("abc-123", "5.6.7.8", ("u-d-p", 8081, "UDP"), ("t-c-p", 8081, "TCP")),
            [
                "ABC_123_SERVICE_HOST=5.6.7.8",
                "ABC_123_SERVICE_PORT=8081",
                "ABC_123_SERVICE_PORT_U_D_P=8081",
                "ABC_123_SERVICE_PORT_T_C_P=8081",
                "ABC_123_PORT=udp://5.6.7.8:8081",
                *link("ABC_123", "5.6.7.8", 8081, "UDP"),
                *link("ABC_123", "5.6.7.8", 8081, "TCP"),
            ],
            id="abc-123",
        ),
        pytest.param(
            service("q-u-u-x", "9.8.7.6", ("", 8082, "TCP"), ("8083", 8083, "TCP")),
            [
                "Q_U_U_X_SERVICE_HOST=9.8.7.6",
                "Q_U_U_X_SERVICE_PORT=8082",
                "Q_U_U_X_SERVICE_PORT_8083=8083",
                "Q_U_U_X_PORT=tcp://9.8.7.6:8082",
                *link("Q_U_U_X", "9.8.7.6", 8082, "TCP"),
                *link("Q_U_U_X", "9.8.7.6", 8083, "TCP"),
            ],
            id="q-u-u-x",
        ),
        pytest.param(service("svrc-clusterip-none", "None", ("", 8082, "TCP")), [], id="svrc-clusterip-none"),
        pytest.param(service("svrc-clusterip-empty", "", ("", 8082, "TCP")), [], id="svrc-clusterip-empty"),
        pytest.param(
            service("super-ipv6", "2001:DB8::", ("u-d-p", 8084, "UDP"), ("t-c-p", 8084, "TCP")),
            [
                "SUPER_IPV6_SERVICE_HOST=2001:DB8::",
                "SUPER_IPV6_SERVICE_PORT=8084",
                "SUPER_IPV6_SERVICE_PORT_U_D_P=8084",
                "SUPER_IPV6_SERVICE_PORT_T_C_P=8084",
                "SUPER_IPV6_PORT=udp://[2001:DB8::]:8084",
                *link("SUPER_IPV6", "2001:DB8::", 8084, "UDP"),
                *link("SUPER_IPV6", "2001:DB8::", 8084, "TCP"),
            ],
            id="super-ipv6",
        ),
        pytest.param(
            service("sctp-1", "1.2.3.4", ("", 777, "SCTP")),
            [
                "SCTP_1_SERVICE_HOST=1.2.3.4",
                "SCTP_1_SERVICE_PORT=777",
                "SCTP_1_PORT=sctp://1.2.3.4:777",
                *link("SCTP_1", "1.2.3.4", 777, "SCTP"),
            ],
            id="sctp-1",
        ),
    ],
)
def test_from_services(found: Service, expected: list[str]) -> None:
    assert [f"{name}={value}" for name, value in from_services([found])] == expected


def test_services_are_in_sequence_and_a_port_without_protocol_is_tcp() -> None:
    two = [service("b", "10.0.0.2", ("", 1, "")), service("a", "10.0.0.1", ("", 2, "TCP"))]
    assert [name for name, _ in from_services(two) if name.endswith("_HOST")] == ["B_SERVICE_HOST", "A_SERVICE_HOST"]
    assert dict(from_services(two))["B_PORT_1_TCP"] == "tcp://10.0.0.2:1"


def test_two_services_with_the_same_variable() -> None:
    """In a kubelet the winner is random; here it is the last one by name."""
    one, other = service("a", "10.0.0.1", ("", 1, "TCP")), service("a-service", "10.0.0.2", ("", 2, "TCP"))
    for services in ([one, other], [other, one]):
        found = get_service_env_var_map(services, "default", enable_links=True)
        assert found["A_SERVICE_PORT"] == "tcp://10.0.0.2:2"

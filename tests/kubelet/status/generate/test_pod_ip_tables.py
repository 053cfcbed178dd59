"""The addresses of a pod in its status, with upstream's tables.

Mirrors: pkg/kubelet/kubelet_pods_test.go TestGenerateAPIPodStatusHostNetworkPodIPs (8 rows),
TestNodeAddressUpdatesGenerateAPIPodStatusHostNetworkPodIPs (6), TestGenerateAPIPodStatusPodIPs (11),
TestSortPodIPs (12)
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.pod import Pod, PodStatus
from kubesim.kubelet.status.generate.api_pod_status import generate_api_pod_status
from kubesim.kubelet.status.generate.inputs import StatusInputs
from kubesim.kubelet.status.generate.pod_ips import sort_pod_ips
from kubesim.runtime.types import RuntimePodStatus


def pod_ips(host_ips: tuple[str, ...], cri: tuple[str, ...], **more: Any) -> PodStatus:
    pod = Pod.from_json({"metadata": {"name": "test-pod"}, "spec": {"hostNetwork": more.pop("host_network", False)}})
    runtime = RuntimePodStatus("12345", ips=cri)
    return generate_api_pod_status(StatusInputs(pod, runtime, 0, 0, host_ips=host_ips, **more))


V4, V6 = "10.0.0.1", "fd01::1234"


@pytest.mark.parametrize(
    ("host_ips", "cri", "expected"),
    [
        pytest.param((V4,), (), [V4], id="Simple"),
        pytest.param((V4,), (), [V4], id="Single-stack addresses in dual-stack cluster"),
        pytest.param((V4,), (), [V4], id="Multiple single-stack addresses in dual-stack cluster"),
        pytest.param((V4, V6), (), [V4, V6], id="Dual-stack addresses in dual-stack cluster"),
        pytest.param((V4, V6), ("192.168.0.1",), ["192.168.0.1", V6], id="CRI PodIPs override NodeAddresses"),
        pytest.param(
            (V4, V6),
            ("192.168.0.1", "2001:db8::2"),
            ["192.168.0.1", "2001:db8::2"],
            id="CRI dual-stack PodIPs override NodeAddresses",
        ),
        pytest.param(
            (V4, V6),
            ("2001:db8::2", "192.168.0.1"),
            ["192.168.0.1", "2001:db8::2"],
            id="CRI dual-stack PodIPs override NodeAddresses prefer IPv4",
        ),
    ],
)
def test_host_network_pod_ips(host_ips: tuple[str, ...], cri: tuple[str, ...], expected: list[str]) -> None:
    """`InternalIP is preferred over ExternalIP` has no row: a simulated node has internal addresses only."""
    status = pod_ips(host_ips, cri, host_network=True)
    assert [address.ip for address in status.pod_ips] == expected
    assert cri or status.host_ip == expected[0]


@pytest.mark.parametrize(
    ("node_ips", "host_ips", "expected"),
    [
        pytest.param((V4,), ("1.1.1.1",), [V4], id="Immutable after update node addresses single-stack"),
        pytest.param(
            (V4, "2001:db8::2"),
            ("1.1.1.1", "2001:db8::2"),
            [V4, "2001:db8::2"],
            id="Immutable after update node addresses dual-stack - primary address",
        ),
        pytest.param(
            (V4, "2001:db8::2"),
            (V4, "2001:db8:1:2:3::2"),
            [V4, "2001:db8::2"],
            id="Immutable after update node addresses dual-stack - secondary address",
        ),
        pytest.param(
            (V4, "2001:db8::2"),
            ("1.1.1.1", "2001:db8:1:2:3::2"),
            [V4, "2001:db8::2"],
            id="Immutable after update node addresses dual-stack - primary and secondary address",
        ),
        pytest.param(
            (V4,),
            (V4, "2001:db8::2"),
            [V4, "2001:db8::2"],
            id="Update secondary after new secondary address dual-stack",
        ),
        pytest.param(
            ("2001:db8::2",),
            (V4, "2001:db8::2"),
            ["2001:db8::2"],
            id="Update secondary after new secondary address dual-stack - reverse order",
        ),
    ],
)
def test_node_address_updates(node_ips: tuple[str, ...], host_ips: tuple[str, ...], expected: list[str]) -> None:
    status = pod_ips(host_ips, node_ips, host_network=True, prefers_ipv6=":" in node_ips[0])
    assert [address.ip for address in status.pod_ips] == expected


@pytest.mark.parametrize(
    ("node_ip", "cri", "expected"),
    [
        pytest.param("", (V4,), (V4,), id="Simple"),
        pytest.param("", (V4, V6), (V4, V6), id="Dual-stack"),
        pytest.param("192.168.1.1", (V4, V6), (V4, V6), id="Dual-stack with explicit node IP"),
        pytest.param("", (V6, V4), (V4, V6), id="Dual-stack with CRI returning wrong family first"),
        pytest.param(
            "192.168.1.1",
            (V6, V4),
            (V4, V6),
            id="Dual-stack with explicit node IP with CRI returning wrong family first",
        ),
        pytest.param("fd00::5678", (V4, V6), (V6, V4), id="Dual-stack with IPv6 node IP"),
        pytest.param("fd00::5678", (V6, V4), (V6, V4), id="Dual-stack with IPv6 node IP, other CRI order"),
        pytest.param("fd00::5678", (V4,), (V4,), id="No Pod IP matching Node IP"),
        pytest.param("", (V6,), (V6,), id="No Pod IP matching (unspecified) Node IP"),
        pytest.param("", (V4, "10.0.0.2", "10.0.0.3"), (V4,), id="Multiple IPv4 IPs"),
        pytest.param("", (V4, "10.0.0.2", V6, "10.0.0.3", "fd01::5678"), (V4, V6), id="Multiple Dual-Stack IPs"),
        pytest.param("", ("010.000.000.001", "fd01:0:0:0:0:0:0:1234"), (V4, V6), id="Badly-formatted IPs from CRI"),
    ],
)
def test_pod_ips_and_their_order(node_ip: str, cri: tuple[str, ...], expected: tuple[str, ...]) -> None:
    assert sort_pod_ips(cri, ":" in node_ip) == expected
    status = pod_ips(("127.0.0.1",), cri, prefers_ipv6=":" in node_ip)
    assert tuple(address.ip for address in status.pod_ips) == expected
    assert status.pod_ip == expected[0]

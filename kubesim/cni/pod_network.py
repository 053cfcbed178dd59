"""Pod networking of the CRI plugin: plugin arguments for a pod, and the selection of its addresses.

Mirrors: containerd internal/cri/server/sandbox_run.go setupPodNetwork, cniNamespaceOpts, selectPodIPs;
sandbox_stop.go teardownPodNetwork; internal/cri/bandwidth/utils.go
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from kubesim.api.quantity import parse_quantity
from kubesim.cni.exec.context import BACKGROUND, Context
from kubesim.cni.gocni import CNI, Namespace
from kubesim.cni.gocni_result import CNIResult
from kubesim.cni.pod_config import PodNetworkConfig, PortMapping
from kubesim.errors import CniError
from kubesim.golang.addresses import IP
from kubesim.golang.file_errors import errno_text
from kubesim.golang.json import InOrder
from kubesim.golang.text import quoted
from kubesim.values import value_object

POD_ANNOTATIONS: Final = "io.kubernetes.cri.pod-annotations"
_PROTOCOLS = {0: "tcp", 1: "udp", 2: "sctp"}
_UNLIMITED_BURST = 2**32 - 1
_LEAST_BANDWIDTH, _MOST_BANDWIDTH = 1000, 10**15


@value_object
class PodNetwork:
    """Network state of a sandbox."""

    ip: str
    additional_ips: tuple[str, ...]
    result: CNIResult


def cni_namespace_opts(sandbox_id: str, netns: str, pod: PodNetworkConfig) -> Namespace:
    """Plugin arguments, and a value for every capability that the pod uses."""
    capabilities: dict[str, Any] = {POD_ANNOTATIONS: None if pod.annotations is None else dict(pod.annotations)}
    mappings = _port_mappings(pod.port_mappings)
    if mappings:
        capabilities["portMappings"] = mappings
    bandwidth = _bandwidth(pod.annotations or {})
    if bandwidth:
        capabilities["bandwidth"] = bandwidth
    if pod.dns is not None:
        capabilities["dns"] = InOrder(
            Servers=_list(pod.dns.servers), Searches=_list(pod.dns.searches), Options=_list(pod.dns.options)
        )
    if pod.cgroup_parent:
        capabilities["cgroupPath"] = pod.cgroup_parent
    return Namespace(sandbox_id, netns, _cni_args(sandbox_id, pod), capabilities)


def _cni_args(sandbox_id: str, pod: PodNetworkConfig) -> dict[str, str]:
    """Upstream uses a map, so its order varies from call to call."""
    return {
        "IgnoreUnknown": "1",
        "K8S_POD_NAMESPACE": pod.namespace,
        "K8S_POD_NAME": pod.name,
        "K8S_POD_INFRA_CONTAINER_ID": sandbox_id,
        "K8S_POD_UID": pod.uid,
    }


def _port_mappings(mappings: Sequence[PortMapping]) -> list[InOrder]:
    return [
        InOrder(
            HostPort=mapping.host_port,
            ContainerPort=mapping.container_port,
            Protocol=protocol_name(mapping.protocol),
            HostIP=mapping.host_ip,
        )
        for mapping in mappings
        if mapping.host_port > 0
    ]


def protocol_name(number: int) -> str:
    return _PROTOCOLS.get(number, str(number))


def _bandwidth(annotations: Mapping[str, str]) -> InOrder | None:
    try:
        ingress, egress = bandwidth_rates(annotations)
    except ValueError as error:
        raise CniError(f"reading pod bandwidth annotations: {error}") from None
    if ingress is None and egress is None:
        return None
    return InOrder(
        IngressRate=ingress or 0,
        IngressBurst=0 if ingress is None else _UNLIMITED_BURST,
        EgressRate=egress or 0,
        EgressBurst=0 if egress is None else _UNLIMITED_BURST,
    )


def bandwidth_rates(annotations: Mapping[str, str]) -> tuple[int | None, int | None]:
    """Ingress and egress in bits per second. Raises ValueError for an unreasonable value."""
    return (
        _rate(annotations.get("kubernetes.io/ingress-bandwidth")),
        _rate(annotations.get("kubernetes.io/egress-bandwidth")),
    )


def _rate(text: str | None) -> int | None:
    if text is None:
        return None
    rate = parse_quantity(text).value()
    if rate < _LEAST_BANDWIDTH:
        raise ValueError("resource is unreasonably small (< 1kbit)")
    if rate > _MOST_BANDWIDTH:
        raise ValueError("resource is unreasonably large (> 1Pbit)")
    return rate


def _list(values: Sequence[str] | None) -> list[str] | None:
    return None if values is None else list(values)


def select_pod_ips(ips: Sequence[IP | None], preference: str) -> tuple[str, tuple[str, ...]]:
    """The pod's address and additional ones. `cni` keeps the order; `ipv6` or `ipv4` moves the first address of that
    family to the front.
    """
    if not ips:
        raise CniError("no address to select from")
    texts = ["<nil>" if ip is None else str(ip) for ip in ips]
    chosen = 0
    if len(ips) > 1 and preference != "cni":
        wants_ipv4 = preference != "ipv6"
        chosen = next((n for n, ip in enumerate(ips) if (ip is not None and ip.is_ipv4) == wants_ipv4), 0)
    return texts[chosen], (*texts[:chosen], *texts[chosen + 1 :])


@value_object
class PodNetworkSettings:
    """Settings of the CRI plugin. `bring_up_loopback` replaces the loopback plugin."""

    setup_serially: bool = False
    ip_preference: str = ""
    default_ifname: str = "eth0"
    bring_up_loopback: Callable[[str], None] | None = None


async def setup_pod_network(
    cni: CNI,
    sandbox_id: str,
    netns: str,
    pod: PodNetworkConfig,
    settings: PodNetworkSettings,
    ctx: Context = BACKGROUND,
) -> PodNetwork:
    """Attach a sandbox. Raises an error if the default interface has no address, even after a successful ADD."""
    if settings.bring_up_loopback is not None:
        try:
            settings.bring_up_loopback(netns)
        except OSError as error:
            raise CniError(f"unable to set lo to up: {errno_text(error)}") from None
    namespace = _namespace(sandbox_id, netns, pod)
    setup = cni.setup_serially if settings.setup_serially else cni.setup
    result = await setup(namespace, ctx)
    config = result.interfaces.get(settings.default_ifname)
    if config is None or not config.ip_configs:
        raise CniError(f"failed to find network info for sandbox {quoted(sandbox_id)}")
    ip, additional = select_pod_ips([entry.ip for entry in config.ip_configs], settings.ip_preference)
    return PodNetwork(ip, additional, result)


async def teardown_pod_network(
    cni: CNI, sandbox_id: str, netns: str, pod: PodNetworkConfig, ctx: Context = BACKGROUND
) -> None:
    """Detach a sandbox. `netns` is empty if the namespace is gone."""
    await cni.remove(_namespace(sandbox_id, netns, pod), ctx)


def _namespace(sandbox_id: str, netns: str, pod: PodNetworkConfig) -> Namespace:
    try:
        return cni_namespace_opts(sandbox_id, netns, pod)
    except CniError as error:
        raise CniError(f"get cni namespace options: {error}") from error


def network_not_ready_message(error: CniError) -> str:
    """The message of the NetworkReady condition."""
    return f"Network plugin returns error: {error}"

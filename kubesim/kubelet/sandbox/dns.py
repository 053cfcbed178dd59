"""DNS settings of a pod from its dnsPolicy and dnsConfig. Pure: problems are returned as warnings.

`pod_sandbox.py` reads the node's resolv.conf, calls `pod_dns`, and emits an Event for each warning.

Mirrors: pkg/kubelet/network/dns/dns.go Configurer.GetPodDNS, getPodDNSType, appendDNSConfig, formDNSConfigFitsLimits
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from kubesim.api.pod import Pod
from kubesim.api.pods.dns_config import DNSConfig
from kubesim.kubelet.sandbox.resolv_conf import (
    MAX_SEARCH_LIST_CHARS,
    MAX_SEARCH_PATH_CHARS,
    MAX_SEARCH_PATHS,
    ResolvConf,
)
from kubesim.kubelet.sandbox.settings import DNSSettings
from kubesim.runtime.kuberuntime.naming import format_pod
from kubesim.values import value_object

MAX_NAME_SERVERS = 3
DEFAULT_OPTIONS = ("ndots:5",)
MISSING_CLUSTER_DNS = (
    'kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. '
    'Falling back to "Default" policy.'
)

DNSType = Literal["cluster", "host", "none"]
Names = tuple[str, ...]


@value_object
class DNSWarning:
    """An Event to emit about the pod, or about the node."""

    reason: str
    message: str
    of_node: bool = False


def pod_dns_type(pod: Pod) -> DNSType:
    """The pod's DNS type; an unknown policy counts as ClusterFirst."""
    policy = pod.spec.dns_policy
    if policy == "None":
        return "none"
    if policy == "Default" or (policy == "ClusterFirst" and pod.spec.host_network):
        return "host"
    return "cluster"


def pod_dns(
    pod: Pod, settings: DNSSettings, host: ResolvConf, node_ips: Names
) -> tuple[DNSConfig, Sequence[DNSWarning]]:
    """The pod's DNS settings. `host` is the node's resolv.conf; empty if the kubelet has none."""
    warnings: list[DNSWarning] = []
    servers, searches, options = host.servers, host.searches, host.options
    kind = pod_dns_type(pod)
    if kind == "none":
        servers, searches, options = (), (), ()
    elif kind == "cluster" and settings.cluster_dns:
        servers, options = settings.cluster_dns, DEFAULT_OPTIONS
        searches = _cluster_first_searches(settings.cluster_domain, pod.metadata.namespace, searches)
    else:
        if kind == "cluster":
            warnings += _missing_cluster_dns(pod)
        if not settings.resolv_conf:
            servers, searches = servers + _localhost(node_ips), (".",)
    extra = pod.spec.dns_config
    if extra is not None:
        servers = _without_duplicates((*servers, *(extra.get("nameservers") or ())))
        searches = _without_duplicates((*searches, *(extra.get("searches") or ())))
        options = merge_options(options, extra.get("options") or ())
    if len(servers) > MAX_NAME_SERVERS:
        servers = servers[:MAX_NAME_SERVERS]
        text = "Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: "
        warnings.append(DNSWarning("DNSConfigForming", text + " ".join(servers)))
    fitting = fit_searches(searches)
    if fitting != searches:
        searches = fitting
        text = "Search Line limits were exceeded, some search paths have been omitted, the applied search line is: "
        warnings.append(DNSWarning("DNSConfigForming", text + " ".join(searches)))
    return DNSConfig(servers, searches, options), warnings


def _missing_cluster_dns(pod: Pod) -> tuple[DNSWarning, DNSWarning]:
    reason, text = "MissingClusterDNS", MISSING_CLUSTER_DNS
    return DNSWarning(reason, text, of_node=True), DNSWarning(reason, f'pod: "{format_pod(pod)}". {text}')


def _localhost(node_ips: Names) -> Names:
    """The default server of a resolver without name servers."""
    return tuple("::1" if ":" in ip else "127.0.0.1" for ip in node_ips) or ("127.0.0.1",)


def _cluster_first_searches(domain: str, namespace: str, host: Names) -> Names:
    if not domain:
        return host
    own = (f"{namespace}.svc.{domain}", f"svc.{domain}", domain)
    return _without_duplicates((*own, *host)) if host else own


def _without_duplicates(names: Iterable[str]) -> Names:
    return tuple(dict.fromkeys(names))


def merge_options(existing: Iterable[str], added: Iterable[Mapping[str, Any]]) -> Names:
    """Merged options; `added` are the pod's. Go uses a map; here options keep the order of first appearance."""
    merged: dict[str, str] = {}
    for option in existing:
        name, _, value = option.partition(":")
        merged[name] = value
    for item in added:
        merged[item.get("name") or ""] = item.get("value") or ""
    return tuple(f"{name}:{value}" if value else name for name, value in merged.items())


def fit_searches(searches: Names) -> Names:
    """The search domains that fit the limits on their number, their length and the length of the line."""
    if len(searches) <= MAX_SEARCH_PATHS and len(" ".join(searches)) <= MAX_SEARCH_PATH_CHARS:
        return searches
    fitting = [search for search in searches[:MAX_SEARCH_PATHS] if len(search) <= MAX_SEARCH_PATH_CHARS]
    while len(" ".join(fitting)) > MAX_SEARCH_LIST_CHARS:
        fitting.pop()
    return tuple(fitting)

"""The environment of a container (scenarios/containers/)."""

from __future__ import annotations

from typing import Any

from kubesim.kubelet.containers.service_variables import get_service_env_var_map
from kubesim.runtime.protocol import PLAIN_NAMESPACES
from tests.support.mutations import Mutation, returns


def _all_services(services: Any, namespace: str, *, enable_links: bool) -> dict[str, str]:
    return get_service_env_var_map(services, namespace, enable_links=True)


def _written(container: Any, written: str, exit_code: int, log: Any) -> str:
    return written


CONTAINERS = {
    # dnsPolicy is ignored: every pod uses the cluster's DNS.
    "containers/dns-policies": Mutation("kubesim.kubelet.sandbox.dns:pod_dns_type", returns("cluster")),
    # Any file name is valid and has every key.
    "containers/env-file": Mutation("kubesim.kubelet.containers.env_file:parse_env", returns("dark blue")),
    "containers/host-aliases": Mutation("kubesim.runtime.hosts_file:entries_from_host_aliases", returns("")),
    # Names have no maximum length.
    "containers/hostname-fqdn": Mutation("kubesim.runtime.kuberuntime.sandbox_config:FQDN_MAX", 253),
    "containers/service-links": Mutation(
        "kubesim.kubelet.containers.environment:get_service_env_var_map", _all_services
    ),
    # Each container has its own PID namespace.
    "containers/shared-processes": Mutation(
        "kubesim.runtime.kuberuntime.sandbox_config:namespaces_for_pod", returns(PLAIN_NAMESPACES)
    ),
    # The log is not used as a termination message.
    "containers/termination-message": Mutation(
        "kubesim.runtime.simulated.containers.shell_process:termination_message", _written
    ),
    "containers/user-namespaces": Mutation(
        "kubesim.kubelet.sandbox.userns:UsernsManager._check_support", returns(None)
    ),
}

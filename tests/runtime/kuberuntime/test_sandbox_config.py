"""The configuration of a sandbox. Adapted from pkg/kubelet/kuberuntime/util/util_test.go TestNamespacesForPod and
kuberuntime_sandbox_test.go TestGeneratePodSandboxConfig (its ports are in runtime/containerd/sandbox_parts.py)."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.pod import Pod
from kubesim.api.pods.dns_config import DNSConfig
from kubesim.clock import Randomness
from kubesim.features import DEFAULT_GATES, FeatureGates, configured_gates
from kubesim.kubelet.sandbox.userns import UsernsManager
from kubesim.runtime.helper import PodDNS, RuntimeHelper, SandboxConfigError
from kubesim.runtime.kuberuntime.sandbox_config import generate_pod_sandbox_config, namespaces_for_pod
from kubesim.runtime.protocol import IdMapping, NamespaceOptions, UserNamespace

IDS = (IdMapping(0, 65536, 65536),)
DISABLED = configured_gates({"UserNamespacesSupport": False}, "v1.30")
DNS = DNSConfig(("10.96.0.10",), ("cluster.local",), ("ndots:5",))


class Helper:
    """Answers the questions of the kubelet about sandboxes; the first pod gets the only range of ids."""

    def __init__(self, gates: FeatureGates = DEFAULT_GATES, handlers: dict[str, bool] | None = None) -> None:
        self._handlers = {"": True} if handlers is None else handlers
        stream = Randomness(0).stream("userns")
        self._userns = UsernsManager({}, stream, self._supports, gates, mapping=(65536, 65536), max_pods=1)

    def _supports(self, handler: str) -> bool:
        if handler not in self._handlers:
            raise SandboxConfigError(f'the handler "{handler}" is not known')
        return self._handlers[handler]

    def get_pod_dns(self, pod: Pod) -> PodDNS:
        return PodDNS(DNS, warned=pod.metadata.name == "warned")

    def generate_pod_host_name_and_domain(self, pod: Pod) -> tuple[str, str]:
        return pod.metadata.name, "sub.ns.svc.cluster.local"

    def get_pod_cgroup_parent(self, pod: Pod) -> str:
        return "/kubepods/pod1"

    def get_or_create_user_namespace_mappings(self, pod: Pod) -> UserNamespace | None:
        return self._userns.get_or_create(pod, "")


def helper(*given: Any) -> RuntimeHelper:
    return Helper(*given)  # type: ignore[return-value]


def pod(name: str = "p", **spec: Any) -> Pod:
    metadata = {"name": name, "namespace": "ns", "uid": "12345678"}
    return Pod.from_json({"metadata": metadata, "spec": {"containers": [], **spec}})


@pytest.mark.parametrize(
    ("spec", "gates", "expected"),
    [
        pytest.param({}, DISABLED, NamespaceOptions(users=None), id="v1.Pod default namespaces"),
        pytest.param(
            {"hostIPC": True, "hostNetwork": True, "hostPID": True},
            DISABLED,
            NamespaceOptions("NODE", "NODE", "NODE", users=None),
            id="Host Namespaces",
        ),
        pytest.param(
            {"shareProcessNamespace": True},
            DISABLED,
            NamespaceOptions(pid="POD", users=None),
            id="Shared Process Namespace (feature enabled)",
        ),
        pytest.param(
            {"shareProcessNamespace": False},
            DISABLED,
            NamespaceOptions(users=None),
            id="Shared Process Namespace, redundant flag (feature enabled)",
        ),
        pytest.param(
            {"hostUsers": False},
            DEFAULT_GATES,
            NamespaceOptions(users=UserNamespace(IDS, IDS)),
            id="hostUsers: false and feature enabled",
        ),
        pytest.param({}, DEFAULT_GATES, NamespaceOptions(), id="the users of the node, and the feature enabled"),
    ],
)
def test_namespaces_for_pod(spec: dict[str, Any], gates: FeatureGates, expected: NamespaceOptions) -> None:
    assert namespaces_for_pod(pod(**spec), helper(gates)) == expected


UNSUPPORTED = "can't set `spec.hostUsers: false`, runtime does not support user namespaces"
SWITCHED_OFF = 'the feature gate "UserNamespacesSupport" is disabled: can\'t set spec.HostUsers'


@pytest.mark.parametrize(
    ("host_users", "gates", "handlers", "problem"),
    [
        pytest.param(False, DISABLED, None, SWITCHED_OFF, id="hostUsers: false and feature disabled --> error"),
        pytest.param(True, DISABLED, None, SWITCHED_OFF, id="hostUsers: true and feature disabled --> error"),
        pytest.param(
            False,
            DEFAULT_GATES,
            {"other": True},
            f'{UNSUPPORTED}: the handler "" is not known',
            id="error if runtime handler not found",
        ),
        pytest.param(
            False, DEFAULT_GATES, {"": False}, UNSUPPORTED, id="error if runtime handler does not support userns"
        ),
    ],
)
def test_impossible_user_namespaces(
    host_users: bool, gates: FeatureGates, handlers: dict[str, bool] | None, problem: str
) -> None:
    with pytest.raises(SandboxConfigError) as raised:
        namespaces_for_pod(pod(hostUsers=host_users), helper(gates, handlers))
    assert str(raised.value) == problem


def test_generate_pod_sandbox_config() -> None:
    given = pod(securityContext={"sysctls": [{"name": "net/ipv4/tcp_fin_timeout", "value": "5"}]})
    config, warned = generate_pod_sandbox_config(given, 1, helper())
    assert not warned
    assert (config.pod, config.attempt, config.hostname, config.dns) == (given, 1, "p", DNS)
    assert config.labels == {
        "io.kubernetes.pod.name": "p",
        "io.kubernetes.pod.namespace": "ns",
        "io.kubernetes.pod.uid": "12345678",
    }
    assert config.log_directory == "/var/log/pods/ns_p_12345678"
    assert config.linux.cgroup_parent == "/kubepods/pod1"
    assert config.linux.sysctls == {"net.ipv4.tcp_fin_timeout": "5"}
    assert generate_pod_sandbox_config(pod("warned"), 0, helper())[1]


def test_a_pod_on_the_hosts_network_has_no_own_host_name() -> None:
    config, _ = generate_pod_sandbox_config(pod(hostNetwork=True, setHostnameAsFQDN=True), 0, helper())
    assert config.hostname == ""


def test_the_host_name_may_be_the_fqdn() -> None:
    config, _ = generate_pod_sandbox_config(pod(setHostnameAsFQDN=True), 0, helper())
    assert config.hostname == "p.sub.ns.svc.cluster.local"
    with pytest.raises(SandboxConfigError, match=r"\(64 characters is the max, 65 characters requested\)"):
        generate_pod_sandbox_config(pod("a" * 40, setHostnameAsFQDN=True), 0, helper())

"""The kinds of pods: static, mirror, critical; and the full name that connects a static pod to its mirror pod.

Mirrors: pkg/kubelet/types/pod_update.go IsStaticPod, IsMirrorPod, IsCriticalPod, IsNodeCriticalPod;
pkg/kubelet/container/runtime.go GetPodFullName
"""

from __future__ import annotations

from kubesim.api.meta import CONFIG_MIRROR, CONFIG_SOURCE
from kubesim.api.pod import Pod

SYSTEM_CRITICAL_PRIORITY = 2_000_000_000
SYSTEM_NODE_CRITICAL = "system-node-critical"


def pod_full_name(pod: Pod) -> str:
    """The full name of a pod, `name_namespace`."""
    metadata = pod.metadata
    return f"{metadata.name}_{metadata.namespace}"


def is_static_pod(pod: Pod) -> bool:
    """Whether the pod comes from a file or a URL; false for a pod without a source annotation."""
    return pod.metadata.annotations.get(CONFIG_SOURCE, "api") != "api"


def is_mirror_pod(pod: Pod) -> bool:
    return CONFIG_MIRROR in pod.metadata.annotations


def is_critical_pod(pod: Pod) -> bool:
    return is_static_pod(pod) or is_mirror_pod(pod) or (pod.spec.priority or 0) >= SYSTEM_CRITICAL_PRIORITY


def is_node_critical_pod(pod: Pod) -> bool:
    return pod.spec.priority_class_name == SYSTEM_NODE_CRITICAL and is_critical_pod(pod)

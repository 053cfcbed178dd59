"""Truncated, failed and interrupted writes of the kubelet's state files, and the next start."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.sources.checkpoint import ANNOTATION
from kubesim.trace.records import CniExec, ConfigUpdate, CriCall, Fault
from tests.support.played import SERVER, Played, pod

CHECKPOINT = (
    "could not restore state from checkpoint: unexpected end of JSON input, please drain this node and delete {what} "
    'checkpoint file "/var/lib/kubelet/{name}" before restarting Kubelet'
)
RESTART: dict[str, Any] = {"at": "20s", "restart": {"what": "kubelet", "downFor": "1s"}}
OWN_CPUS: dict[str, Any] = {
    "nodes": [{"name": "node-1", "capacity": {"cpu": 4, "memory": "8Gi"}, "topology": {}}],
    "kubeletConfiguration": {
        "cpuManagerPolicy": "static",
        "memoryManagerPolicy": "Static",
        "kubeReserved": {"cpu": "500m"},
        "reservedMemory": [{"numaNode": 0, "limits": {"memory": "100Mi"}}],
    },
}


def guaranteed(name: str = "web") -> dict[str, Any]:
    manifest = pod(name)
    amounts = {"cpu": "1", "memory": "1Gi"}
    manifest["spec"]["containers"][0]["resources"] = {"requests": amounts, "limits": amounts}
    return manifest


def torn(file: str, **more: Any) -> dict[str, Any]:
    return {"operation": "disk.WriteCheckpoint", "subject": file, "torn": True, **more}


def exits(story: Played) -> list[str]:
    words = "the kubelet exits, and systemd restarts it after 10 s: "
    return [note.removeprefix(words) for note in story.notes() if note.startswith(words)]


def of_checkpoint(what: str, name: str) -> str:
    return CHECKPOINT.format(what=what, name=name)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("cpu_manager_state", "start cpu manager error: " + of_checkpoint("the CPU manager", "cpu_manager_state")),
        ("memory_manager_state",
         "start memory manager error: " + of_checkpoint("the memory manager", "memory_manager_state")),
        ("allocated_pods_state", of_checkpoint("pod resource information", "allocated_pods_state")),
        ("actuated_pods_state", "failed to initialize actuated state checkpoint: "
         + of_checkpoint("pod resource information", "actuated_pods_state")),
    ],
)  # fmt: skip
def test_a_kubelet_does_not_start_with_a_damaged_checkpoint_until_it_is_deleted(name: str, problem: str) -> None:
    steps: list[dict[str, Any]] = [RESTART, {"at": "45s", "removeFile": {"path": f"/var/lib/kubelet/{name}"}},
             {"at": "1m", "apply": guaranteed("late")}]  # fmt: skip
    story = Played(*steps, objects=[guaranteed()], faults=[torn(name, end="30s")], duration="2m", **OWN_CPUS)
    assert exits(story) == [problem] * 3  # at 21, 31 and 41 s
    assert story.starts("web") == story.starts("web")[:1]  # its container continues
    assert len(story.starts("late")) == 1
    assert story.result.ok


def test_a_failed_write_keeps_the_old_checkpoint() -> None:
    """The kubelet continues with its state in memory. The next one does not know the pod, and allocates its CPUs again:
    the container keeps running.
    """
    fault = {
        "operation": "disk.WriteCheckpoint",
        "subject": "cpu_manager_state",
        "error": "no space left",
        "end": "15s",
    }
    story = Played(RESTART, objects=[guaranteed()], faults=[fault], duration="1m", **OWN_CPUS)
    assert exits(story) == []
    given = [note for note in story.notes() if note.startswith("CPUs 1 of NUMA node 0 are its own")]
    assert len(given) == 2
    assert len(story.starts("web")) == 1


def test_a_crash_between_two_writes_leaves_an_inconsistent_state() -> None:
    """The CPUs are first removed from the shared pool, then assigned to the container."""
    fault = {"operation": "disk.WriteCheckpoint", "subject": "cpu_manager_state", "moment": "after", "times": 1,
             "crash": {"what": "kubelet", "downFor": "2s"}}  # fmt: skip
    story = Played(objects=[guaranteed()], faults=[fault], duration="1m", **OWN_CPUS)
    assert [r.fault for r in story.records if isinstance(r, Fault)] == [
        "disk.WriteCheckpoint: crash of the kubelet, after it has had its effect"
    ]
    assert exits(story)
    assert all("doesn't match with CPUs in state" in problem for problem in exits(story))


def test_devices_of_a_damaged_checkpoint_are_discarded_and_the_kubelet_starts() -> None:
    node = {"name": "node-1", "devicePlugins": [{"resource": "example.com/gpu", "devices": ["gpu-0", "gpu-1"]}]}
    web = pod("web")
    web["spec"]["containers"][0]["resources"] = {"limits": {"example.com/gpu": "1"}}
    story = Played(RESTART, nodes=[node], objects=[web], faults=[torn("kubelet_internal_checkpoint", end="15s")])
    assert exits(story) == []
    assert story.result.phases == {"default/web": "Running"}


def test_a_damaged_claim_checkpoint_blocks_the_kubelet() -> None:
    driver = {"name": "gpu.example.com", "devices": [{"name": "one"}]}
    objects = [
        {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}},
        {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "one"},
         "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}}},
        pod("web", resourceClaims=[{"name": "gpu", "resourceClaimName": "one"}]),
    ]  # fmt: skip
    story = Played(RESTART, {"at": "30s", "removeFile": {"path": "/var/lib/kubelet/dra_manager_state"}},
                   nodes=[{"name": "node-1", "draDrivers": [driver]}], scheduler="on", objects=objects,
                   faults=[torn("dra_manager_state", end="15s")])  # fmt: skip
    [problem] = exits(story)
    assert problem == (
        "create ResourceClaim cache: GetOrCreate() on checkpoint state: failed to get checkpoint dra_manager_state: "
        "unexpected end of JSON input"
    )


def test_a_damaged_user_namespace_file_blocks_the_kubelet() -> None:
    story = Played(RESTART, objects=[pod("web", hostUsers=False)], faults=[torn("pods/*/userns")], duration="25s")
    [problem] = exits(story)
    assert problem.startswith('create user namespace manager: record pod mappings for existing pod "')
    assert problem.endswith('": invalid user namespace mappings file: unexpected end of JSON input')


def test_a_user_namespace_that_cannot_be_written_fails_the_sandbox() -> None:
    fault = {"operation": "disk.WriteCheckpoint", "subject": "pods/*/userns", "error": "no space left", "times": 1}
    story = Played(objects=[pod("web", hostUsers=False)], faults=[fault])
    assert any("no space left" in error for error in story.sync_errors("web"))
    assert story.result.phases == {"default/web": "Running"}


def test_an_image_with_a_damaged_record_is_pulled_again_after_a_restart() -> None:
    images = [{"name": "busybox:1", "pullTime": "1s"}]
    late = {"at": "40s", "apply": pod("late", command=SERVER)}
    for faults, pulls in (([], 1), ([torn("image_manager/pulled/*", times=1)], 2)):
        story = Played(RESTART, late, objects=[pod("web")], images=images, faults=faults)
        assert len(story.when(CriCall, call="PullImage")) == pulls
        assert story.result.phases == {"default/web": "Running", "default/late": "Running"}


def test_del_works_without_the_cached_result_of_add() -> None:
    """libcni then passes no result to the plugins, and bridge and host-local do not need it."""
    fault = {"operation": "disk.WriteCniCache", "subject": "*-eth0", "torn": True}
    story = Played({"at": "20s", "delete": {"pod": "web"}}, runtime="cni", objects=[pod("web")], faults=[fault])
    assert [r.fault for r in story.records if isinstance(r, Fault)] == ["disk.WriteCniCache: torn write"]
    dels = [r for r in story.records if isinstance(r, CniExec) and r.command == "DEL" and r.plugin == "bridge"]
    assert dels
    assert not [r.error for r in dels if r.error]
    assert story.result.phases == {"default/web": "Succeeded"}


def test_a_damaged_bootstrap_checkpoint_is_skipped() -> None:
    kept = pod("kept", automountServiceAccountToken=False)
    kept["metadata"]["annotations"] = {ANNOTATION: "true"}
    steps: list[dict[str, Any]] = [{"at": "10s", "stop": "apiserver"}, {"at": "11s", "reboot": {"downFor": "5s"}}]
    story = Played(*steps, profile="v1.12", sources={"bootstrapCheckpoint": {}}, objects=[kept],
                   faults=[torn("Pod_*.yaml")], duration="40s")  # fmt: skip
    restored = [record.pods for record in story.records if isinstance(record, ConfigUpdate) and record.op == "RESTORE"]
    assert restored in ([], [()])
    assert any("Failed to retrieve checkpoint for pod" in note for note in story.notes())

"""The whole status of a pod: cases that the corpora do not cover, and the main rules."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.pod import ContainerStatus, Pod, PodCondition, PodStatus
from kubesim.api.timestamps import parse_time
from kubesim.features import FeatureGates
from kubesim.kubelet.status.containers.probe_overlay import readiness_workers_to_trigger
from kubesim.kubelet.status.generate.api_pod_status import generate_api_pod_status
from kubesim.kubelet.status.generate.inputs import StatusInputs
from kubesim.kubelet.status.generate.pod_ips import host_network_pod_ips, sort_pod_ips
from kubesim.kubelet.status.terminate import has_pod_initialized
from kubesim.runtime.allocation.cgroups import ResourceConfig
from kubesim.runtime.types import ContainerRecord, RuntimePodStatus, RuntimeResources, SandboxNetwork, SandboxRecord

NOW = parse_time("2026-03-01T12:00:00Z")
STARTED = parse_time("2026-03-01T11:59:00.75Z")
SANDBOX = SandboxRecord("s1", network=SandboxNetwork("10.0.0.5"))


def a_pod(status: dict[str, Any] | None = None, container: dict[str, Any] | None = None, **spec: Any) -> Pod:
    spec = {"restartPolicy": "Always", "containers": [{"name": "app", "image": "app:1", **(container or {})}], **spec}
    return Pod.from_json(
        {"metadata": {"name": "web", "uid": "1", "generation": 8}, "spec": spec, "status": status or {}}
    )


def running(**fields: Any) -> ContainerRecord:
    return ContainerRecord("containerd://c1", "app", "running", started_at=STARTED, image="app:1", **fields)


def generate(pod: Pod, *records: ContainerRecord, **fields: Any) -> PodStatus:
    runtime = RuntimePodStatus("1", sandboxes=(SANDBOX,), containers=records, ips=fields.pop("ips", ()))
    return generate_api_pod_status(StatusInputs(pod, runtime, **{"now": NOW, "kubelet_start": NOW, **fields}))


def app(status: PodStatus) -> ContainerStatus:
    return status.container_statuses[0]


def test_a_running_pod() -> None:
    status = generate(a_pod(), running(), ips=("10.0.0.5",), host_ips=("192.168.0.1",))
    assert status.to_json() == {
        "phase": "Running",
        "conditions": [
            {"type": "PodReadyToStartContainers", "observedGeneration": 8, "status": "True"},
            {"type": "Initialized", "observedGeneration": 8, "status": "True"},
            {"type": "Ready", "observedGeneration": 8, "status": "True"},
            {"type": "ContainersReady", "observedGeneration": 8, "status": "True"},
            {"type": "PodScheduled", "observedGeneration": 8, "status": "True"},
        ],
        "containerStatuses": [
            {
                "name": "app",
                "state": {"running": {"startedAt": "2026-03-01T11:59:00Z"}},
                "lastState": {},
                "ready": True,
                "started": True,
                "restartCount": 0,
                "image": "app:1",
                "imageID": "",
                "containerID": "containerd://c1",
                "resources": {},
            }
        ],
        "qosClass": "BestEffort",
        "hostIP": "192.168.0.1",
        "hostIPs": [{"ip": "192.168.0.1"}],
        "podIP": "10.0.0.5",
        "podIPs": [{"ip": "10.0.0.5"}],
        "resources": {},
    }


def test_a_failed_start_is_the_waiting_reason_and_the_exit_moves_to_last_state() -> None:
    exited = ContainerRecord("containerd://c1", "app", "exited", exit_code=1, reason="Error")
    status = generate(a_pod(), exited, reasons={"app": ("CrashLoopBackOff", "back-off 10s")})
    assert app(status).state.to_json() == {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}}
    assert app(status).last_state.terminated is not None
    finished = generate(a_pod(restartPolicy="Never"), exited, reasons={"app": ("CrashLoopBackOff", "")})
    assert app(finished).state.terminated is not None


def test_a_missing_container_is_inferred_to_have_exited() -> None:
    old = {"containerStatuses": [{"name": "app", "state": {"running": {}}, "restartCount": 4}]}
    status = generate(a_pod(old))
    assert app(status).state.to_json() == {"waiting": {"reason": "ContainerCreating"}}
    ended = app(status).last_state.terminated
    assert ended is not None
    assert (ended.exit_code, ended.reason) == (137, "ContainerStatusUnknown")
    assert (app(status).restart_count, status.phase) == (5, "Running")


def test_an_exited_container_that_was_removed_keeps_its_status_and_is_not_started() -> None:
    ended = {
        "name": "app",
        "state": {"terminated": {"exitCode": 3}},
        "restartCount": 2,
        "containerID": "containerd://c0",
    }
    status = generate(a_pod({"containerStatuses": [ended]}, restartPolicy="Never"))
    assert app(status) == ContainerStatus.from_json({**ended, "started": False})


def test_terminal_phases_are_final_and_keep_their_reason() -> None:
    evicted = PodStatus(phase="Failed", reason="Evicted", message="The node was low on memory")
    status = generate(a_pod(), running(), cached_status=evicted)
    assert (status.phase, status.reason, status.message) == ("Failed", "Evicted", "The node was low on memory")
    late = generate(a_pod({"phase": "Succeeded"}), running(), cached_status=PodStatus(phase="Running"))
    assert late.phase == "Succeeded"


def test_the_active_deadline_counts_from_the_start_time_and_includes_its_last_instant() -> None:
    pod = a_pod({"startTime": "2026-03-01T11:59:00Z"}, activeDeadlineSeconds=60)
    status = generate(pod, running())
    assert (status.phase, status.reason) == ("Failed", "DeadlineExceeded")
    assert generate(pod, running(), now=NOW - 1).phase == "Running"


def test_conditions_of_other_clients_come_first_and_a_disruption_is_taken_from_the_cache() -> None:
    api = {"conditions": [{"type": "example.com/x", "status": "True"}, {"type": "DisruptionTarget", "status": "False"}]}
    disruption = PodCondition(type="DisruptionTarget", status="True", reason="TerminationByKubelet")
    resize = PodCondition(type="PodResizePending", status="True", reason="Deferred", observed_generation=7)
    cached = PodStatus(conditions=(disruption,))
    status = generate(a_pod(api), running(), cached_status=cached, resize_conditions=(resize,))
    assert [c.type for c in status.conditions[:3]] == ["example.com/x", "DisruptionTarget", "PodResizePending"]
    assert status.conditions[1] is disruption
    assert status.conditions[2] is resize
    ended = generate(a_pod(api), running(), resize_conditions=(resize,), pod_is_terminal=True)
    assert all(c.type != "PodResizePending" for c in ended.conditions)


def test_probes_decide_started_and_ready_and_a_missing_success_triggers_a_probe() -> None:
    pod = a_pod(container={"readinessProbe": {"exec": {}}, "startupProbe": {"exec": {}}})
    workers: dict[str, Any] = {"probe_workers": frozenset({("app", "readiness"), ("app", "startup")})}
    new = {**workers, "kubelet_start": STARTED}
    assert not app(generate(pod, running(), **new)).started
    started = generate(pod, running(), **new, startup={"containerd://c1": "success"})
    assert (app(started).started, app(started).ready) == (True, False)
    runtime = RuntimePodStatus("1", containers=(running(),))
    inputs = StatusInputs(pod, runtime, NOW, STARTED, startup={"containerd://c1": "success"}, **workers)
    assert list(readiness_workers_to_trigger(inputs, started)) == ["app"]


def test_a_container_older_than_the_kubelet_stays_ready_until_its_probe_has_a_result() -> None:
    probe: dict[str, Any] = {"readinessProbe": {"exec": {}}}
    workers: dict[str, Any] = {"probe_workers": frozenset({("app", "readiness")})}
    was_ready = a_pod({"conditions": [{"type": "Ready", "status": "True"}]}, probe)
    assert app(generate(was_ready, running(), **workers)).ready
    assert not app(generate(was_ready, running(), **workers, readiness={"containerd://c1": "failure"})).ready
    assert not app(generate(a_pod(container=probe), running(), **workers)).ready
    # The start is compared to the microsecond, not as the whole seconds that the API shows.
    limit = {**workers, "kubelet_start": STARTED + 10_000_000}
    assert not app(generate(was_ready, running(), **limit)).ready
    flips = FeatureGates({"ChangeContainerStatusOnKubeletRestart": True})
    assert not app(generate(was_ready, running(), **workers, gates=flips)).ready


def test_reported_resources_replace_allocated_ones_unless_too_small_for_a_cgroup() -> None:
    allocated = {"requests": {"cpu": "1m", "memory": "64Mi"}, "limits": {"cpu": 0.5}}
    pod = a_pod(container={"resources": allocated})
    reported = RuntimeResources(cpu_request="2m", cpu_limit="750m", memory_request=None)
    resources = app(generate(pod, running(resources=reported))).resources
    assert resources is not None
    assert resources.to_json() == {"requests": {"cpu": "1m", "memory": "64Mi"}, "limits": {"cpu": "750m"}}
    assert app(generate(pod, running())).allocated_resources == {"cpu": "1m", "memory": "64Mi"}


def test_pod_resources_of_a_running_pod_are_read_from_its_cgroup() -> None:
    pod = a_pod({"phase": "Running"}, {"resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}})
    cgroup = ResourceConfig(cpu_shares=102, cpu_quota=20_000, cpu_period=100_000, memory=64 << 20)
    known = generate(pod, running(), pod_cgroup=cgroup).resources
    assert known is not None
    assert known.to_json() == {
        "requests": {"cpu": "100m", "memory": "64Mi"},
        "limits": {"cpu": "200m", "memory": "64Mi"},
    }
    gone = generate(pod, running()).resources
    assert gone is not None
    assert gone.to_json() == {"requests": {"memory": "64Mi"}}


def test_pod_ips_are_one_of_each_family_in_the_order_of_the_node() -> None:
    found = ("fd00:0::0005", "10.0.0.05", "10.0.0.6", "no address")
    assert sort_pod_ips(found) == ("10.0.0.5", "fd00::5")
    assert sort_pod_ips(found, prefers_ipv6=True) == ("fd00::5", "10.0.0.5")
    on_host = generate(a_pod(hostNetwork=True), running(), host_ips=("192.168.0.1", "fd00::1"))
    assert [address.ip for address in on_host.pod_ips] == ["192.168.0.1", "fd00::1"]


def test_volume_mounts_show_whether_read_only_is_recursive() -> None:
    mounts = [
        {"name": "a", "mountPath": "/a", "readOnly": True, "recursiveReadOnly": "IfPossible"},
        {"name": "b", "mountPath": "/b", "recursiveReadOnly": "Disabled"},
    ]
    pod = a_pod(container={"volumeMounts": mounts})
    status = generate(pod, supports_recursive_read_only=True)
    assert app(status).volume_mounts == (
        {"name": "a", "mountPath": "/a", "readOnly": True, "recursiveReadOnly": "Enabled"},
        {"name": "b", "mountPath": "/b"},
    )
    assert app(generate(pod)).volume_mounts[0]["recursiveReadOnly"] == "Disabled"


def test_disabled_gates_omit_their_fields() -> None:
    old = {
        "containerStatuses": [
            {"name": "app", "containerID": "containerd://c1", "state": {"running": {}}, "started": True,
             "restartCount": 3, "lastState": {"terminated": {"exitCode": 4}}},
        ],
    }  # fmt: skip
    given = a_pod(old, container={"resources": {"requests": {"cpu": "1"}}})
    off = FeatureGates(
        {
            "InPlacePodVerticalScaling": False,
            "InPlacePodLevelResourcesVerticalScaling": False,
            "PodReadyToStartContainersCondition": False,
            "RestartAllContainersOnContainerExits": False,
            "ChangeContainerStatusOnKubeletRestart": True,
        }
    )
    before, after = generate(given, running()), generate(given, running(), gates=off)
    assert app(before).allocated_resources == {"cpu": "1"}
    assert app(after).allocated_resources == {}
    assert app(after).resources is None
    assert (app(before).restart_count, app(after).restart_count) == (3, 0)
    assert app(before).last_state.terminated is not None
    assert app(after).last_state.terminated is None
    assert [c.type for c in after.conditions] == [c.type for c in before.conditions[1:]]


def test_a_running_container_with_unknown_start_time() -> None:
    record = ContainerRecord("containerd://c1", "app", "running", image="app:1")
    assert app(generate(a_pod(), record)).to_json()["state"] == {"running": {}}


def test_addresses_with_a_zone_do_not_count_and_mapped_ones_are_ipv4() -> None:
    assert sort_pod_ips(("fe80::1%eth0", "::ffff:10.0.0.9", "fd00::1"), False) == ("10.0.0.9", "fd00::1")


@pytest.mark.parametrize(("kind", "reported"), [("requests", "250m"), ("limits", "1")])
def test_resources_that_the_container_does_not_request_are_not_reported(kind: str, reported: str) -> None:
    pod = a_pod(container={"resources": {kind: {"cpu": "100m"}}})
    resources = app(generate(pod, running(resources=RuntimeResources(cpu_request="250m", cpu_limit="1")))).resources
    assert resources is not None
    assert resources.to_json() == {kind: {"cpu": reported}}


def test_without_generation_tracking_a_resize_condition_has_no_generation() -> None:
    pending = PodCondition(type="PodResizePending", status="True", observed_generation=7)
    off = FeatureGates({"PodObservedGenerationTracking": False})
    for gates, generation in ((FeatureGates(), 7), (off, 0)):
        status = generate(a_pod(), running(), resize_conditions=(pending,), gates=gates)
        (found,) = [c for c in status.conditions if c.type == "PodResizePending"]
        assert found.observed_generation == generation


def test_a_host_network_pod_gets_a_second_address_only_of_the_other_family() -> None:
    assert host_network_pod_ips((), ("10.0.0.1", "fd00::1")) == ("10.0.0.1", "fd00::1")
    assert host_network_pod_ips(("10.0.0.9",), ("10.0.0.1", "10.0.0.2")) == ("10.0.0.9",)


def test_a_propagated_mount_is_not_recursively_read_only() -> None:
    mount = {"name": "v", "mountPath": "/a", "readOnly": True, "recursiveReadOnly": "IfPossible"}
    for propagation, expected in (("None", "Enabled"), ("HostToContainer", "Disabled")):
        pod = a_pod(container={"volumeMounts": [{**mount, "mountPropagation": propagation}]})
        (reported,) = app(generate(pod, supports_recursive_read_only=True)).to_json()["volumeMounts"]
        assert reported["recursiveReadOnly"] == expected


def test_a_status_of_another_init_container_proves_nothing() -> None:
    status = {"initContainerStatuses": [{"name": "other", "state": {"terminated": {"exitCode": 0}}}]}
    assert not has_pod_initialized(a_pod(status, initContainers=[{"name": "init"}]))

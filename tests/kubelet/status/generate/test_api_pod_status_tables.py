"""The whole status of a pod, with upstream's tables.

Upstream's kubelet has a fake probe manager there, which reports every container as ready. Probe results are
data here, so readiness is not compared where upstream's fake decides it.

Mirrors: pkg/kubelet/kubelet_pods_test.go Test_generateAPIPodStatus (19 rows),
Test_generateAPIPodStatusForInPlaceVPAEnabled (2)
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.pod import Pod, PodStatus
from kubesim.api.timestamps import SECOND, parse_time
from kubesim.features import FeatureGates
from kubesim.kubelet.status.generate.api_pod_status import generate_api_pod_status
from kubesim.kubelet.status.generate.inputs import StatusInputs
from kubesim.runtime.types import ContainerRecord, RuntimePodStatus, RuntimeResources, SandboxNetwork, SandboxRecord

JsonObject = dict[str, Any]
NOW = parse_time("2026-03-01T12:00:00Z")
READY_SANDBOX = (SandboxRecord("s", network=SandboxNetwork("10.0.0.10")),)
TWO = [{"name": "A"}, {"name": "B"}]


def running(name: str) -> JsonObject:
    return {"name": name, "state": {"running": {}}}


def waiting(name: str, reason: str = "") -> JsonObject:
    return {"name": name, "state": {"waiting": {"reason": reason} if reason else {}}}


def succeeded(name: str) -> JsonObject:
    return {"name": name, "state": {"terminated": {"exitCode": 0}}}


def vanished(name: str, restart_count: int) -> JsonObject:
    """Waiting, after an exit that was not observed."""
    message = "The container could not be located when the pod was deleted.  The container used to be Running"
    last = {"reason": "ContainerStatusUnknown", "message": message, "exitCode": 137}
    return {**waiting(name, "ContainerCreating"), "lastState": {"terminated": last}, "restartCount": restart_count}


def record(name: str, state: Any = "running", *, started: int | None = None) -> ContainerRecord:
    return ContainerRecord(f"test://{name}", name, state, started_at=started)


def generate(pod: JsonObject, *records: ContainerRecord, **more: Any) -> PodStatus:
    old, gates = more.pop("previous", None), more.pop("gates", {})
    runtime = RuntimePodStatus("1", sandboxes=more.pop("sandboxes", READY_SANDBOX), containers=records)
    cached = None if old is None else PodStatus.from_json(old)
    inputs = StatusInputs(
        Pod.from_json(pod),
        runtime,
        NOW,
        NOW,
        cached,
        host_ips=("127.0.0.1", "::1"),
        gates=FeatureGates({"InPlacePodLevelResourcesVerticalScaling": False, **gates}),
        **more,
    )
    return generate_api_pod_status(inputs)


def a_pod(spec: JsonObject | None = None, phase: str = "", statuses: Any = (), **metadata: Any) -> JsonObject:
    whole = {"nodeName": "machine", "containers": TWO, "restartPolicy": "Always", **(spec or {})}
    status = {"phase": phase, "containerStatuses": list(statuses)}
    return {"metadata": {"name": "my-pod", **metadata}, "spec": whole, "status": status}


def course(status: PodStatus) -> list[JsonObject]:
    """State, last state and restart count of each container."""
    return [
        {
            "name": each.name,
            "state": each.state.to_json(),
            "lastState": each.last_state.to_json(),
            "restartCount": each.restart_count,
        }
        for each in status.container_statuses
    ]


def expected_course(statuses: list[JsonObject]) -> list[JsonObject]:
    return [{"lastState": {}, "restartCount": 0, **status} for status in statuses]


BOTH_RUNNING = [running("A"), running("B")]
ENDED_UNSEEN = [vanished("A", 1), vanished("B", 1)]
DISRUPTED = {"type": "DisruptionTarget", "status": "True", "lastTransitionTime": "2026-03-01T12:00:00Z"}
DELETED: JsonObject = {"deletionTimestamp": "2026-03-01T12:00:00Z"}
COMPLETED = {"Initialized": "PodCompleted", "Ready": "PodCompleted", "ContainersReady": "PodCompleted"}


@pytest.mark.parametrize("with_condition", [False, True])
@pytest.mark.parametrize(
    ("pod", "records", "more", "phase", "statuses", "reasons"),
    [
        pytest.param(
            {**a_pod(statuses=BOTH_RUNNING, **DELETED)},
            (),
            {"previous": {"containerStatuses": BOTH_RUNNING}, "pod_is_terminal": True, "disrupted": True},
            "Failed",
            [vanished("A", 0), vanished("B", 0)],
            {"Ready": "PodFailed", "ContainersReady": "PodFailed"},
            id="pod disruption condition is copied over and the phase is set to failed when deleted",
        ),
        pytest.param(
            a_pod(statuses=BOTH_RUNNING, **DELETED),
            (),
            {"previous": {"containerStatuses": BOTH_RUNNING}},
            "Running",
            [vanished("A", 0), vanished("B", 0)],
            {},
            id="current status ready, with previous statuses and deletion",
        ),
        pytest.param(
            a_pod(statuses=BOTH_RUNNING),
            (),
            {"previous": {"containerStatuses": BOTH_RUNNING}},
            "Running",
            ENDED_UNSEEN,
            {},
            id="current status ready, with previous statuses and no deletion",
        ),
        pytest.param(
            a_pod(phase="Succeeded", statuses=BOTH_RUNNING),
            (),
            {"previous": {"containerStatuses": BOTH_RUNNING}, "sandboxes": ()},
            "Succeeded",
            ENDED_UNSEEN,
            COMPLETED,
            id="terminal phase cannot be changed (apiserver previous is succeeded)",
        ),
        pytest.param(
            a_pod(phase="Running", statuses=BOTH_RUNNING),
            (),
            {
                "previous": {
                    "phase": "Succeeded",
                    "reason": "Test",
                    "message": "test",
                    "containerStatuses": BOTH_RUNNING,
                },
                "sandboxes": (),
            },
            "Succeeded Test test",
            ENDED_UNSEEN,
            COMPLETED,
            id="terminal phase from previous status must remain terminal, restartAlways",
        ),
        pytest.param(
            a_pod({"restartPolicy": "Never"}, "Running", BOTH_RUNNING),
            (),
            {
                "previous": {
                    "phase": "Succeeded",
                    "reason": "Test",
                    "message": "test",
                    "containerStatuses": [succeeded("A"), succeeded("B")],
                },
                "sandboxes": (),
            },
            "Succeeded Test test",
            [succeeded("A"), succeeded("B")],
            COMPLETED,
            id="terminal phase from previous status must remain terminal, restartNever",
        ),
        pytest.param(
            a_pod(phase="Running", statuses=BOTH_RUNNING),
            (),
            {"previous": {"containerStatuses": [waiting("A"), waiting("B")]}},
            "Pending",
            [waiting("A", "ContainerCreating"), waiting("B", "ContainerCreating")],
            {},
            id="running can revert to pending",
        ),
        pytest.param(
            a_pod(phase="Running", statuses=[waiting("A"), waiting("B")]),
            (record("B", started=SECOND),),
            {
                "previous": {
                    "phase": "Pending",
                    "reason": "Test",
                    "message": "test",
                    "containerStatuses": [waiting("A"), running("B")],
                }
            },
            "Pending Test test",
            [
                waiting("A", "ContainerCreating"),
                {"name": "B", "state": {"running": {"startedAt": "1970-01-01T00:00:01Z"}}},
            ],
            {},
            id="reason and message are preserved when phase doesn't change",
        ),
        pytest.param(
            a_pod(phase="Pending", statuses=[waiting("A"), waiting("B")]),
            (record("A", started=SECOND), record("B", started=2 * SECOND)),
            {
                "previous": {
                    "phase": "Pending",
                    "reason": "Test",
                    "message": "test",
                    "containerStatuses": BOTH_RUNNING,
                }
            },
            "Running",
            [
                {"name": "A", "state": {"running": {"startedAt": "1970-01-01T00:00:01Z"}}},
                {"name": "B", "state": {"running": {"startedAt": "1970-01-01T00:00:02Z"}}},
            ],
            {},
            id="reason and message are cleared when phase changes",
        ),
    ],
)
def test_generate_api_pod_status(
    pod: JsonObject,
    records: tuple[ContainerRecord, ...],
    more: JsonObject,
    phase: str,
    statuses: list[JsonObject],
    reasons: dict[str, str],
    with_condition: bool,
) -> None:
    """Also with PodReadyToStartContainersCondition off."""
    more = dict(more)
    disrupted = more.pop("disrupted", False)
    if disrupted:
        pod["status"]["conditions"] = more["previous"]["conditions"] = [DISRUPTED]
    status = generate(pod, *records, **more, gates={"PodReadyToStartContainersCondition": with_condition})
    assert f"{status.phase} {status.reason} {status.message}".rstrip() == phase
    assert course(status) == expected_course(statuses)
    assert (status.host_ip, [address.ip for address in status.host_ips]) == ("127.0.0.1", ["127.0.0.1", "::1"])
    assert (status.qos_class, status.resources) == ("BestEffort", None)
    own = ["Initialized", "Ready", "ContainersReady", "PodScheduled"]
    first = [DISRUPTED["type"]] if disrupted else []
    first += ["PodReadyToStartContainers"] if with_condition else []
    assert [condition.type for condition in status.conditions] == [*first, *own]
    found = {condition.type: condition for condition in status.conditions}
    assert found["Initialized"].status == found["PodScheduled"].status == "True"
    if with_condition:
        assert found["PodReadyToStartContainers"].status == ("True" if "sandboxes" not in more else "False")
    if disrupted:
        assert found["DisruptionTarget"].to_json() == DISRUPTED
    for condition, reason in reasons.items():
        assert found[condition].reason == reason
        assert found[condition].status == ("True" if condition == "Initialized" else "False")


def resources(cpu: str = "", memory: str = "") -> dict[str, str]:
    return {name: amount for name, amount in (("cpu", cpu), ("memory", memory)) if amount}


SMALL, LARGE, SUM = resources("100m", "100Mi"), resources("200m", "200Mi"), resources("300m", "300Mi")


def asks(name: str, requests: dict[str, str], limits: dict[str, str] | None = None) -> JsonObject:
    wanted = {"requests": requests, "limits": limits} if limits else {"requests": requests}
    return {"name": name, "resources": wanted}


def whole(container: JsonObject, **more: Any) -> JsonObject:
    """A spec with the same requests as its container."""
    return {"containers": [container], "resources": container["resources"], **more}


@pytest.mark.parametrize(
    ("pod", "records", "more", "phase", "qos"),
    [
        pytest.param(
            a_pod(statuses=BOTH_RUNNING, **DELETED),
            (),
            {"previous": {"containerStatuses": BOTH_RUNNING}},
            "Running",
            "BestEffort",
            id="current status ready, with previous statuses and deletion",
        ),
        pytest.param(
            a_pod(
                {"containers": [asks("A", SMALL), asks("B", LARGE)], "resources": {"requests": SUM}},
                statuses=BOTH_RUNNING,
            ),
            (),
            {"previous": {"containerStatuses": BOTH_RUNNING}},
            "Running",
            "Burstable",
            id="current status ready, with previous statuses and no deletion",
        ),
        pytest.param(
            a_pod(whole(asks("A", SMALL, LARGE)), "Pending"), (), {}, "Pending", "Burstable", id="pending pod"
        ),
        pytest.param(
            a_pod(whole(asks("A", SMALL, LARGE)), "Running"),
            (record("A"),),
            {},
            "Running",
            "Burstable",
            id="running pod",
        ),
        pytest.param(
            a_pod(whole(asks("A", SMALL)), "Succeeded"),
            (record("A", "exited"),),
            {"pod_is_terminal": True},
            "Succeeded",
            "Burstable",
            id="succeeded pod",
        ),
        pytest.param(
            a_pod(whole(asks("A", LARGE), initContainers=[asks("init", SMALL)]), "Running"),
            (record("A"), record("init", "exited")),
            {},
            "Running",
            "Burstable",
            id="pod with init containers",
        ),
        pytest.param(
            a_pod(phase="Running"), (record("A"), record("B")), {}, "Running", "BestEffort", id="no resources set"
        ),
        pytest.param(
            a_pod(whole(asks("A", resources(cpu="100m"))), "Running"),
            (record("A"),),
            {},
            "Running",
            "Burstable",
            id="only CPU set",
        ),
        pytest.param(
            a_pod(whole(asks("A", resources(memory="100Mi"))), "Running"),
            (record("A"),),
            {},
            "Running",
            "Burstable",
            id="only Memory set",
        ),
        pytest.param(
            a_pod(whole(asks("A", resources("0", "0"))), "Running"),
            (record("A"),),
            {},
            "Running",
            "BestEffort",
            id="0 values for CPU and Memory",
        ),
    ],
)
def test_in_place_pod_level_resources_vertical_scaling_enabled(
    pod: JsonObject, records: tuple[ContainerRecord, ...], more: JsonObject, phase: str, qos: str
) -> None:
    """The reported resources are the requested ones: upstream's fake cgroup has no others."""
    status = generate(pod, *records, **more, gates={"InPlacePodLevelResourcesVerticalScaling": True})
    asked = pod["spec"].get("resources") or {}
    assert (status.phase, status.qos_class) == (phase, qos)
    assert status.resources is not None
    assert status.resources.to_json() == asked
    assert status.allocated_resources == asked.get("requests", {})
    by_name = {each.name: each for each in (*status.init_container_statuses, *status.container_statuses)}
    for container in (*pod["spec"].get("initContainers", ()), *pod["spec"]["containers"]):
        own, shown = container.get("resources") or {}, by_name[container["name"]]
        if records:
            assert shown.resources is not None
            assert shown.resources.to_json() == own
            assert shown.allocated_resources == own.get("requests", {})
        else:
            assert (shown.resources, shown.allocated_resources) == (None, {})
    if records:
        assert all(each.restart_count == 0 and each.container_id for each in by_name.values())


@pytest.mark.parametrize(
    "extra",
    [
        pytest.param({"unknown-resource": "1"}, id="custom resource in ResourcesAllocated, resize should be null"),
        pytest.param({}, id="cpu/memory resource in ResourcesAllocated, resize should be null"),
    ],
)
def test_generate_api_pod_status_for_in_place_vpa_enabled(extra: dict[str, str]) -> None:
    wanted = {"cpu": "1", "memory": "1Gi", "ephemeral-storage": "2Gi"}
    container = {"name": "ctr0", "image": "img", "resources": {"limits": wanted | extra, "requests": wanted | extra}}
    known = {"name": "ctr0", "resources": {"limits": wanted, "requests": wanted}, "allocatedResources": wanted | extra}
    pod = a_pod({"containers": [container]}, statuses=[known])
    reported = RuntimeResources(cpu_request="1", cpu_limit="1", memory_request="1Gi", memory_limit="1Gi")
    seen = ContainerRecord("test://ctr0", "ctr0", "running", resources=reported)
    status = generate(pod, seen, previous=pod["status"])
    assert not [c for c in status.conditions if c.type in ("PodResizePending", "PodResizeInProgress")]

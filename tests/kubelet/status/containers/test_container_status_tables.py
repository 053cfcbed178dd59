"""The API status of each container, with upstream's tables.

Mirrors: pkg/kubelet/kubelet_pods_test.go TestConvertToAPIContainerStatuses (13 rows),
TestConvertToAPIContainerStatusesForResources (16), TestConvertToAPIContainerStatusesForUser (2 of 6: the gate is
locked, and a user here is one of Linux). Left out: TestConvertToAPIContainerStatusesWithImageVolumeDigest (2: a
disabled alpha feature), TestConvertToAPIContainerStatusesDataRace (1: about locks).
"""

from __future__ import annotations

from typing import Any, Literal

import pytest

from kubesim.api.pod import ContainerStatus, Pod
from kubesim.api.timestamps import parse_time
from kubesim.kubelet.status.containers.container_statuses import convert_to_api_container_statuses, two_newest_records
from kubesim.kubelet.status.generate.inputs import StatusInputs
from kubesim.runtime.types import ContainerRecord, ContainerUser, RuntimePodStatus, RuntimeResources

JsonObject = dict[str, Any]
NOW = parse_time("2026-03-01T12:00:00Z")
TWO = {"nodeName": "machine", "containers": [{"name": "A"}, {"name": "B"}], "restartPolicy": "Always"}
REMOVED = "The container is removed because RestartAllContainers in place"
RESTARTED = {"reason": "RestartingAllContainers", "message": REMOVED, "exitCode": 137}


def converted(
    spec: JsonObject,
    previous: list[JsonObject],
    *records: ContainerRecord,
    kind: Literal["init", "regular"] = "regular",
    restarting: bool = False,
    deleted: bool = False,
) -> list[ContainerStatus]:
    metadata = {"name": "my-pod", "deletionTimestamp": "2026-03-01T12:00:00Z"} if deleted else {"name": "my-pod"}
    pod = Pod.from_json({"metadata": metadata, "spec": spec})
    runtime = RuntimePodStatus("1", containers=records)
    containers = pod.spec.containers if kind == "regular" else pod.spec.init_containers
    old = [ContainerStatus.from_json(status) for status in previous]
    inputs = StatusInputs(pod, runtime, NOW, NOW)
    return list(
        convert_to_api_container_statuses(kind, inputs, containers, old, two_newest_records(runtime), restarting)
    )


def course(status: ContainerStatus) -> JsonObject:
    """Name, state, last state and count, without ids."""
    shown: JsonObject = {"name": status.name, "state": status.state.to_json(), "restartCount": status.restart_count}
    shown["state"].get("terminated", {}).pop("containerID", None)
    return {**shown, "lastState": status.last_state.to_json()}


def status(name: str, state: JsonObject, count: int = 0, last: JsonObject | None = None) -> JsonObject:
    return {"name": name, "state": state, "restartCount": count, "lastState": {"terminated": last} if last else {}}


def running(name: str, count: int = 0, last: JsonObject | None = None) -> JsonObject:
    return status(name, {"running": {}}, count, last)


def ended(name: str, code: int, count: int = 0) -> JsonObject:
    return status(name, {"terminated": {"exitCode": code}}, count)


def vanished(name: str, count: int) -> JsonObject:
    message = "The container could not be located when the pod was deleted.  The container used to be Running"
    last = {"reason": "ContainerStatusUnknown", "message": message, "exitCode": 137}
    return status(name, {"waiting": {"reason": "ContainerCreating"}}, count, last)


def restarting(name: str, count: int) -> JsonObject:
    waiting = {"reason": "RestartingAllContainers", "message": REMOVED}
    return status(name, {"waiting": waiting}, count, RESTARTED)


def runs(name: str, identifier: str = "") -> ContainerRecord:
    return ContainerRecord(f"://{identifier}", name, "running")


def exited(name: str, code: int) -> ContainerRecord:
    return ContainerRecord("://", name, "exited", exit_code=code)


@pytest.mark.parametrize(
    ("previous", "records", "options", "expected"),
    [
        pytest.param(
            [running("A"), running("B")],
            (),
            {"deleted": True},
            [vanished("A", 0), vanished("B", 0)],
            id="no current status, with previous statuses and deletion",
        ),
        pytest.param(
            [running("A"), running("B")],
            (),
            {},
            [vanished("A", 1), vanished("B", 1)],
            id="no current status, with previous statuses and no deletion",
        ),
        pytest.param(
            [ended("A", -1, 5), ended("B", -1, 5)],
            (),
            {},
            [ended("A", -1, 5), ended("B", -1, 5)],
            id="no current status, keeping previous restartCount",
        ),
        pytest.param(
            [ended("A", -1, 5), ended("B", -1, 5)],
            (runs("A", "containerA"), runs("B", "containerB")),
            {},
            [running("A", 6, {"exitCode": -1}), running("B", 6, {"exitCode": -1})],
            id="currently running with lower restartCount; should keeping previous restartCount",
        ),
        pytest.param(
            [running("A"), running("B")],
            (runs("A"), exited("B", 42)),
            {"restarting": True},
            [running("A"), ended("B", 42)],
            id="containerB dies and triggers RestartAllContainers in place",
        ),
        pytest.param(
            [running("A"), ended("B", 42)],
            (exited("A", 137),),
            {"restarting": True},
            [ended("A", 137), restarting("B", 1)],
            id="containerB dies and triggers RestartAllContainers in place, containerA killed",
        ),
        pytest.param(
            [ended("A", 137), ended("B", 42)],
            (),
            {"restarting": True},
            [restarting("A", 1), restarting("B", 1)],
            id="containerB dies and triggers RestartAllContainers in place, containerA killed then removed",
        ),
        pytest.param(
            [running("A"), ended("B", 42)],
            (),
            {"restarting": True},
            [restarting("A", 1), restarting("B", 1)],
            id="containerB dies and triggers RestartAllContainers in place, containerA killed and removed together",
        ),
        pytest.param(
            [restarting("A", 1), ended("B", 42)],
            (runs("A", "containerA-new"),),
            {"restarting": True},
            [running("A", 1, RESTARTED), restarting("B", 1)],
            id="containerB dies and triggers RestartAllContainers in place, containerA rerun",
        ),
        pytest.param(
            [running("A", 1), ended("B", 42)],
            (exited("A", 0),),
            {"restarting": True},
            [ended("A", 0, 1), restarting("B", 1)],
            id="containerB dies and triggers RestartAllContainers in place, containerA succeeded",
        ),
        pytest.param(
            [running("A", 1), ended("B", 42)],
            (exited("A", 1),),
            {"restarting": True},
            [ended("A", 1, 1), restarting("B", 1)],
            id="containerB dies and triggers RestartAllContainers in place, containerA failed",
        ),
    ],
)
def test_convert_to_api_container_statuses(
    previous: list[JsonObject], records: tuple[ContainerRecord, ...], options: JsonObject, expected: list[JsonObject]
) -> None:
    assert [course(each) for each in converted(TWO, previous, *records, **options)] == expected


INFERRED = (
    "Unable to get init container status from container runtime and pod has been initialized, "
    "treat it as exited normally"
)


@pytest.mark.parametrize(
    ("init", "state"),
    [
        pytest.param(
            {"name": "init-1"},
            {"terminated": {"reason": "Completed", "message": INFERRED, "exitCode": 0}},
            id=INFERRED,
        ),
        pytest.param(
            {"name": "init-1", "restartPolicy": "Always"},
            {"waiting": {"reason": "PodInitializing"}},
            id="Unable to get sidecar container status from container runtime and pod has been initialized, "
            "sidecar container should be waiting",
        ),
    ],
)
def test_an_init_container_without_a_record(init: JsonObject, state: JsonObject) -> None:
    spec = {**TWO, "initContainers": [init], "containers": [{"name": "A"}]}
    (found,) = converted(spec, [], runs("A", "foo"), kind="init")
    assert course(found) == status("init-1", state)


# -- resources ------------------------------------------------------------------------------------------------------


def amounts(cpu: str, memory: str, *, storage: bool = False, extended: bool = False) -> dict[str, str]:
    made = {"cpu": cpu, "memory": memory}
    if storage:
        made |= {"ephemeral-storage": "2Gi", "storage": "2Gi"}
    return made | {"dummy.io/dummy": "1"} if extended else made


ONE, TWICE = amounts("1", "1Gi"), amounts("2", "2Gi")
ONE_STORED, TWICE_STORED = amounts("1", "1Gi", storage=True), amounts("2", "2Gi", storage=True)
NOTHING_BUT_EXTENDED = amounts("0", "0", extended=True)
ONE_EXTENDED = amounts("1", "1Gi", extended=True)
ALL = amounts("1", "1Gi", storage=True, extended=True)
MEMORY_ONLY = {"memory": "100M"}
BELOW = {"requests": {"memory": "100M", "cpu": "1m"}, "limits": {"cpu": "5m"}}


def guaranteed(same: dict[str, str]) -> JsonObject:
    return {"limits": same, "requests": same}


def reported(resources: JsonObject) -> RuntimeResources:
    """The resources that a runtime reports; zero for missing ones."""
    requests, limits = resources.get("requests", {}), resources.get("limits", {})
    return RuntimeResources(
        requests.get("cpu", "0"), limits.get("cpu", "0"), requests.get("memory", "0"), limits.get("memory", "0")
    )


@pytest.mark.parametrize(
    ("resources", "old", "options"),
    [
        pytest.param(guaranteed(ONE), guaranteed(ONE), {}, id="GuaranteedQoSPod with CPU and memory CRI status"),
        pytest.param(
            guaranteed(ONE),
            {"limits": TWICE, "requests": ONE},
            {},
            id="BurstableQoSPod with CPU and memory CRI status",
        ),
        pytest.param(
            {"requests": MEMORY_ONLY},
            {"requests": MEMORY_ONLY},
            {"actual": RuntimeResources(cpu_request="2m")},
            id="BurstableQoSPod without CPU",
        ),
        pytest.param(
            BELOW,
            BELOW,
            {"actual": RuntimeResources(cpu_request="2m", cpu_limit="10m")},
            id="BurstableQoSPod with below min CPU",
        ),
        pytest.param(
            guaranteed(ONE_STORED),
            guaranteed(ONE),
            {},
            id="GuaranteedQoSPod with CPU and memory CRI status, with ephemeral storage",
        ),
        pytest.param(
            guaranteed(ONE_STORED),
            guaranteed(TWICE_STORED),
            {},
            id="BurstableQoSPod with CPU and memory CRI status, with ephemeral storage",
        ),
        pytest.param(
            guaranteed(ONE_STORED),
            None,
            {},
            id="BurstableQoSPod with CPU and memory CRI status, with ephemeral storage, nil resources in OldStatus",
        ),
        pytest.param({}, {}, {}, id="BestEffortQoSPod"),
        pytest.param({"requests": NOTHING_BUT_EXTENDED}, {}, {}, id="BestEffort QoSPod with extended resources"),
        pytest.param({"requests": ONE_EXTENDED}, {}, {}, id="BurstableQoSPod with extended resources"),
        pytest.param(
            {"requests": ALL}, {}, {}, id="BurstableQoSPod with storage, ephemeral storage and extended resources"
        ),
        pytest.param(guaranteed(ONE_EXTENDED), {}, {}, id="GuaranteedQoSPod with extended resources"),
        pytest.param(guaranteed(ONE_STORED), None, {"state": "created", "before": None}, id="newly created Pod"),
        pytest.param(guaranteed(ONE_STORED), None, {"before": {"waiting": {}}}, id="newly running Pod"),
        pytest.param(
            guaranteed(ONE_STORED),
            guaranteed(ONE_STORED),
            {"state": "exited", "allocated": guaranteed(TWICE_STORED), "shown": guaranteed(TWICE_STORED)},
            id="newly terminated Pod",
        ),
        pytest.param(
            guaranteed(ONE_STORED),
            guaranteed(ONE_STORED),
            {"allocated": guaranteed(TWICE_STORED)},
            id="resizing Pod",
        ),
    ],
)
def test_convert_to_api_container_statuses_for_resources(
    resources: JsonObject, old: JsonObject | None, options: JsonObject
) -> None:
    state = options.get("state", "running")
    allocated = options.get("allocated", resources)
    before: JsonObject = {"name": "ctr0", "image": "img", "imageID": "img1234"}
    before["state"] = options.get("before", {"running": {}}) or {}
    if old is not None:
        before["resources"] = old
    times: JsonObject = {} if state == "created" else {"started_at": NOW}
    record = ContainerRecord(
        "test://ctr0",
        "ctr0",
        state,
        image="img",
        image_id="1234",
        image_ref="img1234",
        finished_at=NOW if state == "exited" else None,
        resources=options.get("actual", reported(resources)),
        **times,
    )
    spec = {"containers": [{"name": "ctr0", "image": "img", "resources": allocated}]}
    (found,) = converted(spec, [before], record)
    assert found.allocated_resources == allocated.get("requests", {})
    assert found.resources is not None
    assert found.resources.to_json() == options.get("shown", resources)
    started = {"startedAt": "2026-03-01T12:00:00Z"}
    states = {
        "running": {"running": started},
        "created": {"waiting": {}},
        "exited": {
            "terminated": {"exitCode": 0, **started, "finishedAt": started["startedAt"], "containerID": "test://ctr0"}
        },
    }
    assert found.state.to_json() == states[state]
    assert (found.image, found.image_id, found.container_id) == ("img", "img1234", "test://ctr0")


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        pytest.param(None, None, id="nil user"),
        pytest.param(
            ContainerUser(0, 0, (10,)), {"linux": {"uid": 0, "gid": 0, "supplementalGroups": [10]}}, id="linux user"
        ),
        pytest.param(ContainerUser(1000, 3000), {"linux": {"uid": 1000, "gid": 3000}}, id="no groups"),
    ],
)
def test_the_user_of_a_container(user: ContainerUser | None, expected: JsonObject | None) -> None:
    record = ContainerRecord("://id", "A", "running", user=user)
    [found] = converted({"containers": [{"name": "A"}]}, [], record)
    assert found.user == expected

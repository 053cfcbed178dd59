"""The status fields that kubelets of each version write, as stored by the API server."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.pod import Pod, PodStatus
from kubesim.api.timestamps import parse_time
from kubesim.app import Simulation
from kubesim.clock import run_virtual
from kubesim.concurrency import TaskSet
from kubesim.features import FeatureGates
from kubesim.kubelet.status.generate.api_pod_status import generate_api_pod_status
from kubesim.kubelet.status.generate.inputs import StatusInputs
from kubesim.runtime.types import RuntimePodStatus
from kubesim.scenario.language.document import Scenario
from tests.support.played import container, pod

OF_POD = {
    "conditions",
    "containerStatuses",
    "hostIP",
    "initContainerStatuses",
    "phase",
    "podIP",
    "qosClass",
    "startTime",
}
OF_CONTAINER = {"containerID", "image", "imageID", "lastState", "name", "ready", "restartCount", "state"}
LISTS = {"podIPs", "hostIPs"}
RESIZABLE = {"allocatedResources", "resources", "user", "volumeMounts"}


def status_in(profile: str) -> dict[str, Any]:
    """The status of a pod with an init container and requests, after 20 s."""
    main = {**container("main"), "resources": {"requests": {"cpu": "100m"}}}
    manifest = pod("web", initContainers=[container("init", "true")], containers=[main])
    images = [{"name": "*", "present": True}]
    spec = {"profile": profile, "images": images, "objects": [manifest]}
    scenario = Scenario.model_validate({"metadata": {"name": "story"}, "spec": spec})

    async def main_task() -> dict[str, Any]:
        async with TaskSet() as tasks:
            simulation = Simulation(scenario, 0, tasks)
            (node,) = simulation.nodes.values()
            node.start()
            await simulation.clock.sleep(1_000_000)
            simulation.world.apply(manifest)
            await simulation.clock.sleep(20_000_000)
            found = simulation.store.get("Pod", "default", "web")
            assert isinstance(found, Pod)
            await node.close()
            return dict(found.to_json()["status"])

    return run_virtual(main_task)


@pytest.mark.parametrize(
    ("profile", "more", "more_of_container"),
    [
        ("v1.6", set(), set()),
        ("v1.12", set(), set()),
        ("v1.30", LISTS, {"started"}),
        ("v1.35", LISTS | {"observedGeneration"}, {"started"} | RESIZABLE),
        ("v1.36", LISTS | {"observedGeneration", "allocatedResources", "resources"}, {"started"} | RESIZABLE),
    ],
)
def test_fields_of_a_running_pod(profile: str, more: set[str], more_of_container: set[str]) -> None:
    found = status_in(profile)
    assert set(found) == OF_POD | more
    assert set(found["containerStatuses"][0]) == OF_CONTAINER | more_of_container
    assert ("started" in found["initContainerStatuses"][0]) == ("started" in more_of_container)
    tracked = {"observedGeneration" in condition for condition in found["conditions"]}
    assert tracked == {"observedGeneration" in more}


@pytest.mark.parametrize(
    ("profile", "runtime"), [("v1.6", "docker"), ("v1.12", "docker"), ("v1.30", "containerd"), ("v1.36", "containerd")]
)
def test_the_id_of_a_container_names_the_runtime(profile: str, runtime: str) -> None:
    (found,) = status_in(profile)["containerStatuses"]
    assert found["containerID"].partition("://")[0] == runtime


def test_older_kubelets_kept_only_the_reason_of_a_pod_past_its_deadline() -> None:
    pod = Pod.from_json(
        {
            "spec": {"activeDeadlineSeconds": 5, "containers": [{"name": "app"}]},
            "status": {"startTime": "2026-03-01T11:59:00Z", "phase": "Running"},
        }
    )
    now = parse_time("2026-03-01T12:00:00Z")
    for profile in ("v1.6", "v1.12"):
        status = generate_api_pod_status(
            StatusInputs(pod, RuntimePodStatus("1"), now, now, gates=FeatureGates(profile=profile))
        )
        assert status == PodStatus(
            phase="Failed",
            reason="DeadlineExceeded",
            message="Pod was active on the node longer than the specified deadline",
            qos_class="BestEffort",
        )

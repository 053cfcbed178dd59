"""compute_pod_actions: the plan of one sync, and three restart questions on the same input."""

from __future__ import annotations

from typing import Any

from kubesim.api.pod import Pod, ResourceRequirements
from kubesim.api.pods.sidecars import init_and_regular_containers
from kubesim.conformance.decode import runtime_pod_status
from kubesim.runtime.kuberuntime.decide.action_types import ContainerResources, PodActions
from kubesim.runtime.kuberuntime.decide.actions import compute_pod_actions
from kubesim.runtime.kuberuntime.decide.init_actions import has_any_regular_container_created
from kubesim.runtime.kuberuntime.decide.restart_policy import (
    should_all_containers_restart,
    should_container_be_restarted,
)


def play(case: dict[str, Any]) -> dict[str, Any]:
    given = case["input"]
    pod = Pod.from_json(given["pod"])
    status = runtime_pod_status(given["runtime"], pod)
    actuated_pod = given.get("actuatedPod")
    actions = compute_pod_actions(
        pod,
        status,
        liveness=given.get("liveness", {}),
        startup=given.get("startup", {}),
        actuated={name: ResourceRequirements.from_json(one) for name, one in given.get("actuated", {}).items()},
        actuated_pod=None if actuated_pod is None else ResourceRequirements.from_json(actuated_pod),
        restart_all_containers=given["restartAllContainers"],
    )
    return {
        **_plan(actions),
        "shouldContainerBeRestarted": {
            container.name: should_container_be_restarted(container, pod, status)
            for container in init_and_regular_containers(pod.spec)
        },
        "shouldAllContainersRestart": should_all_containers_restart(pod, status, pod.status),
        "hasAnyRegularContainerCreated": has_any_regular_container_created(pod, status),
    }


def _plan(actions: PodActions) -> dict[str, Any]:
    plan: dict[str, Any] = {
        "killPod": actions.kill_pod,
        "createSandbox": actions.create_sandbox,
        "sandboxId": actions.sandbox_id,
        "attempt": actions.attempt,
        "initContainersToStart": [container.name for container in actions.init_containers_to_start],
        "containersToStart": [container.name for container in actions.containers_to_start],
        "ephemeralContainersToStart": [container.name for container in actions.ephemeral_containers_to_start],
        "containersToKill": [
            {"id": kill.id, "name": kill.name, "reason": kill.reason, "message": kill.message}
            for _, kill in sorted(actions.containers_to_kill.items())
        ],
        "containersToUpdate": {
            resource: [
                {
                    "name": update.container.name,
                    "id": update.id,
                    "desired": _resources(update.desired),
                    "current": _resources(update.current),
                }
                for update in updates
            ]
            for resource, updates in actions.containers_to_update.items()
        },
        "updatePodResources": actions.update_pod_resources,
        "updatePodLevelResources": actions.update_pod_level_resources,
        "containersToReset": [
            {"id": reset.id, "name": reset.container.name, "kill": reset.kill} for reset in actions.containers_to_reset
        ],
    }
    for absent_when_empty in (
        "containersToUpdate",
        "updatePodResources",
        "updatePodLevelResources",
        "containersToReset",
    ):
        if not plan[absent_when_empty]:
            del plan[absent_when_empty]
    return plan


def _resources(resources: ContainerResources) -> dict[str, int]:
    return {
        "memoryLimit": resources.memory_limit,
        "memoryRequest": resources.memory_request,
        "cpuLimitMilli": resources.cpu_limit_milli,
        "cpuRequestMilli": resources.cpu_request_milli,
    }

"""pod_phase: getPhase and each condition function."""

from __future__ import annotations

from typing import Any

from kubesim.api.pod import ContainerStatus, Pod, PodCondition, PodStatus
from kubesim.conformance.decode import runtime_pod_status
from kubesim.kubelet.status.generate import conditions
from kubesim.kubelet.status.generate.phase import get_phase


def play(case: dict[str, Any]) -> dict[str, Any]:
    given = case["input"]
    pod = Pod.from_json(given["pod"])
    regular = tuple(ContainerStatus.from_json(status) for status in given.get("containerStatuses", ()))
    init = tuple(ContainerStatus.from_json(status) for status in given.get("initContainerStatuses", ()))
    old = PodStatus.from_json(given.get("oldStatus", {}))
    if given.get("oldStatusHasSameContainerStatuses"):
        old = old.changed(container_statuses=regular, init_container_statuses=init)
    known = None if given.get("statusesAreNil") else init + regular
    phase = given.get("conditionPhase", "")
    gate_conditions = [PodCondition.from_json(condition) for condition in given.get("gateConditions", ())]
    runtime = runtime_pod_status(given.get("runtime", {}), pod)
    containers_ready = conditions.generate_containers_ready_condition(pod, old, known, phase)
    answers = {
        "containersReady": containers_ready,
        "ready": conditions.generate_pod_ready_condition(pod, old, gate_conditions, containers_ready),
        "initialized": conditions.generate_pod_initialized_condition(pod, old, known, phase),
        "podReadyToStartContainer": conditions.generate_pod_ready_to_start_containers_condition(pod, old, runtime),
        "allContainersRestarting": conditions.generate_all_containers_restarting_condition(pod, old, runtime, phase),
    }
    return {
        "phase": get_phase(
            pod,
            regular + init,
            pod_is_terminal=given.get("podIsTerminal", False),
            pod_has_initialized=given.get("podHasInitialized", False),
        ),
        **{name: condition.to_json() for name, condition in answers.items()},
    }

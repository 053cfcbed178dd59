"""api_pod_status: generateAPIPodStatus, step by step."""

from __future__ import annotations

from typing import Any

from kubesim.api.pod import Pod, PodStatus
from kubesim.api.pods.sidecars import is_restartable_init_container
from kubesim.api.timestamps import parse_time
from kubesim.conformance.decode import runtime_pod_status, with_empty_pod_level_resources
from kubesim.kubelet.status.generate.api_pod_status import generate_api_pod_status
from kubesim.kubelet.status.generate.inputs import ProbeType, StatusInputs


def play(case: dict[str, Any]) -> dict[str, Any]:
    status = generate_api_pod_status(inputs_of(case)).to_json()
    # The corpus format omits these fields: the real function would read cgroup files.
    if case["input"]["pod"].get("status", {}).get("phase") == "Running":
        status.pop("resources", None)
    return {key: _without_empty(value) for key, value in status.items() if not _is_dropped(key, value)}


def inputs_of(case: dict[str, Any]) -> StatusInputs:
    given = case["input"]
    pod = Pod.from_json(given["pod"])
    if "pod_level_resources" in case.get("tags", ()):
        pod = with_empty_pod_level_resources(pod)
    cached = PodStatus.from_json(given["cachedStatus"]) if "cachedStatus" in given else None
    if given.get("cachedStatusIsPodStatus"):
        cached = pod.status
    return StatusInputs(
        pod=pod,
        runtime=runtime_pod_status(given["runtime"], pod),
        now=parse_time(case["now"]),
        kubelet_start=parse_time(given["kubeletStart"]),
        cached_status=cached,
        reasons={
            name: (failure.get("reason", ""), failure.get("message", ""))
            for name, failure in given.get("reasonCache", {}).items()
        },
        readiness=given.get("readiness", {}),
        startup=given.get("startup", {}),
        probe_workers=_probe_workers(pod),
        pod_is_terminal=given.get("podIsTerminal", False),
        host_ips=tuple(given.get("hostIPs", ())),
    )


def _probe_workers(pod: Pod) -> frozenset[tuple[str, ProbeType]]:
    workers: set[tuple[str, ProbeType]] = set()
    sidecars = tuple(c for c in pod.spec.init_containers if is_restartable_init_container(c))
    for container in pod.spec.containers + sidecars:
        if container.readiness_probe is not None:
            workers.add((container.name, "readiness"))
        if container.startup_probe is not None:
            workers.add((container.name, "startup"))
    return frozenset(workers)


def _without_empty(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_empty(item) for item in value]
    if isinstance(value, dict):
        return {key: _without_empty(item) for key, item in value.items() if not _is_dropped(key, item)}
    return value


def _is_dropped(key: str, value: Any) -> bool:
    return value == {} and key in ("resources", "status", "lastState")

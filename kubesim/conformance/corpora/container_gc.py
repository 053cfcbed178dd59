"""container_gc: evictContainers, then evictSandboxes on the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kubesim.api.timestamps import SECOND
from kubesim.runtime.kuberuntime.decide.gc import GCPolicy, evict_containers, evict_sandboxes
from kubesim.runtime.protocol import ContainerInfo, SandboxInfo

_NOW = 1_000_000_000 * SECOND


@dataclass(frozen=True)
class _PodStates:
    states: Mapping[str, str]

    def should_pod_content_be_removed(self, uid: str) -> bool:
        return self.states.get(uid) == "contentRemovable"

    def should_pod_runtime_be_removed(self, uid: str) -> bool:
        return self.states.get(uid) == "runtimeRemovable"


def play(case: dict[str, Any]) -> dict[str, list[str]]:
    given = case["input"]
    pods = _PodStates(given["pods"])
    evict_non_deleted = given["evictNonDeletedPods"]
    containers = [
        ContainerInfo(
            id=one["id"],
            sandbox_id=one["sandbox"],
            pod_uid=one["podUID"],
            name=one["name"],
            attempt=0,
            state=one["state"],
            created_at=_NOW - one["ageSeconds"] * SECOND,
        )
        for one in given["containers"]
    ]
    sandboxes = [
        SandboxInfo(
            id=one["id"],
            pod_uid=one["podUID"],
            pod_name="",
            pod_namespace="",
            attempt=0,
            ready=one["ready"],
            created_at=_NOW - one["ageSeconds"] * SECOND,
        )
        for one in given["sandboxes"]
    ]
    evictions = evict_containers(
        containers,
        GCPolicy(given["minAgeSeconds"] * SECOND, given["maxPerPodContainer"], given["maxContainers"]),
        pods,
        now=_NOW,
        all_sources_ready=given["allSourcesReady"],
        evict_non_deleted_pods=evict_non_deleted,
    )
    gone = {eviction.id for eviction in evictions}
    containers_left = [info for info in containers if info.id not in gone]
    gone.update(evict_sandboxes(sandboxes, containers_left, pods, evict_non_deleted_pods=evict_non_deleted))
    return {
        "containersLeft": sorted(info.id for info in containers_left),
        "sandboxesLeft": sorted(info.id for info in sandboxes if info.id not in gone),
    }

"""Broken rules for the second half of the incidents (`scenarios/incidents/`)."""

from __future__ import annotations

from collections.abc import Awaitable, Coroutine
from typing import Any

from kubesim.kubelet.cm.devicemanager.allocation import devices_to_allocate
from kubesim.kubelet.probes.handlers import exec_probe
from kubesim.kubelet.status.generate.phase import get_phase
from kubesim.podworkers.updates import effective_grace_period
from kubesim.runtime.images.image_manager import ImageManager
from kubesim.runtime.simulated.volumes import NodeVolumes
from kubesim.sources.manifests.static_pod import static_pod_uid
from tests.support.mutations import Mutation, returns

_files, _ensure = NodeVolumes.files, ImageManager.ensure_image_exists


def _without_health(request: Any, state: Any, *given: Any) -> set[str]:
    """Devices are allocated even if none is healthy."""
    return devices_to_allocate(request, state, *given) if state.healthy else set()


def _left_alone(decision: Any, container: Any, record: Any) -> bool:
    """A running container is never stopped, neither for its hash nor for a probe."""
    decision.kept.append(container.name)
    return True


def _started_twice(decision: Any, container: Any, record: Any) -> bool:
    """A running container is started again."""
    decision.actions.containers_to_start.append(container)
    return True


def _same_uid(pod: Any, manifest: Any, fields: str = "") -> str:
    return static_pod_uid(pod, manifest)


def _endless(
    runtime: Any, container: str, words: Any, env: Any, timeout: int, *context: Any
) -> Coroutine[Any, Any, Any]:
    return exec_probe(runtime, container, words, env, 0, *context)


def _zero_is_short(held: int, pod: Any, override: int | None, rules: Any = None) -> int:
    """The rules of v1.36."""
    return effective_grace_period(held, pod, override)


def _always_reclaim(manager: Any, signal: str) -> Any:
    return manager._reclaim.delete_all_unused_containers, manager._reclaim.delete_unused_images


def _first_end_counts(pod: Any, statuses: Any, **given: Any) -> str:
    """A pod succeeds with its first successful container."""
    ended = (each.state.terminated for each in statuses if each.state is not None)
    is_over = any(end is not None and end.exit_code == 0 for end in ended)
    return "Succeeded" if is_over else get_phase(pod, statuses, **given)


def _pull_if_absent(manager: ImageManager, pod: Any, image: str, pull_policy: str, **given: Any) -> Awaitable[str]:
    """`Always` acts like `IfNotPresent`."""
    return _ensure(manager, pod, image, "IfNotPresent", **given)


async def _without_hook(*args: Any) -> None:
    """The container counts as started, even if its hook fails."""


def _name_stays_taken(states: Any, uid: str, status: Any) -> None:
    status.has_worker = False


def _emptied(volumes: NodeVolumes, pod: Any, *args: Any, **given: Any) -> Any:
    """Each container starts with empty volumes."""
    for placed in volumes._named(pod.metadata.uid).values():
        placed.volume.replace({})
    return _files(volumes, pod, *args, **given)


_RUNNING = "kubesim.runtime.kuberuntime.decide.actions:_adjust_running"

INCIDENTS_B = {
    "device-plugin-after-boot": Mutation(
        "kubesim.kubelet.cm.devicemanager.manager:devices_to_allocate", _without_health
    ),
    "disk-pressure-split": Mutation(
        "kubesim.kubelet.eviction.manager:EvictionManager._reclaim_actions", _always_reclaim
    ),
    "eviction-full-grace": Mutation("kubesim.podworkers.state:effective_grace_period", _zero_is_short),
    "exec-probe-timeout": Mutation("kubesim.kubelet.probes.prober:exec_probe", _endless),
    "finished-pod-counts": Mutation("kubesim.kubelet.context:PodViews.is_active", returns(True)),
    "force-deleted-twin": Mutation("kubesim.kubelet.loop.housekeeping:Housekeeping._end_orphans", returns(set())),
    "hash-change-upgrade": Mutation(_RUNNING, _left_alone),
    "hook-hangs": Mutation(
        "kubesim.runtime.kuberuntime.act.container_start:ContainerStarter._post_start", _without_hook
    ),
    "job-never-completes": Mutation("kubesim.kubelet.status.generate.api_pod_status:get_phase", _first_end_counts),
    "labels-after-reboot": Mutation("kubesim.kubelet.admission.predicates:matches_node_affinity", returns(True)),
    "liveness-asks-database": Mutation(_RUNNING, _left_alone),
    "memory-volume-survives": Mutation("kubesim.runtime.simulated.volumes:NodeVolumes.files", _emptied),
    "network-late": Mutation("kubesim.kubelet.loop.runtime_state:RuntimeState.network_problem", returns("")),
    "snapshotter-corrupt": Mutation(
        "kubesim.runtime.images.image_manager:ImageManager.ensure_image_exists", _pull_if_absent
    ),
    "start-answer-lost": Mutation(_RUNNING, _started_twice),
    "static-pod-upgrade": Mutation("kubesim.sources.manifests.static_pod:static_pod_uid", _same_uid),
    "static-successor": Mutation("kubesim.podworkers.state:PodSyncStatuses._forget_worker", _name_stays_taken),
}

"""Broken rules for the first half of the incidents (`scenarios/incidents/`)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from typing import Any

from kubesim.runtime.images.image_manager import ImageManager
from kubesim.runtime.kuberuntime.act.manager import RuntimeManager
from kubesim.runtime.kuberuntime.decide import actions
from kubesim.runtime.kuberuntime.results import PodSyncResult
from tests.support.mutations import Mutation, returns

_ensure, _take_turn = ImageManager.ensure_image_exists, ImageManager._take_turn
_kill_all = RuntimeManager._kill_all
_start_over, _sandbox_changed = actions._start_over, actions.pod_sandbox_changed


def _pull_once(manager: ImageManager, pod: Any, image: str, pull_policy: str, **given: Any) -> Awaitable[str]:
    """`Always` acts like `IfNotPresent`."""
    return _ensure(manager, pod, image, "IfNotPresent", **given)


def _keep_initialized(decision: Any, cause: str) -> None:
    """In a second sandbox regular containers start immediately."""
    _start_over(decision, cause)
    if decision.status.sandboxes:
        decision.actions.init_containers_to_start = []
        decision.actions.containers_to_start = list(decision.pod.spec.containers)


def _begin_again(decision: Any, cause: str) -> None:
    """In a second sandbox the first init container runs again."""
    _start_over(decision, cause)
    if decision.status.sandboxes:
        decision.actions.init_containers_to_start = [decision.pod.spec.init_containers[0]]
        decision.actions.containers_to_start = []


def _pull_at_once(manager: ImageManager, request: Any) -> Awaitable[Any]:
    """Image pulls are not serialized."""
    manager._turns = nullcontext()
    return _take_turn(manager, request)


async def _kill_regardless(manager: RuntimeManager, pod: Any, running: Any, grace_override_s: int | None) -> Any:
    """A sandbox that fails to stop is forgotten."""
    await _kill_all(manager, pod, running, grace_override_s)
    return PodSyncResult()


def _new_sandbox_for(is_broken: Callable[[Any, Any], bool]) -> Any:
    """Creates a second sandbox, and its network, for pods that match."""

    def changed(pod: Any, status: Any) -> Any:
        found = _sandbox_changed(pod, status)
        if found[0] or found[1] or not is_broken(pod, status):
            return found
        return True, 1, found[2], "the pod is not well", ""

    return changed


def _was_ready(pod: Any, status: Any) -> bool:
    ready = [condition for condition in pod.status.conditions if condition.type == "Ready"]
    return any(each.status == "False" and each.last_transition_time > pod.status.start_time for each in ready)


def _restarted(pod: Any, status: Any) -> bool:
    return any(record.restart_count for record in status.containers)


_NO_FAULT = Mutation("kubesim.scenario.faults.interceptor:first_fault", returns(None))
_ACTIONS = "kubesim.runtime.kuberuntime.decide.actions:"
_SHUTDOWN = "kubesim.kubelet.node.node_shutdown:"
_CONNECTION = "kubesim.runtime.simulated.service:RuntimeConnection."

INCIDENTS_A = {
    "cni-del-fails": Mutation("kubesim.runtime.kuberuntime.act.manager:RuntimeManager._kill_all", _kill_regardless),
    "config-error-pulls": Mutation("kubesim.runtime.images.image_manager:ImageManager.ensure_image_exists", _pull_once),
    "container-name-reserved": Mutation(
        _CONNECTION + "create_container",
        lambda connection, *given: connection._takes_time(connection._runtime.create_container(*given), None),
    ),
    "failed-pods-pile-up": Mutation(_SHUTDOWN + "terminated_status", returns(lambda status: status)),
    "firewall-restart": Mutation(_ACTIONS + "pod_sandbox_changed", _new_sandbox_for(_was_ready)),
    "init-not-repeated": Mutation(_ACTIONS + "_start_over", _begin_again),
    "off-before-grace-ends": Mutation(_SHUTDOWN + "grace_period", returns(2)),
    "init-again": Mutation(_ACTIONS + "_start_over", _keep_initialized),
    "pleg-unhealthy": Mutation("kubesim.kubelet.pleg.generic:GenericPleg.healthy", returns((True, ""))),
    "post-start-lost": Mutation(_ACTIONS + "hash_container", returns("another")),
    "power-loss-skips-init": Mutation(
        "kubesim.runtime.kuberuntime.decide.init_actions:_is_any_regular_container_alive", returns(False)
    ),
    "pull-holds-others": Mutation("kubesim.runtime.images.image_manager:ImageManager._take_turn", _pull_at_once),
    "readiness-flaps": Mutation("kubesim.kubelet.status.containers.probe_overlay:_is_container_ready", returns(True)),
    "routes-deleted": Mutation(_ACTIONS + "pod_sandbox_changed", _new_sandbox_for(_restarted)),
    "sandbox-name-reserved": Mutation(
        _CONNECTION + "run_pod_sandbox",
        lambda connection, config: connection._takes_time(connection._runtime.run_pod_sandbox(config), None),
    ),
    "shutdown-unseen": _NO_FAULT,
    "stale-host-port": _NO_FAULT,
    "slow-add": Mutation("kubesim.runtime.containerd.sandbox:CLEAN_UP_TIMEOUT_S", 0),
    "static-pod-memory": Mutation("kubesim.kubelet.eviction.manager:is_critical_pod", returns(False)),
}

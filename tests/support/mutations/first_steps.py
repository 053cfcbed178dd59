"""The introductory scenarios (scenarios/*.yaml)."""

from __future__ import annotations

from typing import Any

from kubesim.kubelet.admission import AdmissionResult
from kubesim.kubelet.eviction.ranking import priority
from kubesim.kubelet.node.node_shutdown import ShutdownGroup
from kubesim.kubelet.probes.handlers import ProbeAnswer
from kubesim.kubelet.probes.worker_rules import after_probe
from kubesim.runtime.containerd.sandbox_rules import is_due
from kubesim.runtime.kuberuntime.decide.actions import pod_sandbox_changed
from kubesim.sources.mux import PodConfig
from tests.support.mutations import Mutation, returns, returns_later

KUBELET = "kubesim.kubelet"
KUBERUNTIME = "kubesim.runtime.kuberuntime"

_merge = PodConfig.merge


def _always_well(subject: Any, state: Any, result: Any, *args: Any) -> Any:
    return after_probe(subject, state, "success", *args)


def _all_but_the_network(action: Any, dirty: bool) -> bool:
    return action != "tear down network" and is_due(action, dirty)


def _by_priority(pods: Any, *args: Any) -> Any:
    return sorted(pods, key=priority)


def _all_at_once(periods: Any, pods: Any) -> Any:
    return [ShutdownGroup(periods[0], list(pods))]


def _with_any_container(pod: Any, status: Any) -> Any:
    found = pod_sandbox_changed(pod, status)
    has_ended = any(record.state == "exited" for record in status.containers)
    return (True, found[1] + 1, *found[2:]) if has_ended and not found[0] else found


def _as_one_list(mux: Any, source: str, pods: Any, now: int) -> Any:
    return _merge(mux, "api", pods, now)


FIRST_STEPS = {
    # A failed network set-up is not cleaned up.
    "cni-faults": Mutation("kubesim.runtime.containerd.sandbox:is_due", _all_but_the_network),
    # A failed mount is retried immediately.
    "configmap-missing": Mutation(
        f"{KUBELET}.volumes.reconcile.pending_operations:_Operation.is_backing_off", returns(False)
    ),
    # Mounted content is never updated.
    "configmap-update": Mutation(
        f"{KUBELET}.volumes.reconcile.actual_state:ActualStateOfWorld.mark_remount_required", returns([])
    ),
    "crashloop": Mutation(f"{KUBERUNTIME}.act.manager:do_back_off", returns(None)),
    # Killed immediately.
    "graceful-delete": Mutation("kubesim.podworkers.state:effective_grace_period", returns(1)),
    "grpc-probe": Mutation(f"{KUBELET}.probes.prober:grpc_probe", returns_later(ProbeAnswer("success", ""))),
    # The object of a terminated pod stays.
    "hello-pod": Mutation(f"{KUBELET}.status.manager_rules:can_be_deleted", returns(False)),
    # Regular containers start before init containers finish.
    "init-containers": Mutation(f"{KUBERUNTIME}.decide.actions:compute_init_container_actions", returns(True)),
    # The restartPolicy is ignored.
    "job": Mutation(f"{KUBERUNTIME}.decide.restart_policy:_policy_restarts", returns(True)),
    # Containers of unwanted pods are not found.
    "kubelet-restart": Mutation(f"{KUBELET}.loop.housekeeping:Housekeeping._end_orphans", returns(set())),
    # Usage above requests is ignored.
    "memory-pressure": Mutation(f"{KUBELET}.eviction.ranking:rank_memory_pressure", _by_priority),
    "missing-image": Mutation(f"{KUBERUNTIME}.decide.backoff:Backoff.is_in_back_off_since_update", returns(False)),
    "mounts": Mutation(f"{KUBELET}.volumes.mounts:_sub_path", returns("")),
    # Critical pods are not shut down last.
    "node-shutdown": Mutation(f"{KUBELET}.node.node_shutdown:group_by_priority", _all_at_once),
    # Probe failures are ignored.
    "probes": Mutation(f"{KUBELET}.probes.worker:after_probe", _always_well),
    # Every resize is admitted.
    "resize": Mutation(
        f"{KUBELET}.admission.node_admission:NodeAdmission.admit_resize", returns(AdmissionResult(True))
    ),
    # No mirror pod.
    "static-pod": Mutation(f"{KUBELET}.loop.mirror:MirrorClient.reconcile", returns_later(False)),
    # The list of one source replaces those of all.
    "three-sources": Mutation("kubesim.sources.mux:PodConfig.merge", _as_one_list),
    # The sandbox is replaced with a container.
    "two-containers": Mutation(f"{KUBERUNTIME}.decide.actions:pod_sandbox_changed", _with_any_container),
    # Host ports are not mapped.
    "two-nodes": Mutation("kubesim.runtime.containerd.sandbox_parts:port_mappings", returns(())),
}

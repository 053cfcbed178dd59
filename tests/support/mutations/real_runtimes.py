"""Scenarios that also run with real containers (scenarios/cri/)."""

from __future__ import annotations

from typing import Any

from tests.support.mutations import Mutation, returns, returns_later
from tests.support.mutations.first_steps import FIRST_STEPS

KUBELET = "kubesim.kubelet"
KUBERUNTIME = "kubesim.runtime.kuberuntime"


async def _no_hook(killer: Any, pod: Any, identifier: str, container: Any, grace_s: int) -> int:
    return 0


def _unknown(counts: Any, status: Any) -> None:
    counts.unknown += 1


REAL_RUNTIMES = {
    "cri/crash-loop": FIRST_STEPS["crashloop"],
    # The grace period of a pod is ignored.
    "cri/graceful-delete": Mutation("kubesim.podworkers.state:effective_grace_period", returns(1000)),
    "cri/init-containers": FIRST_STEPS["init-containers"],
    # Every container that is found has another definition.
    "cri/kubelet-restart": Mutation(f"{KUBERUNTIME}.decide.actions:hash_container", returns("0")),
    "cri/missing-image": FIRST_STEPS["missing-image"],
    "cri/pre-stop": Mutation(f"{KUBERUNTIME}.act.container_kill:ContainerKiller._execute_pre_stop_hook", _no_hook),
    "cri/probes": FIRST_STEPS["probes"],
    # Resources of running containers stay.
    "cri/resize": Mutation(f"{KUBERUNTIME}.decide.actions:compute_pod_resize_action", returns("unchanged")),
    # A sidecar that has ended keeps its pod pending.
    "cri/sidecar": Mutation(f"{KUBELET}.status.generate.phase:_count_sidecar", _unknown),
    "cri/static-pod": Mutation(f"{KUBELET}.loop.mirror:MirrorClient.reconcile", returns_later(False)),
    "cri/two-containers": FIRST_STEPS["two-containers"],
}

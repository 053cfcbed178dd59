"""Resources of a node (scenarios/nodes/)."""

from __future__ import annotations

from typing import Any

from kubesim.kubelet.cm.devicemanager.allocation import devices_to_allocate
from kubesim.kubelet.cm.topologymanager.policy import NO_NODE
from tests.support.mutations import Mutation, returns

KUBELET = "kubesim.kubelet"
CM = f"{KUBELET}.cm"
SIMULATED = "kubesim.runtime.simulated"


def _none_but_the_first(request: Any, state: Any, *args: Any) -> set[str]:
    return devices_to_allocate(request, state, *args) if state.held is None else set()


def _plain(step: Any, text: str, sandbox_id: str, sandbox_name: str) -> str:
    return text


def _any_answer(name: str, claims: Any, answers: Any) -> Any:
    return ((claim, answers[claim.uid]) for claim in claims)


NODES = {
    # The scheduler tries a pod before its claim exists.
    "nodes/claim-created-later": Mutation("kubesim.cluster.scheduling.scheduler:has_all_claims", returns(True)),
    # The claim of a finished pod is not released.
    "nodes/claim-template": Mutation("kubesim.cluster.controllers.resourceclaim.decisions:is_pod_done", returns(False)),
    # A container keeps devices that are no longer registered.
    "nodes/device-plugin-late": Mutation(f"{CM}.devicemanager.manager:devices_to_allocate", _none_but_the_first),
    "nodes/device-unhealthy": Mutation(
        f"{CM}.devicemanager.health:_health", returns({"resourceID": "gpu1", "health": "Healthy"})
    ),
    # Runtime events are ignored.
    "nodes/evented-pleg": Mutation(f"{KUBELET}.pleg.evented:EventedPleg._process", returns(None)),
    # Any NUMA nodes are accepted.
    "nodes/gpu-numa": Mutation(f"{CM}.topologymanager.policy:Policy.merge", returns((NO_NODE, True))),
    "nodes/missing-apparmor-profile": Mutation(f"{SIMULATED}.containers.security:_app_armor_problem", returns("")),
    "nodes/missing-seccomp-profile": Mutation(f"{SIMULATED}.containers.security:_has", returns(True)),
    # The sync continues without pod directories.
    "nodes/no-room-for-pod": Mutation(f"{KUBELET}.loop.sync_pod:PodSync._make_directories", returns(None)),
    # Pods may use the whole node.
    "nodes/out-of-memory": Mutation(f"{KUBELET}.node.node_status:node_allocatable_reservation", returns({})),
    # An error of the driver is ignored.
    "nodes/prepare-fails": Mutation(f"{CM}.dra.manager:_checked_answers", _any_answer),
    # The storage class is ignored.
    "nodes/runtime-class": Mutation(f"{KUBELET}.agent:lookup_runtime_handler", returns("")),
    # The error gets no context from callers.
    "nodes/sandbox-fault": Mutation(f"{SIMULATED}.cri.sandbox_steps:SandboxStep.error", _plain),
    # All containers share all CPUs.
    "nodes/static-cpus": Mutation(f"{CM}.cpumanager.policy_static:StaticPolicy.allocate", returns(None)),
    # Nobody gets swap.
    "nodes/swap": Mutation("kubesim.runtime.allocation.swap:container_swap_behavior", returns("NoSwap")),
    "nodes/topology-affinity": Mutation(f"{CM}.topologymanager.policy:Policy.merge", returns((NO_NODE, True))),
    # The scheduler ignores pods on nodes.
    "nodes/two-pods-one-gpu": Mutation(
        "kubesim.cluster.scheduling.plugins.nodes.node_resources_fit:fits_request", returns(())
    ),
}

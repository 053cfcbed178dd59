"""DynamicResources: a pod's claims must exist, and be allocated or allocatable on the node.

A pod whose claims do not exist yet is gated. Allocations are written once a node is selected (`claim_bindings.py`).

Mirrors: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go PreEnqueue, PreFilter, Filter, Score,
PostFilter, isSchedulableAfterClaimChange, isSchedulableAfterPodChange
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.api.workloads.resource_claims import (
    CLAIM,
    DEVICE_CLASS,
    RESOURCE_SLICE,
    ClaimReferenceError,
    allocation_of,
    claim_name,
    reservations,
    status_of,
    why_not_for_pod,
)
from kubesim.cluster.scheduling.framework.cluster_event import Action, ClusterEvent, after
from kubesim.cluster.scheduling.framework.listers import Listers
from kubesim.cluster.scheduling.framework.node_state import NodeState
from kubesim.cluster.scheduling.framework.plugin import CycleState, Plugin, PluginState, default_normalize_score
from kubesim.cluster.scheduling.framework.status import CycleError, Status
from kubesim.cluster.scheduling.node_affinity import matches_node_selector
from kubesim.cluster.scheduling.plugins.devices.allocator import (
    Allocator,
    DeviceId,
    NodeDevices,
    requests_of,
)
from kubesim.cluster.scheduling.plugins.devices.pools import gather_pools
from kubesim.cluster.scheduling.plugins.devices.results import allocation_result

NAME = "DynamicResources"
NOT_ALL = "cannot allocate all claims"
NOT_ON_NODE = "resourceclaim not available on the node"
INVALID_POOLS = "invalid resource pools were encountered"
_MAX_ALTERNATIVES = 8

Allocation = dict[str, Any]


class _State(PluginState):
    """Claims of the pod. `allocations` are the possible allocations per node of the unallocated claims, in their
    order.
    """

    def __init__(self, claims: Sequence[ApiObject], allocated: frozenset[DeviceId]) -> None:
        self.claims = claims
        self.allocated = allocated
        self.allocations: dict[str, list[Allocation]] = {}
        self.unavailable: dict[int, None] = {}  # claims allocated for other nodes

    @property
    def to_allocate(self) -> list[ApiObject]:
        return [claim for claim in self.claims if allocation_of(claim) is None]


def pod_resource_claims(pod: Pod, listers: Listers) -> Iterator[ApiObject]:
    """The claims of a pod; raises ClaimReferenceError if one is missing or unusable."""
    for pod_claim in pod.spec.resource_claims:
        name, must_check_owner = claim_name(pod, pod_claim)
        if name is None:
            continue
        claim = listers.store.find(CLAIM, pod.metadata.namespace, name)
        if claim is None:
            raise ClaimReferenceError(f'could not find ResourceClaim "{pod.metadata.namespace}/{name}"')
        if claim.metadata.deletion_timestamp is not None:
            raise ClaimReferenceError(f'resourceclaim "{name}" is being deleted')
        problem = why_not_for_pod(pod, claim) if must_check_owner else ""
        if problem:
            raise ClaimReferenceError(problem)
        yield claim


def has_all_claims(pod: Pod, listers: Listers) -> bool:
    """PreEnqueue: whether all claims of the pod exist."""
    if not pod.spec.resource_claims:
        return True
    try:
        return sum(1 for _ in pod_resource_claims(pod, listers)) >= 0
    except ClaimReferenceError:
        return False


def pre_filter(cycle: CycleState) -> PluginState | Status | None:
    pod, listers = cycle.pod, cycle.listers
    if not pod.spec.resource_claims:
        return None
    try:
        claims = list(pod_resource_claims(pod, listers))
    except ClaimReferenceError as error:
        return Status(NAME, (str(error),), unresolvable=True)
    for claim in claims:
        problem = _missing_class(claim, listers) if allocation_of(claim) is None else ""
        if problem:
            return Status(NAME, (problem,), unresolvable=True)
    return _State(claims, _allocated_devices(listers)) if claims else None


def _missing_class(claim: ApiObject, listers: Listers) -> str:
    for request in requests_of(claim):
        exactly = request.get("exactly")
        named = [("", exactly)] if exactly is not None else []
        named += [(f"/{each.get('name', '')}", each) for each in request.get("firstAvailable") or ()]
        for suffix, each in named:
            name = each.get("deviceClassName", "")
            if listers.store.find(DEVICE_CLASS, "", name) is None:
                return f"request {request.get('name', '')}{suffix}: device class {name} does not exist"
    return ""


def _allocated_devices(listers: Listers) -> frozenset[DeviceId]:
    """The allocated devices, without those with admin access."""
    return frozenset(
        (result.get("driver", ""), result.get("pool", ""), result.get("device", ""))
        for claim in listers.store.list(CLAIM)
        for result in ((allocation_of(claim) or {}).get("devices") or {}).get("results") or ()
        if not result.get("adminAccess")
    )


def filter_node(cycle: CycleState, node: NodeState) -> Status | None:
    state = cycle.states[NAME]
    assert isinstance(state, _State)
    unavailable = [index for index, claim in enumerate(state.claims) if not _is_available(allocation_of(claim), node)]
    wanted = state.to_allocate
    if wanted:
        try:
            found = _allocate(cycle, state, node, wanted)
        except CycleError as error:
            raise CycleError(f'running "{NAME}" filter plugin: {error}') from None
        if isinstance(found, str):
            return Status(NAME, (found,), unresolvable=True)
        state.allocations[node.name] = found
    if unavailable:
        state.unavailable |= dict.fromkeys(unavailable)
        return Status(NAME, (NOT_ON_NODE,), unresolvable=True)
    return None


def _is_available(allocation: Mapping[str, Any] | None, node: NodeState) -> bool:
    selector = (allocation or {}).get("nodeSelector")
    return selector is None or matches_node_selector(selector, node.name, node.labels)


def _allocate(cycle: CycleState, state: _State, node: NodeState, claims: list[ApiObject]) -> list[Allocation] | str:
    """The allocation of each claim on this node, or the reason why one fails."""
    slices = cycle.listers.store.list(RESOURCE_SLICE)
    pools = gather_pools(slices, node.name, node.labels)
    devices = NodeDevices(node.name, node.labels, pools, state.allocated)
    chosen = Allocator(cycle.listers, devices, claims).allocate()
    if chosen is None:
        return INVALID_POOLS if any(pool.is_invalid for pool in pools) else NOT_ALL
    return [allocation_result(claim, each, node.name) for claim, each in zip(claims, chosen, strict=True)]


def pod_claim_allocations(cycle: CycleState, node: str) -> list[tuple[ApiObject, Allocation | None]]:
    """The pod's claims, with the new allocations on the selected node."""
    state = cycle.states.get(NAME)
    if not isinstance(state, _State):
        return []
    new = iter(state.allocations.get(node, ()))
    return [(claim, next(new) if allocation_of(claim) is None else None) for claim in state.claims]


def score_nodes(cycle: CycleState, nodes: Sequence[NodeState]) -> list[int] | None:
    """Prefer nodes that satisfied an earlier alternative of a request."""
    state = cycle.states.get(NAME)
    if not isinstance(state, _State):
        return None
    return default_normalize_score([_score(cycle, node.name) for node in nodes])


def _score(cycle: CycleState, node: str) -> int:
    score = 0
    for claim, new in pod_claim_allocations(cycle, node):
        results = ((new or allocation_of(claim) or {}).get("devices") or {}).get("results") or ()
        met = {result.get("request", "") for result in results}
        for request in requests_of(claim):
            for n, each in enumerate(request.get("firstAvailable") or ()):
                if f"{request.get('name', '')}/{each.get('name', '')}" in met:
                    score += _MAX_ALTERNATIVES - n
    return score


def post_filter(cycle: CycleState) -> tuple[str, ApiObject | None]:
    """The message about an unschedulable pod, and a claim to deallocate so that the pod may fit elsewhere."""
    state = cycle.states.get(NAME)
    if not isinstance(state, _State):
        return "no new claims to deallocate", None
    for index in state.unavailable:
        claim = state.claims[index]
        if all(consumer.get("uid") == cycle.pod.metadata.uid for consumer in reservations(claim)):
            return "deallocation of ResourceClaim completed", claim
    return "still not schedulable", None


# -- when to try again ------------------------------------------------------------------------------------------------


def is_schedulable_after_claim_change(pod: Pod, event: ClusterEvent) -> bool:
    old, new = event.old, event.new
    if new is None:
        return False
    if old is not None and allocation_of(old) is not None and allocation_of(new) is None:
        return True
    return _uses(pod, new) and (old is None or status_of(old) != status_of(new))


def _uses(pod: Pod, claim: ApiObject) -> bool:
    if pod.metadata.namespace != claim.metadata.namespace:
        return False
    for pod_claim in pod.spec.resource_claims:
        try:
            if claim_name(pod, pod_claim)[0] == claim.metadata.name:
                return True
        except ClaimReferenceError:
            continue
    return False


def is_schedulable_after_pod_change(pod: Pod, event: ClusterEvent) -> bool:
    return event.new is not None and event.new.metadata.uid == pod.metadata.uid


PLUGIN = Plugin(
    NAME,
    pre_filter=pre_filter,
    filter=filter_node,
    score=score_nodes,
    weight=2,
    events=(
        after("Node", Action.ADD, Action.UPDATE_NODE_LABEL, Action.UPDATE_NODE_ALLOCATABLE),
        after(CLAIM, Action.ADD, Action.UPDATE, hint=is_schedulable_after_claim_change),
        after("Pod", Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM, hint=is_schedulable_after_pod_change),
        after(DEVICE_CLASS, Action.ADD, Action.UPDATE),
        after(RESOURCE_SLICE, Action.ADD, Action.UPDATE),
    ),
)

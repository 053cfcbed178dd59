"""VolumeBinding: bound claims need a node that can access their volumes; others are bound with the pod.

A claim that waits for its first consumer gets an existing volume, or one provisioned for the selected node.

Mirrors: pkg/scheduler/framework/plugins/volumebinding volume_binding.go, binder.go
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.api.quantity import quantity
from kubesim.cluster.scheduling.framework.cluster_event import Action, ClusterEvent, after
from kubesim.cluster.scheduling.framework.listers import Listers, field
from kubesim.cluster.scheduling.framework.node_state import NodeState
from kubesim.cluster.scheduling.framework.plugin import CycleState, Plugin, PluginState
from kubesim.cluster.scheduling.framework.status import CycleError, Status
from kubesim.cluster.scheduling.plugins.volumes.matching_volume import (
    find_matching_volume,
    matches_volume_affinity,
    request_of,
)
from kubesim.cluster.scheduling.plugins.volumes.pod_claims import (
    NO_PROVISIONER,
    SELECTED_NODE,
    PodClaim,
    claim_class,
    is_delay_binding,
    is_fully_bound,
    not_found,
    pod_claims,
    uses_claim,
    volume_name,
    why_not_for_pod,
)
from kubesim.cluster.store.selectors import selector_from
from kubesim.values import value_object

NAME = "VolumeBinding"
UNBOUND_IMMEDIATE = "pod has unbound immediate PersistentVolumeClaims"
BIND_CONFLICT = "node(s) didn't find available persistent volumes to bind"
NODE_CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
NOT_ENOUGH_SPACE = "node(s) did not have enough free storage"
VOLUME_NOT_EXIST = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"


@value_object
class PodVolumes:
    """The volumes to bind, and the claims to provision, for a pod on a node."""

    static: tuple[tuple[ApiObject, ApiObject], ...] = ()  # volume and claim
    dynamic: tuple[ApiObject, ...] = ()


class _State(PluginState):
    def __init__(self, bound: list[ApiObject], unbound: list[ApiObject]) -> None:
        self.bound = bound
        self.unbound = unbound  # claims that wait for their first consumer


def pre_filter(cycle: CycleState) -> PluginState | Status | None:
    pod, listers = cycle.pod, cycle.listers
    bound: list[ApiObject] = []
    unbound: list[ApiObject] = []
    immediate = False
    for each in pod_claims(pod):
        claim = listers.claim(pod.metadata.namespace, each.name)
        problem = _why_not_usable(pod, each, claim)
        if problem or claim is None:
            return Status(NAME, (problem,), unresolvable=True)
        if is_fully_bound(claim):
            bound.append(claim)
        elif is_delay_binding(claim, listers) and not volume_name(claim):
            unbound.append(claim)
        else:
            immediate = True
    if immediate:
        return Status(NAME, (UNBOUND_IMMEDIATE,), unresolvable=True)
    return _State(bound, unbound) if bound or unbound else None


def _why_not_usable(pod: Pod, each: PodClaim, claim: ApiObject | None) -> str:
    if claim is None:
        if each.ephemeral:
            return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{each.name}"'
        return not_found(each.name)
    if field(claim, "status").get("phase") == "Lost":
        lost = volume_name(claim)
        return f'persistentvolumeclaim "{each.name}" bound to non-existent persistentvolume "{lost}"'
    if claim.metadata.deletion_timestamp is not None:
        return f'persistentvolumeclaim "{each.name}" is being deleted'
    return why_not_for_pod(pod, claim) if each.ephemeral else ""


def filter_node(cycle: CycleState, node: NodeState) -> Status | None:
    found = find_pod_volumes(cycle, node)
    return None if isinstance(found, PodVolumes) else Status(NAME, found, unresolvable=True)


def find_pod_volumes(cycle: CycleState, node: NodeState) -> PodVolumes | tuple[str, ...]:
    """The bindings that the claims need on this node, or the reason why the node cannot serve them."""
    state = cycle.states.get(NAME)
    if not isinstance(state, _State):
        return PodVolumes()
    reasons: list[str] = []
    for claim in state.bound:
        volume = cycle.listers.volume(volume_name(claim))
        if volume is None:
            reasons.append(VOLUME_NOT_EXIST)
            break
        if not matches_volume_affinity(volume, node.labels):
            reasons.append(NODE_CONFLICT)
            break
    found = _volumes_for(state.unbound, node, cycle.listers)
    if isinstance(found, str):
        reasons.append(found)
        # In upstream's order, with the missing volume last.
        reasons.sort(key=(NODE_CONFLICT, BIND_CONFLICT, NOT_ENOUGH_SPACE, VOLUME_NOT_EXIST).index)
    return tuple(reasons) if isinstance(found, str) or reasons else found


def _volumes_for(claims: Sequence[ApiObject], node: NodeState, listers: Listers) -> PodVolumes | str:
    to_match: list[ApiObject] = []
    to_provision: list[ApiObject] = []
    for claim in claims:
        selected = claim.metadata.annotations.get(SELECTED_NODE)
        if selected is None:
            to_match.append(claim)
        elif selected == node.name:
            to_provision.append(claim)
        else:
            return BIND_CONFLICT
    chosen: dict[str, tuple[ApiObject, ApiObject]] = {}
    for claim in sorted(to_match, key=lambda each: request_of(each).milli_value()):
        volumes = listers.volumes_of_class(claim_class(claim))
        volume = find_matching_volume(claim, volumes, node.labels, chosen)
        if volume is None:
            to_provision.append(claim)
        else:
            chosen[volume.metadata.name] = (volume, claim)
    for claim in to_provision:
        problem = _why_not_provisioned(claim, node.labels, listers)
        if problem:
            return problem
    return PodVolumes(tuple(chosen.values()), tuple(to_provision))


def _why_not_provisioned(claim: ApiObject, labels: Mapping[str, str], listers: Listers) -> str:
    storage_class = listers.storage_class(claim_class(claim))
    if storage_class is None:
        raise CycleError(f'running "{NAME}" filter plugin: failed to find storage class "{claim_class(claim)}"')
    provisioner = storage_class.extra.get("provisioner") or ""
    if provisioner in ("", NO_PROVISIONER) or not _is_allowed(storage_class, labels):
        return BIND_CONFLICT
    return "" if _has_enough_capacity(claim, storage_class, provisioner, labels, listers) else NOT_ENOUGH_SPACE


def _is_allowed(storage_class: ApiObject, labels: Mapping[str, str]) -> bool:
    """Whether the class allows nodes with these labels; an empty term allows none."""
    terms = storage_class.extra.get("allowedTopologies") or ()
    if not terms:
        return True
    expressions = (term.get("matchLabelExpressions") or () for term in terms)
    return any(
        each and all(labels.get(wanted.get("key", "")) in (wanted.get("values") or ()) for wanted in each)
        for each in expressions
    )


def _has_enough_capacity(
    claim: ApiObject, storage_class: ApiObject, provisioner: str, labels: Mapping[str, str], listers: Listers
) -> bool:
    """Whether the capacity suffices. Only drivers that report it are checked."""
    driver = listers.csi_driver(provisioner)
    if driver is None or not field(driver, "spec").get("storageCapacity"):
        return True
    wanted = request_of(claim)
    for capacity in listers.storage_capacities():
        limit = capacity.extra.get("maximumVolumeSize") or capacity.extra.get("capacity")
        topology = capacity.extra.get("nodeTopology")
        if (
            capacity.extra.get("storageClassName") == storage_class.metadata.name
            and limit is not None
            and not quantity(limit) < wanted
            and topology is not None
            and selector_from(topology).matches(labels)
        ):
            return True
    return False


# -- when to try again ------------------------------------------------------------------------------------------------


def is_schedulable_after_claim_change(pod: Pod, event: ClusterEvent) -> bool:
    return event.new is not None and uses_claim(pod, event.new)


def is_schedulable_after_class_change(_: Pod, event: ClusterEvent) -> bool:
    old, new = event.old, event.new
    if old is None or new is None:
        return True
    return bool(old.extra.get("allowedTopologies") != new.extra.get("allowedTopologies"))


PLUGIN = Plugin(
    NAME,
    pre_filter=pre_filter,
    filter=filter_node,
    events=(
        after("StorageClass", Action.ADD, Action.UPDATE, hint=is_schedulable_after_class_change),
        after("PersistentVolumeClaim", Action.ADD, Action.UPDATE, hint=is_schedulable_after_claim_change),
        after("PersistentVolume", Action.ADD, Action.UPDATE),
        after("Node", Action.ADD, Action.UPDATE_NODE_LABEL, Action.UPDATE_NODE_TAINT),
        after("CSINode", Action.ADD),
        after("CSIStorageCapacity", Action.ADD, Action.UPDATE),
    ),
)

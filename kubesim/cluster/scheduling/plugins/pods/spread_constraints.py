"""Topology spread constraints of a pod with parsed selectors, and the default constraints.

Mirrors: pkg/scheduler/framework/plugins/podtopologyspread/common.go; plugins/helper/spread.go DefaultSelector
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubesim.api.node import Node
from kubesim.api.pod import Pod
from kubesim.cluster.scheduling.framework.affinity_terms import with_label_keys
from kubesim.cluster.scheduling.framework.listers import Listers
from kubesim.cluster.scheduling.node_affinity import matches_node_affinity
from kubesim.cluster.scheduling.taints import untolerated_taint
from kubesim.cluster.store.selectors import LabelSelector, Requirement, selector_from
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.values import value_object

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
DO_NOT_SCHEDULE, SCHEDULE_ANYWAY = "DoNotSchedule", "ScheduleAnyway"
_HONOR = "Honor"


@value_object
class SpreadConstraint:
    """The maximum difference (skew) of matching pods between values of a label."""

    max_skew: int
    topology_key: str
    selector: LabelSelector
    min_domains: int = 1
    honors_affinity: bool = True
    honors_taints: bool = False

    def includes(self, pod: Pod, node: Node, gates: FeatureGates = DEFAULT_GATES) -> bool:
        """Whether the constraint counts this node."""
        if self.honors_affinity and not matches_node_affinity(pod, node.metadata.name, node.metadata.labels):
            return False
        return not self.honors_taints or untolerated_taint(pod, node, gates) is None


Constraints = tuple[SpreadConstraint, ...]


def spread_constraints(pod: Pod, action: str) -> Constraints:
    """The pod's own constraints with this `whenUnsatisfiable`."""
    return tuple(
        _constraint(pod, each)
        for each in pod.spec.topology_spread_constraints
        if each.get("whenUnsatisfiable") == action
    )


def _constraint(pod: Pod, constraint: Mapping[str, Any]) -> SpreadConstraint:
    min_domains = constraint.get("minDomains")
    return SpreadConstraint(
        constraint.get("maxSkew", 0),
        constraint.get("topologyKey", ""),
        with_label_keys(
            selector_from(constraint.get("labelSelector")),
            pod.metadata.labels,
            constraint.get("matchLabelKeys") or (),
        ),
        1 if min_domains is None else min_domains,
        (constraint.get("nodeAffinityPolicy") or _HONOR) == _HONOR,
        constraint.get("nodeTaintsPolicy") == _HONOR,
    )


def default_constraints(pod: Pod, listers: Listers) -> Constraints:
    """Pods of one Service, ReplicaSet or StatefulSet prefer different nodes and zones."""
    selector = default_selector(pod, listers)
    if not selector.requirements:
        return ()
    return SpreadConstraint(3, HOSTNAME, selector), SpreadConstraint(5, ZONE, selector)


def default_selector(pod: Pod, listers: Listers) -> LabelSelector:
    """The combined selectors of the pod's Services and owner."""
    labels: dict[str, str] = {}
    for service in listers.services_of(pod):
        labels.update(service.spec.selector)
    requirements = [Requirement(key, "in", frozenset((value,))) for key, value in labels.items()]
    owner = listers.owner_selector(pod)
    if owner is not None:
        requirements += selector_from(owner).requirements
    return LabelSelector(tuple(requirements))


def has_all_keys(labels: Mapping[str, str], constraints: Constraints) -> bool:
    return all(constraint.topology_key in labels for constraint in constraints)

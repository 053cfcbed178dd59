"""Which nodes get a pod of a DaemonSet, and the pod for one node.

A daemon pod is created for one node: node affinity names the node, and the scheduler binds it. The pod tolerates the
taints that report node problems.

Mirrors: pkg/controller/daemon/daemon_controller.go NodeShouldRunDaemonPod; daemon/util/daemonset_util.go
AddOrUpdateDaemonPodTolerations, CreatePodTemplate, ReplaceDaemonSetPodNodeNameNodeAffinity, GetTargetNodeName
"""

from __future__ import annotations

from collections.abc import Iterable

from kubesim.api.node import Node
from kubesim.api.pod import Pod, PodSpec, Toleration
from kubesim.api.workloads.apps import DaemonSet
from kubesim.api.workloads.rules.sets import GENERATION_ANNOTATION
from kubesim.cluster.controllers.pods import pod_from_template
from kubesim.cluster.scheduling.node_affinity import matches_node_affinity
from kubesim.cluster.scheduling.taints import tolerates
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.values import value_object

HASH_LABEL = "controller-revision-hash"
GENERATION_LABEL = "pod-template-generation"

_NODE_NAME_FIELD = "metadata.name"
_TAINTS = "node.kubernetes.io"
_TOLERATED = (
    ("not-ready", "NoExecute"),
    ("unreachable", "NoExecute"),
    ("disk-pressure", "NoSchedule"),
    ("memory-pressure", "NoSchedule"),
    ("pid-pressure", "NoSchedule"),
    ("unschedulable", "NoSchedule"),
)
_TOLERATED_ON_HOST_NETWORK = ("network-unavailable", "NoSchedule")


@value_object
class Fit:
    """Whether a node should run a pod of the set, and whether an existing pod may stay."""

    should_run: bool
    should_continue: bool


_NO_FIT = Fit(False, False)


def fit_of(set_: DaemonSet, node: Node, gates: FeatureGates = DEFAULT_GATES) -> Fit:
    """Check node name, labels and taints. Only NoExecute taints affect a running pod."""
    spec, name = set_.spec.template.spec, node.metadata.name
    if spec.node_name not in ("", name):
        return _NO_FIT
    if not matches_node_affinity(Pod(spec=spec), name, node.metadata.labels):
        return _NO_FIT
    tolerations = daemon_tolerations(spec)
    comparison = gates.enabled("TaintTolerationComparisonOperators")
    effects = {
        taint.effect
        for taint in node.spec.taints
        if not any(tolerates(toleration, taint, comparison=comparison) for toleration in tolerations)
    }
    return Fit(not effects & {"NoSchedule", "NoExecute"}, "NoExecute" not in effects)


def daemon_tolerations(spec: PodSpec) -> tuple[Toleration, ...]:
    """The template's tolerations and those of every daemon pod."""
    tolerations = spec.tolerations
    added = (*_TOLERATED, _TOLERATED_ON_HOST_NETWORK) if spec.host_network else _TOLERATED
    for taint, effect in added:
        new = Toleration(key=f"{_TAINTS}/{taint}", operator="Exists", effect=effect)
        tolerations = _with_toleration(tolerations, new)
    return tolerations


def _with_toleration(tolerations: tuple[Toleration, ...], new: Toleration) -> tuple[Toleration, ...]:
    """Replaces tolerations that differ only in tolerationSeconds, else appends."""
    same = [_kind(each) == _kind(new) for each in tolerations]
    if not any(same):
        return (*tolerations, new)
    return tuple(new if matches else each for each, matches in zip(tolerations, same, strict=True))


def _kind(toleration: Toleration) -> tuple[str, str, str, str]:
    return toleration.key, toleration.effect, toleration.operator, toleration.value


def template_generation(set_: DaemonSet) -> str | None:
    """The deprecated template generation, which older versions used as a pod label; None if there is none."""
    text = set_.metadata.annotations.get(GENERATION_ANNOTATION, "")
    return str(int(text)) if text.removeprefix("-").isdecimal() else None


def new_daemon_pod(set_: DaemonSet, node_name: str, revision_hash: str) -> Pod:
    pod = pod_from_template(set_.spec.template, set_)
    labels = {**pod.metadata.labels, HASH_LABEL: revision_hash}
    generation = template_generation(set_)
    if generation is not None:
        labels[GENERATION_LABEL] = generation
    affinity = _with_node_name(pod.spec.affinity or {}, node_name)
    spec = pod.spec.changed(affinity=affinity, tolerations=daemon_tolerations(pod.spec))
    return pod.changed(metadata=pod.metadata.changed(labels=labels), spec=spec)


def _with_node_name(affinity: dict[str, object], node_name: str) -> dict[str, object]:
    """Replace the template's required node affinity by the node's name; the node is known to match."""
    field = {"key": _NODE_NAME_FIELD, "operator": "In", "values": [node_name]}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    preferred = affinity.get("nodeAffinity") or {}
    assert isinstance(preferred, dict)
    return {**affinity, "nodeAffinity": {**preferred, "requiredDuringSchedulingIgnoredDuringExecution": required}}


def target_node(pod: Pod) -> str:
    """The node to which a daemon pod is bound or for which it was created; empty if none."""
    if pod.spec.node_name:
        return pod.spec.node_name
    affinity = (pod.spec.affinity or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    for term in required.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            if field.get("key") == _NODE_NAME_FIELD and field.get("operator") == "In":
                values: list[str] = field.get("values") or []
                return values[0] if len(values) == 1 else ""
    return ""


def is_updated(set_: DaemonSet, pod: Pod, revision_hash: str) -> bool:
    """Whether the pod was created from the current template."""
    labels, generation = pod.metadata.labels, template_generation(set_)
    if generation is not None and labels.get(GENERATION_LABEL) == generation:
        return True
    return bool(revision_hash) and labels.get(HASH_LABEL) == revision_hash


def oldest_first(pods: Iterable[Pod]) -> list[Pod]:
    """Sorts bound pods first, then by age."""

    def age(pod: Pod) -> tuple[bool, str, str]:
        return not pod.spec.node_name, pod.metadata.creation_timestamp or "", pod.metadata.name

    return sorted(pods, key=age)

"""On which nodes a DaemonSet has a pod, and what such a pod looks like.

A daemon pod is made for one node: it requests that node by affinity, and the scheduler binds it. It tolerates the
taints that only report a problem of a node.

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
    """Whether a node should get a pod of the set, and whether a pod that runs there may stay."""

    should_run: bool
    should_continue: bool


_NO_FIT = Fit(False, False)


def fit_of(set_: DaemonSet, node: Node, gates: FeatureGates = DEFAULT_GATES) -> Fit:
    """Names, labels and taints decide. Only taints with the effect NoExecute matter to a running pod."""
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
    """The tolerations of the template and those that every daemon pod has."""
    tolerations = spec.tolerations
    added = (*_TOLERATED, _TOLERATED_ON_HOST_NETWORK) if spec.host_network else _TOLERATED
    for taint, effect in added:
        new = Toleration(key=f"{_TAINTS}/{taint}", operator="Exists", effect=effect)
        tolerations = _with_toleration(tolerations, new)
    return tolerations


def _with_toleration(tolerations: tuple[Toleration, ...], new: Toleration) -> tuple[Toleration, ...]:
    """It replaces those that differ from it only in their time, or is added at the end."""
    same = [_kind(each) == _kind(new) for each in tolerations]
    if not any(same):
        return (*tolerations, new)
    return tuple(new if matches else each for each, matches in zip(tolerations, same, strict=True))


def _kind(toleration: Toleration) -> tuple[str, str, str, str]:
    return toleration.key, toleration.effect, toleration.operator, toleration.value


def template_generation(set_: DaemonSet) -> str | None:
    """The number that older versions labelled pods with; None if there is none."""
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
    """The node takes the place of what the template requires of nodes: the node is known to fulfil it."""
    field = {"key": _NODE_NAME_FIELD, "operator": "In", "values": [node_name]}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    preferred = affinity.get("nodeAffinity") or {}
    assert isinstance(preferred, dict)
    return {**affinity, "nodeAffinity": {**preferred, "requiredDuringSchedulingIgnoredDuringExecution": required}}


def target_node(pod: Pod) -> str:
    """The node that a daemon pod is on or is made for; empty if it names none."""
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
    """Whether the pod is from the present template."""
    labels, generation = pod.metadata.labels, template_generation(set_)
    if generation is not None and labels.get(GENERATION_LABEL) == generation:
        return True
    return bool(revision_hash) and labels.get(HASH_LABEL) == revision_hash


def oldest_first(pods: Iterable[Pod]) -> list[Pod]:
    """Those that are bound to a node come before those that are not."""

    def age(pod: Pod) -> tuple[bool, str, str]:
        return not pod.spec.node_name, pod.metadata.creation_timestamp or "", pod.metadata.name

    return sorted(pods, key=age)

"""Finds the new and the old ReplicaSets of a Deployment.

Mirrors: pkg/controller/deployment/util/deployment_util.go FindNewReplicaSet, EqualIgnoreHash, FindActiveOrLatest;
pkg/controller/deployment/sync.go getNewReplicaSet; recreate.go oldPodsRunning
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kubesim.api.meta import ObjectMeta
from kubesim.api.pod import Pod
from kubesim.api.pods.phases import TERMINAL_PHASES
from kubesim.api.schema.codec import encode
from kubesim.api.validation.formats import SUBDOMAIN_MAX
from kubesim.api.workloads.apps import Deployment, ReplicaSet, ReplicaSetSpec
from kubesim.api.workloads.templates import PodTemplateSpec, template_hash
from kubesim.cluster.controllers.owners import controller_reference

HASH_LABEL = "pod-template-hash"


def size(replica_set: ReplicaSet) -> int:
    """The desired number of pods."""
    return replica_set.spec.replicas or 0


def total_size(sets: Iterable[ReplicaSet]) -> int:
    return sum(map(size, sets))


def active(sets: Iterable[ReplicaSet]) -> list[ReplicaSet]:
    """ReplicaSets whose desired size is not 0."""
    return [replica_set for replica_set in sets if size(replica_set) > 0]


def by_creation(replica_set: ReplicaSet) -> tuple[str, str]:
    """Sort key: oldest first."""
    return replica_set.metadata.creation_timestamp or "", replica_set.metadata.name


def find_new_replica_set(deployment: Deployment, sets: Iterable[ReplicaSet]) -> ReplicaSet | None:
    """The oldest ReplicaSet with the Deployment's template."""
    wanted = deployment.spec.template
    return next((one for one in sorted(sets, key=by_creation) if equal_ignore_hash(one.spec.template, wanted)), None)


def find_old_replica_sets(new: ReplicaSet | None, sets: Iterable[ReplicaSet]) -> list[ReplicaSet]:
    """All other ReplicaSets, oldest first."""
    others = [one for one in sets if new is None or one.metadata.uid != new.metadata.uid]
    return sorted(others, key=by_creation)


def equal_ignore_hash(one: PodTemplateSpec, other: PodTemplateSpec) -> bool:
    """Whether two templates are equal, ignoring the pod-template-hash label."""
    one, other = _without_hash(one), _without_hash(other)
    return one == other or encode("PodTemplateSpec", one.to_json()) == encode("PodTemplateSpec", other.to_json())


def _without_hash(template: PodTemplateSpec) -> PodTemplateSpec:
    labels = {key: value for key, value in template.metadata.labels.items() if key != HASH_LABEL}
    return template.changed(metadata=template.metadata.changed(labels=labels))


def find_active_or_latest(new: ReplicaSet | None, old: Sequence[ReplicaSet]) -> ReplicaSet | None:
    """The only active ReplicaSet; the newest if none is active; None if several are."""
    found = active((*old, new) if new is not None else old)
    if len(found) > 1:
        return None
    if found:
        return found[0]
    return new or max(old, key=by_creation, default=None)


def new_replica_set(deployment: Deployment) -> ReplicaSet:
    """A ReplicaSet of size 0 for the Deployment's template."""
    spec = deployment.spec
    text = template_hash(spec.template, deployment.status.collision_count)
    labels = {**spec.template.metadata.labels, HASH_LABEL: text}
    selector = spec.selector or {}
    return ReplicaSet(
        kind="ReplicaSet",
        api_version="apps/v1",
        metadata=ObjectMeta(
            name=replica_set_name(deployment.metadata.name, text),
            namespace=deployment.metadata.namespace,
            labels=labels,
            owner_references=(controller_reference(deployment),),
        ),
        spec=ReplicaSetSpec(
            replicas=0,
            min_ready_seconds=spec.min_ready_seconds,
            selector={**selector, "matchLabels": {**(selector.get("matchLabels") or {}), HASH_LABEL: text}},
            template=spec.template.changed(metadata=spec.template.metadata.changed(labels=labels)),
        ),
    )


def replica_set_name(name: str, text: str) -> str:
    """The Deployment's name, truncated if too long, and the hash."""
    room = SUBDOMAIN_MAX - 1 - len(text)
    return f"{name[:room] if room > 0 else name}-{text}"


def old_pods_running(old: Iterable[ReplicaSet], pods: Iterable[Pod]) -> bool:
    """Whether an old ReplicaSet reports pods, or one of its pods has not terminated."""
    reported = any(replica_set.status.replicas for replica_set in old)
    return reported or any(pod.status.phase not in TERMINAL_PHASES for pod in pods)

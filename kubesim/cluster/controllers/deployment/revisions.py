"""The annotations that store a ReplicaSet's revision and its Deployment's size, and the revision history.

Mirrors: pkg/controller/deployment/util/deployment_util.go SetNewReplicaSetAnnotations, SetReplicasAnnotations,
MaxRevision, LastRevision, SetDeploymentAnnotationsTo; sync.go cleanupDeployment; rollback.go getRollbackTo
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from kubesim.api.meta import ApiObject
from kubesim.api.workloads.apps import Deployment, ReplicaSet
from kubesim.cluster.controllers.deployment.limits import max_surge, replicas_of
from kubesim.cluster.controllers.deployment.replica_sets import by_creation, size

REVISION = "deployment.kubernetes.io/revision"
REVISION_HISTORY = "deployment.kubernetes.io/revision-history"
DESIRED_REPLICAS = "deployment.kubernetes.io/desired-replicas"
MAX_REPLICAS = "deployment.kubernetes.io/max-replicas"
ROLLBACK_TO = "deprecated.deployment.rollback.to"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
NOT_COPIED = frozenset((LAST_APPLIED, REVISION, REVISION_HISTORY, DESIRED_REPLICAS, MAX_REPLICAS, ROLLBACK_TO))
HISTORY_MAX = 2000  # maximum length of the history annotation

_INTEGER = re.compile(r"[+-]?\d+")
_MAX_INT32 = 2**31 - 1


def revision_of(obj: ApiObject) -> int | None:
    """The revision; 0 if there is none, None if it is not a number."""
    text = obj.metadata.annotations.get(REVISION)
    if text is None:
        return 0
    return int(text) if _INTEGER.fullmatch(text) else None


def max_revision(sets: Iterable[ReplicaSet]) -> int:
    return max((revision_of(one) or 0 for one in sets), default=0)


def last_revision(sets: Iterable[ReplicaSet]) -> int:
    """The second-highest revision."""
    numbers = sorted((number for one in sets if (number := revision_of(one)) is not None), reverse=True)
    return numbers[1] if len(numbers) > 1 else 0


def new_replica_set_annotations(
    deployment: Deployment, annotations: Mapping[str, str], revision: int, *, exists: bool, limit: int = HISTORY_MAX
) -> dict[str, str]:
    """The desired annotations of the new ReplicaSet.

    They are the Deployment's, with the revision if it is higher than the current one. A ReplicaSet that is reused keeps
    its earlier revision in the history annotation.
    """
    made = {**annotations, **{k: v for k, v in deployment.metadata.annotations.items() if k not in NOT_COPIED}}
    before = annotations.get(REVISION)
    if before and not _INTEGER.fullmatch(before):
        return dict(annotations)
    if int(before or 0) < revision:
        made[REVISION] = str(revision)
        if before is not None:
            history = _extended_history(annotations.get(REVISION_HISTORY, ""), before, limit)
            if history is not None:
                made[REVISION_HISTORY] = history
    return made if exists else {**made, **replicas_annotations(deployment)}


def _extended_history(history: str, revision: str, limit: int) -> str | None:
    """The history with a new revision appended; the oldest are dropped. None if it does not fit."""
    if not history or history.startswith(","):
        return revision
    revisions = history.split(",")
    length = len(history) + len(revision) + 1
    while length > limit and revisions:
        length -= len(revisions.pop(0)) + 1
    return ",".join((*revisions, revision)) if length <= limit else None


def replicas_annotations(deployment: Deployment) -> dict[str, str]:
    """Annotations with the Deployment's size, to detect a later scaling and compute each share."""
    replicas = replicas_of(deployment)
    return {DESIRED_REPLICAS: str(replicas), MAX_REPLICAS: str(replicas + max_surge(deployment))}


def replicas_annotation(replica_set: ReplicaSet, name: str) -> int | None:
    text = replica_set.metadata.annotations.get(name, "")
    return int(text) if re.fullmatch(r"\d+", text) and int(text) <= _MAX_INT32 else None


def rolled_back_annotations(deployment: Deployment, replica_set: ReplicaSet) -> dict[str, str]:
    """The annotations of the ReplicaSet to which a Deployment is rolled back."""
    kept = {k: v for k, v in deployment.metadata.annotations.items() if k in NOT_COPIED}
    return {**kept, **{k: v for k, v in replica_set.metadata.annotations.items() if k not in NOT_COPIED}}


# -- history ----------------------------------------------------------------------------------------------------------


def replica_sets_to_delete(old: Sequence[ReplicaSet], limit: int | None) -> list[ReplicaSet]:
    """ReplicaSets beyond the history limit, lowest revisions first. Only those that report no pods."""
    if limit is None or limit == _MAX_INT32:
        return []
    alive = [one for one in old if one.metadata.deletion_timestamp is None]
    alive.sort(key=lambda one: (revision_of(one) or 0, by_creation(one)))
    return [one for one in alive[: max(len(alive) - limit, 0)] if _is_empty(one)]


def _is_empty(replica_set: ReplicaSet) -> bool:
    status = replica_set.status
    reported = replica_set.metadata.generation <= status.observed_generation
    return size(replica_set) == 0 and status.replicas == 0 and reported


def rollback_revision(deployment: Deployment) -> int | None:
    """The revision that the deprecated rollback annotation requests (0: the previous one); None if absent."""
    text = deployment.metadata.annotations.get(ROLLBACK_TO, "")
    return int(text) if text.removeprefix("-").isdigit() else None


def rollback_target(revision: int, sets: Sequence[ReplicaSet]) -> ReplicaSet | None:
    revision = revision or last_revision(sets)
    return next((one for one in sets if revision and revision_of(one) == revision), None)

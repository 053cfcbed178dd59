"""Rollback requested by an annotation, as clients of old API versions did.

(`kubectl rollout undo` patches the template instead and does not use this.)

Mirrors: pkg/controller/deployment/rollback.go rollback, rollbackToTemplate
"""

from __future__ import annotations

from kubesim.api.workloads.apps import Deployment, ReplicaSet
from kubesim.cluster.controllers.deployment.replica_sets import HASH_LABEL, equal_ignore_hash
from kubesim.cluster.controllers.deployment.revisions import (
    ROLLBACK_TO,
    last_revision,
    revision_of,
    rollback_target,
    rolled_back_annotations,
)
from kubesim.cluster.controllers.deployment.sync import DeploymentSync

_NOT_FOUND = "DeploymentRollbackRevisionNotFound"


def roll_back(sync: DeploymentSync, revision: int) -> None:
    """Copy the template of the requested revision, and remove the annotation in any case."""
    new, old = sync.replica_sets(create=True)
    sets = (*old, new) if new is not None else old
    deployment, target = sync.deployment, rollback_target(revision, sets)
    changed = deployment
    if target is None:
        missing = "last revision." if not (revision or last_revision(sets)) else "the revision to rollback to."
        sync.client.event(deployment, "Warning", _NOT_FOUND, f"Unable to find {missing}")
    elif equal_ignore_hash(deployment.spec.template, target.spec.template):
        name = deployment.metadata.name
        message = f'The rollback revision contains the same template as current deployment "{name}"'
        sync.client.event(deployment, "Warning", "DeploymentRollbackTemplateUnchanged", message)
    else:
        changed = _rolled_back(deployment, target)
    annotations = {key: value for key, value in changed.metadata.annotations.items() if key != ROLLBACK_TO}
    changed = changed.changed(metadata=changed.metadata.changed(annotations=annotations))
    sync.check_is_current(changed)
    sync.client.update(changed, f"the annotation {ROLLBACK_TO} asks for revision {revision}")
    if target is not None and changed.spec != deployment.spec:
        message = f'Rolled back deployment "{deployment.metadata.name}" to revision {revision_of(target)}'
        sync.client.event(deployment, "Normal", "DeploymentRollback", message)


def _rolled_back(deployment: Deployment, target: ReplicaSet) -> Deployment:
    template = target.spec.template
    labels = {key: value for key, value in template.metadata.labels.items() if key != HASH_LABEL}
    template = template.changed(metadata=template.metadata.changed(labels=labels))
    metadata = deployment.metadata.changed(annotations=rolled_back_annotations(deployment, target))
    return deployment.changed(metadata=metadata, spec=deployment.spec.changed(template=template))

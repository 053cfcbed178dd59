"""One sync of a Deployment: at most one step of a rollout, and the resulting status.

It uses the objects from its start and does not see its own writes. A second write of the same object conflicts, and the
sync is retried some milliseconds later.

Mirrors: pkg/controller/deployment/sync.go, rolling.go rolloutRolling, recreate.go rolloutRecreate
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kubesim.api.pod import Pod
from kubesim.api.workloads.apps import Deployment, DeploymentStatus, ReplicaSet
from kubesim.cluster.controllers.context import ControllerContext
from kubesim.cluster.controllers.controller import ControllerClient
from kubesim.cluster.controllers.deployment.conditions import (
    FOUND_NEW_REPLICA_SET,
    NEW_REPLICA_SET_CREATED,
    PAUSED,
    PROGRESS_DEADLINE_EXCEEDED,
    PROGRESSING,
    REPLICA_SET_CREATE_ERROR,
    RESUMED,
    find_condition,
    new_condition,
    with_condition,
)
from kubesim.cluster.controllers.deployment.limits import replicas_of
from kubesim.cluster.controllers.deployment.replica_sets import (
    active,
    equal_ignore_hash,
    find_new_replica_set,
    find_old_replica_sets,
    new_replica_set,
    old_pods_running,
    size,
)
from kubesim.cluster.controllers.deployment.revisions import (
    REVISION,
    max_revision,
    new_replica_set_annotations,
    replica_sets_to_delete,
    replicas_annotations,
)
from kubesim.cluster.controllers.deployment.rolling import (
    new_size,
    reconcile_new_replica_set,
    reconcile_old_replica_sets,
)
from kubesim.cluster.controllers.deployment.scaling import Resize, plan_scaling
from kubesim.cluster.controllers.deployment.status import (
    calculate_rollout_status,
    calculate_status,
    has_progress_deadline,
    is_complete,
    next_progress_check,
)
from kubesim.cluster.controllers.owners import is_controlled_by
from kubesim.cluster.problems import MODIFIED, conflict, is_namespace_terminating
from kubesim.cluster.store.kinds import resource_of
from kubesim.errors import ApiError
from kubesim.values import mutable


@mutable
class DeploymentSync:
    """One sync. `deployment` is the object as written so far; `sets` are the ReplicaSets from the start of the sync."""

    context: ControllerContext
    client: ControllerClient
    deployment: Deployment
    sets: Sequence[ReplicaSet]
    check_after: Callable[[int], None]  # delay of the next sync, in microseconds

    # -- ways through a sync ------------------------------------------------------------------------------------

    def sync_status_only(self) -> None:
        new, old = self.replica_sets(create=False)
        self._sync_deployment_status(new, old)

    def sync_paused_or_scaled(self, *, clean_up: bool) -> None:
        new, old = self.replica_sets(create=False)
        self._apply(plan_scaling(self.deployment, new, old))
        if clean_up:
            self._cleanup(old)
        self._sync_deployment_status(new, old)

    def rollout_rolling(self) -> None:
        new, old = self.replica_sets(create=True)
        assert new is not None
        resize = reconcile_new_replica_set(self.deployment, (*old, new), new)
        plan = [resize] if resize is not None else reconcile_old_replica_sets(self.deployment, old, new)
        self._apply(plan)
        if not plan and is_complete(self.deployment, self.deployment.status):
            self._cleanup(old)
        self._sync_rollout_status(new, old)

    def rollout_recreate(self) -> None:
        new, old = self.replica_sets(create=False)
        why = "all old pods stop before new ones are created, so an old ReplicaSet is scaled down to 0"
        plan = [Resize(replica_set, 0, why) for replica_set in active(old)]
        self._apply(plan)
        if not plan and not old_pods_running(old, self._pods_of(old)):
            if new is None:
                new, old = self.replica_sets(create=True)
            assert new is not None
            why = "no old pod runs any more, so the new ones can start"
            self._apply([Resize(new, replicas_of(self.deployment), why)])
            if is_complete(self.deployment, self.deployment.status):
                self._cleanup(old)
        self._sync_rollout_status(new, old)

    def _pods_of(self, sets: Sequence[ReplicaSet]) -> list[Pod]:
        pods = self.context.owned("Pod")
        return [pod for replica_set in sets for pod in pods.of(replica_set) if isinstance(pod, Pod)]

    def check_paused_conditions(self) -> None:
        """Pausing suspends the progress deadline, so a resumed rollout has not timed out."""
        condition = find_condition(self.deployment.status, PROGRESSING)
        if not has_progress_deadline(self.deployment):
            return
        reason = condition.reason if condition is not None else ""
        paused = self.deployment.spec.paused
        if reason == PROGRESS_DEADLINE_EXCEEDED or paused == (reason == PAUSED):
            return
        word = "paused" if paused else "resumed"
        self._set_progressing("Unknown", PAUSED if paused else RESUMED, f"Deployment is {word}")
        self._write_status(self.deployment.status, f"spec.paused is {str(paused).lower()}, so the rollout is {word}")

    # -- ReplicaSets and revisions ------------------------------------------------------------------------------

    def replica_sets(self, *, create: bool) -> tuple[ReplicaSet | None, list[ReplicaSet]]:
        """The new ReplicaSet (created if missing and `create` is set) with its revision, and the old ones."""
        new = find_new_replica_set(self.deployment, self.sets)
        old = find_old_replica_sets(new, self.sets)
        revision = max_revision(old) + 1
        if new is not None:
            new = self._with_revision(new, revision)
        elif create:
            new = self._create_new(old, revision)
        return new, old

    def _with_revision(self, new: ReplicaSet, revision: int) -> ReplicaSet:
        deployment = self.deployment
        annotations = new_replica_set_annotations(deployment, new.metadata.annotations, revision, exists=True)
        min_ready = deployment.spec.min_ready_seconds
        if annotations != new.metadata.annotations or min_ready != new.spec.min_ready_seconds:
            spec = new.spec.changed(min_ready_seconds=min_ready)
            changed = new.changed(metadata=new.metadata.changed(annotations=annotations), spec=spec)
            return self._update(changed, "annotations, revision and minReadySeconds are those of the Deployment")
        needs_update = self._set_revision(new.metadata.annotations.get(REVISION, ""))
        if has_progress_deadline(deployment) and find_condition(deployment.status, PROGRESSING) is None:
            self._set_progressing("True", FOUND_NEW_REPLICA_SET, f'Found new replica set "{new.metadata.name}"')
            needs_update = True
        if needs_update:
            why = f"ReplicaSet {new.metadata.name} has the template of the Deployment, so its revision is current"
            self._write_status(self.deployment.status, why)
        return new

    def _create_new(self, old: Sequence[ReplicaSet], revision: int) -> ReplicaSet:
        planned = new_replica_set(self.deployment)
        count = new_size(self.deployment, (*old, planned), planned)
        annotations = new_replica_set_annotations(self.deployment, {}, revision, exists=False)
        planned = planned.changed(
            metadata=planned.metadata.changed(annotations=annotations), spec=planned.spec.changed(replicas=count)
        )
        name = planned.metadata.name
        try:
            why = f"no ReplicaSet has this template, so one with {count} replicas is created"
            created = self.client.create(planned, why)
        except ApiError as error:
            return self._creation_failed(name, revision, error)
        assert isinstance(created, ReplicaSet)
        if count > 0:
            self._scaled_event("up", name, 0, count)
        needs_update = self._set_revision(str(revision))
        if has_progress_deadline(self.deployment):
            self._set_progressing("True", NEW_REPLICA_SET_CREATED, f'Created new replica set "{name}"')
            needs_update = True
        if needs_update:
            self._write_status(self.deployment.status, f"ReplicaSet {name} was created as revision {revision}")
        return created

    def _creation_failed(self, name: str, revision: int, error: ApiError) -> ReplicaSet:
        """The name is taken: by the new ReplicaSet itself, or by a hash collision, which the next attempt avoids."""
        deployment = self.deployment
        if error.reason == "AlreadyExists":
            found = self.context.store.find("ReplicaSet", deployment.metadata.namespace, name)
            if isinstance(found, ReplicaSet) and is_controlled_by(found, deployment):
                if equal_ignore_hash(deployment.spec.template, found.spec.template):
                    if self._set_revision(str(revision)):
                        self._write_status(self.deployment.status, f"ReplicaSet {name} is revision {revision}")
                    return found
            collisions = (deployment.status.collision_count or 0) + 1
            status = deployment.status.changed(collision_count=collisions)
            self._write_status(status, f"ReplicaSet {name} has another template with the same hash")
            raise error
        if is_namespace_terminating(error):
            raise error
        message = f'Failed to create new replica set "{name}": {error.message}'
        if has_progress_deadline(deployment):
            self._set_progressing("False", REPLICA_SET_CREATE_ERROR, message)
            self._write_status(self.deployment.status, "the new ReplicaSet cannot be created")
        self.client.event(deployment, "Warning", REPLICA_SET_CREATE_ERROR, message)
        raise error

    def _set_revision(self, revision: str) -> bool:
        metadata = self.deployment.metadata
        if metadata.annotations.get(REVISION, "") == revision:
            return False
        annotations = {**metadata.annotations, REVISION: revision}
        self.deployment = self.deployment.changed(metadata=metadata.changed(annotations=annotations))
        return True

    def _set_progressing(self, status: str, reason: str, message: str) -> None:
        condition = new_condition(PROGRESSING, status, reason, message, self.context.clock.now())
        self.deployment = self.deployment.changed(status=with_condition(self.deployment.status, condition))

    # -- writing ------------------------------------------------------------------------------------------------

    def _apply(self, plan: Sequence[Resize]) -> None:
        """Carry out a plan. A ReplicaSet that is in it twice is written twice."""
        written: dict[str, ReplicaSet] = {}
        for resize in plan:
            replica_set = written.get(resize.replica_set.metadata.name, resize.replica_set)
            written[replica_set.metadata.name] = self._scale(replica_set, resize)

    def _scale(self, replica_set: ReplicaSet, resize: Resize) -> ReplicaSet:
        before, metadata = size(replica_set), replica_set.metadata
        if before == resize.size and not resize.force:
            return replica_set
        annotations = {**metadata.annotations, **replicas_annotations(self.deployment)}
        if before == resize.size and annotations == metadata.annotations:
            return replica_set
        spec = replica_set.spec.changed(replicas=resize.size)
        updated = self._update(
            replica_set.changed(metadata=metadata.changed(annotations=annotations), spec=spec), resize.why
        )
        if before != resize.size:
            self._scaled_event("up" if before < resize.size else "down", metadata.name, before, resize.size)
        return updated

    def _scaled_event(self, direction: str, name: str, before: int, after: int) -> None:
        message = f"Scaled {direction} replica set {name} from {before} to {after}"
        self.client.event(self.deployment, "Normal", "ScalingReplicaSet", message)

    def _cleanup(self, old: Sequence[ReplicaSet]) -> None:
        limit = self.deployment.spec.revision_history_limit
        for replica_set in replica_sets_to_delete(old, limit):
            self.client.delete(replica_set, f"only {limit} old ReplicaSets are kept, so the oldest is deleted")

    def _update(self, replica_set: ReplicaSet, why: str) -> ReplicaSet:
        self.check_is_current(replica_set)
        updated = self.client.update(replica_set, why)
        assert isinstance(updated, ReplicaSet)
        return updated

    def _sync_deployment_status(self, new: ReplicaSet | None, old: Sequence[ReplicaSet]) -> None:
        sets = (*old, new) if new is not None else old
        status = calculate_status(self.deployment, sets, new, self.context.clock.now())
        if status != self.deployment.status:
            self._write_status(status, _counted(self.deployment, status))

    def _sync_rollout_status(self, new: ReplicaSet | None, old: Sequence[ReplicaSet]) -> None:
        sets, now = (*old, new) if new is not None else old, self.context.clock.now()
        status = calculate_rollout_status(self.deployment, sets, new, now)
        if status != self.deployment.status:
            self._write_status(status, _counted(self.deployment, status))
            return
        after = next_progress_check(self.deployment, status, now)
        if after is not None:
            self.check_after(after)

    def _write_status(self, status: DeploymentStatus, why: str) -> None:
        self.check_is_current(self.deployment)
        self.client.update_status(self.deployment, status, why, self.deployment.metadata.annotations)
        self.deployment = self.deployment.changed(status=status)

    def check_is_current(self, obj: Deployment | ReplicaSet) -> None:
        """Raise a conflict if the object was written since it was read."""
        metadata = obj.metadata
        current = self.context.store.get(obj.kind, metadata.namespace, metadata.name)
        if current.metadata.resource_version != metadata.resource_version:
            raise conflict(resource_of(obj.kind), metadata.name, MODIFIED)


def _counted(deployment: Deployment, status: DeploymentStatus) -> str:
    updated, available = status.updated_replicas, status.available_replicas
    return f"{updated} of {replicas_of(deployment)} replicas are updated, {available} available"

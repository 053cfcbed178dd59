"""The ReplicaSet controller and the ReplicationController one, which works the same way.

One sync adopts and releases pods, creates or deletes pods, and writes the status. The status counts the pods from the
start of the sync; pods it created follow with the next sync.

Mirrors: pkg/controller/replicaset/replica_set.go syncReplicaSet, manageReplicas;
pkg/controller/replication/replication_controller.go
"""

from __future__ import annotations

from typing import ClassVar

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.api.workloads.apps import ReplicaSet, ReplicationController
from kubesim.api.workloads.templates import PodTemplateSpec
from kubesim.cluster.controllers.context import ControllerContext
from kubesim.cluster.controllers.controller import Controller
from kubesim.cluster.controllers.owners import controller_of
from kubesim.cluster.controllers.pods import (
    is_pod_active,
    is_pod_terminating,
    next_availability_check,
    pod_from_template,
)
from kubesim.cluster.controllers.replicaset.batches import INITIAL_BATCH_SIZE, slow_start_batch
from kubesim.cluster.controllers.replicaset.ranking import pods_to_delete
from kubesim.cluster.controllers.replicaset.status import (
    calculate_status,
    count_replicas,
    failure_reason,
    status_reason,
)
from kubesim.cluster.problems import is_namespace_terminating
from kubesim.cluster.store.selectors import LabelSelector, selector_from
from kubesim.cluster.store.watches import WatchEvent
from kubesim.errors import ApiError
from kubesim.values import value_object

BURST_REPLICAS = 500  # limit of pods created or deleted by one sync


@value_object
class Wanted:
    """The relevant spec fields of either kind."""

    replicas: int
    selector: LabelSelector
    template: PodTemplateSpec
    min_ready_seconds: int


def wanted_by(owner: ApiObject) -> Wanted:
    if isinstance(owner, ReplicaSet):
        spec = owner.spec
        return Wanted(spec.replicas or 0, selector_from(spec.selector), spec.template, spec.min_ready_seconds)
    assert isinstance(owner, ReplicationController)
    selector = selector_from({"matchLabels": owner.spec.selector} if owner.spec.selector else None)
    template = owner.spec.template or PodTemplateSpec()
    return Wanted(owner.spec.replicas or 0, selector, template, owner.spec.min_ready_seconds)


class ReplicasController(Controller):
    """The controller for one of the two kinds."""

    kind: ClassVar[str]

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._pods = context.unfinished_pods()  # skips finished pods, of which there may be thousands
        self.watch(self.kind)
        self.watch_owned("Pod", self.kind)
        context.store.watch("Pod", self._orphan_changed)

    # -- watching -----------------------------------------------------------------------------------------------

    def _orphan_changed(self, change: WatchEvent) -> None:
        """An orphan pod that is new or relabelled may be adopted."""
        pod, old = change.object, change.previous
        if change.type == "DELETED" or pod.metadata.deletion_timestamp is not None or controller_of(pod) is not None:
            return
        if old is not None and pod.metadata.labels == old.metadata.labels and controller_of(old) is None:
            return
        for owner in self.store.list(self.kind, pod.metadata.namespace):
            if wanted_by(owner).selector.matches(pod.metadata.labels):
                self.enqueue(owner)

    # -- one sync -----------------------------------------------------------------------------------------------

    def sync(self, namespace: str, name: str) -> None:
        owner = self.store.find(self.kind, namespace, name)
        if not isinstance(owner, ReplicaSet | ReplicationController):
            return
        wanted = wanted_by(owner)
        claimed = self.client.claim(self._pods, owner, wanted.selector, only=is_pod_active)
        pods = [pod for pod in claimed if isinstance(pod, Pod)]
        terminating = sum(
            is_pod_terminating(pod) and wanted.selector.matches(pod.metadata.labels)
            for pod in self._pods.of(owner)
            if isinstance(pod, Pod)
        )
        error = None
        if owner.metadata.deletion_timestamp is None:
            error = self._manage_replicas(owner, wanted, pods)
        now = self.clock.now()
        counts = count_replicas(pods, wanted.template, wanted.min_ready_seconds, now)
        failure = None if error is None else (failure_reason(len(pods), wanted.replicas), error.message)
        status = calculate_status(owner, counts, terminating, failure, now)
        self.client.update_status(owner, status, status_reason(counts, wanted.replicas))
        if error is not None:
            raise error
        if wanted.min_ready_seconds and counts.ready_replicas != counts.available_replicas:
            check = next_availability_check(pods, wanted.min_ready_seconds, now)
            if check is not None:
                self.enqueue(owner, check)

    def _manage_replicas(self, owner: ApiObject, wanted: Wanted, pods: list[Pod]) -> ApiError | None:
        missing = wanted.replicas - len(pods)
        if missing > 0:
            return self._create(owner, wanted, len(pods), min(missing, BURST_REPLICAS))
        if missing < 0:
            return self._delete(owner, wanted, pods, min(-missing, BURST_REPLICAS))
        return None

    def _create(self, owner: ApiObject, wanted: Wanted, existing: int, count: int) -> ApiError | None:
        pod = pod_from_template(wanted.template, owner)
        more = "one more pod is" if count == 1 else f"{count} more pods are"
        why = f"{existing} of {wanted.replicas} replicas exist, so {more} created"

        def create_pod() -> None:
            try:
                created = self.client.create(pod, why)
            except ApiError as error:
                if is_namespace_terminating(error):
                    return
                self.client.event(owner, "Warning", "FailedCreate", f"Error creating: {error.message}")
                raise
            self.client.event(owner, "Normal", "SuccessfulCreate", f"Created pod: {created.metadata.name}")

        return slow_start_batch(count, INITIAL_BATCH_SIZE, create_pod)[1]

    def _delete(self, owner: ApiObject, wanted: Wanted, pods: list[Pod], count: int) -> ApiError | None:
        failure: ApiError | None = None
        why = f"{len(pods)} replicas exist and {wanted.replicas} are wanted, so this pod is deleted"
        for pod in pods_to_delete(pods, self._related_pods(owner), count, self.clock.now()):
            try:
                self.client.delete(pod, why)
            except ApiError as error:
                self.client.event(owner, "Warning", "FailedDelete", f"Error deleting: {error.message}")
                failure = failure or error
            else:
                self.client.event(owner, "Normal", "SuccessfulDelete", f"Deleted pod: {pod.metadata.name}")
        return failure

    def _related_pods(self, owner: ApiObject) -> list[Pod]:
        """The pods of all objects of the same kind with the same owner; empty without an owner."""
        reference = controller_of(owner)
        parent = reference and self.store.find(reference.kind, owner.metadata.namespace, reference.name)
        siblings = self.context.owned(self.kind).of(parent) if parent else []
        return [pod for sibling in siblings for pod in self._pods.of(sibling) if isinstance(pod, Pod)]


class ReplicaSetController(ReplicasController):
    name = "replicaset-controller"
    kind = "ReplicaSet"


class ReplicationControllerController(ReplicasController):
    name = "replication-controller"
    kind = "ReplicationController"

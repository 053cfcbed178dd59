"""The Deployment controller: when to sync a Deployment, and which kind of sync.

Mirrors: pkg/controller/deployment/deployment_controller.go
"""

from __future__ import annotations

from kubesim.api.meta import ApiObject
from kubesim.api.workloads.apps import Deployment, ReplicaSet
from kubesim.cluster.controllers.context import ControllerContext
from kubesim.cluster.controllers.controller import Controller
from kubesim.cluster.controllers.deployment.limits import is_rolling_update
from kubesim.cluster.controllers.deployment.revisions import rollback_revision
from kubesim.cluster.controllers.deployment.rollback import roll_back
from kubesim.cluster.controllers.deployment.scaling import is_scaling_event
from kubesim.cluster.controllers.deployment.sync import DeploymentSync
from kubesim.cluster.controllers.owners import controller_of
from kubesim.cluster.store.selectors import selector_from
from kubesim.cluster.store.watches import WatchEvent


class DeploymentController(Controller):
    name = "deployment-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._sets = context.owned("ReplicaSet")
        self._pods = context.owned("Pod")
        self.watch("Deployment")
        self.watch_owned("ReplicaSet", "Deployment")
        context.store.watch("ReplicaSet", self._replica_set_changed)
        context.store.watch("Pod", self._pod_changed)

    # -- watching -----------------------------------------------------------------------------------------------

    def _replica_set_changed(self, change: WatchEvent) -> None:
        """Enqueue owners. A ReplicaSet that is new, relabelled or orphaned may be adopted."""
        found, old = change.object, change.previous
        if change.type == "DELETED" or not found.metadata.labels or controller_of(found) is not None:
            return
        if old is not None and found.metadata.labels == old.metadata.labels and controller_of(old) is None:
            return
        for deployment in self.store.list("Deployment", found.metadata.namespace):
            assert isinstance(deployment, Deployment)
            if selector_from(deployment.spec.selector).matches(found.metadata.labels):
                self.enqueue(deployment)

    def _pod_changed(self, change: WatchEvent) -> None:
        """With strategy Recreate, sync when the last old pod is gone, so that new ones can start."""
        if change.type != "DELETED":
            return
        replica_set = self._owner(change.object, "ReplicaSet")
        deployment = self._owner(replica_set, "Deployment") if replica_set is not None else None
        if isinstance(deployment, Deployment) and not is_rolling_update(deployment):
            if not any(self._pods.of(replica_set) for replica_set in self._sets.of(deployment)):
                self.enqueue(deployment)

    def _owner(self, obj: ApiObject, kind: str) -> ApiObject | None:
        reference = controller_of(obj)
        if reference is None or reference.kind != kind:
            return None
        found = self.store.find(kind, obj.metadata.namespace, reference.name)
        return found if found is not None and found.metadata.uid == reference.uid else None

    # -- one sync -----------------------------------------------------------------------------------------------

    def sync(self, namespace: str, name: str) -> None:
        deployment = self.store.find("Deployment", namespace, name)
        if not isinstance(deployment, Deployment):
            return
        claimed = self.client.claim(self._sets, deployment, selector_from(deployment.spec.selector))
        sets = [found for found in claimed if isinstance(found, ReplicaSet)]
        one = DeploymentSync(
            self.context, self.client, deployment, sets, lambda after: self.queue.add_after((namespace, name), after)
        )
        if deployment.metadata.deletion_timestamp is not None:
            one.sync_status_only()
            return
        one.check_paused_conditions()
        rollback_to = rollback_revision(deployment)
        if deployment.spec.paused:
            one.sync_paused_or_scaled(clean_up=rollback_to is None)
        elif rollback_to is not None:
            roll_back(one, rollback_to)
        elif self._is_scaling_event(one):
            one.sync_paused_or_scaled(clean_up=False)
        elif is_rolling_update(deployment):
            one.rollout_rolling()
        else:
            one.rollout_recreate()

    def _is_scaling_event(self, one: DeploymentSync) -> bool:
        new, old = one.replica_sets(create=False)
        return is_scaling_event(one.deployment, (*old, new) if new is not None else old)

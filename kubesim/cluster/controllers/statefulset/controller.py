"""The StatefulSet controller: a sync computes a plan, carries it out and writes the status.

Mirrors: pkg/controller/statefulset/stateful_set.go sync, syncStatefulSet; stateful_set_control.go UpdateStatefulSet,
performUpdate
"""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import ClassVar

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.api.timestamps import SECOND
from kubesim.api.workloads.apps import StatefulSet, StatefulSetStatus
from kubesim.cluster.controllers.context import ControllerContext
from kubesim.cluster.controllers.controller import Controller
from kubesim.cluster.controllers.history import RevisionHistory, by_revision
from kubesim.cluster.controllers.pods import next_availability_check
from kubesim.cluster.controllers.statefulset.identity import CLAIM, claim_names, is_member_of, ordinal_of, ordinals
from kubesim.cluster.controllers.statefulset.plan import StatefulSetPlan, plan_sync
from kubesim.cluster.controllers.statefulset.pod_control import StatefulPodControl
from kubesim.cluster.controllers.statefulset.revisions import resolve_versions, surplus_revisions
from kubesim.cluster.controllers.statefulset.status import complete_rolling_update
from kubesim.cluster.store.selectors import LabelSelector, selector_from
from kubesim.errors import ApiError


class StatefulSetController(Controller):
    name: ClassVar[str] = "statefulset-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._pods = context.owned("Pod")
        self._pod_control = StatefulPodControl(self.store, self.client, self.enqueue)
        self._history = RevisionHistory(self.store, self.client, context.owned("ControllerRevision"))
        self.watch("StatefulSet")
        self.watch_owned("Pod", "StatefulSet")
        self.watch_orphans("Pod", "StatefulSet", lambda owner: owner.spec.selector)

    def sync(self, namespace: str, name: str) -> None:
        set_ = self.store.find("StatefulSet", namespace, name)
        if not isinstance(set_, StatefulSet):
            return
        selector = selector_from(set_.spec.selector)
        self._history.adopt_orphans(set_, selector)
        pods = self._members(set_, selector)
        status = self._update_stateful_set(set_, selector, pods)
        wait_s = set_.spec.min_ready_seconds
        if wait_s > 0 and status.ready_replicas != status.available_replicas:
            now = self.clock.now()
            check = next_availability_check(pods, wait_s, now)
            self.enqueue(set_, wait_s * SECOND if check is None else check)

    def _members(self, set_: StatefulSet, selector: LabelSelector) -> list[Pod]:
        """The pods that the set controls. A pod whose name has no valid ordinal is released, and never adopted."""
        is_member = partial(is_member_of, set_)
        if set_.metadata.deletion_timestamp is None:
            for pod in self._pods.of(set_):
                if not is_member(pod):
                    others = tuple(each for each in pod.metadata.owner_references if each.uid != set_.metadata.uid)
                    self.client.set_owners(pod, others, "its name is not one that the set gives, so it is released")
        claimed = self.client.claim(self._pods, set_, selector, is_member)
        return [pod for pod in claimed if isinstance(pod, Pod)]

    def _update_stateful_set(self, set_: StatefulSet, selector: LabelSelector, pods: list[Pod]) -> StatefulSetStatus:
        """Create, update and delete pods, write the status, delete old revisions."""
        revisions = sorted(self._history.listed(set_, selector), key=by_revision)
        versions = resolve_versions(self._history, set_, revisions)
        plan = plan_sync(set_, versions, pods, self._claims_of(set_, pods), self.clock.now())
        failure: ApiError | None = None
        status = plan.status
        try:
            status = self._carry_out(set_, plan)
        except ApiError as error:
            failure = error
        status = complete_rolling_update(set_, status)
        self.client.update_status(set_, status, _why_status(status))
        live = versions.current.metadata.name, versions.update.metadata.name
        for revision in surplus_revisions(set_, pods, revisions, live):
            why = f"no pod is at it, and the set keeps {set_.spec.revision_history_limit} old revisions"
            self._history.delete(revision, why)
        if failure is not None:
            raise failure
        return status

    def _carry_out(self, set_: StatefulSet, plan: StatefulSetPlan) -> StatefulSetStatus:
        """Carry out the plan; returns the status. It does not count pods created or deleted by this sync."""
        ordered = set_.spec.pod_management_policy != "Parallel"
        run = self._pod_control.run_in_order if ordered else self._pod_control.run_in_batches
        for phase in plan.phases:
            run(set_, phase)
        if plan.update is None:
            return plan.status
        self._pod_control.run(set_, plan.update)
        return plan.status.changed(current_replicas=plan.status.current_replicas - 1)

    def _claims_of(self, set_: StatefulSet, pods: list[Pod]) -> dict[str, ApiObject]:
        """The claims of existing and of desired pods."""
        if not set_.spec.volume_claim_templates:
            return {}
        owners = {*ordinals(set_), *map(ordinal_of, pods)}
        names = chain.from_iterable(claim_names(set_, ordinal).values() for ordinal in owners)
        found = ((name, self.store.find(CLAIM, set_.metadata.namespace, name)) for name in names)
        return {name: claim for name, claim in found if claim is not None}


def _why_status(status: StatefulSetStatus) -> str:
    counts = f"{status.replicas} pods exist and {status.ready_replicas} are ready"
    if status.current_revision == status.update_revision:
        return counts
    return f"{counts}; {status.updated_replicas} are at the new revision"

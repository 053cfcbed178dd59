"""Carries out the steps of a plan: writes pods and claims, and emits Events.

Mirrors: pkg/controller/statefulset/stateful_pod_control.go StatefulPodControl; stateful_set_control.go slowStartBatch
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.api.workloads.apps import StatefulSet
from kubesim.cluster.controllers.controller import ControllerClient
from kubesim.cluster.controllers.statefulset.identity import (
    CLAIM,
    claim_names,
    identity_matches,
    new_claims,
    ordinal_of,
    storage_matches,
    with_identity,
    with_storage,
)
from kubesim.cluster.controllers.statefulset.plan import Phase, PodStep
from kubesim.cluster.controllers.statefulset.retention import (
    claim_owners,
    has_unexpected_controller,
    is_claim_owner_up_to_date,
)
from kubesim.cluster.problems import internal_error
from kubesim.cluster.store.store import Store
from kubesim.errors import ApiError
from kubesim.golang.text import aggregate


class StatefulPodControl:
    """Writes the pods and claims of StatefulSets. `sync_again` requeues a set after some milliseconds."""

    def __init__(self, store: Store, client: ControllerClient, sync_again: Callable[[StatefulSet], None]) -> None:
        self._store = store
        self._client = client
        self._sync_again = sync_again

    def run_in_order(self, set_: StatefulSet, phase: Phase) -> None:
        """Run the steps in order; the first failure stops."""
        for steps in phase:
            self._run(set_, steps)

    def run_in_batches(self, set_: StatefulSet, phase: Phase) -> None:
        """Run the steps in batches of 1, 2, 4, ...; a batch with a failure is the last."""
        done, size = 0, 1
        while done < len(phase):
            errors = [error for steps in phase[done : done + size] if (error := self._attempt(set_, steps))]
            if errors:
                raise _combined(errors)
            done, size = done + size, 2 * size

    def run(self, set_: StatefulSet, step: PodStep) -> None:
        match step.verb:
            case "create":
                self._create(set_, step)
            case "update":
                self._update(set_, step)
            case "delete":
                self._delete(set_, step)
            case "claims":
                self._create_missing_claims(set_, step.pod)
            case "retain":
                self._set_claim_owners(set_, step.pod)

    def _run(self, set_: StatefulSet, steps: Sequence[PodStep]) -> None:
        for step in steps:
            self.run(set_, step)

    def _attempt(self, set_: StatefulSet, steps: Sequence[PodStep]) -> ApiError | None:
        try:
            self._run(set_, steps)
        except ApiError as error:
            return error
        return None

    # -- pods ---------------------------------------------------------------------------------------------------

    def _create(self, set_: StatefulSet, step: PodStep) -> None:
        try:
            if self._create_claims(set_, step.pod):
                # During the request, other clients see the claims without the pod.
                self._sync_again(set_)
                return
            self._client.create(step.pod, step.why)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                self._pod_event("Create", set_, step.pod, error)
            raise
        self._set_claim_owners(set_, step.pod)
        self._pod_event("Create", set_, step.pod)

    def _update(self, set_: StatefulSet, step: PodStep) -> None:
        pod = step.pod
        try:
            if not identity_matches(set_, pod):
                pod = with_identity(set_, pod)
            if not storage_matches(set_, pod):
                pod = with_storage(set_, pod)
                self._create_claims(set_, pod)
            self._set_claim_owners(set_, pod)
            self._client.update(pod, step.why)
        except ApiError as error:
            self._pod_event("Update", set_, pod, error)
            raise
        self._pod_event("Update", set_, pod)

    def _delete(self, set_: StatefulSet, step: PodStep) -> None:
        """Delete the pod by name. A missing pod counts as deleted."""
        found = self._store.find("Pod", step.pod.metadata.namespace, step.pod.metadata.name)
        try:
            if found is not None:
                self._client.delete(found, step.why)
        except ApiError as error:
            self._pod_event("Delete", set_, step.pod, error)
            raise
        self._pod_event("Delete", set_, step.pod)

    def _pod_event(self, verb: str, set_: StatefulSet, pod: Pod, error: ApiError | None = None) -> None:
        about = f"{verb} Pod {pod.metadata.name} in StatefulSet {set_.metadata.name}"
        if error is None:
            self._client.event(set_, "Normal", f"Successful{verb}", f"{about} successful")
        else:
            self._client.event(set_, "Warning", f"Failed{verb}", f"{about} failed error: {error}")

    # -- claims -------------------------------------------------------------------------------------------------

    def _create_missing_claims(self, set_: StatefulSet, pod: Pod) -> None:
        self._create_claims(set_, pod)
        try:
            self._set_claim_owners(set_, pod)
        except ApiError as error:
            self._pod_event("Update", set_, pod, error)
            raise

    def _create_claims(self, set_: StatefulSet, pod: Pod) -> bool:
        """Create the missing claims; returns whether there were any. A terminating pod must be gone first."""
        errors, created = [], False
        for claim in new_claims(set_, ordinal_of(pod)):
            name = claim.metadata.name
            found = self._claim(set_, name)
            if found is not None:
                if found.metadata.deletion_timestamp is not None:
                    errors.append(internal_error(f"pvc {name} is being deleted"))
                continue
            try:
                self._client.create(claim, f"pod {pod.metadata.name} needs claim {name}, which does not exist yet")
            except ApiError as error:
                errors.append(internal_error(f"failed to create PVC {name}: {error}"))
                if error.reason != "AlreadyExists":
                    self._claim_event(set_, pod, name, error)
            else:
                created = True
                self._claim_event(set_, pod, name)
        if errors:
            raise _combined(errors)
        return created

    def _set_claim_owners(self, set_: StatefulSet, pod: Pod) -> None:
        """Set the owners that the retention policy requires."""
        for name in claim_names(set_, ordinal_of(pod)).values():
            claim = self._claim(set_, name)
            if claim is None:
                continue
            if has_unexpected_controller(claim, set_, pod):
                message = (
                    f"PersistentVolumeClaim {name} has a conflicting OwnerReference that acts as a manging controller, "
                    "the retention policy is ignored for this claim"
                )
                self._client.event(set_, "Warning", "ConflictingController", message)
            if not is_claim_owner_up_to_date(claim, set_, pod):
                owners = claim_owners(claim, set_, pod)
                kinds = " and ".join(owner.kind for owner in owners)
                kept = f"should be deleted with its {kinds}" if kinds else "should be kept"
                self._client.set_owners(claim, owners, f"by the retention policy of the set, claim {name} {kept}")

    def _claim(self, set_: StatefulSet, name: str) -> ApiObject | None:
        return self._store.find(CLAIM, set_.metadata.namespace, name)

    def _claim_event(self, set_: StatefulSet, pod: Pod, claim: str, error: ApiError | None = None) -> None:
        within = f"Pod {pod.metadata.name} in StatefulSet {set_.metadata.name}"
        if error is None:
            self._client.event(set_, "Normal", "SuccessfulCreate", f"Create Claim {claim} {within} success")
        else:
            message = f"Create Claim {claim} for {within} failed error: {error}"
            self._client.event(set_, "Warning", "FailedCreate", message)


def _combined(errors: Sequence[ApiError]) -> ApiError:
    return errors[0] if len(errors) == 1 else internal_error(aggregate(errors))

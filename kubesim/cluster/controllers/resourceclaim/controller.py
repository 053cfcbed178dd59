"""The ResourceClaim controller: makes claims from templates, reserves them for pods that have a node, releases them.

Mirrors: pkg/controller/resourceclaim/controller.go
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.api.workloads.resource_claims import (
    CLAIM,
    CLAIM_TEMPLATE,
    FINALIZER,
    ClaimNotCreated,
    ClaimReferenceError,
    allocation_of,
    claim_name,
    reservation_for,
    reservations,
    why_not_for_pod,
    with_status,
)
from kubesim.cluster.controllers.context import ControllerContext
from kubesim.cluster.controllers.controller import Controller
from kubesim.cluster.controllers.resourceclaim.decisions import (
    claim_for,
    is_pod_done,
    needs_reservation,
    owning_pod,
    pod_needs_work,
    remaining_reservations,
    used_claims,
)
from kubesim.cluster.controllers.resourceclaim.generated_claims import GeneratedClaims
from kubesim.cluster.controllers.resourceclaim.pod_index import ResourceClaimPods
from kubesim.cluster.problems import internal_error
from kubesim.cluster.store.watches import WatchEvent
from kubesim.errors import ApiError

# A key is a kind followed by the namespaced name of a pod or a claim, as upstream.
_POD, _CLAIM = "pod:", "claim:"


class ResourceClaimController(Controller):
    name = "resource_claim"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._owned = context.owned(CLAIM)
        self._made = GeneratedClaims(self.clock.now)
        self._pods = ResourceClaimPods(self.store)
        for pod in self.store.list("Pod"):
            if isinstance(pod, Pod) and _has_claims(pod):
                self._pods.changed(None, pod)
                self._enqueue_pod(pod)
        for claim in self.store.list(CLAIM):
            self._enqueue_claim(claim)
        self.store.watch("Pod", self._pod_changed)
        self.store.watch(CLAIM, self._claim_changed)
        self.store.watch(CLAIM_TEMPLATE, self._template_changed)

    # -- what changed -------------------------------------------------------------------------------------------

    def _pod_changed(self, change: WatchEvent) -> None:
        pod, old = change.object, change.previous
        if not isinstance(pod, Pod) or not _has_claims(pod):
            return
        deleted = change.type == "DELETED"
        self._pods.changed(old if isinstance(old, Pod) else None, None if deleted else pod)
        self._enqueue_pod(pod, deleted=deleted)

    def _enqueue_pod(self, pod: Pod, *, deleted: bool = False) -> None:
        if deleted or is_pod_done(pod):
            for name in used_claims(pod):
                self.queue.add((_CLAIM + pod.metadata.namespace, name))
        if not deleted and pod_needs_work(pod, lambda name: self._claim(pod, name)):
            self.queue.add((_POD + pod.metadata.namespace, pod.metadata.name))

    def _claim_changed(self, change: WatchEvent) -> None:
        claim = change.object
        if change.type != "DELETED":
            self._enqueue_claim(claim)
        for pod in self._pods.of_claim(claim.metadata.namespace, claim.metadata.name):
            self._enqueue_pod(pod)

    def _enqueue_claim(self, claim: ApiObject) -> None:
        self.queue.add((_CLAIM + claim.metadata.namespace, claim.metadata.name))

    def _template_changed(self, change: WatchEvent) -> None:
        if change.type == "DELETED":
            return
        for pod in self._pods.of_template(change.object.metadata.namespace, change.object.metadata.name):
            self._enqueue_pod(pod)

    def _claim(self, pod: Pod, name: str) -> ApiObject | None:
        return self.store.find(CLAIM, pod.metadata.namespace, name)

    def sync(self, namespace: str, name: str) -> None:
        kind, _, namespace = namespace.partition(":")
        if kind == "pod":
            pod = self.store.find("Pod", namespace, name)
            if isinstance(pod, Pod) and pod.metadata.deletion_timestamp is None:
                self._sync_pod(pod)
        else:
            claim = self.store.find(CLAIM, namespace, name)
            if claim is not None:
                self._sync_claim(claim)

    # -- a pod --------------------------------------------------------------------------------------------------

    def _sync_pod(self, pod: Pod) -> None:
        made: dict[str, str] = {}
        for pod_claim in pod.spec.resource_claims:
            try:
                claim = self._handle_claim(pod, pod_claim)
            except (ApiError, ClaimReferenceError) as error:
                problem = error.message if isinstance(error, ApiError) else str(error)
                text = f"PodResourceClaim {pod_claim.get('name', '')}: {problem}"
                self.client.event(pod, "Warning", "FailedResourceClaimCreation", text)
                raise internal_error(text) from None
            if claim is not None:
                made[pod_claim.get("name", "")] = claim.metadata.name
        if made:
            pod = self._write_claim_statuses(pod, made)
        if pod.spec.node_name:
            self._reserve(pod)

    def _handle_claim(self, pod: Pod, pod_claim: Mapping[str, Any]) -> ApiObject | None:
        """Create the generated claim, unless the pod's status already names it."""
        try:
            name, must_check_owner = claim_name(pod, pod_claim)
        except ClaimNotCreated:
            name, must_check_owner = "", False
        if name is None:
            return None
        claim = self._claim(pod, name) if name else None
        if claim is not None and not (must_check_owner and why_not_for_pod(pod, claim)):
            return None
        wanted = pod_claim.get("resourceClaimTemplateName")
        if wanted is None:
            return None  # created by the user
        known = self._made.of(pod, pod_claim.get("name", ""), self._owned.of(pod))
        if known is not None:
            return known
        template = self.store.find(CLAIM_TEMPLATE, pod.metadata.namespace, wanted)
        if template is None:
            problem = f'resource claim template "{wanted}": resourceclaimtemplate.resource.k8s.io "{wanted}" not found'
            raise ClaimReferenceError(problem)
        why = f"the pod's claim {pod_claim.get('name', '')} is made from the template {wanted}"
        try:
            made = self.client.create(claim_for(pod, pod_claim, template), why)
        except ApiError as error:
            raise ClaimReferenceError(f"create ResourceClaim : {error.message}") from None
        self._made.add(made)
        return made

    def _write_claim_statuses(self, pod: Pod, made: Mapping[str, str]) -> Pod:
        known = {status.get("name", ""): status for status in pod.status.resource_claim_statuses}
        known |= {name: {"name": name, "resourceClaimName": claim} for name, claim in made.items()}
        status = pod.status.changed(resource_claim_statuses=tuple(known.values()))
        why = "the pod's status names the claims that were made for it"
        written = self.client.patch(pod, pod.changed(status=status), why, "status", dict(made))
        assert isinstance(written, Pod)
        return written

    def _reserve(self, pod: Pod) -> None:
        for pod_claim in pod.spec.resource_claims:
            name, must_check_owner = claim_name(pod, pod_claim)
            claim = None if name is None else self._claim(pod, name)
            if name is None:
                continue
            if claim is None:
                return
            problem = why_not_for_pod(pod, claim) if must_check_owner else ""
            if problem:
                raise internal_error(problem)
            if needs_reservation(pod, claim):
                reserved = [*reservations(claim), reservation_for(pod)]
                why = "the pod has a node already, so no scheduler reserves its claim"
                self._write_status(claim, with_status(claim, reservedFor=reserved), why)

    # -- a claim ------------------------------------------------------------------------------------------------

    def _sync_claim(self, claim: ApiObject) -> None:
        remaining = remaining_reservations(claim, lambda name: self._pod(claim, name))
        protected = FINALIZER in claim.metadata.finalizers
        if len(remaining) < len(reservations(claim)):
            changed = with_status(claim, reservedFor=remaining)
            if not remaining and protected:
                changed = with_status(changed, allocation=None)
            claim = self._write_status(claim, changed, "pods that used the claim are done with it")
            if protected and allocation_of(claim) is None:
                claim = self._unprotect(claim)
        elif protected and claim.metadata.deletion_timestamp is not None and not remaining:
            if allocation_of(claim) is not None:
                changed = with_status(claim, allocation=None)
                claim = self._write_status(claim, changed, "the claim is being deleted and no pod uses it")
            claim = self._unprotect(claim)
        if not remaining:
            self._delete_if_generated(claim)

    def _pod(self, claim: ApiObject, name: str) -> Pod | None:
        found = self.store.find("Pod", claim.metadata.namespace, name)
        return found if isinstance(found, Pod) else None

    def _delete_if_generated(self, claim: ApiObject) -> None:
        """Delete a generated claim of a terminated pod. If the pod is gone, the garbage collector does it."""
        name, uid = owning_pod(claim)
        pod = self._pod(claim, name) if name else None
        if pod is not None and (pod.metadata.uid != uid or is_pod_done(pod)):
            self.client.delete(claim, "the claim was made for a pod that is done")

    def _write_status(self, old: ApiObject, new: ApiObject, why: str) -> ApiObject:
        shown = {"reservedFor": len(reservations(new)), "allocated": allocation_of(new) is not None}
        return self.client.patch(old, new, why, "status", shown, "update")

    def _unprotect(self, claim: ApiObject) -> ApiObject:
        finalizers = tuple(each for each in claim.metadata.finalizers if each != FINALIZER)
        changed = claim.changed(metadata=claim.metadata.changed(finalizers=finalizers))
        return self.client.patch(claim, changed, "the claim is not allocated any more", verb="update")


def _has_claims(pod: Pod) -> bool:
    return bool(pod.spec.resource_claims) or pod.status.extended_resource_claim_status is not None

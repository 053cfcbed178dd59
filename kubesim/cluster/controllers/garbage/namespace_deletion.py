"""Deletes the contents of a namespace: pods first, then everything else, then the namespace.

Mirrors: pkg/controller/namespace/namespace_controller.go; deletion/namespaced_resources_deleter.go deleteAllContent,
finalizeNamespace; deletion/status_condition_utils.go
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.api.pods.phases import TERMINAL_PHASES
from kubesim.api.timestamps import SECOND, format_time, parse_time
from kubesim.cluster.controllers.context import ControllerContext
from kubesim.cluster.controllers.controller import Controller
from kubesim.cluster.problems import internal_error
from kubesim.cluster.registry.deletion import DeleteOptions
from kubesim.cluster.store.kinds import resource_of
from kubesim.cluster.store.watches import WatchEvent
from kubesim.values import value_object

GRACE_PERIOD = 5 * SECOND  # delay before the first deletion
FINALIZER_ESTIMATE_S = 15
FINALIZER = "kubernetes"
_OK = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}

Failures = dict[str, tuple[str, str]]  # condition -> reason and message


@value_object
class Remaining:
    """Kinds that still have objects after the deletion. `problem`: the error if they should have been gone."""

    kind: str
    count: int
    finalizers: Counter[str]
    estimate_s: int
    problem: str = ""


class NamespaceDeletion(Controller):
    name = "namespace-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self.store.watch("Namespace", self._changed)
        for namespace in self.store.list("Namespace"):
            self._wait_for(namespace)

    def _changed(self, change: WatchEvent) -> None:
        if change.type != "DELETED":
            self._wait_for(change.object)

    def _wait_for(self, namespace: ApiObject) -> None:
        if namespace.metadata.deletion_timestamp is not None:
            self.enqueue(namespace, GRACE_PERIOD)

    def sync(self, namespace: str, name: str) -> None:
        found = self.store.find("Namespace", "", name)
        if found is None or found.metadata.deletion_timestamp is None:
            return
        if not _finalizers(found):
            return
        left = self._delete_all("Pod", found)
        failures: Failures = {}
        remaining = [left] if left.count else []
        if not left.count:
            kinds = (kind for kind in self.store.kinds() if kind != "Pod" and resource_of(kind).namespaced)
            remaining = [item for kind in kinds if (item := self._delete_all(kind, found)).count]
            failures |= content_failures(remaining)
        problems = [item.problem for item in remaining if item.problem]
        if problems:
            message = f"Failed to delete all resource types, {len(problems)} remaining: {', '.join(sorted(problems))}"
            failures["NamespaceDeletionContentFailure"] = ("ContentDeletionFailed", message)
        found = self._write_conditions(found, failures)
        if problems:
            raise internal_error(problems[0])
        if remaining:
            wait_s = max(item.estimate_s for item in remaining) // 2 + 1
            self.enqueue(found, wait_s * SECOND)
        else:
            self._finalize(found)

    def _delete_all(self, kind: str, namespace: ApiObject) -> Remaining:
        name = namespace.metadata.name
        objects = self.store.list(kind, name)
        estimate_s = graceful_estimate_s(objects)
        if self.clock.now() - parse_time(namespace.metadata.deletion_timestamp or "") >= estimate_s * SECOND:
            estimate_s = 0
        for obj in objects:
            options = DeleteOptions(uid=obj.metadata.uid, propagation_policy="Background")
            self.client.delete(obj, f"namespace {name} is being deleted", options)
        left = self.store.list(kind, name)
        finalizers = Counter(finalizer for obj in left for finalizer in obj.metadata.finalizers)
        if not left or estimate_s or finalizers:
            return Remaining(kind, len(left), finalizers, estimate_s or FINALIZER_ESTIMATE_S)
        resource = resource_of(kind)
        version = f"{resource.group}/v1, Resource={resource.plural}"
        problem = f"unexpected items still remain in namespace: {name} for gvr: {version}"
        return Remaining(kind, len(left), finalizers, 0, problem)

    def _write_conditions(self, namespace: ApiObject, failures: Failures) -> ApiObject:
        status = dict(namespace.extra.get("status") or {})
        conditions = updated_conditions(status.get("conditions") or [], failures, self.clock.now())
        new = namespace.with_extra({**namespace.extra, "status": {**status, "conditions": conditions}})
        why = "; ".join(message for _, message in failures.values()) or "its content is being deleted"
        return self.client.patch(namespace, new, why, "status", verb="update")

    def _finalize(self, namespace: ApiObject) -> None:
        spec = dict(namespace.extra.get("spec") or {})
        spec["finalizers"] = [name for name in _finalizers(namespace) if name != FINALIZER]
        new = namespace.with_extra({**namespace.extra, "spec": spec})
        self.client.patch(namespace, new, "the namespace is empty", "finalize", verb="update")


def _finalizers(namespace: ApiObject) -> list[str]:
    return list((namespace.extra.get("spec") or {}).get("finalizers") or ())


def graceful_estimate_s(objects: Iterable[ApiObject]) -> int:
    """The longest grace period of the pods that have not terminated."""
    pods = (obj for obj in objects if isinstance(obj, Pod) and obj.status.phase not in TERMINAL_PHASES)
    return max((pod.spec.termination_grace_period_seconds or 0 for pod in pods), default=0)


def content_failures(remaining: Iterable[Remaining]) -> Failures:
    counts, finalizers = [], Counter[str]()
    for item in remaining:
        resource = resource_of(item.kind)
        counts.append(f"{resource.plural}.{resource.group} has {item.count} resource instances")
        finalizers += item.finalizers
    failures: Failures = {}
    if counts:
        message = f"Some resources are remaining: {', '.join(sorted(counts))}"
        failures["NamespaceContentRemaining"] = ("SomeResourcesRemain", message)
    if finalizers:
        held = sorted(f"{name} in {count} resource instances" for name, count in finalizers.items())
        message = f"Some content in the namespace has finalizers remaining: {', '.join(held)}"
        failures["NamespaceFinalizersRemaining"] = ("SomeFinalizersRemain", message)
    return failures


def updated_conditions(old: list[dict[str, Any]], failures: Failures, now: int) -> list[dict[str, Any]]:
    known = {condition["type"]: condition for condition in old}
    for kind, fine in _OK.items():
        status = "True" if kind in failures else "False"
        reason, message = failures.get(kind, fine)
        before = known.get(kind)
        moment = before["lastTransitionTime"] if before and before["status"] == status else format_time(now)
        known[kind] = {
            "type": kind,
            "status": status,
            "lastTransitionTime": moment,
            "reason": reason,
            "message": message,
        }
    return list(known.values())

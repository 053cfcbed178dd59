"""`ApiSteps`: the steps of a scenario that are requests to the API server, each recorded as the user's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kubesim.api.event import core_form
from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.api.pods.phases import TERMINAL_PHASES
from kubesim.api.pods.pod_kinds import is_mirror_pod
from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock
from kubesim.cluster.controllers.namespaces import ensure_namespace
from kubesim.cluster.controllers.owners import controller_of
from kubesim.cluster.controllers.volumes.standard_class import yield_to_user_class
from kubesim.cluster.patches.json_patch import PatchError, json_patch, merge_patch
from kubesim.cluster.problems import not_found, rejected
from kubesim.cluster.registry import registry
from kubesim.cluster.registry.bodies.patching import JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH
from kubesim.cluster.registry.deletion import DeleteOptions
from kubesim.cluster.registry.kind_rules import SYSTEM_PRIORITIES
from kubesim.cluster.registry.registry import Target
from kubesim.cluster.registry.services.kubernetes_service import yield_to_user_service
from kubesim.cluster.store.kinds import RESOURCES, resource_of
from kubesim.cluster.store.served_kinds import resource_for
from kubesim.cluster.store.store import Store
from kubesim.errors import ApiError, KubesimError
from kubesim.scenario.client.placement import SchedulerMode, is_placed_at_once, pod_specs
from kubesim.scenario.load.objects import CUSTOM_DEFINITION, custom_kinds, is_namespaced, items_of
from kubesim.trace import Recorder
from kubesim.trace.records import ApiWrite, Note
from kubesim.values import part

if TYPE_CHECKING:
    from kubesim.scenario.language.object_items import Delete, ObjectTarget
    from kubesim.scenario.language.step_items import Drain, Evict, NodeTarget, Patch, Scale, TaintNode

JsonObject = dict[str, Any]

USER = "user"
DRAIN_RETRY = 5 * SECOND  # after a disruption budget has refused an eviction
DRAIN_POLL = 1 * SECOND  # until the pods are gone
TOO_MANY_REQUESTS = 429
_CONTENT_TYPES = {"strategic": STRATEGIC_MERGE_PATCH, "merge": MERGE_PATCH, "json": JSON_PATCH}


class StepFailed(KubesimError):
    """A step failed or could not be executed."""


@part
class ApiSteps:
    """The requests of a scenario's steps. `node_names` are the simulated nodes; `scheduler` says whether new pods wait
    for a scheduler."""

    clock: LoopClock
    store: Store
    recorder: Recorder
    node_names: Sequence[str]
    scheduler: SchedulerMode

    def apply(self, manifest: JsonObject) -> None:
        """Create the object, or merge the manifest into the existing one; for a list, do so for each item."""
        for _, item in items_of(manifest):
            self._apply(item)

    def _apply(self, manifest: JsonObject) -> None:
        if manifest["kind"] == "Event":
            manifest = core_form(manifest)
        resource = resource_for(manifest["apiVersion"], manifest["kind"], namespaced=self._is_namespaced(manifest))
        metadata = {**manifest["metadata"]}
        namespace = metadata.pop("namespace", None) or "default" if resource.namespaced else ""
        if namespace:
            metadata["namespace"] = namespace
        name = metadata.get("name", "")
        yield_to_user_class(self.store, resource.kind, name)
        yield_to_user_service(self.store, resource.kind, namespace, name)
        exists = bool(name) and self.store.find(resource.kind, namespace, name) is not None
        target = Target(resource, namespace, name if exists else "")
        if not name:
            name = metadata["name"] = registry.generate_name(self.store, target, metadata["generateName"])
        manifest = {**manifest, "metadata": metadata}
        self._ensure_needed(manifest, namespace)
        if resource.kind == "Pod" and not exists:
            manifest = self._placed(manifest)
        self._record("patch" if exists else "create", target, name)
        with refusals():
            if resource.kind not in RESOURCES:
                self._store_undeclared(target, {**manifest, "kind": resource.kind})
            elif exists:
                registry.patch(self.store, target, STRATEGIC_MERGE_PATCH, manifest)
            else:
                registry.create(self.store, target, manifest)

    def _is_namespaced(self, manifest: JsonObject) -> bool:
        definitions = custom_kinds(definition.to_json() for definition in self.store.list(CUSTOM_DEFINITION))
        return is_namespaced(manifest, definitions)

    def _placed(self, manifest: JsonObject) -> JsonObject:
        if not is_placed_at_once(manifest["spec"], len(self.node_names), self.scheduler):
            return manifest
        return {**manifest, "spec": {**manifest["spec"], "nodeName": self.node_names[0]}}

    def _store_undeclared(self, target: Target, manifest: JsonObject) -> None:
        """Store an object of a kind that the simulated cluster has no rules for."""
        old = self.store.find(manifest["kind"], target.namespace, manifest["metadata"]["name"])
        if old is None:
            self.store.create(ApiObject.from_json(manifest))
        else:
            self.store.write(old, ApiObject.from_json(merge_patch(old.to_json(), manifest)))

    # -- objects that every cluster has, created on first use ----------------------------------------------------

    def _ensure_needed(self, manifest: JsonObject, namespace: str) -> None:
        if namespace:
            self.ensure_namespace(namespace)
        spec = manifest.get("spec") if isinstance(manifest.get("spec"), dict) else None
        if spec is None:
            return
        for pod_spec in pod_specs(manifest):
            self._ensure_priority_class(pod_spec.get("priorityClassName", ""))

    def ensure_namespace(self, name: str) -> None:
        ensure_namespace(self.store, name)

    def _ensure_priority_class(self, name: str) -> None:
        if name in SYSTEM_PRIORITIES and self.store.find("PriorityClass", "", name) is None:
            body = {"metadata": {"name": name}, "value": SYSTEM_PRIORITIES[name]}
            registry.create(self.store, Target(RESOURCES["PriorityClass"]), body)

    # -- changes of objects -------------------------------------------------------------------------------------

    def patch(self, patch: Patch) -> None:
        target = _target(patch, patch.subresource)
        body = list(patch.patch) if isinstance(patch.patch, tuple) else patch.patch
        self._record("patch", target, target.name)
        with refusals():
            self._patch(target, _CONTENT_TYPES[patch.type], body)

    def _patch(self, target: Target, content_type: str, body: Any) -> None:
        if target.resource.kind in RESOURCES:
            registry.patch(self.store, target, content_type, body)
            return
        old = self.store.find(target.resource.kind, target.namespace, target.name)
        if old is None:
            raise not_found(target.resource, target.name)
        try:
            document = old.to_json()
            new = json_patch(document, body) if content_type == JSON_PATCH else merge_patch(document, body)
        except PatchError:
            raise rejected() from None
        self.store.write(old, ApiObject.from_json(new))

    def delete(self, delete: Delete) -> None:
        self._delete(_target(delete), delete.grace_period_seconds, delete.propagation_policy)

    def delete_object(self, obj: ApiObject, propagation_policy: str | None = None) -> None:
        target = Target(resource_of(obj.kind), obj.metadata.namespace, obj.metadata.name)
        self._delete(target, None, propagation_policy)

    def _delete(self, target: Target, grace: int | None, policy: str | None) -> None:
        shown = {} if grace is None else {"gracePeriodSeconds": grace}
        self._record("delete", target, target.name, shown if policy is None else {**shown, "propagationPolicy": policy})
        with refusals():
            registry.delete(self.store, target, DeleteOptions(grace_s=grace, propagation_policy=policy))

    def scale(self, scale: Scale) -> None:
        target = _target(scale)
        self._record("patch", target, target.name, {"replicas": scale.replicas}, path="scale")
        with refusals():
            self._patch(target, MERGE_PATCH, {"spec": {"replicas": scale.replicas}})

    # -- evictions ----------------------------------------------------------------------------------------------

    def evict(self, step: Evict) -> None:
        refusal = self._evict(*step.key, step.grace_period_seconds)
        if refusal and not step.refused:
            raise StepFailed(refusal)
        if step.refused and not refusal:
            raise StepFailed(f"the eviction of pod {'/'.join(step.key)} was not refused")

    def _evict(self, namespace: str, name: str, grace: int | None) -> str:
        """The reason why a budget refuses the eviction; empty if the pod was evicted."""
        from kubesim.cluster.registry.subresources.eviction import evict  # most runs evict nothing

        target = Target(RESOURCES["Pod"], namespace, name, "eviction")
        self._record("create", target, name)
        try:
            evict(self.store, target, {"metadata": {"name": name}}, DeleteOptions(grace_s=grace))
        except ApiError as error:
            if error.code == TOO_MANY_REQUESTS:
                return error.message
            raise StepFailed(error.message) from None
        return ""

    async def drain(self, drain: Drain) -> None:
        """Cordon the node, evict its pods except those of DaemonSets and static pods, and wait until they are gone.

        Mirrors: k8s.io/kubectl/pkg/drain drain.go evictPods, filters.go
        """
        self.cordon(drain)
        waiting = {(pod.metadata.namespace, pod.metadata.name): pod.metadata.uid for pod in self._pods_on(drain.node)}
        asked: set[str] = set()
        while waiting:
            retry = DRAIN_POLL
            for key, uid in list(waiting.items()):
                pod = self.store.find("Pod", *key)
                if pod is None or pod.metadata.uid != uid:
                    del waiting[key]
                elif uid not in asked and not self._evict(*key, drain.grace_period_seconds):
                    asked.add(uid)
                elif uid not in asked:
                    retry = DRAIN_RETRY
            if waiting:
                await self.clock.sleep(retry)

    def _pods_on(self, node: str) -> list[Pod]:
        pods = [pod for pod in self.store.list("Pod") if isinstance(pod, Pod) and pod.spec.node_name == node]
        return [pod for pod in pods if not is_mirror_pod(pod) and not _is_of_daemon_set(pod)]

    # -- nodes --------------------------------------------------------------------------------------------------

    def cordon(self, cordon: NodeTarget) -> None:
        self._patch_node(cordon.node, {"spec": {"unschedulable": True}}, {"unschedulable": True})

    def uncordon(self, uncordon: NodeTarget) -> None:
        self._patch_node(uncordon.node, {"spec": {"unschedulable": None}}, {"unschedulable": False})

    def taint(self, taint: TaintNode) -> None:
        taints = [dict(item) for item in taint.taints]
        self._patch_node(taint.node, {"spec": {"taints": taints}}, {"taints": taints})

    def _patch_node(self, name: str, body: JsonObject, shown: Mapping[str, Any]) -> None:
        target = Target(RESOURCES["Node"], "", name)
        self._record("patch", target, name, shown)
        with refusals():
            registry.patch(self.store, target, MERGE_PATCH, body)

    # -- the trace ----------------------------------------------------------------------------------------------

    def note(self, text: str) -> None:
        """Record a note for the reader of the trace."""
        if self.recorder.on:
            Recorder.because(None)
            self.recorder.record(Note(text=text))

    def _record(
        self, verb: str, target: Target, name: str, summary: Mapping[str, Any] | None = None, *, path: str = ""
    ) -> None:
        """Record the write as the cause of what this task and the watches that receive it do next."""
        if not self.recorder.on:
            return
        path = path or target.subresource
        kind = target.resource.kind
        named = {"name": name, "namespace": target.namespace} if kind not in ("Pod", "Node") else {}
        record = ApiWrite(
            pod=f"{target.namespace}/{name}" if kind == "Pod" else "",
            node=name if kind == "Node" else "",
            verb=verb,
            resource=target.resource.plural + (f"/{path}" if path else ""),
            by=USER,
            object=_object_name(target, name) if named else "",
            summary={**named, **(summary or {})},
        )
        Recorder.because(None)
        Recorder.because(self.recorder.record(record))


def _object_name(target: Target, name: str) -> str:
    where = f"{target.namespace}/" if target.namespace else ""
    return f"{target.resource.kind} {where}{name}"


def _target(about: ObjectTarget, subresource: str = "") -> Target:
    return Target(resource_of(about.kind), *about.key, subresource)


def _is_of_daemon_set(pod: Pod) -> bool:
    owner = controller_of(pod)
    return owner is not None and owner.kind == "DaemonSet" and pod.status.phase not in TERMINAL_PHASES


class refusals:
    """Turn a refusal of the API server into a failed step."""

    def __enter__(self) -> None: ...

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, ApiError):
            raise StepFailed(error.message) from None

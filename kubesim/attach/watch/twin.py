"""The twin: the pods of the watched node, run by kubesim's own kubelet on a node of that name, in a cluster of its own.

What is desired is copied (metadata, specs and their changes, deletions), never what is reported: statuses are the
twin's own. Its containers are simulated; so is its network, or else it is a real one in a private node. What containers
would read (volumes, Secrets, variables from elsewhere) is left out, because it is not read from the real cluster. A
change is written to the twin's API server and reaches its kubelet by its source, as any update does. Nothing leads back
to the real one: the twin writes to a store in memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kubesim.api.node import Node
from kubesim.api.pod import Container, Pod
from kubesim.api.pods.phases import TERMINAL_PHASES
from kubesim.api.pods.pod_kinds import is_mirror_pod
from kubesim.cluster.registry.bootstrap import create_namespace, furnish_namespace
from kubesim.cluster.registry.registry import Target, create
from kubesim.cluster.store.kinds import RESOURCES
from kubesim.cluster.store.store import Store
from kubesim.errors import ApiError
from kubesim.scenario.language.document import Scenario

# They name objects that are not read from the real cluster.
_LEFT_OUT = frozenset({
    "serviceAccountName", "serviceAccount", "priorityClassName", "priority", "runtimeClassName", "overhead",
    "resourceClaims", "preemptionPolicy", "schedulingGates",
})  # fmt: skip
_CAPACITY = ("cpu", "memory", "ephemeral-storage", "pods")


def twin_scenario(node_name: str, node: Node | None) -> Scenario:
    """A node like the real one, as far as its object tells; every image is there."""
    item: dict[str, Any] = {"name": node_name}
    if node is not None:
        item["labels"] = dict(node.metadata.labels)
        item["capacity"] = {name: node.status.capacity[name] for name in _CAPACITY if name in node.status.capacity}
    spec = {"nodes": [item], "images": [{"name": "*", "present": True}]}
    value = {"apiVersion": "kubesim.dev/v1alpha1", "kind": "Scenario", "metadata": {"name": "twin"}, "spec": spec}
    return Scenario.model_validate(value)


class Twin:
    """Keeps the desired pods of a store in step with what is observed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._real: dict[tuple[str, str], Pod] = {}  # the real pod behind each of ours, as it was last seen
        self.refused: dict[str, str] = {}  # pods that our API server does not take, and why

    def saw(self, pod: Pod) -> None:
        """A pod is there, or changed. Static pods belong to files that cannot be seen; finished ones are over."""
        meta = pod.metadata
        key = (meta.namespace, meta.name)
        before = self._real.get(key)
        if before is not None and before.metadata.uid != meta.uid:
            self._remove(key)
            before = None
        if before is not None:
            self._real[key] = pod
            if _wishes(pod) != _wishes(before):
                self._update(pod)
            if meta.deletion_timestamp is not None:
                self._delete(key, meta.deletion_grace_period_seconds)
        elif not is_mirror_pod(pod) and pod.status.phase not in TERMINAL_PHASES and meta.deletion_timestamp is None:
            self._real[key] = pod
            self._create(pod)

    def lost(self, pod: Pod) -> None:
        """The real pod is gone."""
        self._remove((pod.metadata.namespace, pod.metadata.name))

    def _create(self, pod: Pod) -> None:
        meta = pod.metadata
        if self._store.find("Namespace", "", meta.namespace) is None:
            create_namespace(self._store, meta.namespace)
            furnish_namespace(self._store, meta.namespace)
        try:
            create(self._store, Target(RESOURCES["Pod"], meta.namespace), desired(pod))
        except ApiError as error:
            self.refused[f"{meta.namespace}/{meta.name}"] = str(error)
        if pod.spec.ephemeral_containers:
            self._update(pod)  # no pod is created with them

    def _update(self, pod: Pod) -> None:
        ours = self.find(pod)
        if ours is not None:
            self._store.replace(updated(ours, pod))

    def find(self, pod: Pod) -> Pod | None:
        """The twin of a pod; None if it has none, or if it is gone already."""
        meta = pod.metadata
        known = self._real.get((meta.namespace, meta.name))
        if known is None or known.metadata.uid != meta.uid:
            return None
        found = self._store.find("Pod", meta.namespace, meta.name)
        return found if isinstance(found, Pod) else None

    def in_words(self, pod: Pod) -> str:
        """How the twin stands: `Running main:running`."""
        found = self.find(pod)
        if found is None:
            return "refused" if f"{pod.metadata.namespace}/{pod.metadata.name}" in self.refused else "-"
        states = [f"{s.name}:{next(iter(s.state.to_json()), 'none')}" for s in found.status.container_statuses]
        return " ".join([found.status.phase or "Pending", *states])

    def _delete(self, key: tuple[str, str], grace_s: int | None) -> None:
        try:
            self._store.delete("Pod", *key, grace_s=grace_s)
        except ApiError:
            pass  # it went by itself

    def _remove(self, key: tuple[str, str]) -> None:
        self._real.pop(key, None)
        self.refused.pop("/".join(key), None)
        self._delete(key, 0)


def desired(pod: Pod) -> dict[str, Any]:
    """What the real pod asks for, without a status and without what its containers would read from elsewhere."""
    meta, spec = pod.metadata, pod.spec
    plain = {name: tuple(map(_plain, getattr(spec, name))) for name in ("containers", "init_containers")}
    copied = spec.changed(volumes=(), ephemeral_containers=(), image_pull_secrets=(), **plain)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": meta.name,
            "namespace": meta.namespace,
            "labels": dict(meta.labels),
            "annotations": dict(meta.annotations),
        },
        "spec": {
            **{name: value for name, value in copied.to_json().items() if name not in _LEFT_OUT},
            "automountServiceAccountToken": False,
        },
    }


def updated(ours: Pod, real: Pod) -> Pod:
    """Our pod with everything that the API lets change in a pod as the real one has it now."""
    spec = real.spec
    return ours.changed(
        metadata=ours.metadata.changed(labels=real.metadata.labels, annotations=real.metadata.annotations),
        spec=ours.spec.changed(
            containers=_resized(ours.spec.containers, spec.containers),
            init_containers=_resized(ours.spec.init_containers, spec.init_containers),
            ephemeral_containers=tuple(map(_plain, spec.ephemeral_containers)),
            active_deadline_seconds=spec.active_deadline_seconds,
            termination_grace_period_seconds=spec.termination_grace_period_seconds,
            tolerations=spec.tolerations,
            resources=spec.resources,
        ),
    )


def _wishes(pod: Pod) -> tuple[object, ...]:
    return pod.metadata.labels, pod.metadata.annotations, pod.spec


def _resized(ours: Iterable[Container], real: Iterable[Container]) -> tuple[Container, ...]:
    theirs = {container.name: container for container in real}
    return tuple(
        one.changed(image=theirs[one.name].image, resources=theirs[one.name].resources) if one.name in theirs else one
        for one in ours
    )


def _plain(container: Container) -> Container:
    """Without what it would read from elsewhere."""
    return container.changed(volume_mounts=(), env_from=(), env=tuple(e for e in container.env if e.value_from is None))

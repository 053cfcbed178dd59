"""The twin: the pods of the watched node, run by kubesim's own kubelet on a node of that name, in a cluster of its own.

What is desired is copied (specs, deletions), never what is reported: statuses are the twin's own. Its containers are
simulated; what they would read (volumes, Secrets, variables from elsewhere) is left out, because it is not read from
the real cluster. Nothing leads back there: the twin writes to a store in memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kubesim.api.node import Node
from kubesim.api.pod import Pod
from kubesim.api.pod_kinds import is_mirror_pod
from kubesim.cluster.bootstrap import create_namespace, furnish_namespace
from kubesim.cluster.kinds import RESOURCES
from kubesim.cluster.registry import Target, create
from kubesim.cluster.store import Store
from kubesim.errors import ApiError
from kubesim.kubelet.status.phase import is_terminal_phase
from kubesim.scenario.language import Scenario

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
        self._uids: dict[tuple[str, str], str] = {}  # of the real pod behind each of ours
        self.refused: dict[str, str] = {}  # pods that our API server does not take, and why

    def saw(self, pod: Pod) -> None:
        """A pod is there, or changed. Static pods belong to files that cannot be seen; finished ones are over."""
        meta = pod.metadata
        key = (meta.namespace, meta.name)
        if self._uids.get(key, meta.uid) != meta.uid:
            self._remove(key)
        if key in self._uids:
            if meta.deletion_timestamp is not None:
                self._delete(key, meta.deletion_grace_period_seconds)
        elif not is_mirror_pod(pod) and not is_terminal_phase(pod.status.phase) and meta.deletion_timestamp is None:
            self._uids[key] = meta.uid
            if self._store.find("Namespace", "", meta.namespace) is None:
                create_namespace(self._store, meta.namespace)
                furnish_namespace(self._store, meta.namespace)
            try:
                create(self._store, Target(RESOURCES["Pod"], meta.namespace), desired(pod))
            except ApiError as error:
                self.refused[f"{meta.namespace}/{meta.name}"] = str(error)

    def follow(self, pods: Iterable[Pod]) -> None:
        """All pods that are there now; those that are not any more go."""
        there = set()
        for pod in pods:
            self.saw(pod)
            there.add((pod.metadata.namespace, pod.metadata.name))
        for key in [key for key in self._uids if key not in there]:
            self._remove(key)

    def find(self, pod: Pod) -> Pod | None:
        """The twin of a pod; None if it has none, or if it is gone already."""
        meta = pod.metadata
        if self._uids.get((meta.namespace, meta.name)) != meta.uid:
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
        self._uids.pop(key, None)
        self.refused.pop("/".join(key), None)
        self._delete(key, 0)


def desired(pod: Pod) -> dict[str, Any]:
    """What the real pod asks for, without a status and without what its containers would read from elsewhere."""
    meta, spec = pod.metadata, pod.spec
    plain = {
        name: tuple(
            container.changed(volume_mounts=(), env_from=(), env=tuple(e for e in container.env if not e.extra))
            for container in getattr(spec, name)
        )
        for name in ("containers", "init_containers")
    }
    copied = spec.changed(volumes=(), ephemeral_containers=(), image_pull_secrets=(), **plain)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": meta.name, "namespace": meta.namespace, "labels": dict(meta.labels)},
        "spec": {
            **{name: value for name, value in copied.to_json().items() if name not in _LEFT_OUT},
            "automountServiceAccountToken": False,
        },
    }

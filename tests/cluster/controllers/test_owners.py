"""The index of objects by controller excludes irrelevant ones."""

from __future__ import annotations

from kubesim.api.pod import Pod
from kubesim.cluster.controllers.owners import OwnerIndex
from kubesim.cluster.controllers.pods import is_pod_unfinished
from kubesim.cluster.store.store import Store


def owned(name: str, phase: str = "Running") -> Pod:
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "owner", "controller": True}
    metadata = {"name": name, "namespace": "default", "ownerReferences": [reference]}
    return Pod.from_json({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "status": {"phase": phase}})


def names(index: OwnerIndex) -> list[str]:
    owner = Pod.from_json({"metadata": {"name": "web", "namespace": "default", "uid": "owner"}})
    return [pod.metadata.name for pod in index.of(owner)]


def test_finished_pods_leave_the_index_of_the_unfinished_ones() -> None:
    store = Store(lambda: 0, lambda: "uid")
    store.create(owned("before", "Failed"))
    first = store.create(owned("first"))
    index, every = OwnerIndex(store, "Pod", is_pod_unfinished), OwnerIndex(store, "Pod")
    store.create(owned("second"))
    assert names(index) == ["first", "second"]
    assert isinstance(first, Pod)
    store.write(first, first.changed(status=first.status.changed(phase="Succeeded")))
    store.create(owned("after", "Failed"))
    assert names(index) == ["second"]
    assert names(every) == ["before", "first", "second", "after"]
    store.delete("Pod", "default", "second", grace_s=0)
    assert names(index) == []

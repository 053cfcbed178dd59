"""`SelectedPods`: the pods selected by the objects of a kind (Services, PodDisruptionBudgets).

Like an informer's index it follows the store, so a sync reads only related pods. A change of a pod is compared with
each selector of its namespace, as upstream.

Mirrors: client-go listers/policy/v1 poddisruptionbudget_expansion.go; endpointslice/util controller_utils.go
getServicesForPod
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.cluster.store.selectors import LabelSelector
from kubesim.cluster.store.store import Key, Store
from kubesim.cluster.store.watches import WatchEvent

SelectorOf = Callable[[ApiObject], LabelSelector | None]  # None: the object selects nothing


class SelectedPods:
    """The index, active from the kind's first object on. Create it before the handlers that read it: listeners run in
    order.
    """

    def __init__(self, store: Store, kind: str, selector_of: SelectorOf) -> None:
        self._store = store
        self._kind = kind
        self._selector_of = selector_of
        self._selectors: defaultdict[str, dict[str, LabelSelector]] = defaultdict(dict)  # by namespace, then by name
        self._selected: dict[Key, dict[str, None]] = {}  # names of pods
        for obj in store.list(kind):
            self._add(obj)
        store.watch(kind, self._changed)
        store.watch("Pod", self._pod_changed)

    def of(self, obj: ApiObject) -> list[Pod]:
        """The pods that an object selects, by name."""
        namespace = obj.metadata.namespace
        names = sorted(self._selected.get((namespace, obj.metadata.name), ()))
        found = (self._store.find("Pod", namespace, name) for name in names)
        return [pod for pod in found if isinstance(pod, Pod)]

    def selecting(self, pod: Pod) -> list[Key]:
        """The objects whose selectors match a pod's labels, in order of creation."""
        namespace, labels = pod.metadata.namespace, pod.metadata.labels
        return [
            (namespace, name)
            for name, selector in self._selectors.get(namespace, {}).items()
            if selector.matches(labels)
        ]

    def _changed(self, change: WatchEvent) -> None:
        metadata = change.object.metadata
        if change.type == "DELETED":
            self._selectors[metadata.namespace].pop(metadata.name, None)
            self._selected.pop((metadata.namespace, metadata.name), None)
        else:
            self._add(change.object)

    def _add(self, obj: ApiObject) -> None:
        namespace, name = obj.metadata.namespace, obj.metadata.name
        selector = self._selector_of(obj)
        if selector is None:
            self._selectors[namespace].pop(name, None)
            self._selected.pop((namespace, name), None)
        elif self._selectors[namespace].get(name) != selector:
            self._selectors[namespace][name] = selector
            pods = (pod for pod in self._store.list("Pod", namespace) if selector.matches(pod.metadata.labels))
            self._selected[namespace, name] = dict.fromkeys(pod.metadata.name for pod in pods)

    def _pod_changed(self, change: WatchEvent) -> None:
        pod, old = change.object, change.previous
        assert isinstance(pod, Pod)
        if change.type == "DELETED":
            for key in self.selecting(pod):
                self._selected[key].pop(pod.metadata.name, None)
        elif not isinstance(old, Pod) or old.metadata.labels != pod.metadata.labels:
            for key in self.selecting(old) if isinstance(old, Pod) else ():
                self._selected[key].pop(pod.metadata.name, None)
            for key in self.selecting(pod):
                self._selected[key][pod.metadata.name] = None

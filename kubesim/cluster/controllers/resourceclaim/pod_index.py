"""Which pods use a claim, and which a template.

Mirrors: pkg/controller/resourceclaim/controller.go podResourceClaimIndexFunc, podResourceClaimTemplateIndexFunc
"""

from __future__ import annotations

from collections import defaultdict

from kubesim.api.pod import Pod
from kubesim.cluster.controllers.resourceclaim.decisions import used_claims
from kubesim.cluster.store.store import Key, Store

_Index = defaultdict[Key, dict[str, None]]


class ResourceClaimPods:
    """An informer's index: the controller passes every change of a pod with claims on to it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._by_claim: _Index = defaultdict(dict)  # the names of the pods, which are in the same namespace
        self._by_template: _Index = defaultdict(dict)

    def changed(self, old: Pod | None, new: Pod | None) -> None:
        for pod, present in ((old, False), (new, True)):
            if pod is None:
                continue
            namespace, name = pod.metadata.namespace, pod.metadata.name
            templates = (claim.get("resourceClaimTemplateName") for claim in pod.spec.resource_claims)
            for index, keys in ((self._by_claim, used_claims(pod)), (self._by_template, filter(None, templates))):
                for key in keys:
                    if present:
                        index[namespace, key][name] = None
                    else:
                        index[namespace, key].pop(name, None)

    def of_claim(self, namespace: str, name: str) -> list[Pod]:
        return self._pods(self._by_claim, namespace, name)

    def of_template(self, namespace: str, name: str) -> list[Pod]:
        return self._pods(self._by_template, namespace, name)

    def _pods(self, index: _Index, namespace: str, key: str) -> list[Pod]:
        found = (self._store.find("Pod", namespace, name) for name in index.get((namespace, key), ()))
        return [pod for pod in found if isinstance(pod, Pod)]

"""The resource quota controller: copies the limits of each ResourceQuota to its status, with their usage.

It counts when the limits change, and when an object is deleted or releases resources. The usage of new objects
is charged at admission.

Mirrors: pkg/controller/resourcequota/resource_quota_controller.go syncResourceQuota; pkg/quota/v1/install
update_filter.go
"""

from __future__ import annotations

from kubesim.api.meta import ApiObject
from kubesim.api.pods.resources import Resources, quantities
from kubesim.api.quantity import ZERO
from kubesim.cluster.controllers.context import ControllerContext
from kubesim.cluster.controllers.controller import Controller
from kubesim.cluster.registry.limits.quotas import KIND
from kubesim.cluster.registry.limits.usage import in_scopes, increase, limited_by, total, usage_of
from kubesim.cluster.store.api_groups import resources_by_path
from kubesim.cluster.store.kinds import resource_of
from kubesim.cluster.store.watches import WatchEvent

_UPDATED = ("Pod", "Service", "PersistentVolumeClaim")  # a change can free resources


class ResourceQuotaController(Controller):
    name = "resourcequota-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self.store.watch_all(self._changed)
        for quota in self.store.list(KIND):
            self.enqueue(quota)

    def _changed(self, change: WatchEvent) -> None:
        """Count again for a quota with new limits, and for the quotas of a namespace when resources become free."""
        obj, old = change.object, change.previous
        if obj.kind == KIND and change.type != "DELETED":
            if old is None or old.extra.get("spec") != obj.extra.get("spec"):
                self.enqueue(obj)
        elif obj.metadata.namespace and obj.kind != "Event":
            if change.type == "DELETED" or (old is not None and obj.kind in _UPDATED and self._frees(obj, old)):
                for quota in self.store.list(KIND, obj.metadata.namespace):
                    self.enqueue(quota)

    def _frees(self, new: ApiObject, old: ApiObject) -> bool:
        resource, now = resource_of(new.kind), self.clock.now()
        return bool(increase(usage_of(resource, old, now), usage_of(resource, new, now)))

    def sync(self, namespace: str, name: str) -> None:
        quota = self.store.find(KIND, namespace, name)
        if quota is None:
            return
        spec, status = quota.extra.get("spec") or {}, quota.extra.get("status") or {}
        hard = spec.get("hard") or {}
        known, before = quantities(status.get("used") or {}), status.get("hard") or {}
        used = {each: amount for each, amount in {**known, **self._used(quota, list(hard))}.items() if each in hard}
        if status.get("used") is None or before != hard or used != known:
            shown = {each: str(used[each]) for each in sorted(used)}
            new = {**status, "hard": dict(hard), "used": shown}
            self.store.write(quota, quota.with_extra({**quota.extra, "status": new}))

    def _used(self, quota: ApiObject, names: list[str]) -> Resources:
        """The usage of the named resources by all objects."""
        spec, now = quota.extra.get("spec") or {}, self.clock.now()
        used: Resources = {}
        for kind in dict.fromkeys((*(each.kind for each in resources_by_path().values()), *self.store.kinds())):
            resource = resource_of(kind)
            limited = limited_by(resource, names) if resource.namespaced else []
            if limited:
                objects = self.store.list(kind, quota.metadata.namespace)
                sums = total(usage_of(resource, obj, now) for obj in objects if in_scopes(resource, obj, spec))
                used |= {name: sums.get(name, ZERO) for name in limited}
        return used

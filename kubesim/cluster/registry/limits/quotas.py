"""ResourceQuotas: reject an object that would exceed one, and charge an admitted object.

Mirrors: apiserver/pkg/admission/plugin/resourcequota controller.go CheckRequest
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kubesim.api.meta import ApiObject
from kubesim.api.pods.resources import Resources, quantities
from kubesim.api.quantity import Quantity
from kubesim.cluster.problems import forbidden
from kubesim.cluster.registry.limits.usage import in_scopes, increase, limited_by, missing_resources, total, usage_of
from kubesim.cluster.store.kinds import Resource
from kubesim.cluster.store.store import Store
from kubesim.values import value_object

KIND = "ResourceQuota"


@value_object
class Charge:
    """A quota and its status once an object is admitted."""

    quota: ApiObject
    used: Resources

    def apply(self, store: Store) -> None:
        extra = self.quota.extra
        status = {**(extra.get("status") or {}), "used": {name: str(self.used[name]) for name in sorted(self.used)}}
        store.write(self.quota, self.quota.with_extra({**extra, "status": status}))


def check_quotas(store: Store, resource: Resource, new: ApiObject, old: ApiObject | None = None) -> list[Charge]:
    """The charges for a new or changed object; raises 403 if a quota does not allow it."""
    if not store.count(KIND) or not resource.namespaced:
        return []
    now = store.now()
    used = usage_of(resource, new, now)
    charges = []
    for quota in store.list(KIND, new.metadata.namespace):
        spec, status = quota.extra.get("spec") or {}, quota.extra.get("status") or {}
        hard, so_far = quantities(status.get("hard") or {}), quantities(status.get("used") or {})
        names = limited_by(resource, hard)
        if not names or not in_scopes(resource, new, spec):
            continue
        missing = missing_resources(resource, new, names)
        if missing:
            raise _refusal(resource, new, f"failed quota: {quota.metadata.name}: must specify {missing}")
        if not set(names) <= so_far.keys():
            unknown = f"status unknown for quota: {quota.metadata.name}, resources: {','.join(sorted(names))}"
            raise _refusal(resource, new, unknown)
        before = usage_of(resource, old, now) if old is not None and in_scopes(resource, old, spec) else {}
        asked = {name: amount for name, amount in increase(used, before).items() if name in hard}
        if asked:
            after = total((so_far, asked))
            _check(resource, new, quota, asked, so_far, after, hard)
            charges.append(Charge(quota, after))
    return charges


def _check(
    resource: Resource,
    new: ApiObject,
    quota: ApiObject,
    asked: Resources,
    used: Resources,
    after: Resources,
    hard: Resources,
) -> None:
    exceeded = sorted(name for name in asked if after[name] > hard[name])
    if exceeded:
        shown = ", ".join(
            f"{called}: {_shown(amounts, exceeded)}"
            for called, amounts in (("requested", asked), ("used", used), ("limited", hard))
        )
        raise _refusal(resource, new, f"exceeded quota: {quota.metadata.name}, {shown}")


def _shown(amounts: Mapping[str, Quantity], names: Iterable[str]) -> str:
    return ",".join(f"{name}={amounts[name]}" for name in names if name in amounts)


def _refusal(resource: Resource, obj: ApiObject, problem: str) -> Exception:
    return forbidden(resource, obj.metadata.name, problem)

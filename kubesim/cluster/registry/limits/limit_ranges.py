"""LimitRanges: default requests and limits of new pods, and the bounds of pods, containers and claims.

Mirrors: plugin/pkg/admission/limitranger/admission.go
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubesim.api.pod import Pod
from kubesim.api.pods.resources import Resources, pod_limits, pod_requests, quantities
from kubesim.api.quantity import ZERO, Quantity
from kubesim.api.validation.field import JsonObject
from kubesim.cluster.problems import forbidden
from kubesim.cluster.store.kinds import RESOURCES
from kubesim.cluster.store.store import Store
from kubesim.golang.text import aggregate

_KIND = "LimitRange"
_ANNOTATION = "kubernetes.io/limit-ranger"
_MILLI_MAX = ((1 << 63) - 1) // 1000


def _limits_by_range(store: Store, namespace: str) -> list[list[JsonObject]]:
    """The limits of each LimitRange in a namespace."""
    if not store.count(_KIND):
        return []
    found = store.list(_KIND, namespace)
    return [((each.extra.get("spec") or {}).get("limits") or []) for each in found]


def set_default_resources(store: Store, pod: JsonObject) -> None:
    """Give containers without requests and limits the default ones, in place."""
    for limits in _limits_by_range(store, pod["metadata"].get("namespace", "")):
        defaults: dict[str, dict[str, str]] = {"limits": {}, "requests": {}}
        for limit in limits:
            if limit.get("type") == "Container":
                defaults["limits"] |= limit.get("default") or {}
                defaults["requests"] |= limit.get("defaultRequest") or {}
        notes = []
        for field, called in (("containers", "container"), ("initContainers", "init container")):
            for container in pod["spec"].get(field) or ():
                notes += _merged(container, defaults, called)
        if notes:
            annotations = pod["metadata"].get("annotations") or {}
            note = f"LimitRanger plugin set: {'; '.join(notes)}"
            pod["metadata"]["annotations"] = {**annotations, _ANNOTATION: note}


def _merged(container: JsonObject, defaults: Mapping[str, Mapping[str, str]], called: str) -> list[str]:
    """Set missing resources of a container; returns what was set."""
    notes = []
    resources = dict(container.get("resources") or {})
    for field in ("requests", "limits"):
        given = resources.get(field) or {}
        missing = {name: value for name, value in defaults[field].items() if name not in given}
        if missing:
            resources[field] = {**given, **missing}
            notes.append(f"{', '.join(sorted(missing))} {field[:-1]} for {called} {container.get('name', '')}")
    container["resources"] = resources
    return notes


def check_limits(store: Store, kind: str, obj: JsonObject) -> None:
    """Reject a pod or a claim that violates a LimitRange; raises 403."""
    for limits in _limits_by_range(store, obj["metadata"].get("namespace", "")):
        problems = list(_pod_problems(limits, obj) if kind == "Pod" else _claim_problems(limits, obj))
        if problems:
            raise forbidden(RESOURCES[kind], obj["metadata"].get("name", ""), aggregate(problems))


def _pod_problems(limits: list[JsonObject], obj: JsonObject) -> Iterator[str]:
    spec = obj["spec"]
    for limit in limits:
        if limit.get("type") == "Container":
            for container in [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]:
                resources = container.get("resources") or {}
                requests, bounds = (quantities(resources.get(name) or {}) for name in ("requests", "limits"))
                yield from _problems(limit, requests, bounds)
        elif limit.get("type") == "Pod":
            pod = Pod.from_json(obj)
            requests = pod_requests(pod, exclude_overhead=True)
            yield from _problems(limit, requests, pod_limits(pod, exclude_overhead=True))


def _claim_problems(limits: list[JsonObject], claim: JsonObject) -> Iterator[str]:
    requests = quantities(((claim.get("spec") or {}).get("resources") or {}).get("requests") or {})
    for limit in limits:
        if limit.get("type") != "PersistentVolumeClaim":
            continue
        for name, least in sorted(quantities(limit.get("min") or {}).items()):
            yield from _minimum("PersistentVolumeClaim", name, least, requests, {})
        for name, most in sorted(quantities(limit.get("max") or {}).items()):
            what = f"maximum {name} usage per PersistentVolumeClaim is {most}"
            if name not in requests:
                yield f"{what}.  No request is specified"
            elif _precise(requests[name], most) > _precise(most, requests[name]):
                yield f"{what}, but request is {requests[name]}"


def _problems(limit: JsonObject, requests: Resources, limits: Resources) -> Iterator[str]:
    kind = limit["type"]
    for name, least in sorted(quantities(limit.get("min") or {}).items()):
        yield from _minimum(kind, name, least, requests, limits)
    for name, most in sorted(quantities(limit.get("max") or {}).items()):
        yield from _maximum(kind, name, most, requests, limits)
    for name, ratio in sorted(quantities(limit.get("maxLimitRequestRatio") or {}).items()):
        yield from _ratio(kind, name, ratio, requests.get(name), limits.get(name))


def _precise(amount: Quantity, *others: Quantity) -> int:
    """A comparable value: in thousandths, unless one of the amounts is too large for it."""
    fits = all(each.value() <= _MILLI_MAX for each in (amount, *others))
    return amount.milli_value() if fits else amount.value()


def _minimum(kind: str, name: str, least: Quantity, requests: Resources, limits: Resources) -> Iterator[str]:
    what = f"minimum {name} usage per {kind} is {least}"
    request, limit = requests.get(name), limits.get(name)
    all_three = (request or ZERO, limit or ZERO, least)
    if request is None:
        yield f"{what}.  No request is specified"
    elif _precise(request, *all_three) < _precise(least, *all_three):
        yield f"{what}, but request is {request}"
    elif limit is not None and _precise(limit, *all_three) < _precise(least, *all_three):
        yield f"{what}, but limit is {limit}"


def _maximum(kind: str, name: str, most: Quantity, requests: Resources, limits: Resources) -> Iterator[str]:
    what = f"maximum {name} usage per {kind} is {most}"
    request, limit = requests.get(name), limits.get(name)
    all_three = (request or ZERO, limit or ZERO, most)
    if limit is None:
        yield f"{what}.  No limit is specified"
    elif _precise(limit, *all_three) > _precise(most, *all_three):
        yield f"{what}, but limit is {limit}"
    elif request is not None and _precise(request, *all_three) > _precise(most, *all_three):
        yield f"{what}, but request is {request}"


def _ratio(kind: str, name: str, most: Quantity, request: Quantity | None, limit: Quantity | None) -> Iterator[str]:
    what = f"{name} max limit to request ratio per {kind} is {most}"
    if request is None or request.is_zero:
        yield f"{what}, but no request is specified or request is 0"
    elif limit is None or limit.is_zero:
        yield f"{what}, but no limit is specified or limit is 0"
    else:
        ratio = _precise(limit, request, most) / _precise(request, limit, most)
        if ratio * 1000 > most.milli_value():
            yield f"{what}, but provided ratio is {ratio:f}"

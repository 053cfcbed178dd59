"""LimitRanges: default resources and bounds, with the API server's words."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.cluster.store.store import Store
from tests.support.cluster.rest import body_of, new_store, send

NAMESPACE = "/api/v1/namespaces/orc"
PODS = f"{NAMESPACE}/pods"


def limited(*limits: dict[str, Any]) -> Store:
    store = new_store()
    limit_range = {"metadata": {"name": "l"}, "spec": {"limits": list(limits)}}
    assert send(store, "POST", f"{NAMESPACE}/limitranges", limit_range).status == 201
    return store


def pod(*containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    named = [{"name": f"c{n}", "image": "i", "resources": each} for n, each in enumerate(containers)]
    return {"metadata": {"name": "p"}, "spec": {"containers": named, **spec}}


def problem(store: Store, body: dict[str, Any], plural: str = "pods") -> str:
    answer = send(store, "POST", f"{NAMESPACE}/{plural}", body)
    assert answer.status == 403
    return str(body_of(answer)["message"])


def test_containers_get_default_resources() -> None:
    store = limited({"type": "Container", "max": {"cpu": "1"}, "default": {"memory": "64Mi"}, "min": {"cpu": "10m"}})
    made = body_of(send(store, "POST", PODS, pod({}, {"limits": {"cpu": "500m"}, "requests": {"cpu": "20m"}})))
    first, second = (container["resources"] for container in made["spec"]["containers"])
    assert first == {"limits": {"cpu": "1", "memory": "64Mi"}, "requests": {"cpu": "1", "memory": "64Mi"}}
    assert second["requests"] == {"cpu": "20m", "memory": "64Mi"}
    assert made["metadata"]["annotations"]["kubernetes.io/limit-ranger"] == (
        "LimitRanger plugin set: cpu, memory request for container c0; cpu, memory limit for container c0; "
        "memory request for container c1; memory limit for container c1"
    )


@pytest.mark.parametrize(
    ("limit", "resources", "message"),
    [
        ({"min": {"cpu": "1"}}, {"requests": {"cpu": "1m"}}, "minimum cpu usage per Pod is 1, but request is 1m"),
        ({"min": {"cpu": "1"}}, {}, "minimum cpu usage per Pod is 1.  No request is specified"),
        ({"max": {"cpu": "1"}}, {}, "maximum cpu usage per Pod is 1.  No limit is specified"),
        ({"max": {"cpu": "1"}}, {"limits": {"cpu": "2"}}, "maximum cpu usage per Pod is 1, but limit is 2"),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            {"limits": {"cpu": "3"}, "requests": {"cpu": "1"}},
            "cpu max limit to request ratio per Pod is 2, but provided ratio is 3.000000",
        ),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            {},
            "cpu max limit to request ratio per Pod is 2, but no request is specified or request is 0",
        ),
    ],
)
def test_a_pod_outside_the_bounds_is_rejected(limit: dict[str, Any], resources: dict[str, Any], message: str) -> None:
    store = limited({"type": "Pod", **limit})
    assert problem(store, pod(resources)) == f'pods "p" is forbidden: {message}'


def test_every_violation_is_reported() -> None:
    store = limited({"type": "Container", "max": {"cpu": "1"}}, {"type": "Pod", "max": {"cpu": "1500m"}})
    message = problem(store, pod({"limits": {"cpu": "2"}}))
    assert message.endswith(
        "[maximum cpu usage per Container is 1, but limit is 2, maximum cpu usage per Pod is 1500m, but limit is 2]"
    )


def test_claims_are_limited() -> None:
    store = limited({"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}, "min": {"storage": "1Mi"}})
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}}
    claim = {"metadata": {"name": "c"}, "spec": spec}
    assert problem(store, claim, "persistentvolumeclaims") == (
        'persistentvolumeclaims "c" is forbidden: maximum storage usage per PersistentVolumeClaim is 1Gi, but request '
        "is 2Gi"
    )


def test_a_resize_must_stay_within_the_bounds() -> None:
    store = limited({"type": "Container", "max": {"cpu": "1"}})
    resources = {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}
    assert send(store, "POST", PODS, pod(resources, nodeName="fake-1")).status == 201
    larger = {"limits": {"cpu": "2"}, "requests": {"cpu": "2"}}
    patch = {"spec": {"containers": [{"name": "c0", "resources": larger}]}}
    answer = send(store, "PATCH", f"{PODS}/p/resize", patch, "application/strategic-merge-patch+json")
    assert body_of(answer)["message"].endswith("maximum cpu usage per Container is 1, but limit is 2")


def test_an_invalid_limit_range_is_rejected() -> None:
    store = new_store()
    limits = [
        {"type": "Container", "min": {"cpu": "2"}, "max": {"cpu": "1"}},
        {"type": "Container"},
        {"type": "Pod", "default": {"cpu": "1"}},
        {"type": "PersistentVolumeClaim"},
        {"type": "Frob"},
    ]
    body = {"metadata": {"name": "l"}, "spec": {"limits": limits}}
    answer = body_of(send(store, "POST", f"{NAMESPACE}/limitranges", body))
    assert [(cause["field"], cause["message"]) for cause in answer["details"]["causes"]] == [
        ("spec.limits[0].min[cpu]", 'Invalid value: "2": min value 2 is greater than max value 1'),
        (
            "spec.limits[0].defaultRequest[cpu]",
            'Invalid value: "1": min value 2 is greater than default request value 1',
        ),
        ("spec.limits[0].default[cpu]", 'Invalid value: "2": min value 2 is greater than default value 1'),
        ("spec.limits[1].type", 'Duplicate value: "Container"'),
        ("spec.limits[2].default", "Forbidden: may not be specified when `type` is 'Pod'"),
        (
            "spec.limits[3].limits",
            "Required value: either minimum or maximum storage value is required, but neither was provided",
        ),
        ("spec.limits[4].type", 'Invalid value: "Frob": must be a standard limit type or fully qualified'),
    ]

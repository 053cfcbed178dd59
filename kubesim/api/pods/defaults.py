"""The defaults that the API server sets in a pod.

Works in place on the JSON object that `schema.codec.decode` returns. Runs between decoding and validation, for static
pods and in the in-memory API server.

Mirrors: pkg/apis/core/v1/defaults.go, zz_generated.defaults.go SetObjectDefaults_Pod
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubesim.api.images import image_tag
from kubesim.api.pod import Pod
from kubesim.api.pods.resources import (
    HUGE_PAGES_PREFIX,
    container_requests,
    is_supported_pod_level_resource,
    pod_limits,
)
from kubesim.api.quantity import MILLI, Quantity, quantity
from kubesim.features import DEFAULT_GATES, FeatureGates

JsonObject = dict[str, Any]

_MODE = 0o644
_TOKEN_SECONDS = 3600
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_VOLUME_DEFAULTS: dict[str, JsonObject] = {
    "hostPath": {"type": ""},
    "secret": {"defaultMode": _MODE},
    "configMap": {"defaultMode": _MODE},
    "downwardAPI": {"defaultMode": _MODE},
    "projected": {"defaultMode": _MODE},
    "azureDisk": {"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared"},
}
_VOLUME_TEXT_DEFAULTS: dict[str, dict[str, str]] = {
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
}


def set_pod_defaults(pod: JsonObject, gates: FeatureGates = DEFAULT_GATES) -> None:
    """Set all defaults of a v1 Pod."""
    spec: JsonObject = pod.setdefault("spec", {})
    _requests_from_limits(spec)
    if gates.enabled("PodLevelResources"):
        _default_huge_page_pod_limits(spec)
        _default_pod_requests(spec)
    spec.setdefault("enableServiceLinks", True)
    if spec.get("hostNetwork"):
        _default_host_ports(spec)
    set_pod_spec_defaults(spec)
    if pod.get("status"):
        _round_status_resources(pod["status"])


def set_pod_spec_defaults(spec: JsonObject) -> None:
    """Set the defaults of a pod spec, also in pod templates."""
    _fill_empty(spec, {"dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler"})
    spec.setdefault("securityContext", {})
    spec.setdefault("terminationGracePeriodSeconds", 30)
    for volume in spec.get("volumes") or ():
        _default_volume(volume)
    for container in containers_of(spec):
        _default_container(container)
    _round_up(spec, "overhead")
    _round_requirements(spec.get("resources"))


def containers_of(spec: JsonObject) -> Iterator[JsonObject]:
    """Containers of every kind, in the order in which the API visits them."""
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        yield from spec.get(kind) or ()


def _fill_empty(value: JsonObject, defaults: JsonObject) -> None:
    """Set defaults for strings and numbers: the zero value means not set."""
    for name, default in defaults.items():
        value[name] = value.get(name) or default


def _default_in(owner: JsonObject, name: str, field: str, default: Any) -> None:
    """Set the default of a field in a struct, if the struct is present."""
    if owner.get(name) is not None:
        owner[name].setdefault(field, default)


def _requests_from_limits(spec: JsonObject) -> None:
    """Copy each limit without a request to the requests. Only for pods, not for templates."""
    for kind in ("containers", "initContainers"):
        for container in spec.get(kind) or ():
            resources = container.get("resources") or {}
            limits = resources.get("limits")
            if limits is not None:
                resources["requests"] = {**limits, **(resources.get("requests") or {})}


def _default_host_ports(spec: JsonObject) -> None:
    for kind in ("containers", "initContainers"):
        for container in spec.get(kind) or ():
            for port in container.get("ports") or ():
                port["hostPort"] = port.get("hostPort") or port.get("containerPort", 0)


def _default_container(container: JsonObject) -> None:
    pull_policy = "Always" if image_tag(container.get("image", "")) == "latest" else "IfNotPresent"
    _fill_empty(
        container,
        {
            "imagePullPolicy": pull_policy,
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
        },
    )
    for port in container.get("ports") or ():
        _fill_empty(port, {"protocol": "TCP"})
    for variable in container.get("env") or ():
        source = variable.get("valueFrom") or {}
        _default_field_ref(source)
        _default_in(source, "fileKeyRef", "optional", False)
    _round_requirements(container.get("resources"))
    for name in _PROBES:
        if container.get(name) is not None:
            _default_probe(container[name])
    if lifecycle := container.get("lifecycle"):
        for name in ("postStart", "preStop"):
            _default_http_get((lifecycle.get(name) or {}).get("httpGet"))


def _default_probe(probe: JsonObject) -> None:
    _fill_empty(probe, {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3})
    _default_http_get(probe.get("httpGet"))
    _default_in(probe, "grpc", "service", "")


def _default_http_get(action: JsonObject | None) -> None:
    if action is not None:
        _fill_empty(action, {"path": "/", "scheme": "HTTP"})


def _default_field_ref(source: JsonObject) -> None:
    if source.get("fieldRef") is not None:
        _fill_empty(source["fieldRef"], {"apiVersion": "v1"})


def _default_volume(volume: JsonObject) -> None:
    if not any(value is not None for name, value in volume.items() if name != "name"):
        volume["emptyDir"] = {}
    for kind, source in volume.items():
        if not isinstance(source, dict):
            continue
        for name, default in _VOLUME_DEFAULTS.get(kind, {}).items():
            source.setdefault(name, default)
        _fill_empty(source, _VOLUME_TEXT_DEFAULTS.get(kind, {}))
    image = volume.get("image")
    if image is not None:
        latest = image_tag(image.get("reference", "")) == "latest"
        _fill_empty(image, {"pullPolicy": "Always" if latest else "IfNotPresent"})
    for item in (volume.get("downwardAPI") or {}).get("items") or ():
        _default_field_ref(item)
    for source in (volume.get("projected") or {}).get("sources") or ():
        for item in (source.get("downwardAPI") or {}).get("items") or ():
            _default_field_ref(item)
        _default_in(source, "serviceAccountToken", "expirationSeconds", _TOKEN_SECONDS)
    template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
    if template is not None:
        claim = template.setdefault("spec", {})
        claim.setdefault("volumeMode", "Filesystem")
        _round_requirements(claim.get("resources"))


def _default_huge_page_pod_limits(spec: JsonObject) -> None:
    """Default the huge page limits of pod-level resources to the sum of the containers' limits."""
    resources = spec.get("resources") or {}
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    if limits or requests:
        silent = ((name, amount) for name, amount in pod_limits(resources_pod(spec)).items() if name not in requests)
        huge = {name: str(amount) for name, amount in silent if name.startswith(HUGE_PAGES_PREFIX)}
        _fill_in(resources, "limits", huge)


def _default_pod_requests(spec: JsonObject) -> None:
    """Default pod-level requests to the sum of the containers' requests, else to the pod-level limit."""
    resources = spec.get("resources") or {}
    limits = resources.get("limits")
    if limits:
        together = container_requests(resources_pod(spec)).items()
        asked = {name: str(amount) for name, amount in together if not name.startswith(HUGE_PAGES_PREFIX)}
        supported = filter(is_supported_pod_level_resource, {**limits, **asked})
        _fill_in(resources, "requests", {name: asked.get(name, limits.get(name)) for name in supported})


def _fill_in(resources: JsonObject, kind: str, amounts: JsonObject) -> None:
    """Add the amounts that are not set; creates no empty map."""
    if amounts:
        resources[kind] = amounts | (resources.get(kind) or {})


def resources_pod(spec: JsonObject) -> Pod:
    """The part of a pod that determines the sum of its containers' resources, without pod-level resources and
    overhead."""
    return Pod.from_json(
        {
            "spec": {
                kind: [
                    {name: container[name] for name in ("name", "resources", "restartPolicy") if name in container}
                    for container in spec.get(kind) or ()
                ]
                for kind in ("containers", "initContainers")
            }
        }
    )


def _round_status_resources(status: JsonObject) -> None:
    for kind in ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"):
        for container in status.get(kind) or ():
            _round_up(container, "allocatedResources")
            _round_requirements(container.get("resources"))
    _round_up(status, "allocatedResources")
    _round_requirements(status.get("resources"))


def _round_requirements(resources: JsonObject | None) -> None:
    if resources is not None:
        _round_up(resources, "limits")
        _round_up(resources, "requests")


def _round_up(owner: JsonObject, name: str) -> None:
    """Round the quantities up to thousandths, the finest unit of a resource."""
    if owner.get(name):
        owner[name] = {key: str(round_up_to_milli(quantity(value))) for key, value in owner[name].items()}


def round_up_to_milli(amount: Quantity) -> Quantity:
    """The amount in thousandths, rounded up; an amount without finer digits keeps its text."""
    if amount.scale >= MILLI:
        return amount
    thousandths = -(-abs(amount.unscaled) // 10 ** (MILLI - amount.scale))
    return Quantity(amount.sign * thousandths, MILLI, amount.format, wide=amount.wide)

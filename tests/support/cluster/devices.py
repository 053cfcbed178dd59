"""Claims, classes and slices in a short notation."""

from __future__ import annotations

from typing import Any

from kubesim.api.meta import ApiObject

Json = dict[str, Any]
DRIVER = "gpu.example.com"
VERSION = "resource.k8s.io/v1"


def device_class(name: str = "gpu", expression: str = f'device.driver == "{DRIVER}"', **spec: Any) -> Json:
    selectors = [{"cel": {"expression": expression}}] if expression else []
    return {
        "apiVersion": VERSION,
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": selectors, **spec},
    }


def request(name: str = "gpu", device_class: str = "gpu", expression: str = "", **fields: Any) -> Json:
    """A request for one device, unless fields override it."""
    exactly: Json = {"deviceClassName": device_class, "allocationMode": "ExactCount", "count": 1, **fields}
    if exactly["allocationMode"] == "All":
        del exactly["count"]
    if expression:
        exactly["selectors"] = [{"cel": {"expression": expression}}]
    return {"name": name, "exactly": exactly}


def claim(name: str = "claim", *requests: Json, status: Json | None = None, **devices: Any) -> Json:
    metadata = {"name": name, "namespace": "default", "uid": name}
    spec = {"devices": {"requests": list(requests) or [request()], **devices}}
    found = {"apiVersion": VERSION, "kind": "ResourceClaim", "metadata": metadata, "spec": spec}
    return {**found, "status": status} if status else found


def resource_slice(node: str, *devices: str | Json, driver: str = DRIVER, pool: str = "", **spec: Any) -> Json:
    """A slice with the devices of a node; a text is the name of a device without attributes."""
    listed = [{"name": each} if isinstance(each, str) else each for each in devices]
    where = spec if {"allNodes", "nodeSelector", "perDeviceNodeSelection"} & spec.keys() else {"nodeName": node}
    pools = {"name": pool or node, "generation": 1, "resourceSliceCount": 1, **spec.pop("of_pool", {})}
    return {
        "apiVersion": VERSION,
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node}-{driver}-{spec.pop('number', 0)}"},
        "spec": {"driver": driver, "pool": pools, "devices": listed, **where, **spec},
    }


def allocated(name: str, *devices: str, node: str = "n1", **result: Any) -> Json:
    """The claim with these devices allocated."""
    results = [{"request": "gpu", "driver": DRIVER, "pool": node, "device": each, **result} for each in devices]
    named = {"key": "metadata.name", "operator": "In", "values": [node]}
    allocation = {"devices": {"results": results}, "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [named]}]}}
    return claim(name, status={"allocation": allocation})


def objects(*manifests: Json) -> list[ApiObject]:
    return [ApiObject.from_json(manifest) for manifest in manifests]

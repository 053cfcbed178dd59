"""The allocation in a claim's status.

Mirrors: structured/internal allocator Allocate (results, configuration), createNodeSelector
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubesim.api.meta import ApiObject
from kubesim.api.workloads.resource_claims import base_request
from kubesim.cluster.scheduling.framework.listers import field
from kubesim.cluster.scheduling.plugins.devices.pools import DeviceOnNode
from kubesim.values import value_object

Json = Mapping[str, Any]


@value_object
class Chosen:
    """A device for a request. `request_name` is `request/subrequest` for an alternative."""

    request_name: str
    request: Json
    device_class: ApiObject
    device: DeviceOnNode


def allocation_result(claim: ApiObject, chosen: Sequence[Chosen], node: str) -> dict[str, Any]:
    devices: dict[str, Any] = {"results": [_result(each) for each in chosen]}
    config = [*_class_config(chosen), *_claim_config(claim, chosen)]
    if config:
        devices["config"] = config
    selector = _node_selector(chosen, node)
    return {"devices": devices} | ({"nodeSelector": selector} if selector else {})


def _result(chosen: Chosen) -> dict[str, Any]:
    driver, pool, device = chosen.device.id
    result: dict[str, Any] = {"request": chosen.request_name, "driver": driver, "pool": pool, "device": device}
    if chosen.request.get("adminAccess"):
        result["adminAccess"] = True
    if chosen.request.get("tolerations"):
        result["tolerations"] = list(chosen.request["tolerations"])
    return result


def _class_config(chosen: Sequence[Chosen]) -> list[dict[str, Any]]:
    """The configuration of each class, once for all its requests."""
    requests: dict[str, tuple[ApiObject, dict[str, None]]] = {}
    for each in chosen:
        name = each.device_class.metadata.name
        requests.setdefault(name, (each.device_class, {}))[1][each.request_name] = None
    return [
        {"source": "FromClass", "requests": list(names), **config}
        for device_class, names in requests.values()
        for config in field(device_class, "spec").get("config") or ()
    ]


def _claim_config(claim: ApiObject, chosen: Sequence[Chosen]) -> list[dict[str, Any]]:
    """The claim's configurations that apply to a request."""
    met = {each.request_name for each in chosen} | {base_request(each.request_name) for each in chosen}
    configs = (field(claim, "spec").get("devices") or {}).get("config") or ()
    return [
        {"source": "FromClaim", **config}
        for config in configs
        if not config.get("requests") or any(name in met for name in config["requests"])
    ]


def _node_selector(chosen: Sequence[Chosen], node: str) -> dict[str, Any] | None:
    """The nodes that can access all devices: this node if a device is local or binds to it; None for all nodes."""
    term: dict[str, list[Json]] = {"matchFields": [], "matchExpressions": []}
    for each in chosen:
        spec = each.device.slice_spec
        of = each.device.device if spec.get("perDeviceNodeSelection") else spec
        if of.get("nodeName") or each.device.device.get("bindsToNode"):
            named = {"key": "metadata.name", "operator": "In", "values": [node]}
            return {"nodeSelectorTerms": [{"matchFields": [named]}]}
        for own in (of.get("nodeSelector") or {}).get("nodeSelectorTerms") or ():
            for kind, requirements in term.items():
                requirements.extend(new for new in own.get(kind) or () if new not in requirements)
    given = {kind: requirements for kind, requirements in term.items() if requirements}
    return {"nodeSelectorTerms": [given]} if given else None

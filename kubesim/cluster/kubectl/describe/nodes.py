"""Describes nodes: conditions, resources, and their pods.

Mirrors: kubectl/pkg/describe describe.go describeNode, describeNodeResource, describeNodeLease
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kubesim.api.pod import Pod
from kubesim.api.pods.resources import pod_limits, pod_requests
from kubesim.api.quantity import Quantity, parse_quantity
from kubesim.cluster.kubectl.describe.page import DescriptionPage, canonical, date
from kubesim.cluster.tables.ages import age
from kubesim.cluster.tables.cluster_kinds import node_roles
from kubesim.cluster.tables.table import JsonObject, dig
from kubesim.cluster.tables.texts import NONE, UNSET
from kubesim.values import value_object

Amounts = Mapping[str, Quantity]
ZERO = parse_quantity("0")
_SYSTEM = (
    ("Machine ID", "machineID"), ("System UUID", "systemUUID"), ("Boot ID", "bootID"),
    ("Kernel Version", "kernelVersion"), ("OS Image", "osImage"), ("Operating System", "operatingSystem"),
    ("Architecture", "architecture"), ("Container Runtime Version", "containerRuntimeVersion"),
    ("Kubelet Version", "kubeletVersion"),
)  # fmt: skip
_STANDARD = ("cpu", "memory", "ephemeral-storage")
_MOST_POOLS = 10


@value_object
class OnNode:
    """Objects related to a node: pods that have not terminated, its lease, its resource slices."""

    pods: Sequence[JsonObject]
    lease: JsonObject | None
    slices: Sequence[JsonObject] = ()


def describe_node(page: DescriptionPage, node: JsonObject, on_node: OnNode, events: Sequence[JsonObject]) -> None:
    spec, status = node.get("spec") or {}, node.get("status") or {}
    page.field("Name", node["metadata"]["name"])
    page.field("Roles", ",".join(node_roles(node)) or NONE)
    page.marks(node)
    page.field("CreationTimestamp", date(dig(node, "metadata.creationTimestamp")))
    page.rows("Taints", _taints(spec.get("taints") or ()))
    page.field("Unschedulable", str(bool(spec.get("unschedulable"))).lower())
    _lease(page, node, on_node.lease)
    _conditions(page, status.get("conditions") or ())
    page.line("Addresses:")
    for address in status.get("addresses") or ():
        page.field(address["type"], address["address"], 1)
    for title in ("Capacity", "Allocatable"):
        amounts = status.get(title.lower()) or {}
        if amounts:
            page.line(f"{title}:")
        for name, amount in sorted(amounts.items()):
            page.field(name, canonical(amount), 1)
    _slices(page, on_node.slices)
    page.line("System Info:")
    for name, field in _SYSTEM:
        page.field(name, dig(status, f"nodeInfo.{field}", ""), 1)
    page.optional("PodCIDR", spec.get("podCIDR"))
    page.optional("PodCIDRs", ",".join(spec.get("podCIDRs") or ()))
    page.optional("ProviderID", spec.get("providerID"))
    _resources(page, on_node.pods, status.get("allocatable") or status.get("capacity") or {})
    page.events(events)


def _taints(taints: Iterable[JsonObject]) -> list[str]:
    found = sorted(taints, key=lambda each: f"{each.get('effect', '')},{each.get('key', '')}")
    return [_taint(each) for each in found]


def _taint(taint: JsonObject) -> str:
    key, value, effect = (taint.get(field, "") for field in ("key", "value", "effect"))
    if not effect:
        return f"{key}={value}:" if value else key
    return f"{key}={value}:{effect}" if value else f"{key}:{effect}"


def _lease(page: DescriptionPage, node: JsonObject, lease: JsonObject | None) -> None:
    if lease is None:
        name = node["metadata"]["name"]
        page.field("Lease", f'Failed to get lease: leases.coordination.k8s.io "{name}" not found')
        return
    spec = lease.get("spec") or {}
    page.line("Lease:")
    page.field("HolderIdentity", spec.get("holderIdentity") or UNSET, 1)
    for name, field in (("AcquireTime", "acquireTime"), ("RenewTime", "renewTime")):
        page.field(name, date(spec[field]) if spec.get(field) else UNSET, 1)


def _conditions(page: DescriptionPage, conditions: Sequence[JsonObject]) -> None:
    if conditions:
        page.line("Conditions:\n  Type\tStatus\tLastHeartbeatTime\tLastTransitionTime\tReason\tMessage")
        page.line("----\t------\t-----------------\t------------------\t------\t-------", 1)
    for each in conditions:
        cells = [each.get("type", ""), each.get("status", "")]
        cells += [date(each.get("lastHeartbeatTime")), date(each.get("lastTransitionTime")), each.get("reason", "")]
        page.line(" \t".join([*cells, each.get("message", "")]), 1)


def _slices(page: DescriptionPage, slices: Iterable[JsonObject]) -> None:
    """The resource slices by driver and pool."""
    pools: dict[tuple[str, str], list[int]] = {}
    for each in slices:
        key = (dig(each, "spec.driver", ""), dig(each, "spec.pool.name", ""))
        counts = pools.setdefault(key, [0, 0])
        counts[0] += 1
        counts[1] += len(dig(each, "spec.devices", ()))
    if not pools:
        return
    page.line("Node-Local ResourceSlices:")
    page.line("Driver\tPool\tSlices\tDevices", 1)
    page.line("------\t----\t------\t-------", 1)
    for (driver, pool), (count, devices) in sorted(pools.items(), key=lambda item: "/".join(item[0]))[:_MOST_POOLS]:
        page.line(f"{driver}\t{pool}\t{count}\t{devices}", 1)
    if len(pools) > _MOST_POOLS:
        page.line(f"...and {len(pools) - _MOST_POOLS} more pools", 1)


# -- what the pods request --------------------------------------------------------------------------------------


def _resources(page: DescriptionPage, pods: Sequence[JsonObject], allocatable: Mapping[str, str]) -> None:
    room = {name: parse_quantity(str(amount)) for name, amount in allocatable.items()}
    page.field("Non-terminated Pods", f"({len(pods)} in total)")
    page.line("Namespace\tName\t\tCPU Requests\tCPU Limits\tMemory Requests\tMemory Limits\tAge", 1)
    page.line("---------\t----\t\t------------\t----------\t---------------\t-------------\t---", 1)
    total_requests: dict[str, Quantity] = {}
    total_limits: dict[str, Quantity] = {}
    for each in pods:
        pod = Pod.from_json(each)
        requests, limits = pod_requests(pod, use_status=True), pod_limits(pod)
        shares = [_share(name, kind, room) for name in ("cpu", "memory") for kind in (requests, limits)]
        metadata = each["metadata"]
        cells = [metadata.get("namespace", ""), metadata["name"], "", *shares]
        page.line("\t".join([*cells, age(metadata.get("creationTimestamp"), page.now)]), 1)
        _add(total_requests, pod_requests(pod))
        _add(total_limits, limits)
    page.line("Allocated resources:\n  (Total limits may be over 100 percent, i.e., overcommitted.)")
    page.line("Resource\tRequests\tLimits", 1)
    page.line("--------\t--------\t------", 1)
    for name in (*_STANDARD, *sorted(name for name in room if name.startswith("hugepages-"))):
        page.line(f"{name}\t{_share(name, total_requests, room)}\t{_share(name, total_limits, room)}", 1)
    others = (name for name in room if name not in (*_STANDARD, "pods") and not name.startswith("hugepages-"))
    for name in sorted(others):
        page.line(f"{name}\t{total_requests.get(name, ZERO)}\t{total_limits.get(name, ZERO)}", 1)


def _add(total: dict[str, Quantity], amounts: Amounts) -> None:
    for name, amount in amounts.items():
        total[name] = total[name] + amount if name in total else amount


def _share(name: str, amounts: Amounts, room: Amounts) -> str:
    """`250m (12%)`."""
    amount, all_of_it = amounts.get(name, ZERO), room.get(name, ZERO)
    part, whole = (each.milli_value() if name == "cpu" else each.value() for each in (amount, all_of_it))
    return f"{amount} ({int(part / whole * 100) if whole else 0}%)"

"""Table rows of nodes, namespaces, Events, leases, classes and other cluster-level kinds.

Mirrors: pkg/printers/internalversion printers.go printNode, printEvent, printNamespace and the others
"""

from __future__ import annotations

from kubesim.api.event import core_form
from kubesim.cluster.tables.table import Cell, JsonObject, TableContext, TableRules, columns, condition, dig
from kubesim.cluster.tables.texts import NONE

_ROLE_PREFIX, _ROLE = "node-role.kubernetes.io/", "kubernetes.io/role"


def _name(obj: JsonObject) -> str:
    return str(obj["metadata"]["name"])


def _node(obj: JsonObject, context: TableContext) -> list[Cell]:
    ready = condition(obj, "Ready")
    status = "Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"
    if dig(obj, "spec.unschedulable"):
        status += ",SchedulingDisabled"
    info = dig(obj, "status.nodeInfo", {})
    os_image, kernel, runtime = (
        info.get(field) or "<unknown>" for field in ("osImage", "kernelVersion", "containerRuntimeVersion")
    )
    if info.get("architecture"):
        kernel += f" ({info['architecture']})"
    return [
        _name(obj),
        status,
        ",".join(node_roles(obj)) or NONE,
        context.age(obj),
        info.get("kubeletVersion", ""),
        _address(obj, "InternalIP"),
        _address(obj, "ExternalIP"),
        os_image,
        kernel,
        runtime,
    ]


def node_roles(obj: JsonObject) -> list[str]:
    roles = set()
    for key, value in dig(obj, "metadata.labels", {}).items():
        if key.startswith(_ROLE_PREFIX):
            roles.add(key.removeprefix(_ROLE_PREFIX))
        elif key == _ROLE:
            roles.add(value)
    return sorted(roles - {""})


def _address(obj: JsonObject, type: str) -> str:
    addresses = dig(obj, "status.addresses", ())
    return next((each["address"] for each in addresses if each["type"] == type), NONE)


def _event(obj: JsonObject, context: TableContext) -> list[Cell]:
    obj = core_form(obj)
    first = context.since(obj.get("firstTimestamp") or obj.get("eventTime"))
    last = context.since(obj["lastTimestamp"]) if obj.get("lastTimestamp") else first
    count = obj.get("count") or 1
    series = obj.get("series")
    if series is not None:
        last, count = context.since(series.get("lastObservedTime")), series.get("count", 0)
    involved = obj.get("involvedObject") or {}
    kind, name = involved.get("kind", "").lower(), involved.get("name")
    source = obj.get("source") or {}
    component = source.get("component") or obj.get("reportingComponent") or ""
    host = source.get("host") or obj.get("reportingInstance")
    return [
        last,
        obj.get("type", ""),
        obj.get("reason", ""),
        f"{kind}/{name}" if name else kind,
        involved.get("fieldPath", ""),
        f"{component}, {host}" if host else component,
        obj.get("message", "").strip(),
        first,
        count,
        _name(obj),
    ]


def _event_columns() -> TableRules:
    """The columns of Events, with wide ones between the others."""
    shown = columns("Last Seen,Type,Reason,Object")
    return TableRules((*shown, *columns("", "Subobject,Source"), *columns("Message"),
                       *columns("", "First Seen,Count,Name")), _event)  # fmt: skip


def _namespace(obj: JsonObject, context: TableContext) -> list[Cell]:
    return [_name(obj), dig(obj, "status.phase", ""), context.age(obj)]


def _lease(obj: JsonObject, context: TableContext) -> list[Cell]:
    return [_name(obj), dig(obj, "spec.holderIdentity", ""), context.age(obj)]


def _priority_class(obj: JsonObject, context: TableContext) -> list[Cell]:
    policy = obj.get("preemptionPolicy") or ""
    return [_name(obj), obj.get("value", 0), bool(obj.get("globalDefault")), context.age(obj), policy]


def _runtime_class(obj: JsonObject, context: TableContext) -> list[Cell]:
    return [_name(obj), obj.get("handler", ""), context.age(obj)]


def _name_and_age(obj: JsonObject, context: TableContext) -> list[Cell]:
    return [_name(obj), context.age(obj)]


def _resource_claim(obj: JsonObject, context: TableContext) -> list[Cell]:
    is_deleted = bool(dig(obj, "metadata.deletionTimestamp"))
    states = ["deleted"] if is_deleted else []
    if dig(obj, "status.allocation") is None:
        states += [] if is_deleted else ["pending"]
    else:
        states += ["allocated", *(["reserved"] if dig(obj, "status.reservedFor") else [])]
    return [_name(obj), ",".join(states), context.age(obj)]


def _resource_slice(obj: JsonObject, context: TableContext) -> list[Cell]:
    fields = [dig(obj, f"spec.{path}", "") for path in ("nodeName", "driver", "pool.name")]
    return [_name(obj), *fields, context.age(obj)]


def _quota(obj: JsonObject, context: TableContext) -> list[Cell]:
    used: dict[bool, list[str]] = {False: [], True: []}  # key: is a limit
    for resource, hard in sorted(dig(obj, "status.hard", {}).items()):
        used[resource.startswith("limits.")].append(
            f"{resource}: {dig(obj, 'status.used', {}).get(resource, 0)}/{hard}"
        )
    return [_name(obj), ", ".join(used[False]), ", ".join(used[True]), context.age(obj)]


NAME_AND_AGE = TableRules(columns("Name,Age"), _name_and_age)

CLUSTER_KINDS = {
    "Node": TableRules(
        columns("Name,Status,Roles,Age,Version", "Internal-IP,External-IP,OS-Image,Kernel-Version,Container-Runtime"),
        _node,
    ),
    "Event": _event_columns(),
    "Namespace": TableRules(columns("Name,Status,Age"), _namespace),
    "Lease": TableRules(columns("Name,Holder,Age"), _lease),
    "PriorityClass": TableRules(
        columns("Name,Value:integer,Global-Default:boolean,Age,PreemptionPolicy"), _priority_class
    ),
    "RuntimeClass": TableRules(columns("Name,Handler,Age"), _runtime_class),
    "ResourceClaim": TableRules(columns("Name,State,Age"), _resource_claim),
    "ResourceSlice": TableRules(columns("Name,Node,Driver,Pool,Age"), _resource_slice),
    "ResourceQuota": TableRules(columns("Name,Request,Limit,Age"), _quota),
}

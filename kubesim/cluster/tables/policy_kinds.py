"""Table rows of Ingresses, network policies, autoscalers, roles, Endpoints, and of kinds without columns of their own.

Mirrors: pkg/printers/internalversion printers.go printIngress, printHorizontalPodAutoscaler, printRoleBinding, ...;
apiserver/pkg/registry/rest table.go
"""

from __future__ import annotations

from kubesim.cluster.tables.table import Cell, Column, JsonObject, TableContext, TableRules, columns, dig
from kubesim.cluster.tables.texts import NONE, UNSET, format_labels, format_selector, names_and_images

_MOST, _MOST_METRICS = 3, 2
_ADDRESS_WIDTH = 16
_UNKNOWN = "<unknown>"
_DEFAULT_CLASS = "ingressclass.kubernetes.io/is-default-class"


def _name(obj: JsonObject) -> str:
    return str(obj["metadata"]["name"])


# -- network --------------------------------------------------------------------------------------------------------


def _ingress(obj: JsonObject, context: TableContext) -> list[Cell]:
    rules = dig(obj, "spec.rules", ())
    with_host = [n for n, rule in enumerate(rules) if rule.get("host")][:_MOST]
    shown = ",".join(rules[n]["host"] for n in with_host) or "*"
    if len(with_host) == _MOST and with_host[-1] + 1 < len(rules):
        shown += f" + {len(rules) - _MOST} more..."
    balancers = dig(obj, "status.loadBalancer.ingress", ())
    address = ",".join(sorted({each.get("ip") or each.get("hostname", "") for each in balancers} - {""}))
    if not context.wide and len(address) > _ADDRESS_WIDTH:
        address = address[: _ADDRESS_WIDTH - 3] + "..."
    ports = "80, 443" if dig(obj, "spec.tls") else "80"
    return [_name(obj), dig(obj, "spec.ingressClassName", NONE), shown, address, ports, context.age(obj)]


def _ingress_class(obj: JsonObject, context: TableContext) -> list[Cell]:
    suffix = " (default)" if dig(obj, "metadata.annotations", {}).get(_DEFAULT_CLASS) == "true" else ""
    parameters = dig(obj, "spec.parameters")
    shown = NONE
    if parameters is not None:
        group = f".{parameters['apiGroup']}" if parameters.get("apiGroup") is not None else ""
        shown = f"{parameters.get('kind', '')}{group}/{parameters.get('name', '')}"
    return [_name(obj) + suffix, dig(obj, "spec.controller", ""), shown, context.age(obj)]


def _network_policy(obj: JsonObject, context: TableContext) -> list[Cell]:
    return [_name(obj), format_selector(dig(obj, "spec.podSelector", {})), context.age(obj)]


def _endpoints(obj: JsonObject, context: TableContext) -> list[Cell]:
    found = [address for subset in obj.get("subsets") or () for address in _addresses(subset)]
    more = f" + {len(found) - _MOST} more..." if len(found) > _MOST else ""
    shown = ",".join(found[:_MOST]) + more if obj.get("subsets") else NONE
    return [_name(obj), shown, context.age(obj)]


def _addresses(subset: JsonObject) -> list[str]:
    addresses = [each.get("ip", "") for each in subset.get("addresses") or ()]
    ports = subset.get("ports")
    if not ports:
        return addresses
    bracketed = [f"[{address}]" if ":" in address else address for address in addresses]
    return [f"{address}:{port.get('port', 0)}" for port in ports for address in bracketed]


# -- autoscalers ----------------------------------------------------------------------------------------------------


def _autoscaler(obj: JsonObject, context: TableContext) -> list[Cell]:
    target = dig(obj, "spec.scaleTargetRef", {})
    least = dig(obj, "spec.minReplicas")
    return [
        _name(obj),
        f"{target.get('kind', '')}/{target.get('name', '')}",
        _metrics(dig(obj, "spec.metrics", ()), dig(obj, "status.currentMetrics", ())),
        UNSET if least is None else str(least),
        dig(obj, "spec.maxReplicas", 0),
        dig(obj, "status.currentReplicas", 0),
        context.age(obj),
    ]


def _metrics(specs: list[JsonObject], statuses: list[JsonObject]) -> str:
    texts = [_metric(spec, statuses[n] if n < len(statuses) else {}) for n, spec in enumerate(specs)]
    more = f" + {len(texts) - _MOST_METRICS} more..." if len(texts) > _MOST_METRICS else ""
    return ", ".join(texts[:_MOST_METRICS]) + more if texts else NONE


def _metric(spec: JsonObject, status: JsonObject) -> str:
    kind = spec.get("type", "")
    source = kind[:1].lower() + kind[1:]
    target, current = dig(spec, f"{source}.target"), dig(status, f"{source}.current", {})
    if target is None:
        return "<unknown type>"
    average = current.get("averageValue", _UNKNOWN)
    if kind in ("Resource", "ContainerResource"):
        name = spec[source].get("name", "")
        if target.get("averageValue") is not None:
            return f"{name}: {average}/{target['averageValue']}"
        percent, wanted = current.get("averageUtilization"), target.get("averageUtilization")
        return (
            f"{name}: {_UNKNOWN if percent is None else f'{percent}%'}/{'<auto>' if wanted is None else f'{wanted}%'}"
        )
    if kind == "Pods":
        return f"{average}/{target.get('averageValue', '0')}"
    if target.get("averageValue") is not None:
        return f"{average}/{target['averageValue']} (avg)"
    return f"{current.get('value', _UNKNOWN)}/{target.get('value', '0')}"


# -- access ---------------------------------------------------------------------------------------------------------


def _binding(obj: JsonObject, context: TableContext) -> list[Cell]:
    subjects: dict[str, list[str]] = {}
    for subject in obj.get("subjects") or ():
        name, kind = subject.get("name", ""), subject.get("kind", "")
        shown = f"{subject.get('namespace', '')}/{name}" if kind == "ServiceAccount" else name
        subjects.setdefault(kind, []).append(shown)
    role = f"{dig(obj, 'roleRef.kind', '')}/{dig(obj, 'roleRef.name', '')}"
    named = [", ".join(subjects.get(kind, ())) for kind in ("User", "Group", "ServiceAccount")]
    return [_name(obj), role, context.age(obj), *named]


# -- others ---------------------------------------------------------------------------------------------------------


def _pod_template(obj: JsonObject, context: TableContext) -> list[Cell]:
    template = obj.get("template") or {}
    return [_name(obj), *names_and_images(template), format_labels(dig(template, "metadata.labels"))]


def _webhooks(obj: JsonObject, context: TableContext) -> list[Cell]:
    return [_name(obj), len(obj.get("webhooks") or ()), context.age(obj)]


def _attributes_class(obj: JsonObject, context: TableContext) -> list[Cell]:
    return [_name(obj), obj.get("driverName", ""), context.age(obj)]


def _created_at(obj: JsonObject, context: TableContext) -> list[Cell]:
    return [_name(obj), dig(obj, "metadata.creationTimestamp", "")]


_CREATED_AT = TableRules((Column("Name"), Column("Created At", "date")), _created_at)
_BINDING = TableRules(columns("Name,Role,Age", "Users,Groups,ServiceAccounts"), _binding)
_WEBHOOKS = TableRules(columns("Name,Webhooks:integer,Age"), _webhooks)
POLICY_KINDS = {
    "Ingress": TableRules(columns("Name,Class,Hosts,Address,Ports,Age"), _ingress),
    "IngressClass": TableRules(columns("Name,Controller,Parameters,Age"), _ingress_class),
    "NetworkPolicy": TableRules(columns("Name,Pod-Selector,Age"), _network_policy),
    "Endpoints": TableRules(columns("Name,Endpoints,Age"), _endpoints),
    "HorizontalPodAutoscaler": TableRules(columns("Name,Reference,Targets,MinPods,MaxPods,Replicas,Age"), _autoscaler),
    "RoleBinding": _BINDING,
    "ClusterRoleBinding": _BINDING,
    "PodTemplate": TableRules(columns("Name,Containers,Images,Pod Labels"), _pod_template),
    "ValidatingWebhookConfiguration": _WEBHOOKS,
    "MutatingWebhookConfiguration": _WEBHOOKS,
    "VolumeAttributesClass": TableRules(columns("Name,DriverName,Age"), _attributes_class),
    **dict.fromkeys(("LimitRange", "Role", "ClusterRole", "CustomResourceDefinition", "APIService"), _CREATED_AT),
}

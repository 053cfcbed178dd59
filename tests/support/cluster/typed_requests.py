"""Random requests whose bodies have the fields of their types, with fitting and unfitting values.

They get further into the rules of each kind than bodies of random fields do. Each is derived from its number, so that a
failure can be repeated.
"""

from __future__ import annotations

import json
import random
from typing import Any

import yaml

from kubesim.api.schema.types import Type, is_struct, parse_type, struct_fields
from kubesim.cluster.served.rest import Request, handle
from kubesim.cluster.store.api_groups import resources_by_path
from kubesim.cluster.store.kinds import Resource, resource_of
from kubesim.cluster.store.store import Store

_TEXTS = (
    "", "a", "web", "A_b", "a.b", "a/b", "a%b", "-a", "x" * 300, "ä\ud800", "*", "*.a.b", "10.0.0.1", "1.2.3.04", "::1",
    "fd00::1%eth0", "10.0.0.0/8", "10.0.0.1/8", "a/8", "0.0.0.0/99", "None", "TCP", "Always", "Never", "In", "NotIn",
    "Exists", "DoesNotExist", "Gt", "Utilization", "Pods", "Percent", "RollingUpdate", "Recreate", "Delete", "Retain",
    "ClusterIP", "NodePort", "ExternalName", "LoadBalancer", "Container", "Pod", "Namespace", "Prefix", "Exact",
    "ReadWriteOnce", "Block", "Local", "Terminating", "BestEffort", "PriorityClass", "cpu", "requests.cpu",
    "hugepages-2Mi", "example.com/gpu", "metadata.name", "25%", "-5%", "125%", "http", "/a/../b", "kubernetes.io/tls",
    "@daily", "*/5 * * * *", "61 * * * *", "Europe/Berlin", "Nowhere/City", "IPv4", "SingleStack", "Role", "User",
    "$(A)",
)  # fmt: skip
_NUMBERS = (-1, 0, 1, 2, 80, 1023, 65536, (1 << 31) - 1, 1 << 31, 1 << 63, -(1 << 31))
_QUANTITIES = (
    "0",
    "1",
    "-1",
    "100m",
    "1Gi",
    "1.5",
    "1e3",
    "1e100",
    "9223372036854775807",
    "x",
    "1.0001m",
    "1n",
    5,
    0.1,
)
_TIMES = ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00.123456Z", "0001-01-01T00:00:00Z", "x", "")
_ODD: tuple[Any, ...] = (None, True, 0, "x", [], {}, [[]], [None], {"": None}, 1.5)
_PATCHES = ("application/merge-patch+json", "application/strategic-merge-patch+json", "application/apply-patch+yaml")
_MAX_DEPTH = 9


def _stored() -> list[Resource]:
    kinds = [found for found in resources_by_path().values() if not found.kind.endswith("Review")]
    return [found for found in kinds if found.kind != "Binding"]


def collection(resource: Resource) -> str:
    root = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.version}"
    return root + (f"/namespaces/orc/{resource.plural}" if resource.namespaced else f"/{resource.plural}")


def valid_objects() -> list[dict[str, Any]]:
    """An object of each kind, without a name."""
    found: list[dict[str, Any]] = yaml.safe_load(_VALID)
    return found


def create_valid_objects(store: Store) -> None:
    """Create an object of each kind that is missing, for later requests to change."""
    for manifest in valid_objects():
        body = {"metadata": {"name": "m"}, **manifest}
        path = collection(resource_of(manifest["kind"]))
        answer = handle(store, Request("POST", path, {"content-type": "application/json"}, json.dumps(body)))
        assert answer.status in (201, 409, 403), answer.body


def typed_request(number: int) -> Request:
    chance = random.Random(number)
    resource = chance.choice(_stored())
    method = chance.choice(("POST", "POST", "POST", "PUT", "PATCH", "PATCH", "GET", "DELETE"))
    path = collection(resource)
    name = chance.choice(("m", "m", "m", "fake-1"))
    if method != "POST":
        path += f"/{name}"
        if resource.subresources and chance.random() < 0.3:
            path += f"/{chance.choice(resource.subresources)}"
    query = chance.choice(("", "", "", "?dryRun=All", "?fieldValidation=Strict"))
    content_type = "application/json"
    if method == "PATCH":
        content_type = chance.choice(_PATCHES)
        query = "?fieldManager=m&force=true" if content_type == _PATCHES[2] else query
    body = _object(chance, resource, name, whole=method == "POST" or chance.random() < 0.2)
    headers = {"content-type": content_type, "accept": chance.choice(_ACCEPTED)}
    return Request(method, path + query, headers, json.dumps(body) if method not in ("GET", "DELETE") else "")


_ACCEPTED = (
    "application/json",
    "application/json",
    "application/yaml",
    "application/json;as=Table;g=meta.k8s.io;v=v1",
)


def _object(chance: random.Random, resource: Resource, name: str, *, whole: bool) -> dict[str, Any]:
    """An object; unless `whole`, with few fields."""
    known = is_struct(resource.type_name)
    body = _value(chance, parse_type(resource.type_name), 0 if whole else 1) if known else {"spec": _odd(chance)}
    if not isinstance(body, dict):
        return {"metadata": body}
    metadata = body.get("metadata")
    if not isinstance(metadata, dict) or chance.random() < 0.8:
        metadata = {}
    return {**body, "kind": resource.kind, "apiVersion": resource.api_version, "metadata": {**metadata, "name": name}}


def _odd(chance: random.Random) -> Any:
    return json.loads(json.dumps(chance.choice(_ODD)))


def _value(chance: random.Random, type_: Type, depth: int) -> Any:
    if chance.random() < 0.01:
        return _odd(chance)
    match type_.kind:
        case "struct":
            return _struct(chance, type_.struct, depth)
        case "list":
            return [_value(chance, type_.of, depth + 1) for _ in range(chance.choice((0, 1, 1, 1, 2)))]
        case "map":
            keys = chance.sample(_TEXTS, chance.choice((0, 1, 1, 2)))
            return {key: _value(chance, type_.of, depth + 1) for key in keys}
        case "bool":
            return chance.random() < 0.5
        case "int":
            return chance.choice(_NUMBERS) if chance.random() < 0.5 else chance.choice((1, 2, 80))
        case "Quantity":
            return chance.choice(_QUANTITIES)
        case "Time":
            return chance.choice(_TIMES)
        case "IntOrString":
            return chance.choice(_NUMBERS) if chance.random() < 0.5 else chance.choice(_TEXTS)
        case "raw":
            return _odd(chance)
    return chance.choice(_TIMES) if type_.go_name == "v1.MicroTime" else chance.choice(_TEXTS)


def _struct(chance: random.Random, struct: str, depth: int) -> dict[str, Any]:
    fields = struct_fields(struct)
    likely = 0.9 if depth == 0 else 0.5 if len(fields) < 6 else 3 / len(fields)
    needed = 0.9 if depth == 0 else 0.6
    found = {}
    for name, field in fields.items():
        if depth > _MAX_DEPTH or (depth == 0 and name in ("kind", "apiVersion")):
            continue
        if chance.random() < (likely if field.omit_empty else max(likely, needed)):
            found[name] = _value(chance, field.type, depth + 1)
    return found


_VALID = """
- {kind: Pod, spec: {nodeName: fake-1, containers: [{name: a, image: i, ports: [{containerPort: 80}]}]}}
- {kind: ConfigMap, data: {a: b}}
- {kind: Secret, stringData: {a: b}}
- {kind: Service, spec: {selector: {a: b}, ports: [{port: 80}]}}
- {kind: ReplicationController, spec: {selector: {a: b}, template: &template {metadata: {labels: {a: b}}, spec:
    {containers: [{name: a, image: i}]}}}}
- {kind: Deployment, spec: {selector: &selector {matchLabels: {a: b}}, template: *template}}
- {kind: ReplicaSet, spec: {selector: *selector, template: *template}}
- {kind: DaemonSet, spec: {selector: *selector, template: *template}}
- {kind: StatefulSet, spec: {serviceName: s, selector: *selector, template: *template}}
- {kind: Job, spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: i}]}}}}
- {kind: CronJob, spec: {schedule: "@daily", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers:
    [{name: a, image: i}]}}}}}}
- {kind: PodTemplate, template: {spec: {containers: [{name: a, image: i}]}}}
- {kind: LimitRange, spec: {limits: [{type: Container, max: {cpu: "100"}}]}}
- {kind: ResourceQuota, spec: {hard: {pods: "100", requests.cpu: "100"}}}
- {kind: Endpoints, subsets: [{addresses: [{ip: 10.0.0.1}], ports: [{port: 80}]}]}
- {kind: EndpointSlice, addressType: IPv4, endpoints: [{addresses: [10.0.0.1]}]}
- {kind: PersistentVolumeClaim, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
- {kind: PersistentVolume, spec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, hostPath: {path: /a}}}
- {kind: StorageClass, provisioner: a}
- {kind: VolumeAttributesClass, driverName: a, parameters: {a: b}}
- {kind: VolumeAttachment, spec: {attacher: a, nodeName: n, source: {persistentVolumeName: v}}}
- {kind: CSIDriver, spec: {attachRequired: true}}
- {kind: CSINode, spec: {drivers: [{name: a, nodeID: n}]}}
- {kind: Ingress, spec: {rules: [{host: a, http: {paths: [{pathType: Prefix, path: /, backend: {service: {name: s, port:
    {number: 80}}}}]}}]}}
- {kind: IngressClass, spec: {controller: a.b/c}}
- {kind: NetworkPolicy, spec: {podSelector: {}, ingress: [{from: [{ipBlock: {cidr: 10.0.0.0/8}}], ports:
    [{port: 80}]}]}}
- {kind: HorizontalPodAutoscaler, spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment,
    name: m}}}
- {kind: PodDisruptionBudget, spec: {minAvailable: 1, selector: *selector}}
- {kind: Role, rules: [{verbs: [get], apiGroups: [""], resources: [pods]}]}
- {kind: ClusterRole, rules: [{verbs: [get], nonResourceURLs: [/a]}]}
- {kind: RoleBinding, roleRef: {kind: Role, name: m}, subjects: [{kind: User, name: u}]}
- {kind: ClusterRoleBinding, roleRef: {kind: ClusterRole, name: m}}
- {kind: Lease, spec: {holderIdentity: a, leaseDurationSeconds: 40}}
- {kind: PriorityClass, value: 5}
- {kind: RuntimeClass, handler: a}
- {kind: ResourceClaim, spec: {devices: {requests: [{name: r, exactly: {deviceClassName: m}}]}}}
- {kind: ResourceClaimTemplate, spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: m}}]}}}}
- {kind: DeviceClass, spec: {selectors: [{cel: {expression: "true"}}]}}
- {kind: ResourceSlice, spec: {driver: a, nodeName: n, pool: {name: p, generation: 1, resourceSliceCount: 1}}}
- {kind: ControllerRevision, revision: 1, data: {a: b}}
- {kind: Event, involvedObject: {kind: Pod, namespace: orc, name: m}, reason: R}
- {kind: Node}
- {kind: Namespace}
"""

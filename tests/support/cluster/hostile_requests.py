"""Hostile or random requests, each derived from its number, so that a failure can be repeated."""

from __future__ import annotations

import json
import random
from copy import copy
from typing import Any

from kubesim.cluster.served.rest import Request, handle
from kubesim.cluster.store.store import Store

# A real server also answers these with 500.
KNOWN_ERRORS = (
    "strconv.ParseUint",
    "failed to create typed patch object",
    "resourceVersion should not be set",
    "unknown patch type",
    "merge key",
    "connection refused",
    "target.",
    "list element types are not identical",
    "retainKeys",
    "expected a []",
    "lists of lists",
    "doesn't match $setElementOrder",
    "cannot yet be specified",
)
_METHODS = (*("GET",) * 4, *("POST",) * 6, *("PUT",) * 3, *("PATCH",) * 6, "DELETE", "OPTIONS", "HEAD", "FROB")
_ROOTS = (
    "/api/v1",
    "/apis/apps/v1",
    "/apis/batch/v1",
    "/apis/events.k8s.io/v1",
    "/apis/coordination.k8s.io/v1",
    "/apis/apiextensions.k8s.io/v1",
    "/apis/authorization.k8s.io/v1",
    "/apis/rbac.authorization.k8s.io/v1",
    "/apis/shop.example.com/v1",
    "/apis/nowhere/v1",
    "/api",
    "/apis",
    "/openapi/v3",
    "/openapi/v2",
    "/livez",
    "",
)
_NAMES = (
    "pods",
    "nodes",
    "configmaps",
    "secrets",
    "events",
    "services",
    "namespaces",
    "serviceaccounts",
    "leases",
    "deployments",
    "jobs",
    "customresourcedefinitions",
    "widgets",
    "selfsubjectaccessreviews",
    "roles",
    "frobs",
)
_PLACES = (
    ("/api/v1", "pods", "web"),
    ("/api/v1", "pods", "web"),
    ("/api/v1", "configmaps", "m"),
    ("/api/v1", "nodes", "fake-1"),
    ("/api/v1", "secrets", "s"),
    ("/api/v1", "events", "e"),
    ("/api/v1", "services", "m"),
    ("/api/v1", "namespaces", "orc"),
    ("/api/v1", "serviceaccounts", "default"),
    ("/apis/apps/v1", "deployments", "m"),
    ("/apis/batch/v1", "jobs", "m"),
    ("/apis/events.k8s.io/v1", "events", "e"),
    ("/apis/coordination.k8s.io/v1", "leases", "m"),
    ("/apis/apiextensions.k8s.io/v1", "customresourcedefinitions", "widgets.shop.example.com"),
    ("/apis/shop.example.com/v1", "widgets", "m"),
    ("/apis/rbac.authorization.k8s.io/v1", "roles", "m"),
    ("/apis/authorization.k8s.io/v1", "selfsubjectaccessreviews", ""),
    ("/apis/networking.k8s.io/v1", "ingresses", "m"),
    ("/apis/policy/v1", "poddisruptionbudgets", "m"),
    ("/api/v1", "persistentvolumeclaims", "m"),
)
_CLUSTER = ("nodes", "namespaces", "customresourcedefinitions", "selfsubjectaccessreviews")
_PARTS = (
    "orc",
    "web",
    "m",
    "status",
    "scale",
    "token",
    "eviction",
    "binding",
    "log",
    "exec",
    "resize",
    "proxy",
    "watch",
    "finalize",
    "",
    "..",
    "%2e%2e",
    "%00",
    "a" * 300,
    "näme",
    "ephemeralcontainers",
)
_QUERIES = {
    "limit": ("1", "-1", "x", "99999999999999999999"),
    "continue": ("x", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIvYVx1MDAwMCJ9", "e30", "W10", "bnVsbA"),
    "resourceVersion": ("0", "1", "-1", "x", "1" * 40),
    "resourceVersionMatch": ("Exact", "NotOlderThan", "Nope"),
    "labelSelector": ("a=b", "a in (", "!", "a>b", ",,", "a in (b),c notin (d)"),
    "fieldSelector": ("metadata.name=x", "spec.nodeName!=", "frob=1", "a\\", "=", "metadata.namespace=orc"),
    "watch": ("1", "true", "maybe", "0"),
    "timeoutSeconds": ("1", "-5", "x"),
    "sendInitialEvents": ("true", "false"),
    "dryRun": ("All", "Some", ""),
    "fieldManager": ("m", "", "x" * 200, "a\u0007b"),
    "fieldValidation": ("Strict", "Warn", "Ignore", "Nope"),
    "force": ("true", "x"),
    "gracePeriodSeconds": ("0", "-1", "x"),
    "propagationPolicy": ("Orphan", "Background", "Nope"),
    "includeObject": ("None", "Object", "Nope"),
    "pretty": ("true",),
}
_TYPES = (
    "application/json",
    "application/yaml",
    "application/merge-patch+json",
    "application/json-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "application/vnd.kubernetes.protobuf",
    "text/plain",
    "",
    "application/json; charset=\x00",
)
_ACCEPTS = (
    "application/json",
    "",
    "*/*",
    "application/yaml",
    "text/html",
    "application/json;as=Table;g=meta.k8s.io;v=v1",
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
    ";;;=,,q=x",
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
)
_LEAVES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    1 << 40,
    1 << 80,
    1.5,
    1e300,
    "",
    "x",
    "1Gi",
    "2026-01-01T00:00:00Z",
    "a" * 300,
    "\ud83d",
    "\x00",
    [],
    {},
    "$patch",
    "delete",
)
_FIELDS = (
    "metadata",
    "spec",
    "status",
    "name",
    "namespace",
    "labels",
    "annotations",
    "finalizers",
    "ownerReferences",
    "uid",
    "resourceVersion",
    "managedFields",
    "generateName",
    "containers",
    "image",
    "env",
    "ports",
    "containerPort",
    "replicas",
    "selector",
    "template",
    "matchLabels",
    "data",
    "type",
    "kind",
    "apiVersion",
    "conditions",
    "$patch",
    "$retainKeys",
    "$setElementOrder/containers",
    "$deleteFromPrimitiveList/finalizers",
    "op",
    "path",
    "value",
    "from",
    "group",
    "names",
    "versions",
    "schema",
    "openAPIV3Schema",
    "properties",
    "frob",
    "involvedObject",
    "target",
    "deleteOptions",
    "fieldsV1",
    "resourceAttributes",
    "verb",
    "rules",
)
_OBJECTS: tuple[dict[str, Any], ...] = (
    {
        "metadata": {"name": "web"},
        "spec": {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}]},
    },
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"k": "v"}},
    {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "m"},
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
        },
    },
    {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}},
    {"metadata": {"name": "e"}, "involvedObject": {"namespace": "orc"}, "reason": "R", "type": "Normal"},
    {"gracePeriodSeconds": 0, "preconditions": {"uid": "x"}},
)


def hostile_request(number: int) -> Request:
    chance = random.Random(number)
    method = chance.choice(_METHODS)
    headers = {"accept": chance.choice(_ACCEPTS), "content-type": chance.choice(_TYPES)}
    if chance.random() < 0.7:
        headers["accept"] = "application/json"
    if chance.random() < 0.85:
        headers["content-type"] = _usual_type(chance, method)
    text = _body(chance, method) if method not in ("GET", "HEAD") or chance.random() < 0.1 else ""
    query = _query(chance)
    if headers["content-type"].endswith("apply-patch+yaml") and chance.random() < 0.9:
        query += ("&" if query else "?") + "fieldManager=m&force=true"
    return Request(method, _path(chance, method) + query, headers, text, text.encode(errors="replace"))


def _usual_type(chance: random.Random, method: str) -> str:
    return chance.choice(_TYPES[2:6]) if method == "PATCH" else "application/json"


def _path(chance: random.Random, method: str) -> str:
    if chance.random() < 0.1:
        root, name, scope = chance.choice(_ROOTS), chance.choice(_NAMES), "/namespaces/orc"
        rest = "".join(f"/{chance.choice(_PARTS)}" for _ in range(chance.randint(0, 3)))
        return f"{root}{scope}/{name}{rest}"
    root, name, known = chance.choice(_PLACES)
    scope = "/namespaces/orc" if name not in _CLUSTER and chance.random() < 0.9 else ""
    path = f"{root}{scope}/{name}"
    if chance.random() < {"POST": 0.2, "GET": 0.5}.get(method, 0.95):
        path += f"/{known if chance.random() < 0.9 else chance.choice(_PARTS)}"
        if chance.random() < (0.9 if method == "POST" else 0.25):
            path += f"/{chance.choice(_PARTS)}"
    return path


def _query(chance: random.Random) -> str:
    names = chance.sample(sorted(_QUERIES), chance.choice((0, 0, 0, 0, 0, 1, 1, 2, 3)))
    return "?" + "&".join(f"{name}={chance.choice(_QUERIES[name])}" for name in names) if names else ""


def _body(chance: random.Random, method: str) -> str:
    kind = chance.random()
    if kind < 0.1:
        return chance.choice(
            ("", "{", "[]", "null", "3", '"x"', "[" * 3000, '{"a":' * 3000, "a: [b", "\x00", "- - -", "{]}")
        )
    if kind < 0.3:
        return json.dumps(_value(chance, 0))
    body = json.loads(json.dumps(chance.choice(_OBJECTS)))
    for _ in range(chance.choice((0, 1, 1, 2, 4))):
        _spoil(chance, body)
    if method == "PATCH" and chance.random() < 0.3:
        operations = ("add", "remove", "replace", "move", "copy", "test", "frob")
        paths = (
            "/metadata/labels/a",
            "/spec/containers/0/image",
            "/spec/containers/-",
            "",
            "/x",
            "/metadata",
            "/data/k",
        )
        return json.dumps(
            [
                {
                    "op": chance.choice(operations),
                    "path": chance.choice(paths),
                    "from": "/spec",
                    "value": _value(chance, 2),
                }
                for _ in range(chance.randint(1, 3))
            ]
        )
    return json.dumps(body)


def _value(chance: random.Random, depth: int) -> Any:
    kind = chance.random()
    if depth > 4 or kind < 0.4:
        return copy(chance.choice(_LEAVES))
    if kind < 0.6:
        return [_value(chance, depth + 1) for _ in range(chance.randint(0, 3))]
    return {chance.choice(_FIELDS): _value(chance, depth + 1) for _ in range(chance.randint(0, 4))}


def _spoil(chance: random.Random, value: Any) -> None:
    """Mutate one part, in place."""
    while True:
        keys: list[Any] = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys or chance.random() < 0.4:
            break
        key = chance.choice(keys)
        if not isinstance(value[key], dict | list):
            value[key] = _value(chance, 3)
            return
        value = value[key]
    if isinstance(value, dict):
        value[chance.choice(_FIELDS)] = _value(chance, 2)
    else:
        value.append(_value(chance, 2))


def set_up_node(store: Store) -> None:
    """Restore objects that earlier requests deleted."""
    for path, body in _FURNITURE:
        text = json.dumps(body)
        handle(store, Request("POST", path, {"content-type": "application/json"}, text))


_FURNITURE: tuple[tuple[str, dict[str, Any]], ...] = (
    ("/api/v1/namespaces", {"metadata": {"name": "orc"}}),
    ("/api/v1/namespaces/orc/serviceaccounts", {"metadata": {"name": "default"}}),
    ("/api/v1/namespaces/orc/pods", {**_OBJECTS[0], "spec": {**_OBJECTS[0]["spec"], "nodeName": "fake-1"}}),
    ("/api/v1/namespaces/orc/configmaps", _OBJECTS[1]),
    ("/apis/apps/v1/namespaces/orc/deployments", _OBJECTS[2]),
    ("/api/v1/namespaces/orc/events", _OBJECTS[4]),
    ("/api/v1/namespaces/orc/services", {"metadata": {"name": "m"}, "spec": {"ports": [{"port": 80}]}}),
    ("/api/v1/namespaces/orc/secrets", {"metadata": {"name": "s"}, "stringData": {"k": "v"}}),
    (
        "/apis/coordination.k8s.io/v1/namespaces/orc/leases",
        {"metadata": {"name": "m"}, "spec": {"holderIdentity": "h"}},
    ),
    (
        "/apis/networking.k8s.io/v1/namespaces/orc/ingresses",
        {"metadata": {"name": "m"}, "spec": {"rules": [{"host": "a"}]}},
    ),
    (
        "/apis/rbac.authorization.k8s.io/v1/namespaces/orc/roles",
        {"metadata": {"name": "m"}, "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]},
    ),
    ("/apis/policy/v1/namespaces/orc/poddisruptionbudgets", {"metadata": {"name": "m"}, "spec": {"minAvailable": 1}}),
    (
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        {
            "metadata": {"name": "widgets.shop.example.com"},
            "spec": {
                "group": "shop.example.com",
                "names": {"plural": "widgets", "kind": "Widget"},
                "scope": "Namespaced",
                "versions": [
                    {
                        "name": "v1",
                        "served": True,
                        "storage": True,
                        "subresources": {"status": {}},
                        "schema": {
                            "openAPIV3Schema": {
                                "type": "object",
                                "properties": {
                                    "spec": {
                                        "type": "object",
                                        "properties": {
                                            "replicas": {"type": "integer", "default": 1, "minimum": 0},
                                            "env": {"type": "array", "items": {"type": "string"}},
                                        },
                                    }
                                },
                            }
                        },
                    }
                ],
            },
        },
    ),
    ("/apis/shop.example.com/v1/namespaces/orc/widgets", {"metadata": {"name": "m"}, "spec": {"replicas": 2}}),
)

"""The paths of an OpenAPI document, with the methods, kind and parameters of each.

Mirrors: apiserver/pkg/endpoints installer.go (routes and their documentation)
"""

from __future__ import annotations

from typing import Any

from kubesim.cluster.store.api_groups import ApiResource

Json = dict[str, Any]

_BODIES = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf")
_PATCHES = (
    "application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json",
    "application/strategic-merge-patch+json",
)  # fmt: skip
_LIST = (
    ("allowWatchBookmarks", "boolean"), ("continue", "string"), ("fieldSelector", "string"),
    ("labelSelector", "string"), ("limit", "integer"), ("resourceVersion", "string"),
    ("resourceVersionMatch", "string"), ("sendInitialEvents", "boolean"),
    ("timeoutSeconds", "integer"), ("watch", "boolean"),
)  # fmt: skip
_WRITE = (("dryRun", "string"), ("fieldManager", "string"), ("fieldValidation", "string"))
_DELETE = (
    ("dryRun", "string"), ("gracePeriodSeconds", "integer"), ("orphanDependents", "boolean"),
    ("propagationPolicy", "string"),
)  # fmt: skip
# verb: method, action, prefix of the operation id, parameters
_ONE = {
    "get": ("get", "get", "read", ()),
    "update": ("put", "put", "replace", _WRITE),
    "delete": ("delete", "delete", "delete", _DELETE),
    "patch": ("patch", "patch", "patch", (*_WRITE, ("force", "boolean"))),
}
_ALL = {
    "list": ("get", "list", "list", _LIST),
    "create": ("post", "post", "create", _WRITE),
    "deletecollection": ("delete", "deletecollection", "deleteCollection", (*_LIST, *_DELETE)),
}


def paths_of(root: str, resources: tuple[ApiResource, ...], names: dict[str, str]) -> dict[str, Json]:
    found: dict[str, Json] = {f"/{root}/": {"get": {"description": "The resources of this group and version."}}}
    for resource in resources:
        schema = names[resource.plural]
        base = (
            f"/{root}/namespaces/{{namespace}}/{resource.plural}"
            if resource.namespaced
            else f"/{root}/{resource.plural}"
        )
        if resource.namespaced and "list" in resource.verbs:
            found[f"/{root}/{resource.plural}"] = _item(resource, schema, {"list": _ALL["list"]}, "", False, False)
        found[base] = _item(resource, schema, _ALL, "", resource.namespaced, False)
        found[f"{base}/{{name}}"] = _item(resource, schema, _ONE, "", resource.namespaced, True)
        for each in resource.subresources:
            table = {verb: _ONE[verb] for verb in each.verbs if verb in _ONE}
            if "create" in each.verbs:
                table["create"] = _ALL["create"]
            found[f"{base}/{{name}}/{each.name}"] = _item(resource, schema, table, each.name, resource.namespaced, True)
    return {path: item for path, item in sorted(found.items()) if item}


def _parameter(name: str, kind: str, location: str = "query") -> Json:
    schema = {"type": kind, "uniqueItems": True}
    described = f"The option {name}." if location == "query" else f"The {name} of the object."
    return {"name": name, "in": location, "description": described, "schema": schema} | (
        {"required": True} if location == "path" else {}
    )


def _item(resource: ApiResource, schema: str, table: Any, subresource: str, in_namespace: bool, named: bool) -> Json:
    item: Json = {}
    for verb, (method, action, begin, parameters) in table.items():
        if subresource or verb in resource.verbs:
            item[method] = _operation(resource, schema, method, action, begin, parameters, subresource)
    if not item:
        return {}
    path_parameters = [name for name, wanted in (("name", named), ("namespace", in_namespace)) if wanted]
    item["parameters"] = [_parameter(name, "string", "path") for name in path_parameters] + [
        _parameter("pretty", "string")
    ]
    return item


def _operation(
    resource: ApiResource, schema: str, method: str, action: str, begin: str, parameters: Any, subresource: str
) -> Json:
    group = "".join(part.capitalize() for part in (resource.group.partition(".")[0] or "core").split("-"))
    version = resource.version.capitalize()
    scope = "Namespaced" if resource.namespaced else ""
    kind = f"{resource.kind}{subresource.capitalize()}"
    shown = f"{schema}List" if action == "list" else schema
    reference = {"schema": {"$ref": f"#/components/schemas/{shown}"}}
    operation: Json = {
        "description": f"{begin} objects of the kind {resource.kind}",
        "operationId": f"{begin}{group}{version}{scope}{kind}",
        "parameters": [_parameter(name, kind_) for name, kind_ in parameters],
        "responses": {"200": {"description": "OK", "content": dict.fromkeys(_BODIES, reference)}},
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": {
            "group": resource.group, "kind": resource.kind, "version": resource.version,
        },
    }  # fmt: skip
    if method in ("post", "put"):
        operation["requestBody"] = {"content": {"*/*": reference}, "required": True}
    elif method == "patch":
        patch = {"schema": {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.Patch"}}
        operation["requestBody"] = {"content": dict.fromkeys(_PATCHES, patch), "required": True}
    return operation

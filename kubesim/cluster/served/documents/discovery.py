"""What a server tells about itself: its version, its groups, the kinds in them, and that it is well.

As much as clients ask for before they talk about objects. Not here: aggregated discovery and OpenAPI.

Mirrors: apiserver/pkg/endpoints/discovery (root.go, group.go, version.go), installer.go (verbs), pkg/server/healthz;
pkg/server/routes/version.go
"""

from __future__ import annotations

from typing import Any

from kubesim.cluster.served.routes import BINDINGS, methods_of
from kubesim.cluster.store.kinds import BY_PATH, Resource

GIT_VERSION = "v1.36.4"
_MAJOR, _MINOR = GIT_VERSION.removeprefix("v").split(".")[:2]
_HEALTH = ("/healthz", "/livez", "/readyz")
_GROUPS = tuple(dict.fromkeys(group for group, _ in BY_PATH if group))
_VERBS = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
# What a subresource takes, where that is not the object itself.
_KINDS = {
    "binding": {"kind": "Binding"},
    "eviction": {"group": "policy", "version": "v1", "kind": "Eviction"},
}


def discover(path: str, address: str) -> dict[str, Any] | str | None:
    """The answer to a GET of a path that is about no object: JSON, or a text; None if it is no such path."""
    path = path.rstrip("/")
    if path in _HEALTH or path in tuple(f"{check}/ping" for check in _HEALTH):
        return "ok"
    match path.split("/")[1:]:
        case ["version"]:
            return _version()
        case ["api"]:
            addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]
            return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses}
        case ["api", "v1"]:
            return {"kind": "APIResourceList", "groupVersion": "v1", "resources": _resources("")}
        case ["apis"]:
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(name) for name in _GROUPS]}
        case ["apis", group] if group in _GROUPS:
            return {"kind": "APIGroup", "apiVersion": "v1"} | _group(group)
        case ["apis", group, "v1"] if group in _GROUPS:
            version = f"{group}/v1"
            kind = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version}
            return kind | {"resources": _resources(group)}
    return None


def _version() -> dict[str, str]:
    return {
        "major": _MAJOR,
        "minor": _MINOR,
        "emulationMajor": _MAJOR,
        "emulationMinor": _MINOR,
        "minCompatibilityMajor": _MAJOR,
        "minCompatibilityMinor": str(int(_MINOR) - 1),
        "gitVersion": GIT_VERSION,
        "gitCommit": "kubesim",
        "gitTreeState": "clean",
        "buildDate": "2026-01-01T00:00:00Z",
        "goVersion": "none",
        "compiler": "none",
        "platform": "linux/amd64",
    }


def _group(name: str) -> dict[str, Any]:
    version = {"groupVersion": f"{name}/v1", "version": "v1"}
    return {"name": name, "versions": [version], "preferredVersion": version}


def _resources(group: str) -> list[dict[str, Any]]:
    """By name, each followed by its subresources."""
    found = [resource for (of, _), resource in BY_PATH.items() if of == group]
    if not group:
        found.append(BINDINGS)
    entries = [entry for resource in found for entry in _entries(resource)]
    return sorted(entries, key=lambda entry: str(entry["name"]))


def _entries(resource: Resource) -> list[dict[str, Any]]:
    names: dict[str, Any] = {"name": resource.plural, "singularName": resource.kind.lower()}
    entry = names | {"namespaced": resource.namespaced, "kind": resource.kind, "verbs": _verbs(resource)}
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    return [entry, *(_subresource(resource, name) for name in resource.subresources)]


def _subresource(resource: Resource, name: str) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": f"{resource.plural}/{name}", "singularName": "", "namespaced": resource.namespaced}
    verbs = sorted(_VERBS[method] for method in methods_of(resource, "one", name))
    return entry | _KINDS.get(name, {"kind": resource.kind}) | {"verbs": verbs}


def _verbs(resource: Resource) -> list[str]:
    if resource is BINDINGS:
        return ["create"]
    verbs = {_VERBS[method] for method in methods_of(resource, "one")} | {"create", "list", "watch"}
    if "DELETE" in methods_of(resource, "all"):
        verbs.add("deletecollection")
    return sorted(verbs)

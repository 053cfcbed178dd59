"""Discovery: API groups, their versions and resources, as separate documents or aggregated in one.

Mirrors: apiserver/pkg/endpoints/discovery (root.go, group.go, version.go, storageversionhash.go, aggregated)
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from typing import Any

from kubesim.cluster.store.api_groups import ApiResource, Subresource, api_resources
from kubesim.golang.json import dumps_in_order

JsonObject = dict[str, Any]
Groups = Mapping[str, tuple[ApiResource, ...]]

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_STORED_ELSEWHERE = {
    ("events.k8s.io", "Event"): "/v1/Event",
    ("autoscaling", "HorizontalPodAutoscaler"): "autoscaling/v2",
}


def groups_of(custom: Groups) -> Groups:
    """All groups and versions, those of custom resources last."""
    return {**api_resources(), **custom}


def _by_group(groups: Groups) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for group_version in groups:
        group, _, version = group_version.rpartition("/")
        if group:
            found.setdefault(group, []).append(version)
    return found


def api_versions(address: str) -> JsonObject:
    addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses}


def group_list(groups: Groups) -> JsonObject:
    found = [_group(name, versions) for name, versions in _by_group(groups).items()]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": found}


def one_group(groups: Groups, name: str) -> JsonObject | None:
    versions = _by_group(groups).get(name)
    return None if versions is None else {"kind": "APIGroup", "apiVersion": "v1"} | _group(name, versions)


def _group(name: str, versions: list[str]) -> JsonObject:
    found = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": found, "preferredVersion": found[0]}


def resource_list(groups: Groups, group_version: str) -> JsonObject | None:
    resources = groups.get(group_version)
    if resources is None:
        return None
    entries = [entry for resource in resources for entry in _entries(resource)]
    head: JsonObject = {"kind": "APIResourceList"} | ({"apiVersion": "v1"} if "/" in group_version else {})
    return head | {"groupVersion": group_version, "resources": sorted(entries, key=lambda entry: str(entry["name"]))}


def _entries(resource: ApiResource) -> list[JsonObject]:
    entry: JsonObject = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    if "watch" in resource.verbs:
        entry["storageVersionHash"] = _storage_hash(resource)
    return [entry, *(_sub_entry(resource, each) for each in resource.subresources)]


def _storage_hash(resource: ApiResource) -> str:
    kept = _STORED_ELSEWHERE.get((resource.group, resource.kind))
    named = f"{resource.group}/{resource.version}/{resource.kind}"
    if kept is not None:
        named = kept if kept.startswith("/") else f"{kept}/{resource.kind}"
    return base64.b64encode(hashlib.sha256(named.encode()).digest()[:8]).decode()


def _sub_entry(resource: ApiResource, each: Subresource) -> JsonObject:
    entry: JsonObject = {
        "name": f"{resource.plural}/{each.name}",
        "singularName": "",
        "namespaced": resource.namespaced,
    }
    group, version, kind = _parts(each.kind)
    if version:
        entry |= {"group": group, "version": version}
    return entry | {"kind": kind, "verbs": list(each.verbs)}


def _parts(kind: str) -> tuple[str, str, str]:
    *group_version, name = kind.split("/")
    group, version = group_version if len(group_version) == 2 else ("", "")
    return group, version, name


# -- aggregated -------------------------------------------------------------------------------------------------------


def aggregated(groups: Groups, *, legacy: bool) -> JsonObject:
    """The aggregated document: of the core group, or of all other groups."""
    items = []
    named = {"": ["v1"]} if legacy else _by_group(groups)
    for name, versions in named.items():
        listed = []
        for version in versions:
            resources = groups[f"{name}/{version}" if name else version]
            shown = [_aggregated_resource(each) for each in sorted(resources, key=lambda each: each.plural)]
            listed.append({"version": version, "resources": shown, "freshness": "Current"})
        items.append({"metadata": {"name": name} if name else {}, "versions": listed})
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}


def _response_kind(kind: str) -> JsonObject:
    group, version, name = _parts(kind)
    return {"group": group, "version": version, "kind": name}


def _aggregated_resource(resource: ApiResource) -> JsonObject:
    entry: JsonObject = {
        "resource": resource.plural,
        "responseKind": _response_kind(resource.kind),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    if resource.subresources:
        entry["subresources"] = [
            {"subresource": each.name, "responseKind": _response_kind(each.kind), "verbs": list(each.verbs)}
            for each in resource.subresources
        ]
    return entry


def etag(body: JsonObject) -> str:
    return '"' + hashlib.sha512(dumps_in_order(body).encode()).hexdigest().upper() + '"'

"""Routes of the API: path -> kind, object, subresource, allowed methods."""

from __future__ import annotations

from typing import Literal

from kubesim.cluster.custom.definitions import custom_groups, custom_resource, is_custom_group
from kubesim.cluster.problems import method_not_allowed, no_such_resource
from kubesim.cluster.registry.registry import Target
from kubesim.cluster.store.api_groups import resources_by_path, subresources_of, verbs_of
from kubesim.cluster.store.kinds import RESOURCES, Resource
from kubesim.cluster.store.store import Store
from kubesim.values import value_object

_GROUPS = {group for group, _, _ in resources_by_path()}
# The methods of each verb: on one object, and on a collection.
_ONE = {"get": "GET", "update": "PUT", "patch": "PATCH", "delete": "DELETE"}
_ALL = {"list": "GET", "create": "POST", "deletecollection": "DELETE"}
BINDINGS = Resource("Binding", "bindings")

Scope = Literal["one", "all", "everywhere"]


class UnknownPath(LookupError):
    """A path outside the known API groups: a plain `404 page not found`."""


@value_object
class ApiRoute:
    """A resolved API path. `namespace` None means all namespaces. `watch` marks the deprecated `/api/v1/watch/...`."""

    target: Target
    namespace: str | None
    watch: bool = False


class _Finder:
    """Finds resources of one group and version, custom resources included."""

    def __init__(self, store: Store, group: str, version: str) -> None:
        self._store, self.group, self._version = store, group, version

    def resource(self, plural: str) -> Resource | None:
        found = resources_by_path().get((self.group, self._version, plural))
        return found or custom_resource(self._store, self.group, self._version, plural)


def route(method: str, path: str, store: Store) -> ApiRoute:
    """Resolve the method and path of a request; raises 404 and 405."""
    parts = [part for part in path.split("/") if part]
    blank_namespace = "/namespaces//" in path
    finder, rest = _group(parts, store)
    watch = bool(rest) and rest[0] == "watch"
    rest = rest[1:] if watch else rest
    found = _find(finder, rest, blank_namespace)
    _check_method(method, found)
    return ApiRoute(found.target, found.namespace, watch)


def _group(parts: list[str], store: Store) -> tuple[_Finder, list[str]]:
    if len(parts) > 2 and parts[0] == "api":
        if parts[1] != "v1":
            raise no_such_resource()
        return _Finder(store, "", "v1"), parts[2:]
    if len(parts) > 3 and parts[0] == "apis" and (parts[1] in _GROUPS or is_custom_group(store, parts[1])):
        known = {f"{group}/{version}" for group, version, _ in resources_by_path()} | set(custom_groups(store))
        if f"{parts[1]}/{parts[2]}" not in known:
            raise no_such_resource()
        return _Finder(store, parts[1], parts[2]), parts[3:]
    raise UnknownPath("/".join(parts))


def _find(finder: _Finder, rest: list[str], blank_namespace: bool) -> ApiRoute:
    """Resolve `pods`, `namespaces/NS/pods/NAME/SUB`, `nodes/NAME/SUB`, and namespaces themselves."""
    if not rest:
        raise no_such_resource()
    group = finder.group
    if rest[0] == "namespaces" and not group and not blank_namespace and len(rest) <= 2:
        return _named(RESOURCES["Namespace"], None, rest[1:])
    if rest[0] == "namespaces" and not group and len(rest) == 3 and rest[2] in RESOURCES["Namespace"].subresources:
        return _named(RESOURCES["Namespace"], None, rest[1:])
    if rest[0] == "namespaces" and blank_namespace:
        return _named(_resource(finder, rest[1], namespaced=True), None, rest[2:])
    if rest[0] == "namespaces" and len(rest) >= 3:
        if (group, rest[2]) == ("", "bindings") and len(rest) == 3:
            return ApiRoute(Target(BINDINGS, rest[1]), rest[1])
        return _named(_resource(finder, rest[2], namespaced=True), rest[1], rest[3:])
    resource = finder.resource(rest[0])
    if resource is None or (resource.namespaced and len(rest) > 1):
        raise no_such_resource()
    return _named(resource, None, rest[1:])


def _resource(finder: _Finder, plural: str, *, namespaced: bool) -> Resource:
    resource = finder.resource(plural)
    if resource is None or resource.namespaced != namespaced:
        raise no_such_resource()
    return resource


def _named(resource: Resource, namespace: str | None, rest: list[str]) -> ApiRoute:
    known = _subresources(resource)
    if (len(rest) > 2 and rest[1] != "proxy") or (len(rest) >= 2 and rest[1] not in known):
        raise no_such_resource()
    name, subresource = (*rest, "", "")[:2]
    return ApiRoute(Target(resource, namespace or "", name, subresource), namespace)


def _subresources(resource: Resource) -> tuple[str, ...]:
    """The subresources of a resource: from the API's table, or from the definition of a custom resource."""
    listed = subresources_of(resource.group, resource.version, resource.plural)
    return (*listed, *resource.subresources)


def _check_method(method: str, found: ApiRoute) -> None:
    target = found.target
    if target.name:
        scope: Scope = "one"
    else:
        scope = "everywhere" if target.resource.namespaced and found.namespace is None else "all"
    allowed = methods_of(target.resource, scope, target.subresource)
    if not allowed:  # no such path: the kind can only be created
        raise no_such_resource()
    if method not in allowed:
        raise method_not_allowed()


def methods_of(resource: Resource, scope: Scope, subresource: str = "") -> tuple[str, ...]:
    """The allowed methods of one object, of a collection, and of a collection in all namespaces."""
    found = verbs_of(resource.group, resource.version, resource.plural, subresource)
    if subresource:
        return tuple(method for verb, method in {**_ONE, "create": "POST"}.items() if verb in found)
    if scope == "everywhere":
        return ("GET",) if "list" in found else ()
    return tuple(method for verb, method in (_ONE if scope == "one" else _ALL).items() if verb in found)

"""From a request's body to a stored object: create, update, patch, delete.

Each write runs these steps: decode, default, admit, reset read-only fields, validate, compare, store. A write that
changes nothing keeps the resource version and triggers no watch event.

Mirrors: apiserver/pkg/registry/generic/registry store.go Create, Update; pkg/endpoints/handlers create.go, patch.go
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kubesim.api.meta import ApiObject
from kubesim.api.timestamps import format_time
from kubesim.api.validation.field import Errors, FieldError, JsonObject
from kubesim.cluster.problems import (
    MODIFIED,
    already_exists,
    bad_request,
    conflict,
    internal_error,
    invalid,
    invalid_object,
    not_found,
    precondition_failed,
    unsupported_media_type,
)
from kubesim.cluster.registry.admission import (
    admit_namespace,
    admit_new_node,
    admit_new_pod,
    admit_new_priority_class,
    admit_pod_resize,
    admit_pod_update,
    check_limits_and_quotas,
)
from kubesim.cluster.registry.bodies.patching import JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, patched_object
from kubesim.cluster.registry.bodies.reading import read_body
from kubesim.cluster.registry.deletion import DeleteOptions
from kubesim.cluster.registry.metadata_updates import keep_system_fields, validate_object_meta_update
from kubesim.cluster.registry.new_pods.security import admit_pod_security
from kubesim.cluster.registry.new_pods.warnings import pod_warnings, template_of
from kubesim.cluster.registry.strategies import internal_of, prepare_for_create, strategy_of, validate_create
from kubesim.cluster.store.kinds import DEFINITION, Resource
from kubesim.cluster.store.store import Store
from kubesim.cluster.wire import encoded_fields, shown_as
from kubesim.errors import ApiError
from kubesim.values import value_object

if TYPE_CHECKING:  # without a field manager: simulated components
    from kubesim.cluster.managed.managers import Entry, FieldWriter

_SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_NAME_MAX = 63
_SUFFIX_LENGTH = 5
_SET_BY_THE_SERVER = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation",
                      "selfLink")  # fmt: skip

Warn = Callable[[str], None]


def _ignore_warnings(text: str) -> None:
    """Discard a warning."""


@value_object
class Target:
    """The object that a request names. `name` is empty for a collection, `namespace` for cluster-scoped kinds."""

    resource: Resource
    namespace: str = ""
    name: str = ""
    subresource: str = ""


# -- create ---------------------------------------------------------------------------------------------------------


def create(
    store: Store,
    target: Target,
    body: JsonObject,
    *,
    dry_run: bool = False,
    manager: str = "",
    warn: Warn = _ignore_warnings,
) -> ApiObject:
    """Create an object. Without a manager, no managed fields are recorded."""
    obj = read_body(target.resource, body)
    for name in _SET_BY_THE_SERVER:
        obj["metadata"].pop(name, None)
    if manager:
        from kubesim.cluster.managed.tracking import track_create

        track_create(_writer(store, target, manager), target.resource, obj)
    else:
        obj["metadata"].pop("managedFields", None)
    return _create(store, target, obj, dry_run, warn)


def _writer(store: Store, target: Target, manager: str) -> FieldWriter:
    from kubesim.cluster.managed.tracking import writer

    return writer(target.resource, target.subresource, manager, format_time(store.now()))


def _create(store: Store, target: Target, obj: JsonObject, dry_run: bool, warn: Warn = _ignore_warnings) -> ApiObject:
    resource, metadata = target.resource, obj["metadata"]
    if resource.namespaced:
        if metadata.get("namespace", target.namespace) != target.namespace:
            raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
        metadata["namespace"] = target.namespace
    else:
        metadata.pop("namespace", None)
    if metadata.get("generateName") and not metadata.get("name"):
        metadata["name"] = generate_name(store, target, metadata["generateName"])
    if resource.namespaced:
        admit_namespace(store, resource, target.namespace, metadata.get("name", ""))
    complete(store, resource, obj)
    errors = validate_create(resource, obj)
    if errors:
        raise invalid_object(resource, metadata.get("name", ""), errors)
    if warn is not _ignore_warnings or resource.kind == "Pod":
        _warn(store, resource, obj, warn)
    charge = check_limits_and_quotas(store, resource, obj)
    _check_not_terminating(store, target, metadata["name"])
    if not dry_run and store.find(resource.kind, metadata.get("namespace", ""), metadata["name"]) is None:
        charge()
    created = store.create(resource.model.from_json(obj), dry_run=dry_run)
    return _establish(store, created) if resource.kind == DEFINITION and not dry_run else created


def _warn(store: Store, resource: Resource, obj: JsonObject, warn: Warn) -> None:
    """Emit warnings about a new object that runs pods. The namespace's Pod Security level may reject a pod."""
    if resource.kind == "Pod":
        for text in pod_warnings(obj) if warn is not _ignore_warnings else ():
            warn(text)
        admit_pod_security(store, obj["metadata"]["namespace"], obj, warn)
    elif resource.kind == DEFINITION:
        from kubesim.cluster.custom.definitions import has_cel_rules

        if has_cel_rules(obj.get("spec")):
            warn("x-kubernetes-validations: kubesim stores these rules and does not evaluate them")
    else:
        path, template = template_of(resource.kind, obj)
        for text in pod_warnings(template, path) if template else ():
            warn(text)


def _establish(store: Store, definition: ApiObject) -> ApiObject:
    """Accept the names of a new CustomResourceDefinition in a second write. The client gets the earlier object."""
    from kubesim.cluster.custom.definitions import established  # imported late: most runs have no definitions

    status = established({**definition.extra}, format_time(store.now()))
    store.write(definition, definition.with_extra({**definition.extra, "status": status}))
    return definition


def complete(store: Store, resource: Resource, obj: JsonObject) -> None:
    """Apply admission and the kind's own rules to a new object before validation, in place."""
    if resource.kind == "Pod":
        admit_new_pod(store, obj, lambda: _suffix(store))
    elif resource.kind == "Node":
        admit_new_node(obj)
    elif resource.kind == "PriorityClass":
        admit_new_priority_class(store, obj)
    elif resource.kind == "Service":
        _allocate(store, obj, None)
    elif resource.kind in ("PersistentVolumeClaim", "PersistentVolume"):
        from kubesim.cluster.registry.storage.claim_admission import admit_new_storage  # most runs have no claims

        admit_new_storage(store, obj)
    if obj["metadata"].get("resourceVersion"):
        raise internal_error("resourceVersion should not be set on objects to be created")
    if resource.kind == "Job":  # its selector contains its uid
        obj["metadata"]["uid"] = store.new_uid()
    prepare_for_create(resource, obj, format_time(store.now()))


def _check_not_terminating(store: Store, target: Target, name: str) -> None:
    existing = store.find(target.resource.kind, target.namespace, name)
    if existing is not None and existing.metadata.deletion_timestamp is not None:
        error = already_exists(target.resource, name)
        raise ApiError(error.code, error.reason, f"object is being deleted: {error.message}", error.details)


def generate_name(store: Store, target: Target, prefix: str) -> str:
    while True:
        name = prefix[: _NAME_MAX - _SUFFIX_LENGTH] + _suffix(store)
        if store.find(target.resource.kind, target.namespace, name) is None:
            return name


def _suffix(store: Store) -> str:
    """Five random letters, from the source of the uids."""
    number = int.from_bytes(hashlib.sha256(store.new_uid().encode()).digest()[:8], "big")
    letters = []
    for _ in range(_SUFFIX_LENGTH):
        number, letter = divmod(number, len(_SUFFIX_LETTERS))
        letters.append(_SUFFIX_LETTERS[letter])
    return "".join(letters)


# -- update ---------------------------------------------------------------------------------------------------------


def update(
    store: Store, target: Target, body: JsonObject, *, dry_run: bool = False, manager: str = ""
) -> tuple[ApiObject, bool]:
    """PUT: returns the stored object, and whether it was created."""
    resource, new = target.resource, read_body(target.resource, body)
    _check_name(target, new)
    old = store.find(resource.kind, target.namespace, target.name)
    if old is None:
        if resource.put_creates and not target.subresource:
            metadata = {name: value for name, value in new["metadata"].items() if name != "resourceVersion"}
            return create(store, target, {**body, "metadata": metadata}, dry_run=dry_run, manager=manager), True
        raise not_found(resource, target.name)
    uid = new["metadata"].get("uid")
    if uid and uid != old.metadata.uid:
        raise precondition_failed(resource, target.namespace, target.name, uid, old.metadata.uid)
    return _replace(store, target, old, new, dry_run, manager), False


def _check_name(target: Target, new: JsonObject) -> None:
    """The object in the body must match the path."""
    name, namespace = new["metadata"].get("name", ""), new["metadata"].get("namespace", "")
    if not name:
        problem = f"the name of the object ({target.name} based on URL) was undeterminable: name must be provided"
        raise bad_request(problem)
    if name != target.name:
        raise bad_request(f"the name of the object ({name}) does not match the name on the URL ({target.name})")
    if not target.resource.namespaced:
        new["metadata"].pop("namespace", None)
        return
    if namespace and namespace != target.namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    new["metadata"]["namespace"] = target.namespace


def _as_sent(resource: Resource, obj: JsonObject) -> JsonObject:
    """The object with the kind and version of the request."""
    return {**obj, "kind": resource.kind_name, "apiVersion": resource.api_version}


def _replace(
    store: Store,
    target: Target,
    current: ApiObject,
    new: JsonObject,
    dry_run: bool,
    manager: str = "",
    applied: list[Entry] | None = None,
) -> ApiObject:
    """Validate and store the new state of an object, if it changed. `applied` are the managed fields of an apply."""
    resource, metadata = target.resource, new["metadata"]
    old = {**internal_of(resource, current), "kind": resource.kind, "apiVersion": new.get("apiVersion", "")}
    _check_version(target, metadata, current)
    if applied is not None:
        entries = applied
    elif manager:
        from kubesim.cluster.managed.tracking import track_update

        entries = track_update(_writer(store, target, manager), resource, new, old)
    else:
        entries = list(old["metadata"].get("managedFields") or ())
    if resource.kind == "Pod" and not target.subresource:
        admit_pod_update(new, old)
    elif resource.kind == "Service" and not target.subresource:
        _allocate(store, new, old)
    elif resource.kind == "PersistentVolumeClaim" and not target.subresource:
        from kubesim.cluster.registry.storage.claim_admission import admit_claim_update

        admit_claim_update(store, new, old)
    keep_system_fields(metadata, old["metadata"])
    strategy = strategy_of(resource, target.subresource)
    strategy.prepare(new, old)
    metadata = new["metadata"]
    errors = Errors()
    validate_object_meta_update(errors, metadata, old["metadata"])
    strategy.validate(errors, new, old)
    if errors:
        raise invalid_object(resource, target.name, errors)
    if target.subresource == "resize":
        admit_pod_resize(store, new, old)
    charge = check_limits_and_quotas(store, resource, new, current, target.subresource)
    if _is_unchanged(resource, new, old, entries):
        return current
    if entries:
        metadata["managedFields"] = entries
    obj = resource.model.from_json(new)
    if dry_run:
        return obj
    charge()
    return store.write(current, obj)


def _is_unchanged(resource: Resource, new: JsonObject, old: JsonObject, entries: list[Entry]) -> bool:
    """Whether at most the times of managed fields changed."""
    known = list(old["metadata"].pop("managedFields", None) or ())
    if encoded_fields(resource, new) != encoded_fields(resource, old):
        return False
    if entries == known:
        return True
    from kubesim.cluster.managed.managers import same_but_for_times

    return same_but_for_times(entries, known)


def _allocate(store: Store, service: JsonObject, old: JsonObject | None) -> None:
    """Allocate the addresses and ports of a Service, in place. Imported late: most runs have no Service."""
    from kubesim.cluster.registry.services.cluster_ips import allocate_cluster_ips
    from kubesim.cluster.registry.services.node_ports import allocate_node_ports

    allocate_cluster_ips(store, service, old)
    allocate_node_ports(store, service, old)


def _check_version(target: Target, metadata: JsonObject, current: ApiObject) -> None:
    """Optimistic concurrency: a write that names a resource version fails if the object has another."""
    version = metadata.get("resourceVersion", "")
    if version and not version.isdigit():
        raise internal_error(f'strconv.ParseUint: parsing "{version}": invalid syntax')
    if not version or int(version) == 0:
        if target.resource.put_needs_version:
            problem = FieldError("Invalid value", "metadata.resourceVersion", 0, "must be specified for an update")
            resource = target.resource
            raise invalid(resource.group, resource.plural, target.name, (problem,))
        metadata["resourceVersion"] = current.metadata.resource_version
    elif version != current.metadata.resource_version:
        raise conflict(target.resource, target.name, MODIFIED)


# -- patch ----------------------------------------------------------------------------------------------------------


def patch(
    store: Store,
    target: Target,
    content_type: str,
    body: Any,
    *,
    dry_run: bool = False,
    strict: bool = False,
    manager: str = "",
    repeated: Sequence[str] = (),
) -> tuple[ApiObject, list[str]]:
    """PATCH: returns the stored object and its unknown fields. `repeated` are the duplicate fields of the body."""
    if content_type not in (MERGE_PATCH, JSON_PATCH, STRATEGIC_MERGE_PATCH):
        raise unsupported_media_type()
    current = store.get(target.resource.kind, target.namespace, target.name)
    new, unknown = patched_object(
        target.resource, shown_as(target.resource, current), content_type, body, repeated if strict else None
    )
    _check_name(target, new)
    return _replace(store, target, current, new, dry_run, manager), unknown


def apply(
    store: Store, target: Target, config: JsonObject, manager: str, *, force: bool = False, dry_run: bool = False
) -> tuple[ApiObject, bool]:
    """Server-side apply: returns the stored object, and whether it was created."""
    from kubesim.cluster.managed.managers import Conflicts, after_apply, conflict_error
    from kubesim.cluster.managed.tracking import versioned

    resource = target.resource
    version, kind = (value if isinstance(value := config.get(name), str) else "" for name in ("apiVersion", "kind"))
    if (version, kind) != (resource.api_version, resource.kind_name):
        group, _, short = version.rpartition("/")
        raise bad_request(f"invalid object type: {group}/{short}, Kind={kind}")
    metadata = found if isinstance(found := config.get("metadata"), dict) else {}
    if metadata.get("managedFields") is not None:
        raise bad_request("metadata.managedFields must be nil")
    current = store.find(resource.kind, target.namespace, target.name)
    if current is None and target.subresource:
        raise not_found(resource, target.name)
    empty = versioned(resource, {})
    live = empty if current is None else versioned(resource, internal_of(resource, current))
    known = [] if current is None else list(current.metadata.managed_fields)
    try:
        merged, entries = after_apply(_writer(store, target, manager), empty, live, config, known, force=force)
    except Conflicts as conflicts:
        raise conflict_error(conflicts.found) from None
    except ValueError as error:
        name, namespace = (
            found if isinstance(found := metadata.get(key), str) else "" for key in ("name", "namespace")
        )
        group, _, short = resource.api_version.rpartition("/")
        what = f"{namespace}/{name}; {group}/{short}, Kind={resource.kind_name}"
        raise internal_error(f"failed to create typed patch object ({what}): {error}") from None
    new = read_body(resource, _as_sent(resource, live if merged is None else merged))
    new["metadata"].pop("managedFields", None)
    new["metadata"].setdefault("name", target.name)
    _check_name(target, new)
    if current is not None:
        return _replace(store, target, current, new, dry_run, manager, entries), False
    if entries:
        new["metadata"]["managedFields"] = entries
    if new["metadata"].get("uid"):
        raise conflict(resource, target.name, "uid mismatch: the provided object specified uid "
                       f"{new['metadata']['uid']}, and no existing object was found")  # fmt: skip
    return _create(store, target, new, dry_run), True


# -- delete ---------------------------------------------------------------------------------------------------------


def delete(store: Store, target: Target, options: DeleteOptions) -> tuple[ApiObject, bool]:
    """DELETE: returns the last state of the object, and whether it was removed."""
    current = store.get(target.resource.kind, target.namespace, target.name)
    after = store.delete_with(current, options)
    return after, store.find(target.resource.kind, target.namespace, target.name) is None

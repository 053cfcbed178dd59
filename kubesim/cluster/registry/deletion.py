"""Plans a DELETE: reject, no change, mark, remove, or mark and then remove.

Pods are deleted gracefully: the first request sets the deletion time, later requests can only bring it forward, and the
last one (grace period 0, from the kubelet) removes the pod. Finalizers block the removal of any object.

Mirrors: apiserver/pkg/registry/rest delete.go BeforeDelete; generic/registry store.go Delete,
deletionFinalizersForGarbageCollection, markAsDeleting; pkg/registry/core/pod strategy.go CheckGracefulDelete;
pkg/registry/core/namespace/storage Delete
"""

from __future__ import annotations

from typing import Any

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.api.pods.phases import TERMINAL_PHASES
from kubesim.api.timestamps import SECOND, format_time, parse_time
from kubesim.api.validation.field import Errors, Named
from kubesim.cluster.problems import conflict, forbidden, invalid_options
from kubesim.cluster.store.kinds import resource_of
from kubesim.values import replace, value_object

ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"
DEFAULT_GRACE_S = 30
# Kinds that orphan dependents by default, as the first versions of their APIs did.
ORPHANED_BY_DEFAULT = ("ReplicationController", "Job")
_POLICIES = ("Foreground", "Background", "Orphan")
_SYSTEM_PRIORITIES = ("system-cluster-critical", "system-node-critical")
_PROTECTED_NAMESPACES = ("default", "kube-system", "kube-public")


@value_object
class DeleteOptions:
    grace_s: int | None = None
    uid: str = ""
    resource_version: str = ""
    orphan_dependents: bool | None = None
    propagation_policy: str | None = None
    dry_run: bool = False


@value_object
class Deletion:
    """The outcome of a DELETE: `marked` is written first, if set; then `removed` removes the object."""

    marked: ApiObject | None
    removed: bool


NOTHING = Deletion(None, False)


def plan_deletion(obj: ApiObject, options: DeleteOptions, now: int) -> Deletion:
    """Decide how a DELETE changes this object."""
    check_delete_options(options)
    check_preconditions(obj, options)
    if options.grace_s is not None and options.grace_s < 0:
        options = replace(options, grace_s=1)
    if obj.kind == "PriorityClass" and obj.metadata.name in _SYSTEM_PRIORITIES:
        problem = "this is a system priority class and cannot be deleted"
        raise forbidden(resource_of("PriorityClass"), obj.metadata.name, problem)
    if obj.kind == "Namespace":
        return _plan_namespace(obj, options, now)
    if isinstance(obj, Pod):
        return _plan_pod(obj, options, now)
    return _plan_at_once(obj, options, now)


def check_delete_options(options: DeleteOptions) -> None:
    errors = Errors()
    policy = options.propagation_policy
    if policy is not None and options.orphan_dependents is not None:
        detail = "orphanDependents and deletionPropagation cannot be both set"
        errors.invalid("propagationPolicy", Named(policy), detail)
    if policy is not None and policy not in _POLICIES:
        errors.unsupported("propagationPolicy", policy, (*_POLICIES, "nil"))
    if errors:
        raise invalid_options("DeleteOptions", errors)


def check_preconditions(obj: ApiObject, options: DeleteOptions) -> None:
    """Check uid and resource version. This message names the kind instead of the resource."""
    metadata, resource = obj.metadata, resource_of(obj.kind)
    if options.uid and options.uid != metadata.uid:
        problem = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({metadata.uid}). "
            "The object might have been deleted and then recreated"
        )
        raise conflict(resource, metadata.name, problem, named=obj.kind)
    if options.resource_version and options.resource_version != metadata.resource_version:
        problem = (
            f"the ResourceVersion in the precondition ({options.resource_version}) does not match the "
            f"ResourceVersion in record ({metadata.resource_version}). The object might have been modified"
        )
        raise conflict(resource, metadata.name, problem, named=obj.kind)


def _plan_pod(pod: Pod, options: DeleteOptions, now: int) -> Deletion:
    metadata = pod.metadata
    finalizers = _finalizers_after(pod, options)
    if metadata.deletion_timestamp is None:
        grace_s = effective_grace(pod, options.grace_s)
        when = now + grace_s * SECOND
    else:
        held = metadata.deletion_grace_period_seconds
        if not held:  # The deletion started with grace period 0: only finalizers block it.
            return _plan_at_once(pod, options, now)
        held = held if held > 0 else 1
        if options.grace_s is None or options.grace_s >= held:
            return NOTHING
        grace_s = options.grace_s
        when = parse_time(metadata.deletion_timestamp) + (grace_s - held) * SECOND  # relative to the first request
        if when < now:
            # The deletion time has passed, but the kubelet still has to stop the pod: use the shortest grace period.
            when, grace_s = now, min(grace_s, 1)
    changes: dict[str, Any] = {
        "deletion_timestamp": format_time(when),
        "deletion_grace_period_seconds": grace_s,
        "finalizers": finalizers,
    }
    if metadata.deletion_timestamp is None and metadata.generation:
        changes["generation"] = metadata.generation + 1
    marked = pod.changed(metadata=metadata.changed(**changes))
    return Deletion(marked, removed=grace_s == 0 and not finalizers)


def effective_grace(pod: Pod, asked: int | None) -> int:
    """The grace period in seconds. A pod without a node, or one that has terminated, gets 0."""
    if not pod.spec.node_name or pod.status.phase in TERMINAL_PHASES:
        return 0
    grace = pod.spec.termination_grace_period_seconds if asked is None else asked
    if grace is None:  # only for a pod stored without defaults
        return DEFAULT_GRACE_S
    return 1 if grace < 0 else grace


def _plan_at_once(obj: ApiObject, options: DeleteOptions, now: int) -> Deletion:
    """Kinds without graceful deletion: only finalizers block the removal, and a repeated DELETE changes nothing."""
    finalizers = _finalizers_after(obj, options)
    if not finalizers:
        return Deletion(None, removed=True)
    marked = mark_as_deleting(obj, finalizers, now)
    return NOTHING if marked.metadata == obj.metadata else Deletion(marked, removed=False)


def mark_as_deleting(obj: ApiObject, finalizers: tuple[str, ...], now: int) -> ApiObject:
    metadata = obj.metadata
    changes: dict[str, Any] = {"finalizers": finalizers, "deletion_grace_period_seconds": 0}
    if metadata.deletion_timestamp is None:
        changes["deletion_timestamp"] = format_time(now)
        if metadata.generation:
            changes["generation"] = metadata.generation + 1
    elif parse_time(metadata.deletion_timestamp) > now:
        changes["deletion_timestamp"] = format_time(now)
    return obj.changed(metadata=metadata.changed(**changes))


def _plan_namespace(namespace: ApiObject, options: DeleteOptions, now: int) -> Deletion:
    """Mark a namespace as terminating; the namespace controller empties it and removes its finalizers."""
    metadata = namespace.metadata
    if metadata.name in _PROTECTED_NAMESPACES:
        raise forbidden(resource_of("Namespace"), metadata.name, "this namespace may not be deleted")
    extra = namespace.extra
    if metadata.deletion_timestamp is None:
        changes = {"deletion_timestamp": format_time(now), "finalizers": _finalizers_after(namespace, options)}
        status = {**(extra.get("status") or {}), "phase": "Terminating"}
        marked = namespace.changed(metadata=metadata.changed(**changes)).with_extra(extra | {"status": status})
        return Deletion(marked, removed=False)
    if (extra.get("spec") or {}).get("finalizers") or metadata.finalizers:
        return NOTHING
    return Deletion(None, removed=True)


def _finalizers_after(obj: ApiObject, options: DeleteOptions) -> tuple[str, ...]:
    """The finalizers, with the garbage collector's one chosen by the request, else by the object's finalizers, else by
    kind.
    """
    metadata = obj.metadata
    others = tuple(name for name in metadata.finalizers if name not in (ORPHAN, FOREGROUND))
    if obj.kind == "Event":  # nothing depends on these
        return others
    if options.orphan_dependents is not None:
        return (*others, ORPHAN) if options.orphan_dependents else others
    match options.propagation_policy:
        case "Orphan":
            return (*others, ORPHAN)
        case "Foreground":
            return (*others, FOREGROUND)
        case "Background":
            return others
        case _:
            orphans = obj.kind in ORPHANED_BY_DEFAULT and len(others) == len(metadata.finalizers)
            return (*others, ORPHAN) if orphans else metadata.finalizers


def is_done(obj: ApiObject) -> bool:
    """Whether an update removed the last finalizer of an object that was waiting for deletion."""
    metadata = obj.metadata
    if metadata.finalizers or metadata.deletion_timestamp is None:
        return False
    if obj.kind == "Namespace":
        return not (obj.extra.get("spec") or {}).get("finalizers")
    return metadata.deletion_grace_period_seconds == 0

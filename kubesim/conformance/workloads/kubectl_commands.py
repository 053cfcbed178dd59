"""The patches of some kubectl commands: rollout, scale, cordon, taint, label, annotate, set image.

Mirrors: staging/src/k8s.io/kubectl/pkg/polymorphichelpers rollback.go, objectrestarter.go, objectpauser.go
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kubesim.api.meta import ApiObject
from kubesim.api.timestamps import format_time
from kubesim.cluster.controllers.owners import is_controlled_by
from kubesim.cluster.registry.deletion import DeleteOptions
from kubesim.cluster.registry.registry import Target
from kubesim.cluster.store.kinds import RESOURCES, Resource
from kubesim.cluster.store.store import Store
from kubesim.conformance.stories.playing import CannotPlay

Patch = tuple[Target, dict[str, Any]]

REVISION = "deployment.kubernetes.io/revision"
RESTARTED_AT = "kubectl.kubernetes.io/restartedAt"
HASH_LABELS = ("pod-template-hash",)


def kubectl_patch(store: Store, namespace: str, args: Sequence[str]) -> Iterator[Patch]:
    """The patches that kubectl would send for these arguments."""
    words, flags = _split(args)
    match words:
        case ["rollout", "undo", what, *rest]:
            target = _target(namespace, what, rest)
            yield target, _undo(store, target, int(flags.get("to-revision") or 0))
        case ["rollout", "restart", what, *rest]:
            annotations = {RESTARTED_AT: format_time(store.now())}
            patch = {"spec": {"template": {"metadata": {"annotations": annotations}}}}
            yield _target(namespace, what, rest), patch
        case ["rollout", ("pause" | "resume") as verb, what, *rest]:
            yield _target(namespace, what, rest), {"spec": {"paused": True if verb == "pause" else None}}
        case ["scale", what, *rest]:
            yield _target(namespace, what, rest), {"spec": {"replicas": int(flags["replicas"])}}
        case [("cordon" | "uncordon") as verb, name]:
            yield _target(namespace, "node", [name]), {"spec": {"unschedulable": True if verb == "cordon" else None}}
        case ["set", "image", what, *images]:
            containers = [dict(zip(("name", "image"), image.split("=", 1), strict=True)) for image in images]
            yield _target(namespace, what, []), {"spec": {"template": {"spec": {"containers": containers}}}}
        case [("label" | "annotate") as verb, what, *rest]:
            inside = "/" in what
            target = _target(namespace, what, rest)
            changes = dict(map(_change, rest if inside else rest[1:]))
            yield target, {"metadata": {"labels" if verb == "label" else "annotations": changes}}
        case _:
            raise CannotPlay(f"the command kubectl {' '.join(args)} is not simulated")


def kubectl_delete(namespace: str, args: Sequence[str]) -> tuple[Target, DeleteOptions]:
    """The request of `kubectl delete KIND NAME`; propagation is Background unless --cascade differs."""
    (_, what, *rest), flags = _split(args)
    grace = 0 if "now" not in flags and "force" in flags else flags.get("grace-period")
    policy = flags.get("cascade", "background").capitalize()
    options = DeleteOptions(grace_s=None if grace is None else int(grace), propagation_policy=policy)
    return _target(namespace, what, rest), options


def _split(args: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Words, and flags with their values (`--replicas=3`)."""
    words = [word for word in args if not word.startswith("-")]
    return words, dict(word.lstrip("-").partition("=")[::2] for word in args if word.startswith("-"))


def _change(text: str) -> tuple[str, str | None]:
    """Parse `key=value` (set) and `key-` (remove)."""
    key, equals, value = text.partition("=")
    return (key, value) if equals else (key.removesuffix("-"), None)


def _target(namespace: str, what: str, rest: Sequence[str]) -> Target:
    """Parse `deployment/web`, or `deployment` and `web`."""
    kind, slash, name = what.partition("/")
    resource = _resource(kind)
    return Target(resource, namespace if resource.namespaced else "", name if slash else rest[0])


def _resource(word: str) -> Resource:
    word = word.partition(".")[0]
    for resource in RESOURCES.values():
        if word in (resource.plural, resource.kind.lower(), *resource.short_names):
            return resource
    raise CannotPlay(f"kubectl: there is no kind {word!r}")


def _undo(store: Store, target: Target, revision: int) -> dict[str, Any]:
    """The patch to the template of the previous or the given revision."""
    if target.resource.kind != "Deployment":
        raise CannotPlay(f"kubectl rollout undo of a {target.resource.kind} is not simulated")
    deployment = store.get("Deployment", target.namespace, target.name)
    owned = [rs for rs in store.list("ReplicaSet", target.namespace) if is_controlled_by(rs, deployment)]
    owned.sort(key=_revision)
    chosen = next((rs for rs in owned if _revision(rs) == revision), None) if revision else owned[-2]
    if chosen is None:
        raise CannotPlay(f"kubectl rollout undo: there is no revision {revision}")
    template = chosen.to_json()["spec"]["template"]
    labels = {k: v for k, v in (template.get("metadata") or {}).get("labels", {}).items() if k not in HASH_LABELS}
    return {
        "spec": {"template": {"$patch": "replace", **template, "metadata": {**template["metadata"], "labels": labels}}}
    }


def _revision(replica_set: ApiObject) -> int:
    return int(replica_set.metadata.annotations.get(REVISION, "0"))

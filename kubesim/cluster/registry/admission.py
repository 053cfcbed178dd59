"""The default admission plugins for pods and nodes: fill in fields before validation, or reject with 403.

They change JSON objects (with defaults) in place. They read other objects of the store and write none.

Mirrors: plugin/pkg/admission serviceaccount, priority, defaulttolerationseconds, runtimeclass, nodetaint, podresize;
apiserver/pkg/admission/plugin/namespace/lifecycle
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kubesim.api.meta import CONFIG_MIRROR, ApiObject
from kubesim.api.node import Node
from kubesim.api.pod import Pod
from kubesim.api.pods.resources import pod_requests, quantities
from kubesim.api.quantity import ZERO
from kubesim.api.validation.field import JsonObject
from kubesim.cluster.problems import forbidden, not_found
from kubesim.cluster.registry.token_secrets import referenced_token, token_secret_volume
from kubesim.cluster.store.kinds import RESOURCES, Resource
from kubesim.cluster.store.store import Store
from kubesim.errors import ApiError
from kubesim.golang.text import quoted

TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
_TOKEN_VOLUME = "kube-api-access-"
_TOKEN_SECONDS = 3607
_TOLERATION_SECONDS = 300
_NOT_READY = "node.kubernetes.io/not-ready"
_UNREACHABLE = "node.kubernetes.io/unreachable"
_POD = RESOURCES["Pod"]
_RESIZED_BY = {"Pod": "resize", "Service": "", "PersistentVolumeClaim": ""}  # the subresource that can change usage


def admit_namespace(store: Store, resource: Resource, namespace: str, name: str) -> None:
    """Reject objects in a missing or terminating namespace."""
    found = store.find("Namespace", "", namespace)
    if found is None:
        raise not_found(RESOURCES["Namespace"], namespace)
    if found.metadata.deletion_timestamp is not None:
        problem = f"unable to create new content in namespace {namespace} because it is being terminated"
        error = forbidden(resource, name, problem)
        cause = {
            "reason": "NamespaceTerminating",
            "message": f"namespace {namespace} is being terminated",
            "field": "metadata.namespace",
        }
        raise ApiError(error.code, error.reason, error.message, {**(error.details or {}), "causes": [cause]})


def admit_new_pod(store: Store, pod: JsonObject, new_suffix: Callable[[], str]) -> None:
    if store.count("LimitRange"):
        from kubesim.cluster.registry.limits.limit_ranges import set_default_resources  # most runs have no limits

        set_default_resources(store, pod)
    _admit_service_account(store, pod, new_suffix)
    _admit_priority(store, pod)
    add_default_tolerations(pod["spec"])
    _admit_runtime_class(store, pod)


def admit_pod_update(new: JsonObject, old: JsonObject) -> None:
    """A pod keeps its priority and its default tolerations."""
    for name in ("priority", "preemptionPolicy"):
        if new["spec"].get(name) is None and old["spec"].get(name) is not None:
            new["spec"][name] = old["spec"][name]
    add_default_tolerations(new["spec"])


def admit_pod_resize(store: Store, new: JsonObject, old: JsonObject) -> None:
    """Reject requests that the node could never satisfy, before its kubelet sees them. Older servers only mark the
    resize as Proposed.
    """
    if store.proposes_resizes:
        _mark_proposed(new, old)
        return
    node_name = new["spec"].get("nodeName", "")
    if not node_name or new["metadata"].get("generation") == old["metadata"].get("generation"):
        return
    node = store.find("Node", "", node_name)
    if not isinstance(node, Node):
        raise _refuse(new, f'node "{node_name}" not found')
    system = node.metadata.labels.get("kubernetes.io/os", "linux")
    if system != "linux":
        problem = f'pod resize is only supported on linux nodes, node "{node_name}" is "{system}"'
        raise _with_cause(_refuse(new, problem), "UnsupportedPlatform")
    requests, allocatable = pod_requests(Pod.from_json(new)), quantities(node.status.allocatable)
    cpu, memory = requests.get("cpu", ZERO), requests.get("memory", ZERO)
    most_cpu, most_memory = allocatable.get("cpu", ZERO), allocatable.get("memory", ZERO)
    lacking = []
    if cpu > most_cpu:
        lacking.append(f"cpu, requested: {cpu.milli_value()}, allocatable: {most_cpu.milli_value()}")
    if memory > most_memory:
        lacking.append(f"memory, requested: {memory.value()}, allocatable: {most_memory.value()}")
    if lacking:
        problem = f"node didn't have enough allocatable resources: {'; '.join(lacking)}"
        raise _with_cause(_refuse(new, problem), "NodeCapacity")


def _mark_proposed(new: JsonObject, old: JsonObject) -> None:
    """Mirrors: pkg/api/pod/util.go MarkPodProposedForResize of v1.30"""
    status = new.get("status") or {}
    allocated = {each.get("name"): each.get("allocatedResources") for each in status.get("containerStatuses") or ()}
    for after, before in zip(new["spec"]["containers"], old["spec"]["containers"], strict=True):
        requests = (after.get("resources") or {}).get("requests")
        if not requests or after.get("resources") == before.get("resources") or after["name"] not in allocated:
            continue
        if quantities(requests) != quantities(allocated[after["name"]] or {}):
            new["status"] = {**status, "resize": "Proposed"}
            return


def _with_cause(error: ApiError, reason: str) -> ApiError:
    return ApiError(error.code, error.reason, error.message, {**(error.details or {}), "causes": [{"reason": reason}]})


def check_limits_and_quotas(
    store: Store, resource: Resource, new: JsonObject, old: ApiObject | None = None, subresource: str = ""
) -> Callable[[], None]:
    """Check the limits of the namespace for a new object or a change that can use more; raises 403. The result charges
    the quotas.
    """
    if old is not None and _RESIZED_BY.get(resource.kind) != subresource:
        return _no_charge
    if store.count("LimitRange") and resource.kind in ("Pod", "PersistentVolumeClaim"):
        from kubesim.cluster.registry.limits.limit_ranges import check_limits

        check_limits(store, resource.kind, new)
    if not store.count("ResourceQuota"):
        return _no_charge
    from kubesim.cluster.registry.limits.quotas import check_quotas

    charges = check_quotas(store, resource, resource.model.from_json(new), old)

    def charge() -> None:
        for each in charges:
            each.apply(store)

    return charge


def _no_charge() -> None:
    """No quota limits the object."""


def admit_new_node(node: JsonObject) -> None:
    """Taint a new node as not ready until its kubelet reports ready."""
    taints = node.setdefault("spec", {}).setdefault("taints", [])
    if not any(taint.get("key") == _NOT_READY and taint.get("effect") == "NoSchedule" for taint in taints):
        taints.append({"key": _NOT_READY, "effect": "NoSchedule"})


def admit_new_priority_class(store: Store, priority_class: JsonObject) -> None:
    if not priority_class.get("globalDefault"):
        return
    for other in store.list("PriorityClass"):
        if _extra(other).get("globalDefault"):
            problem = f"PriorityClass {other.metadata.name} is already marked as default. Only one default can exist"
            raise forbidden(RESOURCES["PriorityClass"], priority_class["metadata"].get("name", ""), problem)


def add_default_tolerations(spec: JsonObject) -> None:
    tolerations = list(spec.get("tolerations") or ())
    for taint in (_NOT_READY, _UNREACHABLE):
        if not any(
            toleration.get("key", "") in ("", taint) and toleration.get("effect", "") in ("", "NoExecute")
            for toleration in spec.get("tolerations") or ()
        ):
            tolerations.append(
                {"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _TOLERATION_SECONDS}
            )
    spec["tolerations"] = tolerations


def _refuse(pod: JsonObject, problem: str) -> ApiError:
    return forbidden(_POD, pod["metadata"].get("name", ""), problem)


def _admit_service_account(store: Store, pod: JsonObject, new_suffix: Callable[[], str]) -> None:
    metadata, spec = pod["metadata"], pod["spec"]
    if CONFIG_MIRROR in (metadata.get("annotations") or {}):
        _check_mirror_pod(pod)
        return
    name = spec.get("serviceAccountName") or "default"
    spec["serviceAccountName"] = spec["serviceAccount"] = name
    account = store.find("ServiceAccount", metadata["namespace"], name)
    if account is None:
        where = f"{metadata['namespace']}/{name}"
        raise _refuse(pod, f'error looking up service account {where}: serviceaccount "{name}" not found')
    extra = _extra(account)
    automount = spec.get("automountServiceAccountToken")
    if automount is None:
        automount = extra.get("automountServiceAccountToken")
    if automount is None or automount:
        _mount_token(spec, _token_volume(store, spec, account, new_suffix))
    if not spec.get("imagePullSecrets") and extra.get("imagePullSecrets"):
        spec["imagePullSecrets"] = [{"name": secret.get("name", "")} for secret in extra["imagePullSecrets"]]


def _extra(obj: ApiObject) -> dict[str, Any]:
    return obj.extra


def _check_mirror_pod(pod: JsonObject) -> None:
    """A mirror pod may not refer to API objects."""
    spec = pod["spec"]
    if spec.get("serviceAccountName"):
        raise _refuse(pod, "a mirror pod may not reference service accounts")
    volumes = spec.get("volumes") or ()
    if any(volume.get("secret") for volume in volumes):
        raise _refuse(pod, "a mirror pod may not reference secrets")
    sources = [source for volume in volumes for source in (volume.get("projected") or {}).get("sources") or ()]
    if any(source.get("serviceAccountToken") is not None for source in sources):
        raise _refuse(pod, "a mirror pod may not use ServiceAccountToken volume projections")


def _mount_token(spec: JsonObject, volume: JsonObject) -> None:
    """Mount the token in every container that mounts nothing else at that path."""
    volumes, name = spec.get("volumes") or [], volume["name"]
    mounted = False
    for container in [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]:
        mounts = container.get("volumeMounts") or []
        if any(mount.get("mountPath") == TOKEN_PATH for mount in mounts):
            continue
        container["volumeMounts"] = [*mounts, {"name": name, "readOnly": True, "mountPath": TOKEN_PATH}]
        mounted = True
    if mounted and all(own.get("name") != name for own in volumes):
        spec["volumes"] = [*volumes, volume]


def _token_volume(store: Store, spec: JsonObject, account: ApiObject, new_suffix: Callable[[], str]) -> JsonObject:
    if not store.binds_tokens:
        secret = referenced_token(store, account)
        if not secret:
            missing = f"No API token found for service account {quoted(account.metadata.name)}"
            remedy = "retry after the token is automatically created and added to the service account"
            raise ApiError(500, "ServerTimeout", f"{missing}, {remedy}")
        return token_secret_volume(spec, secret, new_suffix)
    existing = [v for v in spec.get("volumes") or () if v.get("name", "").startswith(_TOKEN_VOLUME)]
    return existing[0] if existing else _projected_token(_TOKEN_VOLUME + new_suffix())


def _projected_token(name: str) -> JsonObject:
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    return {
        "name": name,
        "projected": {
            "sources": [
                {"serviceAccountToken": {"expirationSeconds": _TOKEN_SECONDS, "path": "token"}},
                {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                {"downwardAPI": {"items": [namespace]}},
            ],
            "defaultMode": 0o644,
        },
    }


def _admit_priority(store: Store, pod: JsonObject) -> None:
    spec = pod["spec"]
    name, priority, policy = _priority_of(store, pod)
    if name:
        spec["priorityClassName"] = name
    if spec.get("priority") is not None and spec["priority"] != priority:
        raise _refuse(
            pod,
            f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; priority "
            f"admission controller computed {priority} from the given PriorityClass name",
        )
    spec["priority"] = priority
    if spec.get("preemptionPolicy") is not None and spec["preemptionPolicy"] != policy:
        raise _refuse(
            pod,
            f"the string value of PreemptionPolicy ({spec['preemptionPolicy']}) must not be provided in pod spec; "
            f"priority admission controller computed {policy} from the given PriorityClass name",
        )
    spec["preemptionPolicy"] = policy


def _priority_of(store: Store, pod: JsonObject) -> tuple[str, int, str]:
    """Name, value and preemption policy of the named priority class, or of the default one."""
    name = pod["spec"].get("priorityClassName", "")
    if name:
        chosen = store.find("PriorityClass", "", name)
        if chosen is None:
            raise _refuse(pod, f"no PriorityClass with name {name} was found")
    else:
        defaults = [item for item in store.list("PriorityClass") if _extra(item).get("globalDefault")]
        chosen = min(defaults, key=lambda item: _extra(item).get("value", 0), default=None)
    if chosen is None:
        return "", 0, "PreemptLowerPriority"
    fields = _extra(chosen)
    return chosen.metadata.name, fields.get("value", 0), fields.get("preemptionPolicy") or "PreemptLowerPriority"


def _admit_runtime_class(store: Store, pod: JsonObject) -> None:
    spec = pod["spec"]
    name = spec.get("runtimeClassName")
    if name is None:
        if spec.get("overhead"):
            problem = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
            raise _refuse(pod, problem)
        return
    found = store.find("RuntimeClass", "", name)
    if found is None:
        raise _refuse(pod, f'pod rejected: RuntimeClass "{name}" not found')
    overhead = _extra(found).get("overhead")
    if overhead is not None:
        fixed = overhead.get("podFixed") or {}
        if spec.get("overhead") and spec["overhead"] != fixed:
            raise _refuse(pod, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
        spec["overhead"] = dict(fixed)
    scheduling = _extra(found).get("scheduling") or {}
    selector = dict(spec.get("nodeSelector") or {})
    for key, value in (scheduling.get("nodeSelector") or {}).items():
        if selector.get(key, value) != value:
            raise _refuse(
                pod, f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; pod.spec.nodeSelector[{key}]"
                f" = {selector[key]}"
            )  # fmt: skip
        selector[key] = value
    if selector:
        spec["nodeSelector"] = selector
    added = [t for t in scheduling.get("tolerations") or () if t not in (spec.get("tolerations") or ())]
    if added:
        spec["tolerations"] = [*(spec.get("tolerations") or ()), *added]

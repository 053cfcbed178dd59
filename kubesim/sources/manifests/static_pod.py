"""Decodes a manifest from a file or URL into static pods, or into the error that its source reports.

Includes defaults, validation, and the node-specific fields: name suffix, UID, and for files a toleration of every taint
that would evict the pod.

Mirrors: pkg/kubelet/config/common.go tryDecodeSinglePod, tryDecodePodList, applyDefaults; file.go extractFromFile;
http.go extractFromURL
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from kubesim.api.meta import CONFIG_HASH
from kubesim.api.pod import Pod
from kubesim.api.pods.conversion import convert_pod
from kubesim.api.pods.defaults import containers_of, set_pod_defaults
from kubesim.api.schema.codec import DecodeError, decode, encode
from kubesim.api.validation import PodValidationOptions, validate_pod_create
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.golang import json as gojson
from kubesim.golang.text import quoted
from kubesim.golang.yaml import YamlError, yaml_to_json
from kubesim.sources.manifests.manifest_kinds import ManifestError, interpret
from kubesim.values import value_object

JsonObject = dict[str, Any]

_HIDDEN_WHEN_EMPTY = ("resources", "status", "lastState")
_TOLERATION = {"operator": "Exists", "effect": "NoExecute"}
_FNV_OFFSET = 0x6C62272E07BB014262B821756295C58D
_FNV_PRIME = 0x0000000001000000000000000000013B
_FNV_MASK = (1 << 128) - 1
MAX_SHOWN = 1500  # characters of an error message
TOO_DEEP = "yaml: exceeded max depth of 10000"  # our limit is lower, but no legitimate manifest reaches it


@value_object
class Manifest:
    """A manifest's text and its origin."""

    source: Literal["file", "url"]
    path: str
    node_name: str
    text: str


@value_object
class StaticPods:
    """The decoded pods, or an error. `parsed`: the manifest was a single pod, valid or not."""

    parsed: bool
    pods: tuple[Pod, ...] = ()
    is_list: bool = False
    error: str = ""
    single_error: str = ""


def read_manifest(manifest: Manifest, gates: FeatureGates = DEFAULT_GATES) -> StaticPods:
    """Decode a manifest. A file contains one pod; a URL returns one pod or a list of pods."""
    try:
        return StaticPods(True, (decode_single_pod(manifest, gates),))
    except _Refused as refused:
        return StaticPods(True, error=str(refused))
    except (ManifestError, RecursionError) as error:
        single_error = _printable(error)
    if manifest.source == "file":
        text = f"{manifest.path}: couldn't parse as pod({single_error}), please check config file"
        return StaticPods(False, error=text, single_error=single_error)
    if not manifest.text:
        return StaticPods(False, error=f"zero-length data received from {manifest.path}", single_error=single_error)
    try:
        return StaticPods(False, decode_pod_list(manifest, gates), is_list=True)
    except _Refused as refused:
        return StaticPods(False, is_list=True, error=str(refused))
    except (ManifestError, RecursionError) as error:
        text = (
            f"{manifest.path}: received '{manifest.text}', but couldn't parse as "
            f"single ({single_error}) or multiple pods ({_printable(error)})"
        )
        return StaticPods(False, error=text, single_error=single_error)


def _printable(error: Exception) -> str:
    return TOO_DEEP if isinstance(error, RecursionError) else str(error)


class _Refused(Exception):
    """A well-formed manifest with invalid content."""


def decode_single_pod(manifest: Manifest, gates: FeatureGates = DEFAULT_GATES) -> Pod:
    """Raises ManifestError if the manifest is not a pod, and another error for an invalid pod."""
    value = _to_json(manifest.text)
    kind = interpret(value, manifest.text if _is_json(manifest.text) else gojson.dumps(value))
    pod = _decode(kind, value)
    if kind != "Pod":
        raise ManifestError(f"invalid pod: &core.{kind}{{...}}")
    pod = _default(pod, gates)
    static = _make_static(pod, manifest, gates)
    if not gates.enabled("PreventStaticPodAPIReferences"):
        _reject_old_references(pod["spec"])
    return static


def decode_pod_list(manifest: Manifest, gates: FeatureGates = DEFAULT_GATES) -> tuple[Pod, ...]:
    value = _to_json(manifest.text)
    kind = interpret(value, manifest.text)
    pods = _decode(kind, value)
    if kind != "PodList":
        raise ManifestError(f"invalid pods list: &core.{kind}{{...}}")
    items = [_default(item, gates) for item in pods.get("items") or ()]
    return tuple(_make_static(item, manifest, gates) for item in items)


def manifest_text(data: bytes) -> str:
    """The text of a file or response. Invalid UTF-8 is replaced in JSON and is an error in YAML."""
    is_json = data.lstrip().startswith(b"{")
    return data.decode(errors="replace" if is_json else "surrogateescape")


def shown(text: str) -> str:
    """A printable error message: it may quote a manifest, which can be long or binary."""
    cut = text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}... ({len(text) - MAX_SHOWN} more characters)"
    return cut.encode(errors="replace").decode()


def _is_json(text: str) -> bool:
    return text.lstrip().startswith("{")


def _to_json(text: str) -> gojson.Json:
    try:
        return gojson.loads(text) if _is_json(text) else yaml_to_json(text)
    except gojson.JsonSyntaxError as error:
        raise ManifestError(f"couldn't get version/kind; json parse error: {error}") from None
    except (YamlError, ValueError) as error:
        raise ManifestError(str(error)) from None


def _decode(kind: str, value: gojson.Json) -> JsonObject:
    """Decode an object of the two known kinds; other kinds only occur in errors."""
    try:
        return decode(kind, value) if kind in ("Pod", "PodList") else {}
    except DecodeError as error:
        raise ManifestError(str(error)) from None


def _default(pod: JsonObject, gates: FeatureGates) -> JsonObject:
    pod.pop("apiVersion", None)
    pod.pop("kind", None)
    set_pod_defaults(pod, gates)
    convert_pod(pod)
    return pod


def _make_static(pod: JsonObject, manifest: Manifest, gates: FeatureGates) -> Pod:
    if not pod["metadata"].get("name"):
        raise _Refused("invalid pod: name is needed for the pod")
    apply_defaults(pod, manifest, gates.rules.static_pod_fields)
    errors = validate_pod_create(pod, PodValidationOptions(gates))
    if errors:
        raise _Refused(f"invalid pod: {errors}")
    if gates.enabled("PreventStaticPodAPIReferences"):
        _reject_references(pod["spec"])
    return Pod.from_json(pod)


def apply_defaults(pod: JsonObject, manifest: Manifest, fields: str = "") -> None:
    """Add the node-specific fields. `fields` names the Kubernetes version whose fields the UID hash covers."""
    meta, spec = pod["metadata"], pod["spec"]
    if not meta.get("uid"):
        meta["uid"] = static_pod_uid(pod, manifest, fields)
    # Only the pod name is lower-cased: on a node with capitals the node name then fails validation.
    meta["name"] = f"{meta['name']}-{manifest.node_name.lower()}"
    meta["namespace"] = meta.get("namespace") or "default"
    spec["nodeName"] = manifest.node_name
    meta["annotations"] = {**(meta.get("annotations") or {}), CONFIG_HASH: meta["uid"]}
    if manifest.source == "file":
        spec["tolerations"] = _with_toleration(spec.get("tolerations") or [])
    pod["status"] = {**(pod.get("status") or {}), "phase": "Pending"}


def _with_toleration(tolerations: list[JsonObject]) -> list[JsonObject]:
    """Add the toleration; it replaces one that differs only in tolerationSeconds."""

    def matches(toleration: JsonObject) -> bool:
        return all(
            toleration.get(name, "") == _TOLERATION.get(name, "") for name in ("key", "effect", "operator", "value")
        )

    changed = [dict(_TOLERATION) if matches(toleration) else toleration for toleration in tolerations]
    return changed if any(map(matches, tolerations)) else [*changed, dict(_TOLERATION)]


def static_pod_uid(pod: JsonObject, manifest: Manifest, fields: str = "") -> str:
    """A hash of the pod and its origin; a URL gives the same UID on every node.

    Upstream hashes a dump of its Go structs: its UIDs have other values but change with the same fields. The dump
    includes unset fields too, so a version with other fields computes another UID.
    """
    content = gojson.dumps(_without_empty(encode("Pod", pod)))
    if manifest.source == "file":
        origin = f"host:{manifest.node_name}file:{manifest.path}"
    else:
        origin = f"url:{manifest.path}"
    return f"{fnv1a_128((content + origin + fields).encode(errors='surrogateescape')):032x}"


def _without_empty(value: Any) -> Any:
    """Without nulls, and without structs of statuses and resources that Go writes as `{}`."""
    if isinstance(value, list):
        return [_without_empty(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {name: _without_empty(item) for name, item in value.items() if item is not None}
    return {name: item for name, item in kept.items() if item != {} or name not in _HIDDEN_WHEN_EMPTY}


def fnv1a_128(data: bytes) -> int:
    value = _FNV_OFFSET
    for byte in data:
        value = ((value ^ byte) * _FNV_PRIME) & _FNV_MASK
    return value


def _reject_old_references(spec: JsonObject) -> None:
    """The checks of kubelets without the gate, which apply only to a manifest of a single pod."""
    if any(source.get("clusterTrustBundle") is not None for source in _projections(spec)):
        raise _Refused("static pods may not use ClusterTrustBundle projected volume sources")
    if spec.get("resourceClaims"):
        raise _Refused("static pods may not use ResourceClaims")


def _reject_references(spec: JsonObject) -> None:
    """Reject references to API objects: a static pod must work without the API server."""
    resource = _referenced_resource(spec)
    if resource:
        raise _Refused(f"static pods may not reference {resource}")


def _referenced_resource(spec: JsonObject) -> str:
    if spec.get("serviceAccountName"):
        return "serviceaccounts"
    if any(_secret_names(spec)):
        return "secrets"
    if any(_config_map_names(spec)):
        return "configmaps"
    if spec.get("resourceClaims"):
        return "resourceclaims"
    for volume in spec.get("volumes") or ():
        found = _volume_resource(volume)
        if found:
            return found
    return ""


def _volume_resource(volume: JsonObject) -> str:
    resources = {
        "configMap": "configmaps (via configmap volumes)",
        "secret": "secrets (via secret volumes)",
        "csi": "csidrivers (via CSI volumes)",
        "glusterfs": "endpoints (via glusterFS volumes)",
        "persistentVolumeClaim": "persistentvolumeclaims",
        "ephemeral": "persistentvolumeclaims (via ephemeral volumes)",
        "azureFile": "secrets (via azureFile volumes)",
    }
    for kind, resource in resources.items():
        if volume.get(kind) is not None:
            return resource
    projected = {
        "configMap": "configmaps (via projected volumes)",
        "secret": "secrets (via projected volumes)",
        "serviceAccountToken": "serviceaccounts (via projected volumes)",
        "clusterTrustBundle": "clustertrustbundles",
        "podCertificate": "podcertificates",
    }
    for source in (volume.get("projected") or {}).get("sources") or ():
        for kind, resource in projected.items():
            if source.get(kind) is not None:
                return resource
        if source.get("downwardAPI") is None:
            raise _Refused(f"unknown source for projected volume {quoted(volume.get('name', ''))}")
    return ""


def _projections(spec: JsonObject) -> Iterator[JsonObject]:
    for volume in spec.get("volumes") or ():
        yield from (volume.get("projected") or {}).get("sources") or ()


def _names_in_env(spec: JsonObject, of_all: str, of_one: str) -> Iterator[str]:
    for container in containers_of(spec):
        for source in container.get("envFrom") or ():
            yield (source.get(of_all) or {}).get("name", "")
        for variable in container.get("env") or ():
            yield ((variable.get("valueFrom") or {}).get(of_one) or {}).get("name", "")


def _secret_names(spec: JsonObject) -> Iterator[str]:
    """Secret names, without empty ones, which refer to nothing."""
    yield from (reference.get("name", "") for reference in spec.get("imagePullSecrets") or ())
    yield from _names_in_env(spec, "secretRef", "secretKeyRef")
    for volume in spec.get("volumes") or ():
        yield (volume.get("azureFile") or {}).get("secretName", "")
        yield (volume.get("secret") or {}).get("secretName", "")
        for kind in ("cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos"):
            yield ((volume.get(kind) or {}).get("secretRef") or {}).get("name", "")
        yield ((volume.get("csi") or {}).get("nodePublishSecretRef") or {}).get("name", "")
    for source in _projections(spec):
        yield (source.get("secret") or {}).get("name", "")


def _config_map_names(spec: JsonObject) -> Iterator[str]:
    yield from _names_in_env(spec, "configMapRef", "configMapKeyRef")
    for volume in spec.get("volumes") or ():
        yield (volume.get("configMap") or {}).get("name", "")
    for source in _projections(spec):
        yield (source.get("configMap") or {}).get("name", "")

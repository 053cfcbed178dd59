"""The kind of a manifest's object, and whether the kubelet supports it.

Mirrors: apimachinery/pkg/runtime/serializer/json meta.go Interpret; runtime/error.go
"""

from __future__ import annotations

from kubesim.golang.json import Json, Number
from kubesim.golang.text import quoted

_CORE = (
    "Binding ComponentStatus ComponentStatusList ConfigMap ConfigMapList Endpoints EndpointsList Event EventList "
    "LimitRange LimitRangeList List Namespace NamespaceList Node NodeList NodeProxyOptions PersistentVolume "
    "PersistentVolumeClaim PersistentVolumeClaimList PersistentVolumeList Pod PodAttachOptions PodExecOptions PodList "
    "PodLogOptions PodPortForwardOptions PodProxyOptions PodStatusResult PodTemplate PodTemplateList RangeAllocation "
    "ReplicationController ReplicationControllerList ResourceQuota ResourceQuotaList Secret SecretList "
    "SerializedReference Service ServiceAccount ServiceAccountList ServiceList ServiceProxyOptions "
    "CreateOptions DeleteOptions GetOptions ListOptions PatchOptions Status UpdateOptions WatchEvent"
)
# The kinds of the core group, v1, that a manifest may contain.
CORE_KINDS = frozenset(_CORE.split())
_SCHEME = '"pkg/api/legacyscheme/scheme.go:30"'
_META_TYPE = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'


class ManifestError(ValueError):
    """A manifest that is not an object of a known kind."""


def interpret(value: Json, original: str) -> str:
    """The kind of a core v1 object; error messages quote `original`."""
    api_version, kind = _type_meta(value)
    group, version = _group_version(api_version)
    if not kind:
        raise ManifestError(f"Object 'Kind' is missing in '{original}'")
    if not version:
        raise ManifestError(f"Object 'apiVersion' is missing in '{original}'")
    if group or version != "v1" or kind not in CORE_KINDS:
        full = f"{group}/{version}" if group else version
        raise ManifestError(f"no kind {quoted(kind)} is registered for version {quoted(full)} in scheme {_SCHEME}")
    return kind


def _type_meta(value: Json) -> tuple[str, str]:
    if value is None:
        return "", ""
    if not isinstance(value, dict):
        raise _unreadable(value, "Go value", _META_TYPE)
    found = {"apiversion": "", "kind": ""}
    for key, item in value.items():
        # Upstream's first decoding ignores the case of keys; the second one does not.
        name = key.lower()
        if name not in found or item is None:
            continue
        if not isinstance(item, str) or isinstance(item, Number):
            field = "apiVersion" if name == "apiversion" else "kind"
            raise _unreadable(item, f"Go struct field .{field}", "string")
        found[name] = item
    return found["apiversion"], found["kind"]


def _unreadable(value: Json, where: str, type_name: str) -> ManifestError:
    if isinstance(value, bool):
        found = "bool"
    elif isinstance(value, Number):
        found = "number"
    else:
        found = "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"
    problem = f"json: cannot unmarshal {found} into {where} of type {type_name}"
    return ManifestError(f"couldn't get version/kind; json parse error: {problem}")


def _group_version(text: str) -> tuple[str, str]:
    if text.count("/") > 1:
        raise ManifestError(f"unexpected GroupVersion string: {text}")
    group, _, version = text.rpartition("/")
    return group, version

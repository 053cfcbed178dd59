"""Internal objects as in upstream's messages: JSON with Go's field names and all fields.

Mirrors: pkg/apis/core/types.go, marshalled without tags
"""

from __future__ import annotations

from typing import Any

from kubesim.api.validation.field import JsonObject
from kubesim.golang.json import dumps

# Go name -> JSON name, or the JSON name and the nested struct; in upstream's order.
_Shape = dict[str, "str | tuple[str, _Shape]"]

_SECCOMP: _Shape = {"Type": "type", "LocalhostProfile": "localhostProfile"}
_SE_LINUX: _Shape = {"User": "user", "Role": "role", "Type": "type", "Level": "level"}
_WINDOWS: _Shape = {
    "GMSACredentialSpecName": "gmsaCredentialSpecName",
    "GMSACredentialSpec": "gmsaCredentialSpec",
    "RunAsUserName": "runAsUserName",
    "HostProcess": "hostProcess",
}
_SECURITY_CONTEXT: _Shape = {
    "Capabilities": ("capabilities", {"Add": "add", "Drop": "drop"}),
    "Privileged": "privileged",
    "SELinuxOptions": ("seLinuxOptions", _SE_LINUX),
    "WindowsOptions": ("windowsOptions", _WINDOWS),
    "RunAsUser": "runAsUser",
    "RunAsGroup": "runAsGroup",
    "RunAsNonRoot": "runAsNonRoot",
    "ReadOnlyRootFilesystem": "readOnlyRootFilesystem",
    "AllowPrivilegeEscalation": "allowPrivilegeEscalation",
    "ProcMount": "procMount",
    "SeccompProfile": ("seccompProfile", _SECCOMP),
    "AppArmorProfile": ("appArmorProfile", _SECCOMP),
}
_TEXT = {"type", "user", "role", "level", "name", "path"}


def security_context_json(context: JsonObject) -> str:
    return _struct(_SECURITY_CONTEXT, context)


def seccomp_profile_json(profile: JsonObject) -> str:
    return _struct(_SECCOMP, profile)


def pod_resource_claim_json(claim: JsonObject) -> str:
    shape: _Shape = {
        "Name": "name",
        "ResourceClaimName": "resourceClaimName",
        "ResourceClaimTemplateName": "resourceClaimTemplateName",
    }
    return _struct(shape, claim)


def cluster_trust_bundle_json(bundle: JsonObject) -> str:
    selector = bundle.get("labelSelector")
    shown = {
        "Name": dumps(bundle.get("name")),
        "SignerName": dumps(bundle.get("signerName")),
        "LabelSelector": "null" if selector is None else label_selector_json(selector),
        "Optional": dumps(bundle.get("optional")),
        "Path": dumps(bundle.get("path", "")),
    }
    return "{" + ",".join(f'"{name}":{text}' for name, text in shown.items()) + "}"


def label_selector_json(selector: JsonObject) -> str:
    """A label selector as JSON. Its type has JSON tags upstream, so it has the API's names and no empty fields."""
    parts = []
    if selector.get("matchLabels"):
        parts.append(f'"matchLabels":{dumps(selector["matchLabels"])}')
    if selector.get("matchExpressions"):
        expressions = ",".join(_requirement(expression) for expression in selector["matchExpressions"])
        parts.append(f'"matchExpressions":[{expressions}]')
    return "{" + ",".join(parts) + "}"


def _requirement(requirement: JsonObject) -> str:
    text = f'"key":{dumps(requirement.get("key", ""))},"operator":{dumps(requirement.get("operator", ""))}'
    if requirement.get("values"):
        text += f',"values":{dumps(requirement["values"])}'
    return "{" + text + "}"


def _struct(shape: _Shape, value: JsonObject) -> str:
    return "{" + ",".join(f'"{name}":{_member(member, value)}' for name, member in shape.items()) + "}"


def _member(member: str | tuple[str, _Shape], value: JsonObject) -> str:
    if isinstance(member, tuple):
        name, shape = member
        inner = value.get(name)
        return "null" if inner is None else _struct(shape, inner)
    found: Any = value.get(member, "" if member in _TEXT else None)
    return dumps(found)

"""Annotations of a pod with a meaning, and fields that must not contradict them.

Mirrors: pkg/apis/core/validation ValidatePodSpecificAnnotations, validateSeccompAnnotationsAndFields,
validateAppArmorAnnotationsAndFieldsMatchOnCreate
"""

from __future__ import annotations

import re

from kubesim.api.meta import CONFIG_MIRROR
from kubesim.api.schema.codec import DecodeError, decode
from kubesim.api.schema.types import struct_fields
from kubesim.api.validation.field import Errors, JsonObject
from kubesim.api.validation.options import PodValidationOptions
from kubesim.api.validation.scheduling import validate_tolerations
from kubesim.api.validation.visit import containers_with_path
from kubesim.api.validation.volumes.paths import validate_local_descending_path
from kubesim.golang import json as gojson
from kubesim.golang.text import quoted

TOLERATIONS = "scheduler.alpha.kubernetes.io/tolerations"
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER_PREFIX = "container.seccomp.security.alpha.kubernetes.io/"
APP_ARMOR_CONTAINER_PREFIX = "container.apparmor.security.beta.kubernetes.io/"

_RUNTIME_DEFAULT = ("runtime/default", "docker/default")
_INT32 = range(-(2**31), 2**31)


def validate_pod_annotations(errors: Errors, pod: JsonObject, path: str, options: PodValidationOptions) -> None:
    annotations = (pod.get("metadata") or {}).get("annotations")
    if not annotations:
        return
    spec = pod.get("spec") or {}
    if CONFIG_MIRROR in annotations and not spec.get("nodeName"):
        detail = "must set spec.nodeName if mirror pod annotation is set"
        errors.invalid(f"{path}[{CONFIG_MIRROR}]", annotations[CONFIG_MIRROR], detail)
    if annotations.get(TOLERATIONS):
        _validate_tolerations_annotation(errors, annotations[TOLERATIONS], path, options)
    cost = annotations.get(DELETION_COST)
    if cost is not None and options.gates.enabled("PodDeletionCost") and not is_deletion_cost(cost):
        errors.invalid(f"{path}[{DELETION_COST}]", cost, "must be a 32bit integer")
    _validate_seccomp_annotations(errors, annotations, path)
    _validate_app_armor_annotations(errors, annotations, spec, path)


def is_deletion_cost(text: str) -> bool:
    """Whether the text is a valid pod deletion cost: an int32 without a plus sign or leading zeros. Upstream does not
    check for zeros after a minus sign.
    """
    return bool(re.fullmatch("0|[1-9][0-9]*|-[0-9]+", text)) and int(text) in _INT32


def _validate_tolerations_annotation(errors: Errors, text: str, path: str, options: PodValidationOptions) -> None:
    """Validate the deprecated annotation for tolerations. Upstream decodes it into the internal type, whose fields have
    no JSON names, so names match in any case.
    """
    names = {name.lower(): name for name in struct_fields("Toleration")}

    def renamed(value: gojson.Json) -> gojson.Json:
        return {names.get(key.lower(), key): item for key, item in value.items()} if isinstance(value, dict) else value

    try:
        values = gojson.loads(text)
        tolerations = decode("[]Toleration", list(map(renamed, values)) if isinstance(values, list) else values)
    except (gojson.JsonSyntaxError, DecodeError) as error:
        errors.invalid(path, TOLERATIONS, str(error).replace("v1.", "core."))
        return
    validate_tolerations(errors, tolerations, f"{path}.{TOLERATIONS}", options)


def _validate_seccomp_annotations(errors: Errors, annotations: dict[str, str], path: str) -> None:
    if SECCOMP_POD in annotations:
        _validate_seccomp_value(errors, annotations[SECCOMP_POD], f"{path}.{SECCOMP_POD}")
    for key, value in annotations.items():
        if key.startswith(SECCOMP_CONTAINER_PREFIX):
            _validate_seccomp_value(errors, value, f"{path}.{key}")


def _validate_seccomp_value(errors: Errors, value: str, path: str) -> None:
    if value in (*_RUNTIME_DEFAULT, "unconfined"):
        return
    if value.startswith("localhost/"):
        validate_local_descending_path(errors, value.removeprefix("localhost/"), path)
    else:
        errors.invalid(path, value, "must be a valid seccomp profile")


def _validate_app_armor_annotations(errors: Errors, annotations: dict[str, str], spec: JsonObject, path: str) -> None:
    names = {container.get("name", "") for container, _ in containers_with_path(spec, "")}
    for key, value in annotations.items():
        if not key.startswith(APP_ARMOR_CONTAINER_PREFIX):
            continue
        name = key.removeprefix(APP_ARMOR_CONTAINER_PREFIX)
        if name not in names:
            errors.invalid(f"{path}[{key}]", name, "container not found")
        if value not in ("", "runtime/default", "unconfined") and not value.startswith("localhost/"):
            errors.invalid(f"{path}[{key}]", value, f"invalid AppArmor profile name: {quoted(value)}")


def validate_seccomp_agreement(errors: Errors, pod: JsonObject, path: str) -> None:
    """Check that a seccomp annotation and the field are equal if both are set."""
    annotations, spec = pod["metadata"]["annotations"], pod.get("spec") or {}
    owners = [(spec, path, SECCOMP_POD)]
    owners += [
        (container, where, SECCOMP_CONTAINER_PREFIX + container.get("name", ""))
        for container, where in containers_with_path(spec, path)
    ]
    for owner, where, key in owners:
        profile = (owner.get("securityContext") or {}).get("seccompProfile")
        if profile is not None and key in annotations:
            _agree(errors, annotations[key], profile, f"{where}.securityContext.seccompProfile", "seccomp")


def validate_app_armor_agreement(errors: Errors, pod: JsonObject, path: str) -> None:
    annotations, spec = pod["metadata"]["annotations"], pod.get("spec") or {}
    if (spec.get("os") or {}).get("name") == "windows":
        return
    of_pod = (spec.get("securityContext") or {}).get("appArmorProfile")
    for container, where in containers_with_path(spec, path):
        own = (container.get("securityContext") or {}).get("appArmorProfile")
        profile = of_pod if own is None else own
        key = APP_ARMOR_CONTAINER_PREFIX + container.get("name", "")
        if profile is not None and key in annotations:
            _agree(errors, annotations[key], profile, f"{where}.securityContext.appArmorProfile", "apparmor")


def _agree(errors: Errors, annotation: str, profile: JsonObject, path: str, what: str) -> None:
    kind = profile.get("type", "")
    runtime_default = _RUNTIME_DEFAULT if what == "seccomp" else _RUNTIME_DEFAULT[:1]
    type_agrees = {
        "Unconfined": annotation == "unconfined",
        "RuntimeDefault": annotation in runtime_default,
        "Localhost": annotation.startswith("localhost/"),
    }.get(kind, True)
    if not type_agrees:
        errors.forbidden(f"{path}.type", f"{what} type in annotation and field must match")
    elif kind == "Localhost" and annotation.removeprefix("localhost/") != profile.get("localhostProfile"):
        errors.forbidden(f"{path}.localhostProfile", f"{what} profile in annotation and field must match")

"""Environment variables: env, envFrom, and field references (also used by downward API volumes).

Mirrors: pkg/apis/core/validation ValidateEnv, ValidateEnvFrom, validateObjectFieldSelector
"""

from __future__ import annotations

from collections.abc import Callable

from kubesim.api.quantity import quantity
from kubesim.api.validation import formats
from kubesim.api.validation.field import Errors, FieldError, JsonObject
from kubesim.api.validation.options import PodValidationOptions
from kubesim.api.validation.volumes.paths import validate_no_backsteps

ENV_FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
VOLUME_FIELDS = (
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
)
_KNOWN_FIELDS = {
    *ENV_FIELDS,
    *VOLUME_FIELDS,
    "spec.restartPolicy",
    "spec.schedulerName",
    "status.phase",
}
_RESOURCE_FIELDS = (
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
)
_HUGE_PAGES = ("limits.hugepages-", "requests.hugepages-")
# Upstream's names of resources in errors about divisors.
_DIVIDED = {
    f"{kind}.{name}": called
    for kind in ("limits", "requests")
    for name, called in (("cpu", "cpu"), ("memory", "memory"), ("ephemeral-storage", "local ephemeral storage"))
}
_BYTE_DIVISORS = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")


def validate_env(errors: Errors, variables: list[JsonObject], path: str, options: PodValidationOptions) -> None:
    for n, variable in enumerate(variables):
        where, name = f"{path}[{n}]", variable.get("name", "")
        if not name:
            errors.required(f"{where}.name")
        else:
            errors.all_invalid(f"{where}.name", name, formats.env_var_name(name))
        if variable.get("valueFrom") is not None:
            _validate_value_from(errors, variable, f"{where}.valueFrom", options)


def _validate_value_from(errors: Errors, variable: JsonObject, path: str, options: PodValidationOptions) -> None:
    source: JsonObject = variable["valueFrom"]
    validators: dict[str, Callable[[Errors, JsonObject, str], None]] = {
        "fieldRef": lambda errors, ref, where: validate_field_ref(errors, ref, ENV_FIELDS, where),
        "resourceFieldRef": lambda errors, ref, where: validate_resource_field_ref(errors, ref, where, volume=False),
        "configMapKeyRef": _validate_key_selector,
        "secretKeyRef": _validate_key_selector,
        "fileKeyRef": _validate_file_key_ref,
    }
    count = 0
    for name, validate in validators.items():
        if source.get(name) is not None:
            count += 1
            validate(errors, source[name], f"{path}.{name}")
    if count == 0:
        choice = [f"`{name}`" for name in validators if name != "fileKeyRef" or options.gates.enabled("EnvFiles")]
        errors.invalid(path, "", f"must specify one of: {', '.join(choice[:-1])} or {choice[-1]}")
    elif variable.get("value"):
        errors.invalid(path, "", "may not be specified when `value` is not empty")
    elif count > 1:
        errors.invalid(path, "", "may not have more than one field specified at a time")


def validate_field_ref(errors: Errors, ref: JsonObject, allowed: tuple[str, ...], path: str) -> None:
    """Validate a reference to a field of the pod, including `metadata.labels['key']`."""
    version, field_path = ref.get("apiVersion", ""), ref.get("fieldPath", "")
    if not field_path:
        errors.required(f"{path}.fieldPath")
        return
    name, subscript = split_subscript(field_path)
    problem = _conversion_problem(version, field_path, name, subscript)
    if problem:
        errors.invalid(f"{path}.fieldPath", field_path, f"error converting fieldPath: {problem}")
        return
    if subscript is not None:
        key = subscript.lower() if name == "metadata.annotations" else subscript
        errors.all_invalid(path, key, formats.label_key(key))
    else:
        internal = "spec.nodeName" if name == "spec.host" else name
        if internal not in allowed:
            detail = "supported values: " + ", ".join(f'"{text}"' for text in allowed)
            errors.append(FieldError("Unsupported value", f"{path}.fieldPath", internal, detail))


def split_subscript(field_path: str) -> tuple[str, str | None]:
    """Split a subscript from a field path: `a['b']` -> (`a`, `b`). The second is None without a subscript."""
    name, found, subscript = field_path.removesuffix("']").partition("['")
    if not field_path.endswith("']") or not found or not name:
        return field_path, None
    return name, subscript


def _conversion_problem(version: str, field_path: str, name: str, subscript: str | None) -> str:
    if version != "v1":
        return f"unsupported pod version: {version}"
    if subscript is not None:
        if name in ("metadata.annotations", "metadata.labels"):
            return ""
        return f"field label does not support subscript: {field_path}"
    return "" if name in _KNOWN_FIELDS or name == "spec.host" else f"field label not supported: {name}"


def validate_resource_field_ref(errors: Errors, ref: JsonObject, path: str, *, volume: bool) -> None:
    resource = ref.get("resource", "")
    if volume and not ref.get("containerName"):
        errors.required(f"{path}.containerName")
    elif not resource:
        errors.required(f"{path}.resource")
    elif resource not in _RESOURCE_FIELDS and not resource.startswith(_HUGE_PAGES):
        detail = "supported values: " + ", ".join(f'"{text}"' for text in _RESOURCE_FIELDS)
        errors.append(FieldError("Unsupported value", f"{path}.resource", resource, detail))
    _validate_divisor(errors, resource, ref.get("divisor", "0"), path)


def _validate_divisor(errors: Errors, resource: str, divisor: str, path: str) -> None:
    amount = quantity(divisor)
    if amount.is_zero:
        return
    name = "hugepages" if resource.startswith(_HUGE_PAGES) else _DIVIDED.get(resource)
    allowed, words = (("1m", "1"), "1m and 1") if name == "cpu" else (_BYTE_DIVISORS, ", ".join(_BYTE_DIVISORS))
    if name and str(amount) not in allowed:
        detail = f"only divisor's values {words} are supported with the {name} resource"
        errors.invalid(f"{path}.divisor", resource, detail)


def _validate_key_selector(errors: Errors, selector: JsonObject, path: str) -> None:
    name, key = selector.get("name", ""), selector.get("key", "")
    errors.all_invalid(f"{path}.name", name, formats.dns1123_subdomain(name))
    if not key:
        errors.required(f"{path}.key")
    else:
        errors.all_invalid(f"{path}.key", key, formats.config_map_key(key))


def _validate_file_key_ref(errors: Errors, ref: JsonObject, path: str) -> None:
    key, volume, file = ref.get("key", ""), ref.get("volumeName", ""), ref.get("path", "")
    if not key:
        errors.required(f"{path}.key")
    else:
        errors.all_invalid(f"{path}.key", key, formats.env_var_name(key))
    if not volume:
        errors.required(f"{path}.volumeName")
    else:
        errors.all_invalid(f"{path}.volumeName", volume, formats.dns1123_label(volume))
    if not file:
        errors.required(f"{path}.path")
    else:
        validate_no_backsteps(errors, file, f"{path}.path")


def validate_env_from(errors: Errors, sources: list[JsonObject], path: str) -> None:
    for n, source in enumerate(sources):
        where, prefix = f"{path}[{n}]", source.get("prefix", "")
        if prefix:
            errors.all_invalid(f"{where}.prefix", prefix, formats.env_var_name(prefix))
        given = [name for name in ("configMapRef", "secretRef") if source.get(name) is not None]
        for name in given:
            referent = source[name].get("name", "")
            if not referent:
                errors.required(f"{where}.{name}.name")
            else:
                complaints = formats.dns1123_subdomain(formats.name_prefix(referent))
                errors.all_invalid(f"{where}.{name}.name", referent, complaints)
        if not given:
            errors.invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(given) > 1:
            errors.invalid(path, "", "may not have more than one field specified at a time")

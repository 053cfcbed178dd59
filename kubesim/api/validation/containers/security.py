"""Security contexts of containers and pods, seccomp and AppArmor profiles, sysctls.

Mirrors: pkg/apis/core/validation ValidateSecurityContext, validatePodSpecSecurityContext, validateSysctls
"""

from __future__ import annotations

import re

from kubesim.api.validation import formats
from kubesim.api.validation.containers.windows import validate_windows_options
from kubesim.api.validation.field import Errors, JsonObject, Named, Raw
from kubesim.api.validation.options import PodValidationOptions
from kubesim.api.validation.structs import seccomp_profile_json, security_context_json
from kubesim.api.validation.volumes.paths import validate_local_descending_path

PROFILE_TYPES = ("Localhost", "RuntimeDefault", "Unconfined")
_APP_ARMOR_PROFILE_MAX = 4095
_SYSCTL_MAX = 253
_SYSCTL_SEGMENT = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL = rf"^({_SYSCTL_SEGMENT}[\./])*{_SYSCTL_SEGMENT}$"
_SYSCTL_RE = re.compile(_SYSCTL)
_KERNEL_IPC = "sem shmall shmmax shmmni shm_rmid_forced shm msgmax msgmnb msgmni msg"
_IPC_SYSCTLS = {f"kernel.{name}" for name in _KERNEL_IPC.split()}
_SWAP_SEPARATORS = str.maketrans("./", "/.")


def validate_security_context(
    errors: Errors, context: JsonObject, path: str, options: PodValidationOptions, *, host_users: bool
) -> None:
    privileged = bool(context.get("privileged"))
    if privileged and not options.allow_privileged:
        errors.forbidden(f"{path}.privileged", "disallowed by cluster policy")
    _validate_ids(errors, context, ("runAsUser", "runAsGroup"), path)
    proc_mount = context.get("procMount")
    if proc_mount is not None:
        errors.unless_one_of(f"{path}.procMount", proc_mount, ("Default", "Unmasked"))
        if host_users and proc_mount == "Unmasked":
            detail = "`hostUsers` must be false to use `Unmasked`"
            errors.invalid(f"{path}.procMount", Named(proc_mount), detail)
    validate_seccomp_profile(errors, context.get("seccompProfile"), f"{path}.seccompProfile")
    if context.get("allowPrivilegeEscalation") is False:
        shown = Raw(security_context_json(context))
        if privileged:
            detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            errors.invalid(path, shown, detail)
        for capability in (context.get("capabilities") or {}).get("add") or ():
            if capability == "CAP_SYS_ADMIN":
                detail = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
                errors.invalid(path, shown, detail)
    validate_windows_options(errors, context.get("windowsOptions"), f"{path}.windowsOptions")
    validate_app_armor_profile(errors, context.get("appArmorProfile"), f"{path}.appArmorProfile")


def validate_pod_security_context(errors: Errors, spec: JsonObject, path: str, options: PodValidationOptions) -> None:
    context: JsonObject = spec.get("securityContext") or {}
    _validate_ids(errors, context, ("fsGroup", "runAsUser", "runAsGroup"), path)
    for n, group in enumerate(context.get("supplementalGroups") or ()):
        errors.all_invalid(f"{path}.supplementalGroups[{n}]", group, formats.unix_id(group))
    if spec.get("hostPID") and spec.get("shareProcessNamespace"):
        detail = "ShareProcessNamespace and HostPID cannot both be enabled"
        errors.invalid(f"{path}.shareProcessNamespace", True, detail)
    if not context:
        return
    _validate_sysctls(errors, spec, context.get("sysctls") or [], f"{path}.sysctls")
    _unless_one_of(errors, context, "fsGroupChangePolicy", ("Always", "OnRootMismatch"), path)
    validate_seccomp_profile(errors, context.get("seccompProfile"), f"{path}.seccompProfile")
    validate_windows_options(errors, context.get("windowsOptions"), f"{path}.windowsOptions")
    validate_app_armor_profile(errors, context.get("appArmorProfile"), f"{path}.appArmorProfile")
    _unless_one_of(errors, context, "supplementalGroupsPolicy", ("Merge", "Strict"), path)
    policies = ("MountOption", "Recursive") if options.gates.enabled("SELinuxMount") else ("Recursive",)
    _unless_one_of(errors, context, "seLinuxChangePolicy", policies, path)


def _unless_one_of(errors: Errors, context: JsonObject, name: str, supported: tuple[str, ...], path: str) -> None:
    if context.get(name) is not None:
        errors.unless_one_of(f"{path}.{name}", context[name], supported)


def _validate_ids(errors: Errors, context: JsonObject, names: tuple[str, ...], path: str) -> None:
    for name in names:
        if context.get(name) is not None:
            errors.all_invalid(f"{path}.{name}", context[name], formats.unix_id(context[name]))


def validate_seccomp_profile(errors: Errors, profile: JsonObject | None, path: str) -> None:
    if profile is None:
        return
    kind, localhost = profile.get("type", ""), profile.get("localhostProfile")
    if not kind:
        errors.required(f"{path}.type", "type is required when seccompProfile is set")
    else:
        errors.unless_one_of(f"{path}.type", kind, PROFILE_TYPES)
    where = f"{path}.localhostProfile"
    if kind != "Localhost":
        if localhost is not None:
            detail = "can only be set when seccomp type is Localhost"
            errors.invalid(where, Raw(seccomp_profile_json(profile)), detail)
    elif localhost is None:
        errors.required(where, "must be set when seccomp type is Localhost")
    else:
        validate_local_descending_path(errors, localhost, where)


def validate_app_armor_profile(errors: Errors, profile: JsonObject | None, path: str) -> None:
    if profile is None:
        return
    kind, localhost = profile.get("type", ""), profile.get("localhostProfile")
    where = f"{path}.localhostProfile"
    if kind == "Localhost":
        if localhost is None or localhost == "":
            errors.required(where, "must be set when AppArmor type is Localhost")
            return
        if localhost.strip() != localhost:
            errors.invalid(where, localhost, "must not be padded with whitespace")
        if formats.size(localhost) > _APP_ARMOR_PROFILE_MAX:
            errors.too_long(where, _APP_ARMOR_PROFILE_MAX)
    elif kind in PROFILE_TYPES:
        if localhost is not None:
            errors.invalid(where, Named(localhost), "can only be set when AppArmor type is Localhost")
    elif not kind:
        errors.required(f"{path}.type", "type is required when appArmorProfile is set")
    else:
        errors.unsupported(f"{path}.type", kind, PROFILE_TYPES)


def _validate_sysctls(errors: Errors, spec: JsonObject, sysctls: list[JsonObject], path: str) -> None:
    seen: set[str] = set()
    for n, sysctl in enumerate(sysctls):
        where, name = f"{path}[{n}].name", sysctl.get("name", "")
        if not name:
            errors.required(where)
        elif formats.size(name) > _SYSCTL_MAX or not _SYSCTL_RE.fullmatch(name):
            errors.invalid(where, name, f"must have at most {_SYSCTL_MAX} characters and match regex {_SYSCTL}")
        elif name in seen:
            errors.duplicate(where, name)
        seen.add(name)
        namespace = _sysctl_namespace(name)
        if spec.get("hostNetwork") and namespace == "Net":
            errors.invalid(where, name, "may not be specified when 'hostNetwork' is true")
        elif spec.get("hostIPC") and namespace == "IPC":
            errors.invalid(where, name, "may not be specified when 'hostIPC' is true")


def _sysctl_namespace(name: str) -> str:
    """The kernel namespace of a sysctl; `net/ipv4/ip_forward` is an alternative spelling."""
    separator = re.search(r"[./]", name)
    if separator and separator[0] == "/":
        name = name.translate(_SWAP_SEPARATORS)
    name = name.partition("*")[0]
    if name in _IPC_SYSCTLS or name.startswith("fs.mqueue."):
        return "IPC"
    return "Net" if name.startswith("net.") else ""

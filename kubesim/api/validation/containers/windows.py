"""Windows: options of security contexts, host-process pods, and fields that the operating system of a pod forbids.

Mirrors: pkg/apis/core/validation validateWindowsSecurityContextOptions, validateWindowsHostProcessPod, validateOS
"""

from __future__ import annotations

import re

from kubesim.api.validation import formats
from kubesim.api.validation.field import Errors, JsonObject, Named
from kubesim.api.validation.options import PodValidationOptions
from kubesim.api.validation.visit import Containers, containers_with_path

_CREDENTIAL_SPEC_MAX_KIB = 64
_DOMAIN_MAX = 256
_USER_MAX = 104
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_NETBIOS = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}')
_DNS_LABEL = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_DNS_DOMAIN = re.compile(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*")
_USER_FORBIDDEN = re.compile(r'["/\\:;|=,+*?<>@\[\]]')

_POD_CONTEXT = (
    "appArmorProfile seLinuxOptions .hostUsers .hostPID .hostIPC seccompProfile fsGroup fsGroupChangePolicy sysctls "
    ".shareProcessNamespace runAsUser runAsGroup supplementalGroups supplementalGroupsPolicy seLinuxChangePolicy"
)
_CONTAINER_CONTEXT = (
    "appArmorProfile seLinuxOptions seccompProfile capabilities readOnlyRootFilesystem privileged "
    "allowPrivilegeEscalation procMount runAsUser runAsGroup"
)


def validate_windows_options(errors: Errors, options: JsonObject | None, path: str) -> None:
    if options is None:
        return
    name = options.get("gmsaCredentialSpecName")
    if name is not None:
        errors.all_invalid(f"{path}.gmsaCredentialSpecName", Named(name), formats.dns1123_subdomain(name))
    spec = options.get("gmsaCredentialSpec")
    if spec == "":
        errors.invalid(f"{path}.gmsaCredentialSpec", Named(spec), "gmsaCredentialSpec cannot be an empty string")
    elif spec is not None and formats.size(spec) > _CREDENTIAL_SPEC_MAX_KIB * 1024:
        detail = f"gmsaCredentialSpec size must be under {_CREDENTIAL_SPEC_MAX_KIB} KiB"
        errors.invalid(f"{path}.gmsaCredentialSpec", Named(spec), detail)
    user = options.get("runAsUserName")
    if user is not None:
        errors.all_invalid(f"{path}.runAsUserName", Named(user), _user_name(user))


def _user_name(text: str) -> list[str]:
    if not text:
        return ["runAsUserName cannot be an empty string"]
    if _CONTROL.search(text):
        return ["runAsUserName cannot contain control characters"]
    if text.count("\\") > 1:
        return ["runAsUserName cannot contain more than one backslash"]
    domain, backslash, user = text.rpartition("\\")
    complaints = []
    if formats.size(domain) >= _DOMAIN_MAX:
        complaints.append(f"runAsUserName's Domain length must be under {_DOMAIN_MAX} characters")
    if backslash and not (_NETBIOS.fullmatch(domain) or _DNS_DOMAIN.fullmatch(domain)):
        complaints.append("runAsUserName's Domain doesn't match the NetBios nor the DNS format")
    if not user:
        complaints.append("runAsUserName's User cannot be empty")
    elif formats.size(user) > _USER_MAX:
        complaints.append(f"runAsUserName's User length must not be longer than {_USER_MAX} characters")
    if user and not user.strip(". "):
        complaints.append("runAsUserName's User cannot contain only periods or spaces")
    if _USER_FORBIDDEN.search(user):
        complaints.append("runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]")
    return complaints


def validate_host_process_pod(
    errors: Errors, spec: JsonObject, containers: Containers, path: str, options: PodValidationOptions
) -> None:
    """Check that all containers or none are host processes, and that host processes use the host's network."""
    of_pod = _host_process(spec)
    host_processes = 0
    for container, where in containers:
        own = _host_process(container)
        if of_pod is not None and own is not None and of_pod != own:
            shown = "true" if of_pod else "false"
            detail = f"pod hostProcess value must be identical if both are specified, was {shown}"
            errors.invalid(f"{where}.securityContext.windowsOptions.hostProcess", own, detail)
        host_processes += bool(of_pod if own is None else own)
    if not host_processes:
        return
    if host_processes != len(containers):
        detail = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        errors.invalid(path, "", detail)
    if not spec.get("hostNetwork"):
        detail = "hostNetwork must be true if pod contains any hostProcess containers"
        errors.invalid(f"{path}.hostNetwork", False, detail)
    if not options.allow_privileged:
        errors.forbidden(path, "hostProcess containers are disallowed by cluster policy")


def _host_process(owner: JsonObject) -> bool | None:
    windows = (owner.get("securityContext") or {}).get("windowsOptions") or {}
    value: bool | None = windows.get("hostProcess")
    return value


def validate_os(errors: Errors, spec: JsonObject, path: str) -> None:
    if spec.get("os") is None:
        return
    name = spec["os"].get("name", "")
    if not name:
        errors.required(f"{path}.os.name")
    elif name == "linux":
        _validate_linux(errors, spec, path)
    elif name == "windows":
        _validate_windows(errors, spec, path)
    else:
        errors.unsupported(f"{path}.os", name, ("linux", "windows"))


def _validate_linux(errors: Errors, spec: JsonObject, path: str) -> None:
    for owner, where in ((spec, path), *containers_with_path(spec, path)):
        if (owner.get("securityContext") or {}).get("windowsOptions") is not None:
            errors.forbidden(f"{where}.securityContext.windowsOptions", "windows options cannot be set for a linux pod")


def _validate_windows(errors: Errors, spec: JsonObject, path: str) -> None:
    context = spec.get("securityContext") or {}
    for name in _POD_CONTEXT.split():
        # A dot marks a field of the security context in upstream's internal type that is a field of the spec in v1.
        owner, where = (spec, path) if name[0] == "." else (context, f"{path}.securityContext")
        if _is_set(owner, name.lstrip(".")):
            errors.forbidden(f"{where}.{name.lstrip('.')}", "cannot be set for a windows pod")
    for container, where in containers_with_path(spec, path):
        own = container.get("securityContext") or {}
        for name in _CONTAINER_CONTEXT.split():
            if own.get(name) is not None:
                errors.forbidden(f"{where}.securityContext.{name}", "cannot be set for a windows pod")


def _is_set(owner: JsonObject, name: str) -> bool:
    value = owner.get(name)
    if name in ("hostPID", "hostIPC", "sysctls"):
        return bool(value)
    return value is not None

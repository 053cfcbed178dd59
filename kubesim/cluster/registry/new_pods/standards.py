"""The checks of the Pod Security Standards, baseline and restricted. Each reports a violation.

Mirrors: k8s.io/pod-security-admission policy check_*.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from kubesim.golang.text import quoted
from kubesim.values import value_object

JsonObject = dict[str, Any]


@value_object
class CheckResult:
    """A violation: `reason`, with details in parentheses."""

    reason: str
    detail: str

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})"


_CAPABILITIES = (
    "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP",
    "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
)  # fmt: skip
_SYSCTLS = (
    "kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.tcp_syncookies", "net.ipv4.ping_group_range", "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem",
)  # fmt: skip
_VOLUMES = ("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected",
            "secret")  # fmt: skip
_SELINUX_TYPES = ("", "container_t", "container_init_t", "container_kvm_t", "container_engine_t")


def _containers(spec: JsonObject) -> Iterator[JsonObject]:
    for field in ("initContainers", "containers", "ephemeralContainers"):
        yield from spec.get(field) or ()


def _context(item: JsonObject) -> JsonObject:
    return item.get("securityContext") or {}


def _named(names: Sequence[str], one: str = "container", many: str = "containers") -> str:
    listed = ", ".join(map(quoted, names))
    return f"{one if len(names) == 1 else many} {listed}"


def _of(spec: JsonObject, wrong: Callable[[JsonObject], bool]) -> list[str]:
    return [each.get("name", "") for each in _containers(spec) if wrong(each)]


def _is_linux(spec: JsonObject) -> bool:
    return (spec.get("os") or {}).get("name") != "windows"


# -- baseline ---------------------------------------------------------------------------------------------------------


def _host_namespaces(spec: JsonObject) -> CheckResult | None:
    found = [f"{name}=true" for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name)]
    return CheckResult("host namespaces", ", ".join(found)) if found else None


def _privileged(spec: JsonObject) -> CheckResult | None:
    names = _of(spec, lambda each: bool(_context(each).get("privileged")))
    if not names:
        return None
    return CheckResult("privileged", f"{_named(names)} must not set securityContext.privileged=true")


def _capabilities_baseline(spec: JsonObject) -> CheckResult | None:
    names, added = [], set()
    for each in _containers(spec):
        extra = set((_context(each).get("capabilities") or {}).get("add") or ()) - set(_CAPABILITIES)
        if extra:
            names.append(each.get("name", ""))
            added |= extra
    if not names:
        return None
    listed = ", ".join(map(quoted, sorted(added)))
    detail = f"{_named(names)} must not include {listed} in securityContext.capabilities.add"
    return CheckResult("non-default capabilities", detail)


def _host_paths(spec: JsonObject) -> CheckResult | None:
    names = [each.get("name", "") for each in spec.get("volumes") or () if each.get("hostPath") is not None]
    return CheckResult("hostPath volumes", _named(names, "volume", "volumes")) if names else None


def _host_ports(spec: JsonObject) -> CheckResult | None:
    names, ports = [], set()
    for each in _containers(spec):
        used = {port["hostPort"] for port in each.get("ports") or () if port.get("hostPort")}
        if used:
            names.append(each.get("name", ""))
            ports |= used
    if not names:
        return None
    verb = "uses" if len(names) == 1 else "use"
    kind = "hostPort" if len(ports) == 1 else "hostPorts"
    return CheckResult("hostPort", f"{_named(names)} {verb} {kind} {', '.join(map(str, sorted(ports)))}")


def _host_process(spec: JsonObject) -> CheckResult | None:
    def is_host(item: JsonObject) -> bool:
        return bool((_context(item).get("windowsOptions") or {}).get("hostProcess"))

    names, found = _of(spec, is_host), []
    if is_host(spec):
        found.append("pod")
    if names:
        found.append(_named(names))
    if not found:
        return None
    return CheckResult(
        "hostProcess", f"{' and '.join(found)} must not set securityContext.windowsOptions.hostProcess=true"
    )


def _proc_mount(spec: JsonObject) -> CheckResult | None:
    names = _of(spec, lambda each: _context(each).get("procMount", "Default") != "Default")
    if not names:
        return None
    kinds = sorted({_context(each)["procMount"] for each in _containers(spec) if each.get("name", "") in names})
    return CheckResult(
        "procMount", f"{_named(names)} must not set securityContext.procMount to {', '.join(map(quoted, kinds))}"
    )


def _selinux(spec: JsonObject) -> CheckResult | None:
    offenders, types, users, roles = [], set(), False, False
    for name, item in [("", spec), *((each.get("name", ""), each) for each in _containers(spec))]:
        options = _context(item).get("seLinuxOptions") or {}
        wrong_type = options.get("type", "") not in _SELINUX_TYPES
        if wrong_type:
            types.add(options["type"])
        users, roles = users or bool(options.get("user")), roles or bool(options.get("role"))
        if wrong_type or options.get("user") or options.get("role"):
            offenders.append(name)
    if not offenders:
        return None
    texts = [f"type {', '.join(map(quoted, sorted(types)))}"] if types else []
    texts += ["user may not be set"] if users else []
    texts += ["role may not be set"] if roles else []
    named = ([] if "" not in offenders else ["pod"]) + ([_named(n)] if (n := [p for p in offenders if p]) else [])
    what = "; ".join([f"{' and '.join(named)} set forbidden securityContext.seLinuxOptions", *texts])
    return CheckResult("seLinuxOptions", what)


def _seccomp_baseline(spec: JsonObject) -> CheckResult | None:
    def is_off(item: JsonObject) -> bool:
        return bool((_context(item).get("seccompProfile") or {}).get("type") == "Unconfined")

    names, found = _of(spec, is_off), []
    if is_off(spec):
        found.append("pod")
    if names:
        found.append(_named(names))
    if not found:
        return None
    return CheckResult(
        "seccompProfile", f'{" and ".join(found)} must not set securityContext.seccompProfile.type to "Unconfined"'
    )


def _sysctls(spec: JsonObject) -> CheckResult | None:
    names = [each.get("name", "") for each in _context(spec).get("sysctls") or () if each.get("name") not in _SYSCTLS]
    return CheckResult("forbidden sysctls", ", ".join(names)) if names else None


# -- restricted -------------------------------------------------------------------------------------------------------


def _volume_types(spec: JsonObject) -> CheckResult | None:
    names, types = [], set()
    for each in spec.get("volumes") or ():
        kinds = [kind for kind in each if kind != "name" and kind not in _VOLUMES]
        if kinds:
            names.append(each.get("name", ""))
            types |= set(kinds)
    if not names:
        return None
    verb = "uses restricted volume type" if len(names) == 1 else "use restricted volume types"
    listed = ", ".join(map(quoted, sorted(types)))
    return CheckResult("restricted volume types", f"{_named(names, 'volume', 'volumes')} {verb} {listed}")


def _escalation(spec: JsonObject) -> CheckResult | None:
    names = _of(spec, lambda each: _context(each).get("allowPrivilegeEscalation") is not False)
    if not names or not _is_linux(spec):
        return None
    detail = f"{_named(names)} must set securityContext.allowPrivilegeEscalation=false"
    return CheckResult("allowPrivilegeEscalation != false", detail)


def _capabilities_restricted(spec: JsonObject) -> CheckResult | None:
    def given(each: JsonObject, field: str) -> list[str]:
        return (_context(each).get("capabilities") or {}).get(field) or []

    if not _is_linux(spec):
        return None
    kept = _of(spec, lambda each: "ALL" not in given(each, "drop"))
    adding = _of(spec, lambda each: bool(set(given(each, "add")) - {"NET_BIND_SERVICE"}))
    texts = [f'{_named(kept)} must set securityContext.capabilities.drop=["ALL"]'] if kept else []
    if adding:
        added = sorted({name for each in _containers(spec) for name in given(each, "add")} - {"NET_BIND_SERVICE"})
        texts.append(
            f"{_named(adding)} must not include {', '.join(map(quoted, added))} in securityContext.capabilities.add"
        )
    return CheckResult("unrestricted capabilities", "; ".join(texts)) if texts else None


def _non_root(spec: JsonObject) -> CheckResult | None:
    whole = _context(spec).get("runAsNonRoot")
    explicit = _of(spec, lambda each: _context(each).get("runAsNonRoot") is False)
    texts = [_must(explicit, "must not set securityContext.runAsNonRoot=false", whole is False)]
    if whole:
        missing: list[str] = []
    else:
        missing = _of(spec, lambda each: _context(each).get("runAsNonRoot") is None)
    if texts[0]:
        return CheckResult("runAsNonRoot != true", texts[0])
    if missing:
        return CheckResult(
            "runAsNonRoot != true", f"pod or {_named(missing)} must set securityContext.runAsNonRoot=true"
        )
    return None


def _must(names: list[str], text: str, pod: bool) -> str:
    found = (["pod"] if pod else []) + ([_named(names)] if names else [])
    return f"{' and '.join(found)} {text}" if found else ""


def _run_as_user(spec: JsonObject) -> CheckResult | None:
    names = _of(spec, lambda each: _context(each).get("runAsUser") == 0)
    text = _must(names, "must not set runAsUser=0", _context(spec).get("runAsUser") == 0)
    return CheckResult("runAsUser=0", text) if text else None


def _seccomp_restricted(spec: JsonObject) -> CheckResult | None:
    if not _is_linux(spec):
        return None

    def type_of(item: JsonObject) -> str | None:
        profile = _context(item).get("seccompProfile")
        return None if profile is None else str(profile.get("type", ""))

    fine = ("RuntimeDefault", "Localhost")
    wrong = _of(spec, lambda each: type_of(each) is not None and type_of(each) not in fine)
    whole = type_of(spec)
    text = _must(wrong, 'must not set securityContext.seccompProfile.type to "Unconfined"', whole not in (None, *fine))
    if text:
        return CheckResult("seccompProfile", text)
    missing = [] if whole in fine else _of(spec, lambda each: type_of(each) is None)
    if not missing:
        return None
    wanted = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return CheckResult("seccompProfile", f"pod or {_named(missing)} {wanted}")


Check = Callable[[JsonObject], CheckResult | None]

BASELINE: Sequence[Check] = (
    _capabilities_baseline, _host_namespaces, _host_paths, _host_ports, _host_process, _privileged, _proc_mount,
    _seccomp_baseline, _selinux, _sysctls,
)  # fmt: skip
# Baseline checks that no stricter check replaces, in the order in which they are reported.
RESTRICTED: Sequence[Check] = (
    _escalation, _capabilities_restricted, _host_namespaces, _host_ports, _host_process, _privileged, _proc_mount,
    _volume_types, _non_root, _run_as_user, _seccomp_restricted, _selinux, _sysctls,
)  # fmt: skip


def findings(level: str, pod: JsonObject) -> list[CheckResult]:
    """The violations of a pod against the level."""
    checks = {"baseline": BASELINE, "restricted": RESTRICTED}.get(level, ())
    return [found for check in checks if (found := check(pod.get("spec") or {})) is not None]

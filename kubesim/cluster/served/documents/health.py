"""Health checks, by name. The in-memory server is healthy whenever it answers.

Mirrors: apiserver/pkg/server/healthz healthz.go handleRootHealth; pkg/server/healthz.go (the names)
"""

from __future__ import annotations

from collections.abc import Sequence

_FIRST = ("ping", "log", "loopback-serving-certificate", "etcd")
_READY_FIRST = ("ping", "log", "etcd", "etcd-readiness", "informer-sync")
_HOOKS = (
    "start-apiserver-admission-initializer", "generic-apiserver-start-informers",
    "priority-and-fairness-config-consumer", "priority-and-fairness-filter", "storage-object-count-tracker-hook",
    "start-apiextensions-informers", "start-apiextensions-controllers", "crd-informer-synced",
    "start-system-namespaces-controller", "peer-endpoint-reconciler-controller",
    "start-cluster-authentication-info-controller", "start-kube-apiserver-identity-lease-controller",
    "start-kube-apiserver-identity-lease-garbage-collector", "storage-readiness",
    "start-legacy-token-tracking-controller", "start-service-ip-repair-controllers",
    "scheduling/bootstrap-system-priority-classes", "priority-and-fairness-config-producer", "bootstrap-controller",
    "start-kubernetes-service-cidr-controller", "start-kube-aggregator-informers",
    "apiservice-status-local-available-controller", "apiservice-status-remote-available-controller",
    "apiservice-registration-controller", "apiservice-discovery-controller", "kube-apiserver-autoregistration",
)  # fmt: skip
_LAST = ("apiservice-openapi-controller", "apiservice-openapiv3-controller")


def _checks(first: Sequence[str], after: Sequence[str] = ()) -> tuple[str, ...]:
    hooks = [f"poststarthook/{name}" for name in _HOOKS]
    return (*first, *hooks, "autoregister-completion", *(f"poststarthook/{name}" for name in _LAST), *after)


CHECKS = {"healthz": _checks(_FIRST), "livez": _checks(_FIRST), "readyz": _checks(_READY_FIRST, ("shutdown",))}


def health(endpoint: str, check: str, *, verbose: bool, excluded: Sequence[str]) -> str | None:
    """The text of `/livez` or of one of its checks. None if the check does not exist."""
    names = CHECKS[endpoint]
    if check:
        return "ok" if check in names else None
    if not verbose:
        return "ok"
    lines = [f"[+]{name} excluded: ok" if name in excluded else f"[+]{name} ok" for name in names]
    unknown = [name for name in excluded if name not in names]
    if unknown:
        quoted = ", ".join(f'"{name}"' for name in unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {quoted}")
    return "\n".join([*lines, f"{endpoint} check passed"]) + "\n"


def health_paths() -> list[str]:
    return [f"/{endpoint}{suffix}" for endpoint, names in CHECKS.items() for suffix in ("", *(f"/{n}" for n in names))]

"""Conversion of a v1 pod to the internal version and back: deprecated fields get the values of current ones.

Mirrors: pkg/apis/core/v1/conversion.go Convert_v1_Pod_To_core_Pod, Convert_core_Pod_To_v1_Pod
"""

from __future__ import annotations

from typing import Any

_INIT_CONTAINER_ANNOTATIONS = {
    f"pod.{stage}.kubernetes.io/init-container{what}" for stage in ("alpha", "beta") for what in ("s", "-statuses")
}


def convert_pod(pod: dict[str, Any]) -> None:
    """Convert a decoded JSON object in place."""
    meta, spec, status = pod.setdefault("metadata", {}), pod.setdefault("spec", {}), pod.get("status")
    annotations = meta.get("annotations")
    if annotations:
        kept = {key: value for key, value in annotations.items() if key not in _INIT_CONTAINER_ANNOTATIONS}
        meta["annotations"] = kept
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    grace = spec.get("terminationGracePeriodSeconds")
    if grace is not None and grace < 0:
        spec["terminationGracePeriodSeconds"] = 1
    # The internal version stores the host's namespaces in the security context, so a pod always has one.
    spec.setdefault("securityContext", {})
    if status:
        _agree_on_addresses(status)


def _agree_on_addresses(status: dict[str, Any]) -> None:
    ip, ips = status.get("podIP", ""), status.get("podIPs") or []
    if ip and (not ips or ips[0].get("ip", "") != ip):
        status["podIPs"] = [{"ip": ip}]
    elif ips:
        status["podIP"] = ips[0].get("ip", "")

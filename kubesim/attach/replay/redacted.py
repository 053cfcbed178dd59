"""Redacts objects for a recording: removes values that could be secret, managed fields, and the machine's identity.

It removes the values of environment variables, annotations, Secrets, and headers of HTTP probes and hooks. Only the
annotations that the kubelet writes on mirror pods remain: a hash, a source and a time. In messages of Events,
containers and conditions it replaces text that looks like a credential.
"""

from __future__ import annotations

import re
from typing import Any

from kubesim.trace.klog.redact import Redaction

REDACTED = "REDACTED"
_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
_HANDLERS = ("livenessProbe", "readinessProbe", "startupProbe", "postStart", "preStop")
_CREDENTIALS = Redaction()
_IDENTITY = ("machineID", "systemUUID", "bootID")
_KUBELETS_OWN = {
    "kubernetes.io/config.hash": re.compile(r"[0-9a-f]{32,64}"),
    "kubernetes.io/config.mirror": re.compile(r"[0-9a-f]{32,64}"),
    "kubernetes.io/config.source": re.compile(r"file|http|api"),
    "kubernetes.io/config.seen": re.compile(r"[0-9T:.Z+-]{20,40}"),
}
# Ends the initial events of a streaming list, on a bookmark.
_OF_BOOKMARKS = {"k8s.io/initial-events-end": re.compile(r"true")}


def redacted(obj: dict[str, Any]) -> dict[str, Any]:
    """A redacted copy of an API object; parts with an unexpected type are dropped."""
    out = dict(obj)
    if isinstance(metadata := out.get("metadata"), dict):
        out["metadata"] = _metadata(metadata)
    if isinstance(spec := out.get("spec"), dict):
        out["spec"] = _spec(spec)
    if isinstance(message := out.get("message"), str):
        out["message"] = _CREDENTIALS.text(message)
    if isinstance(status := out.get("status"), dict):
        status = out["status"] = _messages(status)
    if isinstance(status, dict) and isinstance(info := status.get("nodeInfo"), dict):
        hidden = {name: re.sub(r"[0-9A-Za-z]", "0", str(info[name])) for name in _IDENTITY if name in info}
        out["status"] = {**status, "nodeInfo": {**info, **hidden}}
    for field in ("data", "stringData", "binaryData"):
        if isinstance(values := out.get(field), dict):
            out[field] = dict.fromkeys(values, REDACTED)
    return out


def _messages(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: _CREDENTIALS.text(inner) if name == "message" and isinstance(inner, str) else _messages(inner)
            for name, inner in value.items()
        }
    return [_messages(inner) for inner in value] if isinstance(value, list) else value


def _metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    out = {name: value for name, value in metadata.items() if name != "managedFields"}
    if "annotations" in out:
        annotations = out.pop("annotations")
        if isinstance(annotations, dict):
            out["annotations"] = {name: _annotation(name, value) for name, value in annotations.items()}
    return out


def _annotation(name: str, value: Any) -> str:
    allowed = _KUBELETS_OWN.get(name) or _OF_BOOKMARKS.get(name)
    return value if allowed is not None and isinstance(value, str) and allowed.fullmatch(value) else REDACTED


def _spec(spec: dict[str, Any]) -> dict[str, Any]:
    out = dict(spec)
    for field in _CONTAINERS:
        if isinstance(containers := out.get(field), list):
            out[field] = [_container(one) for one in containers if isinstance(one, dict)]
    return out


def _container(container: dict[str, Any]) -> dict[str, Any]:
    out = _handlers(container)
    if isinstance(lifecycle := out.get("lifecycle"), dict):
        out["lifecycle"] = _handlers(lifecycle)
    if isinstance(env := out.get("env"), list):
        out["env"] = [_without_value(one) for one in env if isinstance(one, dict)]
    return out


def _handlers(owner: dict[str, Any]) -> dict[str, Any]:
    out = dict(owner)
    for name in _HANDLERS:
        handler = out.get(name)
        http = handler.get("httpGet") if isinstance(handler, dict) else None
        headers = http.get("httpHeaders") if isinstance(http, dict) else None
        if isinstance(handler, dict) and isinstance(http, dict) and isinstance(headers, list):
            hidden = [_without_value(header) for header in headers if isinstance(header, dict)]
            out[name] = {**handler, "httpGet": {**http, "httpHeaders": hidden}}
    return out


def _without_value(pair: dict[str, Any]) -> dict[str, Any]:
    return {**pair, "value": REDACTED} if pair.get("value") else pair

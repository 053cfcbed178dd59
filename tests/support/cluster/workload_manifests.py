"""Minimal manifests of workloads."""

from __future__ import annotations

from typing import Any


def workload(kind: str, name: str = "web", replicas: int = 3, **spec: Any) -> dict[str, Any]:
    """A Deployment, ReplicaSet or ReplicationController with one container."""
    labels = {"app": name}
    selector: dict[str, Any] = labels if kind == "ReplicationController" else {"matchLabels": labels}
    return {
        "apiVersion": "v1" if kind == "ReplicationController" else "apps/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": selector,
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": "app:1"}]},
            },
            **spec,
        },
    }


def image(text: str) -> dict[str, Any]:
    """A patch that changes the image in a workload's template."""
    return {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": text}]}}}}

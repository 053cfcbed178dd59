"""Manifests for the http source."""

from __future__ import annotations

from typing import Any


def pod(name: str, image: str = "a:1") -> dict[str, Any]:
    spec = {"containers": [{"name": "c", "image": image}]}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name}, "spec": spec}


def pods(*names: str) -> dict[str, Any]:
    return {"kind": "PodList", "apiVersion": "v1", "items": [pod(name) for name in names]}

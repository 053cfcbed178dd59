"""Minimal pods, and their validation errors.

All pods go through the production entry point, after defaulting. Paths are relative to the tested part; an error
elsewhere keeps its whole path.
"""

from __future__ import annotations

from typing import Any

from kubesim.api.pods.defaults import set_pod_defaults
from kubesim.api.validation import PodValidationOptions, validate_pod_create
from kubesim.features import FeatureGates

JsonObject = dict[str, Any]


def pod_with(spec: JsonObject | None = None, container: JsonObject | None = None, **meta: Any) -> JsonObject:
    pod = {
        "metadata": {"name": "p", "namespace": "default", **meta},
        "spec": {"containers": [{"name": "c", "image": "img", **(container or {})}], **(spec or {})},
    }
    set_pod_defaults(pod)
    return pod


def gates(**settings: bool) -> PodValidationOptions:
    return PodValidationOptions(FeatureGates(settings))


def complaints(pod: JsonObject, options: PodValidationOptions | None = None, within: str = "") -> list[str]:
    """All errors in order; paths below `within` are relative to it."""
    return [str(error).removeprefix(within) for error in validate_pod_create(pod, options or PodValidationOptions())]


def about_spec(spec: JsonObject, options: PodValidationOptions | None = None) -> list[str]:
    return complaints(pod_with(spec), options, "spec.")


def about_container(
    container: JsonObject, spec: JsonObject | None = None, options: PodValidationOptions | None = None
) -> list[str]:
    return complaints(pod_with(spec, container), options, "spec.containers[0].")


def about_volume(volume: JsonObject, options: PodValidationOptions | None = None) -> list[str]:
    return complaints(pod_with({"volumes": [{"name": "v", **volume}]}), options, "spec.volumes[0].")


def about_metadata(**meta: Any) -> list[str]:
    return complaints(pod_with(**meta), None, "metadata.")

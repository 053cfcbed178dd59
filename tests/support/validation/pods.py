"""Pods as small as they can be, and what the API says about them.

Everything goes through the entry that production uses, after the defaults. The paths are cut down to what a table is
about: an error elsewhere keeps its whole path, and so cannot be mistaken.
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
    """All errors in order; those below `within` begin there."""
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

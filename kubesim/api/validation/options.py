"""Options of pod validation: feature gates, and whether the object is a pod or a template.

Mirrors: pkg/apis/core/validation PodValidationOptions; pkg/api/pod GetValidationOptionsFromPodSpecAndMeta
"""

from __future__ import annotations

from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.values import value_object


@value_object
class PodValidationOptions:
    """The options for a new pod. Options that only keep old, invalid pods valid are off, and locked gates are not
    consulted.
    """

    gates: FeatureGates = DEFAULT_GATES
    resource_is_pod: bool = False
    """The API server says so for a pod; the kubelet does not for a static one."""
    allow_privileged: bool = True
    """Kubelets always allow it, API servers with --allow-privileged."""


DEFAULT_OPTIONS = PodValidationOptions()

"""PodTemplateSpec: what a controller makes its pods from.

Mirrors: k8s.io/api/core/v1/types.go PodTemplateSpec
"""

from __future__ import annotations

from kubesim.api.meta import ObjectMeta
from kubesim.api.model import Model, go
from kubesim.api.pod import PodSpec


class PodTemplateSpec(Model):
    metadata: ObjectMeta = go("ObjectMeta")
    spec: PodSpec = go("PodSpec")

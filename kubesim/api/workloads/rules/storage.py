"""Defaults and validation of claims, volumes and what belongs to them.

Mirrors: pkg/apis/core/v1/defaults.go; pkg/apis/core/validation ValidatePersistentVolume; pkg/apis/storage
"""

from __future__ import annotations

from collections.abc import Mapping

from kubesim.api.workloads.rules.kind_rules import KindRules

RULES: Mapping[str, KindRules] = {
    "PersistentVolumeClaim": KindRules(has_generation=False),
    "PersistentVolume": KindRules(has_generation=False),
    "StorageClass": KindRules(has_generation=False),
    "CSIDriver": KindRules(has_generation=False),
    "CSINode": KindRules(has_generation=False),
    "VolumeAttachment": KindRules(has_generation=False),
}

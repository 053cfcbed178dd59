"""Defaults and validation of StatefulSets, DaemonSets and ControllerRevisions.

Mirrors: pkg/apis/apps/v1/defaults.go; pkg/apis/apps/validation/validation.go
"""

from __future__ import annotations

from collections.abc import Mapping

from kubesim.api.workloads.rules.kind_rules import KindRules

RULES: Mapping[str, KindRules] = {
    "StatefulSet": KindRules(),
    "DaemonSet": KindRules(),
    "ControllerRevision": KindRules(has_generation=False),
}

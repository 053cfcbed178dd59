"""Defaults and validation of Deployments, ReplicaSets and ReplicationControllers.

Mirrors: pkg/apis/apps/v1/defaults.go; pkg/apis/apps/validation/validation.go; pkg/apis/core/validation
"""

from __future__ import annotations

from collections.abc import Mapping

from kubesim.api.workloads.rules.kind_rules import KindRules

RULES: Mapping[str, KindRules] = {
    "Deployment": KindRules(),
    "ReplicaSet": KindRules(),
    "ReplicationController": KindRules(),
}

"""Defaults and validation of PodDisruptionBudgets.

Mirrors: pkg/apis/policy/validation/validation.go
"""

from __future__ import annotations

from collections.abc import Mapping

from kubesim.api.workloads.rules.kind_rules import KindRules

RULES: Mapping[str, KindRules] = {
    "PodDisruptionBudget": KindRules(),
}

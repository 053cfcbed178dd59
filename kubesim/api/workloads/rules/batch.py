"""Defaults and validation of Jobs and CronJobs.

Mirrors: pkg/apis/batch/v1/defaults.go; pkg/apis/batch/validation/validation.go
"""

from __future__ import annotations

from collections.abc import Mapping

from kubesim.api.workloads.rules.kind_rules import KindRules

RULES: Mapping[str, KindRules] = {
    "Job": KindRules(),
    "CronJob": KindRules(),
}

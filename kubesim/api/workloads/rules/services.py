"""Defaults and validation of Services and EndpointSlices.

Mirrors: pkg/apis/core/v1/defaults.go; pkg/apis/core/validation/validation.go ValidateService; pkg/apis/discovery
"""

from __future__ import annotations

from collections.abc import Mapping

from kubesim.api.workloads.rules.kind_rules import KindRules

RULES: Mapping[str, KindRules] = {
    "Service": KindRules(has_generation=False),
    "EndpointSlice": KindRules(),
}

"""All built-in invariants. Their names are part of the scenario language (`language/document.py`)."""

from __future__ import annotations

from types import ModuleType

from kubesim.scenario.invariants.containers import (
    addresses,
    gone_pods,
    grace_periods,
    init_order,
    networks,
    one_instance,
    probes,
    sidecars,
)
from kubesim.scenario.invariants.invariant import Invariant
from kubesim.scenario.invariants.reported import (
    lost_updates,
    resource_versions,
    restart_counts,
    statuses,
    terminal_phase,
)
from kubesim.scenario.invariants.strict import (
    allocations,
    event_rate,
    evictions,
    post_start,
    probe_periods,
    pull_back_off,
    readiness,
)

MODULES: tuple[ModuleType, ...] = (
    one_instance,
    gone_pods,
    init_order,
    sidecars,
    networks,
    restart_counts,
    terminal_phase,
    grace_periods,
    probes,
    statuses,
    addresses,
    resource_versions,
    lost_updates,
    post_start,
    pull_back_off,
    readiness,
    probe_periods,
    evictions,
    event_rate,
    allocations,
)
INVARIANTS: tuple[Invariant, ...] = tuple(module.INVARIANT for module in MODULES)

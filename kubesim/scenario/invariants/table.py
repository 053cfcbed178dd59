"""All built-in invariants. Their names are part of the scenario language (`language/invariant_items.py`)."""

from __future__ import annotations

from types import ModuleType

from kubesim.scenario.invariants import (
    addresses,
    gone_pods,
    grace_periods,
    init_order,
    lost_updates,
    networks,
    one_instance,
    probes,
    resource_versions,
    restart_counts,
    sidecars,
    statuses,
    terminal_phase,
)
from kubesim.scenario.invariants.invariant import Invariant

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
)
INVARIANTS: tuple[Invariant, ...] = tuple(module.INVARIANT for module in MODULES)

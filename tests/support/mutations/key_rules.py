"""The broken rule of each scenario, by its path below scenarios/ without suffix."""

from __future__ import annotations

from tests.support.mutations.containers import CONTAINERS
from tests.support.mutations.first_steps import FIRST_STEPS
from tests.support.mutations.incidents_a import INCIDENTS_A
from tests.support.mutations.incidents_b import INCIDENTS_B
from tests.support.mutations.language_rules import LANGUAGE_RULES
from tests.support.mutations.nodes import NODES
from tests.support.mutations.real_runtimes import REAL_RUNTIMES
from tests.support.mutations.workloads import WORKLOADS

KEY_RULES = {
    **CONTAINERS,
    **FIRST_STEPS,
    **{f"incidents/{name}": rule for name, rule in (INCIDENTS_A | INCIDENTS_B).items()},
    **LANGUAGE_RULES,
    **NODES,
    **REAL_RUNTIMES,
    **WORKLOADS,
}

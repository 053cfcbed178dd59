"""Makes the interceptor's state for the faults of a scenario."""

from __future__ import annotations

from collections.abc import Sequence

from kubesim.scenario.faults.decide import FaultState
from kubesim.scenario.language.operations.fault_items import FaultItem
from kubesim.scenario.play.settings import duration_draw


def fault_states(faults: Sequence[FaultItem], first: int = 0) -> list[FaultState]:
    """The state of each fault, numbered from `first`."""
    return [
        FaultState(number, fault, None if fault.latency is None else duration_draw(fault.latency))
        for number, fault in enumerate(faults, first)
    ]

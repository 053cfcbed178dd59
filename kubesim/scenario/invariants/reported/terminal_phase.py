"""A terminal phase is final: Succeeded and Failed never change.

The status manager and the pod workers treat a terminal phase as final (getPhase is not called again).

Exception: activeDeadlineSeconds can still turn Succeeded into Failed (DeadlineExceeded).

The first patches of v1.30 violate it: after a restart the kubelet admits finished pods again, and may reject them.
"""

from __future__ import annotations

from kubesim.api.pod import Pod
from kubesim.api.pods.phases import TERMINAL_PHASES
from kubesim.scenario.invariants.invariant import Invariant
from kubesim.scenario.invariants.seen import PodSeen


def status_changed(_: PodSeen | None, old: Pod | None, new: Pod) -> str:
    if old is None or old.status.phase not in TERMINAL_PHASES:
        return ""
    before, after = old.status.phase, new.status.phase
    if before == after or old.metadata.uid != new.metadata.uid:
        return ""
    if after == "Failed" and new.status.reason == "DeadlineExceeded":
        return ""
    return f"the phase changed from {before} to {after}"


INVARIANT = Invariant("terminal-phase", status_changed=status_changed)

"""A pod that has ended stays as it ended: Succeeded and Failed never change.

The status manager and the pod workers treat a terminal phase as final (getPhase is not asked again).

Exception: activeDeadlineSeconds can still turn Succeeded into Failed (DeadlineExceeded).

The first patches of v1.30 violate it: after a restart the kubelet admits finished pods again, and may reject them.
"""

from __future__ import annotations

from kubesim.api.pod import Pod
from kubesim.api.pods.phases import TERMINAL_PHASES
from kubesim.cluster.store.watches import WatchEvent
from kubesim.scenario.invariants.invariant import Invariant
from kubesim.scenario.invariants.seen import PodSeen


def pod_changed(pod: PodSeen | None, change: WatchEvent) -> str:
    old, new = change.previous, change.object
    if not isinstance(old, Pod) or not isinstance(new, Pod) or old.status is new.status:
        return ""
    before, after = old.status.phase, new.status.phase
    if before == after or before not in TERMINAL_PHASES or old.metadata.uid != new.metadata.uid:
        return ""
    if after == "Failed" and new.status.reason == "DeadlineExceeded":
        return ""
    return f"the phase changed from {before} to {after}"


INVARIANT = Invariant("terminal-phase", pod_changed=pod_changed)

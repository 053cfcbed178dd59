"""The restart count of a container never falls.

The kubelet counts from the records of the runtime, and if they are gone from the log files on its disk
(calcRestartCountByLogDir); without either it keeps the count that the API server has.

Exceptions: kubelets before v1.19 count from records alone, so their counts fall when the records are gone. And a kubelet
that starts does not read the status of its static pods from their mirrors: it reports 0 for a container that the
runtime has no record of, until it creates it again.
"""

from __future__ import annotations

from kubesim.api.pod import Pod
from kubesim.cluster.store.watches import WatchEvent
from kubesim.scenario.invariants.invariant import Invariant
from kubesim.scenario.invariants.seen import PodSeen, mirrored_uid


def pod_changed(pod: PodSeen | None, change: WatchEvent) -> str:
    old, new = change.previous, change.object
    if not isinstance(old, Pod) or not isinstance(new, Pod) or old.status is new.status:
        return ""
    for before, after in (
        (old.status.container_statuses, new.status.container_statuses),
        (old.status.init_container_statuses, new.status.init_container_statuses),
    ):
        if before is after or not before:
            continue
        counts = {status.name: status.restart_count for status in before}
        for status in after:
            count = counts.get(status.name, 0)
            is_unknown = mirrored_uid(new) and not status.container_id
            if status.restart_count < count and not is_unknown:
                return f"the restart count of container {status.name} fell from {count} to {status.restart_count}"
    return ""


INVARIANT = Invariant("restart-counts", pod_changed=pod_changed)

"""The restart count of a container never decreases.

The kubelet computes the count from the records of the runtime or, if they are gone, from the log files on its disk
(calcRestartCountByLogDir). Without either it keeps the count at the API server.

Exceptions: kubelets before v1.22 use only the records, so their counts decrease when the records are gone. After a
restart, a kubelet does not read the status of its static pods from their mirror pods, so it uses only the records.
"""

from __future__ import annotations

from kubesim.api.pod import ContainerStatus, Pod
from kubesim.runtime.types import bare_id
from kubesim.scenario.invariants.invariant import Invariant
from kubesim.scenario.invariants.seen import PodSeen, mirrored_uid


def status_changed(pod: PodSeen | None, old: Pod | None, new: Pod) -> str:
    if old is None:
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
            if status.restart_count < count and not (_counts_from_records(pod, new) and _may_count(pod, status)):
                return f"the restart count of container {status.name} fell from {count} to {status.restart_count}"
    return ""


def _counts_from_records(pod: PodSeen | None, new: Pod) -> bool:
    return bool(mirrored_uid(new)) or (pod is not None and not pod.node.rules.counts_restarts_by_logs)


def _may_count(pod: PodSeen | None, status: ContainerStatus) -> bool:
    """Whether the count is that of the runtime's record, or of another one: of a container that has never started."""
    identifier = bare_id(status.container_id)
    record = None if pod is None else pod.running.get(identifier) or pod.ended.get(identifier)
    return record is None or status.restart_count == record.attempt


INVARIANT = Invariant("restart-counts", status_changed=status_changed)

"""The status of a pod that soft admission blocks."""

from __future__ import annotations

from kubesim.api.pod import PodStatus
from kubesim.kubelet.admission.soft import blocked_status


def test_waiting_containers_are_blocked() -> None:
    waiting = {"waiting": {"reason": "PodInitializing", "message": "soon"}}
    status = PodStatus.from_json(
        {
            "phase": "Running",
            "initContainerStatuses": [{"name": "one", "state": waiting}],
            "containerStatuses": [{"name": "a", "state": waiting}, {"name": "b", "state": {"running": {}}}],
        }
    )
    blocked = blocked_status(status, "AppArmor", "Cannot enforce AppArmor: no")
    assert (blocked.phase, blocked.reason, blocked.message) == ("Pending", "AppArmor", "Cannot enforce AppArmor: no")
    states = [each.state.to_json() for each in (*blocked.init_container_statuses, *blocked.container_statuses)]
    is_blocked = {"waiting": {"reason": "Blocked", "message": "soon"}}
    assert states == [is_blocked, is_blocked, {"running": {}}]

"""Soft admission: a blocked pod stays Pending, and each sync checks it again.

Kubelets up to v1.30 use it for AppArmor.

Mirrors: pkg/kubelet/kubelet.go canRunPod, SyncPod, at v1.30.0
"""

from __future__ import annotations

from collections.abc import Sequence

from kubesim.api.pod import ContainerStateWaiting, ContainerStatus, PodStatus

BLOCKED = "Blocked"


def blocked_status(status: PodStatus, reason: str, message: str) -> PodStatus:
    """The status of a blocked pod: all waiting containers get the reason Blocked."""
    return status.changed(
        phase="Pending",
        reason=reason,
        message=message,
        init_container_statuses=_blocked(status.init_container_statuses),
        container_statuses=_blocked(status.container_statuses),
    )


def _blocked(statuses: Sequence[ContainerStatus]) -> tuple[ContainerStatus, ...]:
    return tuple([_with_reason(each, each.state.waiting) if each.state.waiting else each for each in statuses])


def _with_reason(status: ContainerStatus, waiting: ContainerStateWaiting) -> ContainerStatus:
    return status.changed(state=status.state.changed(waiting=waiting.changed(reason=BLOCKED)))

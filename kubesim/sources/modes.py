"""Notification modes of the mux: incremental updates, or a snapshot of all pods (operation SET).

Kubelets until v1.35 had three modes and always chose the incremental one; their sync loop ignores a SET.

Mirrors: v1.12 pkg/kubelet/config/config.go PodConfigNotificationMode, podStorage.Merge
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Literal

from kubesim.api.pod import Pod
from kubesim.sources.mux import PodUpdate

NotificationMode = Literal["incremental", "snapshot", "snapshotAndUpdates"]
INCREMENTAL: Final = "incremental"

_SET_BY = {"snapshot": {"ADD", "REMOVE", "UPDATE", "DELETE"}, "snapshotAndUpdates": {"ADD", "REMOVE"}}
_ALSO_SENT = {"snapshot": set[str](), "snapshotAndUpdates": {"UPDATE", "DELETE"}}


def in_mode(
    mode: NotificationMode, updates: Sequence[PodUpdate], merged_state: Callable[[], tuple[Pod, ...]]
) -> list[PodUpdate]:
    """The updates that another mode sends instead of these incremental ones. Status-only changes are not sent."""
    if mode == INCREMENTAL:
        return list(updates)
    causes = [update for update in updates if update.op in _SET_BY[mode]]
    sent = [update for update in updates if update.op in _ALSO_SENT[mode]]
    return [PodUpdate("SET", causes[0].source, merged_state()), *sent] if causes else sent

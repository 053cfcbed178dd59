"""Back-off for deleting failed daemon pods, which avoids a hot loop when a kubelet rejects every pod.

Mirrors: client-go util/flowcontrol/backoff.go Backoff; pkg/controller/daemon/daemon_controller.go failedPodsBackoffKey
"""

from __future__ import annotations

from dataclasses import field

from kubesim.api.timestamps import MINUTE, SECOND
from kubesim.values import part

FIRST_WAIT = SECOND
LONGEST_WAIT = 15 * MINUTE

FailureKey = tuple[str, int, str]  # uid of the set, its observed generation, node


@part
class FailedPodsBackoff:
    """Back-off after each deletion: 1 s, 2 s, 4 s, ...; reset after twice the maximum."""

    _entries: dict[FailureKey, tuple[int, int]] = field(default_factory=dict)  # delay, start time

    def remaining_wait(self, key: FailureKey, now: int) -> int:
        """The remaining back-off; 0: the failed pod can be deleted now. Otherwise the full delay, after which the set
        is synced again.
        """
        wait, since = self._entries.get(key, (0, now))
        return wait if now - since < wait else 0

    def next(self, key: FailureKey, now: int) -> None:
        wait, since = self._entries.get(key, (0, now))
        if now - since > 2 * LONGEST_WAIT:
            wait = 0
        self._entries[key] = min(2 * wait, LONGEST_WAIT) or FIRST_WAIT, now

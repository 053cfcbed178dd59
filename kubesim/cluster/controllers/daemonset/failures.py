"""The back-off with which failed daemon pods are deleted: a kubelet that rejects each pod must not make a hot loop.

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
    """How long to wait after each deletion: 1 s, 2 s, 4 s and so on; forgotten after twice the longest wait."""

    _entries: dict[FailureKey, tuple[int, int]] = field(default_factory=dict)  # the wait, and since when

    def remaining_wait(self, key: FailureKey, now: int) -> int:
        """0: a failed pod can be deleted now. Otherwise the whole wait: the set is checked again after that time."""
        wait, since = self._entries.get(key, (0, now))
        return wait if now - since < wait else 0

    def next(self, key: FailureKey, now: int) -> None:
        wait, since = self._entries.get(key, (0, now))
        if now - since > 2 * LONGEST_WAIT:
            wait = 0
        self._entries[key] = min(2 * wait, LONGEST_WAIT) or FIRST_WAIT, now

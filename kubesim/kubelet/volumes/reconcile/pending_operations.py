"""Pending volume operations: one at a time per volume, with a back-off after a failure.

The back-off starts at 500 ms, doubles with each failure up to 2m2s, and restarts for a different operation on the
volume.

Mirrors: pkg/volume/util/nestedpendingoperations; pkg/util/goroutinemap/exponentialbackoff
"""

from __future__ import annotations

from kubesim.api.timestamps import MILLISECOND, SECOND
from kubesim.values import mutable

INITIAL_BACKOFF = 500 * MILLISECOND
MAX_BACKOFF = 122 * SECOND


@mutable
class _Operation:
    """An operation. `uid` is empty if it is for the volume as a whole."""

    uid: str
    name: str
    pending: bool = True
    backoff: int = 0
    failed_at: int = 0

    def matches(self, uid: str) -> bool:
        return not self.uid or not uid or self.uid == uid

    def is_backing_off(self, now: int) -> bool:
        return bool(self.backoff) and now - self.failed_at <= self.backoff


class PendingOperations:
    """Operations that are in progress or have failed."""

    def __init__(self) -> None:
        self._volumes: dict[str, list[_Operation]] = {}

    def _find(self, volume_name: str, uid: str) -> _Operation | None:
        """The pending operation, otherwise that of exactly this pod, otherwise the first match."""
        found: _Operation | None = None
        for operation in self._volumes.get(volume_name, ()):
            if operation.matches(uid):
                if operation.pending:
                    return operation
                if found is None or operation.uid == uid:
                    found = operation
        return found

    def is_pending(self, volume_name: str, uid: str) -> bool:
        if volume_name not in self._volumes:
            return False
        found = self._find(volume_name, uid)
        return found is not None and found.pending

    def retry_after(self, volume_name: str, uid: str, name: str, now: int) -> int | None:
        """The time when the back-off of this operation ends; None: it can start now."""
        if volume_name not in self._volumes:
            return None
        found = self._find(volume_name, uid)
        if found is None or found.name != name or not found.is_backing_off(now):
            return None
        return found.failed_at + found.backoff

    def start(self, volume_name: str, uid: str, name: str, now: int) -> bool:
        """Start an operation; false if it may not start now."""
        found = self._find(volume_name, uid) if volume_name in self._volumes else None
        if found is None:
            self._volumes.setdefault(volume_name, []).append(_Operation(uid, name))
            return True
        if found.pending:
            return False
        if found.is_backing_off(now):
            if found.name == name:
                return False
            found.name, found.backoff = name, 0
        found.pending, found.uid = True, uid
        return True

    def succeed(self, volume_name: str, uid: str) -> None:
        left = [operation for operation in self._volumes.get(volume_name, ()) if operation.uid != uid]
        if left:
            self._volumes[volume_name] = left
        else:
            self._volumes.pop(volume_name, None)

    def fail(self, volume_name: str, uid: str, now: int) -> None:
        failed = next(operation for operation in self._volumes[volume_name] if operation.uid == uid)
        failed.backoff = min(2 * failed.backoff, MAX_BACKOFF) if failed.backoff else INITIAL_BACKOFF
        failed.failed_at = now
        failed.pending = False

"""Reloads networks when the configuration directory changes, with containerd's rules.

Writing, removing or moving away any file causes a reload; creating a file or changing its mode does not. So a file that
is moved in goes unnoticed, even if it replaces the one in use.

Mirrors: containerd internal/cri/server/cni_conf_syncer.go
"""

from __future__ import annotations

import os
from typing import Final, Literal

from asyncinotify import Inotify, Mask

from kubesim.cni.gocni import CNI, LoadOption
from kubesim.errors import CniError

Reaction = Literal["ignore", "reload", "stop"]

_RELOAD: Final = Mask.MODIFY | Mask.DELETE | Mask.MOVED_FROM
_STOP: Final = Mask.DELETE_SELF | Mask.MOVE_SELF  # events of the directory itself


def reaction(mask: Mask) -> Reaction:
    if mask & _STOP:
        return "stop"
    return "reload" if mask & _RELOAD else "ignore"


class NetConfSyncer:
    """Loads networks, and reloads them when the directory changes. `last_status` is None while there is no error."""

    def __init__(self, cni: CNI, *options: LoadOption) -> None:
        self._cni, self._options = cni, options
        self.conf_dir = cni.settings.conf_dir
        self.last_status: CniError | None = None
        # Unprivileged plugins read a file next to the directory; the directory itself is private.
        os.makedirs(os.path.dirname(self.conf_dir), mode=0o755, exist_ok=True)
        os.makedirs(self.conf_dir, mode=0o700, exist_ok=True)
        self.watch = Inotify(sync_timeout=0)
        try:
            self.watch.add_watch(self.conf_dir, _RELOAD | _STOP)
        except OSError:
            self.watch.close()
            raise
        try:
            cni.load_now(*options)
        except CniError as error:
            self.last_status = error

    @property
    def last_load_status(self) -> str:
        """The lastCNILoadStatus of `crictl info`."""
        return "OK" if self.last_status is None else str(self.last_status)

    async def sync_loop(self) -> None:
        """Run until the directory is gone, which is an error."""
        async for event in self.watch:
            await self.handle(event.mask)

    async def handle(self, mask: Mask) -> bool:
        """Handle one event; true if it reloaded."""
        react = reaction(mask)
        if react == "stop":
            raise CniError("cni conf dir is removed, stop watching")
        if react == "ignore":
            return False
        self.last_status = None
        try:
            await self._cni.load(*self._options)
        except CniError as error:
            self.last_status = error
        return True

    def close(self) -> None:
        self.watch.close()

"""Manifest files on this machine: implements `ManifestFiles` with inotify.

The watch behaves like the kubelet's. It checks once a second for a missing path and restarts after a queue overflow.
After a directory is removed or renamed, it gets no more events, even for a new directory of that name. The source's
periodic check finds missed changes.

Mirrors: pkg/kubelet/config/file_linux.go startWatch, doWatch; fsnotify backend_inotify.go newEvent
"""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock
from kubesim.concurrency import TaskSet
from kubesim.sources.manifests.manifest_files import (
    LIMIT_REACHED,
    MAX_CONFIG_LENGTH,
    MISSING,
    PATH_ITSELF,
    Change,
    FileEvent,
    FileMissing,
    FileProblem,
    Kind,
    ManifestWatcher,
)
from kubesim.sources.manifests.static_pod import manifest_text

if TYPE_CHECKING:
    from asyncinotify import Inotify, Mask

RETRY_PERIOD = 1 * SECOND
MAX_RETRY_PERIOD = 20 * SECOND
EVENTS_AT_ONCE = 32  # of maximum length; usually several hundred fit into one read
OVERFLOW = "fsnotify: queue or buffer overflow"


class RealFiles:
    is_real = True

    def __init__(self, path: str, clock: LoopClock, tasks: TaskSet) -> None:
        self.path = path.rstrip("/") or "/"
        self._clock = clock
        self._tasks = tasks

    def _full(self, name: str) -> str:
        return os.path.join(self.path, name) if name else self.path

    def kind(self, name: str = PATH_ITSELF) -> Kind:
        path = self._full(name)
        try:
            mode = os.stat(path).st_mode
        except FileNotFoundError as error:
            if name and os.path.islink(path):  # a dangling symbolic link
                raise _problem("stat", path, error) from None
            return "missing"
        except OSError as error:
            raise _problem("stat", path, error) from None
        return "directory" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else "other"

    def names(self) -> list[str]:
        try:
            return sorted(os.listdir(self.path))
        except OSError:
            return []

    def read(self, name: str = PATH_ITSELF) -> str:
        path = self._full(name)
        try:
            # A FIFO in place of a file must not block until a writer opens it.
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            raise _problem("open", path, error) from None
        with open(descriptor, "rb", buffering=0):
            try:
                mode = os.fstat(descriptor).st_mode
                if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
                    raise FileProblem(f"read {path}: not a directory or file")
                return manifest_text(_read_at_most(descriptor, MAX_CONFIG_LENGTH))
            except OSError as error:
                raise _problem("read", path, error) from None

    # -- the watch ----------------------------------------------------------------------------------------------

    def watch(self, watcher: ManifestWatcher) -> Callable[[], None]:
        if sys.platform != "linux":  # as upstream: only the periodic check works
            watcher.cannot_watch(FileProblem("source file is unsupported in this build"))
            return lambda: None
        # Started before the task runs, so that no change is missed.
        first = self._begin_watch(watcher)
        task = self._tasks.start(f"watch of {self.path}", self._keep_watching(watcher, first))
        if first is not None:
            task.add_done_callback(lambda _: first.close())

        def stop() -> None:
            task.cancel()

        return stop

    def _begin_watch(self, watcher: ManifestWatcher) -> Inotify | None:
        from asyncinotify import Inotify

        try:
            if self.kind() == "missing":
                raise FileMissing(MISSING)
            inotify = _new_inotify(Inotify, self.path)
        except FileProblem as problem:
            watcher.cannot_watch(problem)
            return None
        return inotify

    async def _keep_watching(self, watcher: ManifestWatcher, inotify: Inotify | None) -> None:
        pause = RETRY_PERIOD
        while True:
            if inotify is not None:
                pause = RETRY_PERIOD
                with inotify, self._clock.listening():
                    overflow = await self._report_changes(inotify, watcher)
                watcher.cannot_watch(overflow)
            await self._clock.sleep(pause)
            inotify = self._begin_watch(watcher)
            if inotify is None:
                pause = self._next_pause(pause)

    def _next_pause(self, last: int) -> int:
        """The delay of the next attempt: fixed for a missing path, growing for a path that cannot be watched."""
        return min(2 * last, MAX_RETRY_PERIOD) if os.path.lexists(self.path) else RETRY_PERIOD

    async def _report_changes(self, inotify: Inotify, watcher: ManifestWatcher) -> FileProblem:
        """Report events; returns when events have been lost."""
        from asyncinotify import Mask

        async for event in inotify:
            if Mask.Q_OVERFLOW in event.mask:
                return FileProblem(f'error while watching "{self.path}": {OVERFLOW}')
            if Mask.IGNORED in event.mask or Mask.UNMOUNT in event.mask:
                continue
            change = change_of(event.mask)
            if change is not None:
                name = os.fspath(event.name) if event.name is not None else PATH_ITSELF
                watcher.changed(FileEvent(name, change))
            if Mask.MOVE_SELF in event.mask:
                break
        await asyncio.get_running_loop().create_future()  # a new directory at this path is a different one
        raise AssertionError("this wait ends only by cancellation")


def change_of(mask: Mask) -> Change | None:
    """The first matching change, in the kubelet's order."""
    from asyncinotify import Mask

    if mask & (Mask.CREATE | Mask.MOVED_TO):
        return "add"
    if mask & (Mask.MODIFY | Mask.ATTRIB):
        return "modify"
    if mask & (Mask.DELETE | Mask.DELETE_SELF | Mask.MOVED_FROM | Mask.MOVE_SELF):
        return "delete"
    return None


def _new_inotify(make: type[Inotify], path: str) -> Inotify:
    from asyncinotify import Mask

    try:
        inotify = make(cache_size=EVENTS_AT_ONCE)
    except OSError as error:
        raise FileProblem(f"unable to create inotify: {_words(error)}") from None
    try:
        inotify.add_watch(
            path,
            Mask.CREATE
            | Mask.MODIFY
            | Mask.ATTRIB
            | Mask.MOVED_FROM
            | Mask.MOVED_TO
            | Mask.MOVE_SELF
            | Mask.DELETE
            | Mask.DELETE_SELF,
        )
    except OSError as error:
        inotify.close()
        raise FileProblem(f'unable to create inotify for path "{path}": {_words(error)}') from None
    return inotify


def _read_at_most(descriptor: int, limit: int) -> bytes:
    parts: list[bytes] = []
    left = limit
    while left > 0 and (part := os.read(descriptor, left)):
        parts.append(part)
        left -= len(part)
    if left <= 0:
        raise FileProblem(LIMIT_REACHED)
    return b"".join(parts)


def _words(error: OSError) -> str:
    """Go prints system errors in lower case."""
    return os.strerror(error.errno).lower() if error.errno else str(error)


def _problem(verb: str, path: str, error: OSError) -> FileProblem:
    kind = FileMissing if isinstance(error, FileNotFoundError) else FileProblem
    return kind(f"{verb} {path}: {_words(error)}")

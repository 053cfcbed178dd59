"""The reconciler: ten times a second, starts the operations that volumes need.

It checks only volumes whose desired or actual state has changed since they were last equal.

Mirrors: pkg/kubelet/volumemanager/reconciler/reconciler.go, reconciler_common.go, reconstruct.go; pkg/volume/util/
operationexecutor/operation_executor.go
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from kubesim.clock import NEVER
from kubesim.cluster.store.object_watch import ObjectKey
from kubesim.concurrency import PausingTicker
from kubesim.kubelet.context import KubeletContext
from kubesim.kubelet.volumes.object_manager import NotListedYet, ObjectManager
from kubesim.kubelet.volumes.reconcile.actions import OPERATION_NAMES, Action, next_action
from kubesim.kubelet.volumes.reconcile.actual_state import ActualStateOfWorld, MountedVolume
from kubesim.kubelet.volumes.reconcile.desired_state import DesiredStateOfWorld, VolumeToMount
from kubesim.kubelet.volumes.reconcile.operations import OperationError, Operations
from kubesim.kubelet.volumes.reconcile.pending_operations import PendingOperations
from kubesim.kubelet.volumes.spec import PLUGINS, VolumeError
from kubesim.runtime.volume_directories import SlowVolume, VolumeDirectories
from kubesim.trace.records import Note
from kubesim.values import part

Key = tuple[str, str]  # UID, unique name of the volume


@part
class Reconciler:
    """The reconciler. `changed` is called with each pod for which a volume was mounted or unmounted."""

    context: KubeletContext
    desired: DesiredStateOfWorld
    actual: ActualStateOfWorld
    objects: ObjectManager
    operations: Operations
    may_unmount: Callable[[], bool]
    changed: Callable[[str], None]
    _pending: PendingOperations = field(default_factory=PendingOperations)
    _open: dict[Key, None] = field(default_factory=dict)  # volumes that may need an operation
    _failed: set[Key] = field(default_factory=set)  # volumes whose last mount failed
    _ticker: PausingTicker | None = None  # paused while no volume may need an operation

    def touched(self, uid: str, volume_name: str) -> None:
        """Schedule a check: the desired state of this volume changed."""
        self._open[uid, volume_name] = None
        if self._ticker is not None:
            self._ticker.resume()

    def to_do(self) -> int:
        """The approximate number of volumes that may need an operation."""
        return len(self._open)

    def reconstruct_volumes(self, directories: VolumeDirectories) -> None:
        """Restore volumes left by an earlier kubelet as uncertain: wanted ones are remounted, others are torn down."""
        for uid, directory in directories.volumes():
            plugin = PLUGINS[directory.plugin]
            self.actual.add_pod_to_volume(uid, MountedVolume(directory.volume_name, plugin, uncertain=True))
            self._open[uid, directory.volume_name] = None

    async def run(self, ticker: PausingTicker) -> None:
        self._ticker = ticker
        try:
            while True:
                await ticker.channel.receive()
                if self.context.recorder.on:
                    self.context.recorder.because(None)
                ticker.done(self._reconcile())
                if not self._open:
                    ticker.pause()
        finally:
            ticker.stop()

    def _reconcile(self) -> int:
        """Unmount first: another pod may need a volume that a pod no longer uses.

        Returns the time of the next round that can start an operation.
        """
        may_unmount, again = self.may_unmount(), NEVER
        actions = [(key, next_action(*key, self.desired, self.actual)) for key in self._open]
        for key, action in actions:
            if action == "unmount" and may_unmount:
                again = min(again, self._start(key, action))
        for key, action in actions:
            if action in ("attach", "mount", "remount"):
                again = min(again, self._start(key, action))
        for key, _ in actions:
            action = next_action(*key, self.desired, self.actual)
            if action == "detach" and may_unmount:
                self.actual.mark_volume_as_detached(key[1])
                action, again = None, 0
            if action is None:
                del self._open[key]
        return again

    def _start(self, key: Key, action: Action) -> int:
        """Start an operation, unless one is in progress or in back-off for the volume.

        Returns the time of the next attempt; 0 if it started now.
        """
        uid, volume_name = key
        volume = self.desired.find(uid, volume_name)
        whole = action == "attach" or (volume is not None and volume.plugin.device_mountable)
        owner = "" if whole else uid
        name, now = OPERATION_NAMES[action], self.context.clock.now()
        if self._pending.is_pending(volume_name, owner):
            return NEVER
        again = self._pending.retry_after(volume_name, owner, name, now)
        if again is not None:
            return again + 1
        if action == "attach":
            return self._verify_attached(volume_name, volume is not None and volume.attachable)
        if action == "unmount":
            self._unmount(key, owner)
        else:
            assert volume is not None
            self._pending.start(volume_name, owner, name, now)
            self._mount(volume, owner)
        return 0

    def _unmount(self, key: Key, owner: str) -> None:
        """A failed unmount emits no Event; it is retried after a back-off."""
        uid, volume_name = key
        try:
            self.operations.unmount(uid, volume_name)
        except VolumeError:
            now = self.context.clock.now()
            self._pending.start(volume_name, owner, OPERATION_NAMES["unmount"], now)
            self._pending.fail(volume_name, owner, now)
            self._failed.add(key)
            return
        if key in self._failed:
            self._failed.discard(key)
            self._pending.succeed(volume_name, owner)
        self.changed(uid)

    def _verify_attached(self, volume_name: str, attachable: bool) -> int:
        """Wait until the cluster has attached the volume, then until the node's status reports it as in use.

        Only a node change helps the first wait; the second is retried with a back-off.
        """
        if attachable:
            now = self.context.clock.now()
            try:
                if not self.operations.is_attached(volume_name):
                    return NEVER
                reported = self.operations.is_reported_in_use(volume_name)
            except VolumeError:
                return NEVER
            if not reported:
                self._pending.start(volume_name, "", OPERATION_NAMES["attach"], now)
                self._pending.fail(volume_name, "", now)
                return self._pending.retry_after(volume_name, "", OPERATION_NAMES["attach"], now) or 0
            self._pending.succeed(volume_name, "")
        self.actual.mark_volume_as_attached(volume_name, by_cluster=attachable)
        return 0

    # -- mounting -----------------------------------------------------------------------------------------------

    def _mount(self, volume: VolumeToMount, owner: str) -> None:
        mounted = self.actual.find(volume.uid, volume.volume_name)
        is_remount = mounted is not None and not mounted.uncertain
        try:
            is_new = self.operations.mount(volume) and is_remount
        except (NotListedYet, SlowVolume) as error:
            pod, duration = volume.pod.metadata, error.duration if isinstance(error, SlowVolume) else 0
            mounting = self._mount_later(volume, owner, duration)
            self.context.tasks.start(f"mount of {pod.namespace}/{pod.name}", mounting)
        except OperationError as error:
            self._mount_failed(volume, owner, error)
        else:
            self._mounted(volume, owner, is_new=is_new)

    async def _mount_later(self, volume: VolumeToMount, owner: str, duration: int = 0) -> None:
        """Wait for each unlisted object, for at most one second, and for a slow volume."""
        given_up: set[ObjectKey] = set()
        while True:
            if duration:
                await self.context.clock.sleep(duration)
                duration = 0
            try:
                self.operations.mount(volume, given_up)
            except NotListedYet as missing:
                if not await self.objects.wait_until_listed(missing.key):
                    given_up.add(missing.key)
                continue
            except SlowVolume as slow:
                duration = slow.duration
                continue
            except OperationError as error:
                self._mount_failed(volume, owner, error)
            else:
                self._mounted(volume, owner)
            return

    def _mount_failed(self, volume: VolumeToMount, owner: str, error: OperationError) -> None:
        self._pending.fail(volume.volume_name, owner, self.context.clock.now())
        self._failed.add((volume.uid, volume.volume_name))
        self.context.events.event(volume.pod, "Warning", "FailedMount", str(error))

    def _mounted(self, volume: VolumeToMount, owner: str, *, is_new: bool = False) -> None:
        key = (volume.uid, volume.volume_name)
        self._pending.succeed(volume.volume_name, owner)
        if key in self._failed:
            self._failed.discard(key)
            self._record(volume, text=f"volume {' '.join(volume.outer_names)} is mounted now")
        elif is_new:
            self._record(volume, text=f"volume {' '.join(volume.outer_names)} has its new content")
        self.changed(volume.uid)

    def _record(self, volume: VolumeToMount, *, text: str) -> None:
        if self.context.recorder.on:
            metadata = volume.pod.metadata
            pod = f"{metadata.namespace}/{metadata.name}"
            note = Note(node=self.context.settings.node_name, pod=pod, uid=metadata.uid, text=text)
            self.context.recorder.record(note)

"""The volume manager: mounts and unmounts the volumes of all pods, and lets syncs wait for them.

Mirrors: pkg/kubelet/volumemanager/volume_manager.go; pkg/kubelet/kubelet_volumes.go podVolumesExist,
cleanupOrphanedPodDirs; pkg/kubelet/kubelet_getters.go getPodVolumeDir
"""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from kubesim.api.pod import Container, Pod
from kubesim.api.timestamps import MILLISECOND, SECOND
from kubesim.clock import NEVER
from kubesim.cluster.store.object_watch import ObjectWatcher
from kubesim.concurrency import PausingTicker
from kubesim.errors import SyncCancelled, SyncError
from kubesim.golang.text import listed, quoted
from kubesim.kubelet.context import KubeletContext, PodViews
from kubesim.kubelet.volumes.attach_limits import VolumeAttachLimitExceeded, has_exhausted_resource
from kubesim.kubelet.volumes.claims import Read
from kubesim.kubelet.volumes.mounts import check_block_volumes, make_mounts
from kubesim.kubelet.volumes.object_manager import ObjectManager
from kubesim.kubelet.volumes.reconcile.actual_state import ActualStateOfWorld
from kubesim.kubelet.volumes.reconcile.desired_state import DesiredStateOfWorld, VolumeToMount
from kubesim.kubelet.volumes.reconcile.operations import Operations
from kubesim.kubelet.volumes.reconcile.populator import DesiredStateOfWorldPopulator
from kubesim.kubelet.volumes.reconcile.reconciler import Reconciler
from kubesim.kubelet.volumes.spec import VolumeError, used_names
from kubesim.kubelet.volumes.tokens import TokenManager
from kubesim.kubelet.volumes.waiting import WaitTimedOut, poll_until
from kubesim.podworkers.syncer import SyncContext
from kubesim.runtime.types import ContainerMount
from kubesim.runtime.volume_directories import VolumeDirectories, VolumeFile
from kubesim.values import value_object

KUBELET_ROOT = "/var/lib/kubelet"
WAIT_TIMEOUT = 123 * SECOND
WAIT_INTERVAL = 300 * MILLISECOND
CLEAN_UP_INTERVAL = 100 * MILLISECOND


class VolumesNotReady(SyncError):
    """The volumes of a pod could not be mounted, for a known reason."""


@value_object
class VolumeParts:
    """The volume manager's dependencies on the rest of the kubelet."""

    directories: VolumeDirectories
    objects: ObjectWatcher
    read: Read
    sign: Callable[[str], str]  # a service account token with these claims


class VolumeManager:
    def __init__(self, context: KubeletContext, views: PodViews, parts: VolumeParts) -> None:
        self._context = context
        self._clock = clock = context.clock
        self._views = views
        self._directories = parts.directories
        self._read = parts.read
        self._desired = DesiredStateOfWorld()
        self._actual = ActualStateOfWorld()
        self.objects = ObjectManager(clock, parts.objects, self._object_changed)
        self._tokens = TokenManager(clock.now, parts.read, parts.sign)
        node_name = context.settings.node_name
        operations = Operations(node_name, self.objects, parts.read, self._tokens, parts.directories, self._actual)
        self._reconciler = Reconciler(
            context, self._desired, self._actual, self.objects, operations, self._may_unmount, self._volume_changed
        )
        self._populator = DesiredStateOfWorldPopulator(
            views.manager,
            views.states,
            self._desired,
            self._actual,
            parts.read,
            self._reconciler.touched,
            operations.is_attachable,
        )
        self._outdated: set[str] = set()  # pods with a changed object in their volumes

    def _may_unmount(self) -> bool:
        """Volumes are not unmounted before all sources have been received."""
        return self._populator.has_added_pods

    # -- the loops ----------------------------------------------------------------------------------------------

    async def run_populator(self) -> None:
        ticker = self._ticker("volume populator")
        self._populator.resume = ticker.resume
        try:
            while True:
                await ticker.channel.receive()
                if self._context.recorder.on:
                    self._context.recorder.because(None)
                ticker.done(0 if self._populator.loop(sources_ready=self._views.sources.all_ready) else NEVER)
                if self._populator.is_idle:
                    ticker.pause()
        finally:
            ticker.stop()

    async def run_reconciler(self) -> None:
        self._reconciler.reconstruct_volumes(self._directories)
        await self._reconciler.run(self._ticker("volume reconciler"))

    def _ticker(self, name: str) -> PausingTicker:
        return PausingTicker(self._clock, name, self._context.settings.volume_loop_period)

    def _volume_changed(self, uid: str) -> None:
        """A volume of this pod was mounted, remounted or unmounted."""
        if uid in self._outdated and not any(v.remount_required for v in self._actual.volumes_of(uid).values()):
            self._outdated.discard(uid)
        if self._views.states.should_pod_runtime_be_removed(uid):
            self.pod_may_be_over(uid)  # the mount finished too late and will not be used

    # -- notifications ------------------------------------------------------------------------------------------

    def pod_added(self, pod: Pod) -> None:
        if pod.spec.volumes:
            self._populator.pod_added(pod.metadata.uid)

    def pod_may_be_over(self, uid: str) -> None:
        """The pod's worker changed state, or no source wants the pod any more."""
        self._populator.pod_may_be_over(uid)

    def _object_changed(self, uid: str, in_volume: bool) -> None:
        if in_volume and self._actual.volumes_of(uid):
            self._outdated.add(uid)
        self._views.resyncs.touch(uid)

    # -- waiting ------------------------------------------------------------------------------------------------

    async def wait_for_attach_and_mount(self, context: SyncContext, pod: Pod) -> None:
        """Wait until all volumes that the pod uses are mounted.

        Raises VolumesNotReady with a known reason. A timeout or a cancelled context only fails the sync.
        """
        mounts, devices = used_names(pod)
        expected = [*mounts, *devices]
        uid = pod.metadata.uid
        if not expected or (self.is_up_to_date(uid) and not self._unmounted(uid, expected)):
            return
        self._populator.reprocess_pod(uid)
        what = f"the volumes of {pod.metadata.namespace}/{pod.metadata.name}"

        def all_mounted() -> bool:
            self._raise_pod_errors(uid)
            return not self._unmounted(uid, expected)

        try:
            timeout = self._context.gates.rules.volume_timeout_s * SECOND
            await poll_until(self._clock, what, context, all_mounted, interval=WAIT_INTERVAL, timeout=timeout)
        except (WaitTimedOut, SyncCancelled, VolumeError) as error:
            self._raise_not_mounted(uid, expected, error)

    def _raise_pod_errors(self, uid: str) -> None:
        errors = self._desired.pop_pod_errors(uid)
        if errors:
            raise VolumeError("; ".join(errors))

    def _unmounted(self, uid: str, expected: Sequence[str]) -> list[str]:
        known = self._desired.volume_names_of(uid)
        return sorted(name for name in expected if name not in known or not self._actual.is_mounted(uid, known[name]))

    def _raise_not_mounted(self, uid: str, expected: Sequence[str], error: Exception) -> None:
        unmounted = self._unmounted(uid, expected)
        if not unmounted:
            return
        known = self._desired.volume_names_of(uid)
        lost = sorted(name for name in expected if name not in known)
        text = (
            f"unmounted volumes={listed(unmounted)}, unattached volumes={listed(self._unattached(uid))}, "
            f"failed to process volumes={listed(lost)}: {error}"
        )
        if self._is_attach_limit_exceeded(uid):
            rejected = "Node has reached its volume attachment limit, rejecting pod. "
            raise VolumeAttachLimitExceeded(rejected + text) from None
        if isinstance(error, VolumeError):
            raise VolumesNotReady(text) from None
        raise (SyncCancelled(text) if isinstance(error, SyncCancelled) else SyncError(text)) from None

    def wait_timed_out(self, pod: Pod) -> str:
        """The timeout message of an older kubelet, which by a name mismatch reports all volumes as unattached."""
        mounts, devices = used_names(pod)
        expected, metadata = [*mounts, *devices], pod.metadata
        return (
            f"timeout expired waiting for volumes to attach or mount for pod {quoted(metadata.namespace)}/"
            f"{quoted(metadata.name)}. list of unmounted volumes={listed(self._unmounted(metadata.uid, expected))}. "
            f"list of unattached volumes={listed(expected)}"
        )

    def _unattached(self, uid: str) -> list[str]:
        return sorted(name for volume in self._unattached_volumes(uid) for name in volume.outer_names)

    def _unattached_volumes(self, uid: str) -> list[VolumeToMount]:
        volumes = self._desired.volumes_of(uid).values()
        return [one for one in volumes if one.attachable and not self._actual.is_attached(one.volume_name)]

    def _is_attach_limit_exceeded(self, uid: str) -> bool:
        if not self._context.gates.enabled("MutableCSINodeAllocatableCount"):
            return False
        node = self._context.settings.node_name
        return any(has_exhausted_resource(one.spec, node, self._read) for one in self._unattached_volumes(uid))

    async def wait_for_unmount(self, context: SyncContext, pod: Pod) -> None:
        """Wait until no volume of the pod is mounted."""
        uid = pod.metadata.uid
        if not self._actual.volumes_of(uid):
            return
        self.pod_may_be_over(uid)
        what = f"the volumes of {pod.metadata.namespace}/{pod.metadata.name} to be unmounted"

        def all_unmounted() -> bool:
            self._raise_pod_errors(uid)
            return not self._actual.mounted_for(uid)

        try:
            await poll_until(self._clock, what, context, all_unmounted, interval=WAIT_INTERVAL, timeout=WAIT_TIMEOUT)
        except (WaitTimedOut, SyncCancelled, VolumeError) as error:
            mounted = self._actual.mounted_for(uid)
            if mounted:
                raise SyncError(f"mounted volumes={listed(mounted)}: {error}") from None

    async def wait_for_clean_up(self, context: SyncContext, pod: Pod) -> None:
        """Wait until all volume directories of the pod are removed, then drop its object references."""
        uid = pod.metadata.uid
        if self.pod_volumes_exist(uid):
            what = f"the volumes of {pod.metadata.namespace}/{pod.metadata.name} to be cleaned up"
            await poll_until(
                self._clock, what, context, lambda: not self.pod_volumes_exist(uid), interval=CLEAN_UP_INTERVAL
            )
        self.objects.unregister_pod(uid)
        self._tokens.forget(uid)
        self._outdated.discard(uid)

    # -- mounts of containers -----------------------------------------------------------------------------------

    def check_block_volumes(self, pod: Pod, container: Container) -> None:
        """Check block devices. Raises ContainerConfigError."""
        if container.volume_devices:
            check_block_volumes(container, self._directories.of_pod(pod.metadata.uid))

    def make_mounts(self, pod: Pod, container: Container, env: Sequence[tuple[str, str]]) -> tuple[ContainerMount, ...]:
        """The container's mounts. Raises ContainerConfigError."""
        if not container.volume_mounts:
            return ()
        uid = pod.metadata.uid
        prepare = partial(self._directories.prepare_sub_path, uid)
        return make_mounts(container, self._directories.of_pod(uid), env, prepare, self._context.gates)

    # -- queries ------------------------------------------------------------------------------------------------

    def is_up_to_date(self, uid: str) -> bool:
        """Whether remounting the pod's volumes would change nothing."""
        pod = self._views.manager.by_uid(uid)
        if pod is None or not pod.spec.volumes:
            return True
        known = self._desired.pod(uid)
        if known is None:
            return not any(used_names(pod))
        if uid in self._outdated or self._populator.is_pending(uid):
            return False
        if pod is not known and not _shows_the_same(pod, known):
            return False
        return not any(v.remount_required or v.uncertain for v in self._actual.volumes_of(uid).values())

    def find_file(self, pod: Pod, name: str, path: str) -> VolumeFile | None:
        """A file in a pod's volume, by the volume's name in the pod; None if that volume is not mounted."""
        uid = pod.metadata.uid
        volume = self._actual.find(uid, self._desired.volume_names_of(uid).get(name, ""))
        if volume is None or volume.uncertain:
            return None
        inside = posixpath.normpath("/" + path)  # a path cannot leave its volume
        plugin = volume.plugin.name.replace("/", "~")
        return VolumeFile(
            f"{KUBELET_ROOT}/pods/{uid}/volumes/{plugin}/{name}{inside}",
            self._directories.read_volume_file(uid, volume.volume_name, inside.strip("/")),
        )

    def pod_volumes_exist(self, uid: str) -> bool:
        """Whether any volume of the pod is or may be mounted."""
        return bool(self._actual.volumes_of(uid))

    def volumes_in_use(self) -> tuple[str, ...]:
        """Attached volumes that a pod uses, or that are not unmounted yet."""
        wanted = {volume.volume_name for volume in self._desired.volumes() if volume.attachable}
        return tuple(sorted(wanted | self._actual.attached_by_cluster))

    def volumes_by_plugin(self) -> dict[str, Counter[str]]:
        """The number of volumes in the desired and in the actual state, by plugin name."""
        return {
            "desired_state_of_world": Counter(volume.plugin.name for volume in self._desired.volumes()),
            "actual_state_of_world": Counter(volume.plugin.name for volume in self._actual.volumes()),
        }

    def statistics(self) -> dict[str, int]:
        counts = {state: plugins.total() for state, plugins in self.volumes_by_plugin().items()}
        return {
            "desired": counts["desired_state_of_world"],
            "mounted": counts["actual_state_of_world"],
            "toDo": self._reconciler.to_do(),
            "objects": len(self.objects),
        }

    # -- housekeeping -------------------------------------------------------------------------------------------

    def cleanup_orphaned_pod_dirs(self, is_kept: Callable[[str], bool]) -> bool:
        """Remove the directories of deleted pods; true if some of them still have volumes."""
        some_left = False
        for uid in self._directories.pods():
            if not is_kept(uid):
                if self.pod_volumes_exist(uid):
                    some_left = True
                else:
                    self._directories.remove_pod(uid)
        return some_left


def _shows_the_same(pod: Pod, known: Pod) -> bool:
    """Whether everything that a volume can expose of its pod is unchanged."""
    new, old = pod.metadata, known.metadata
    return new.labels == old.labels and new.annotations == old.annotations and pod.spec == known.spec

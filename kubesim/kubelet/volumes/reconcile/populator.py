"""The populator: updates the desired state of the world from the kubelet's pods.

The real one checks all pods ten times a second. This one checks only changed pods, with the same result.

Mirrors: pkg/kubelet/volumemanager/populator/desired_state_of_world_populator.go
"""

from __future__ import annotations

from collections.abc import Callable

from kubesim.api.pod import Pod
from kubesim.kubelet.loop.pod_manager import PodManager
from kubesim.kubelet.volumes.claims import Read, create_volume_spec
from kubesim.kubelet.volumes.reconcile.actual_state import ActualStateOfWorld
from kubesim.kubelet.volumes.reconcile.desired_state import DesiredStateOfWorld, VolumeToMount
from kubesim.kubelet.volumes.spec import VolumeError, used_names
from kubesim.podworkers.sync_status import PodWorkerQueries


class DesiredStateOfWorldPopulator:
    """The populator. It calls `touched` for each volume (UID, unique name) whose two states may differ."""

    def __init__(
        self,
        pods: PodManager,
        states: PodWorkerQueries,
        desired: DesiredStateOfWorld,
        actual: ActualStateOfWorld,
        read: Read,
        touched: Callable[[str, str], None],
        is_attachable: Callable[[VolumeToMount], bool],
    ) -> None:
        self._pods = pods
        self._states = states
        self._desired = desired
        self._actual = actual
        self._read = read
        self._touched = touched
        self._is_attachable = is_attachable
        self._processed: dict[str, bool] = {}  # False: to be processed again
        self._to_process: dict[str, None] = {}
        self._to_remove: dict[str, None] = {}
        self.resume: Callable[[], None] = lambda: None  # called when a pod has to be processed or removed
        self.has_added_pods = False  # true once all pods of all sources have been processed

    # -- notifications ------------------------------------------------------------------------------------------

    def pod_added(self, uid: str) -> None:
        if not self._processed.get(uid):
            self._to_process[uid] = None
            self.resume()

    def reprocess_pod(self, uid: str) -> None:
        """A sync of the pod requests remounts with current contents."""
        self._processed[uid] = False
        self._to_process[uid] = None
        self.resume()

    def pod_may_be_over(self, uid: str) -> None:
        """The pod's worker changed state, or no source wants the pod any more."""
        known = uid in self._processed or uid in self._to_process or self._desired.volumes_of(uid)
        if known and self._states.should_pod_runtime_be_removed(uid):
            self._to_remove[uid] = None
            self.resume()

    @property
    def is_idle(self) -> bool:
        """Whether no round has anything to do before a notification."""
        return self.has_added_pods and not self._to_process and not self._to_remove

    def is_pending(self, uid: str) -> bool:
        """Whether the next round processes the pod."""
        return uid in self._to_process

    # -- one round ----------------------------------------------------------------------------------------------

    def loop(self, *, sources_ready: bool) -> bool:
        """Run one round; true if there was anything to do."""
        had_work = bool(self._to_process or self._to_remove or sources_ready > self.has_added_pods)
        self._find_and_add_new_pods()
        self._find_and_remove_deleted_pods()
        self.has_added_pods = self.has_added_pods or sources_ready
        return had_work

    def _find_and_add_new_pods(self) -> None:
        states = self._states
        for uid in list(self._to_process):
            pod = self._pods.by_uid(uid)
            if self.has_added_pods:
                is_ending = states.should_pod_containers_be_terminating(uid)
            else:  # its containers may have been running before this kubelet started
                is_ending = states.should_pod_runtime_be_removed(uid)
            if pod is None or is_ending or self._process_pod_volumes(pod):
                del self._to_process[uid]
        # The remaining volumes failed before any sync requested them; the next round retries them.

    def _process_pod_volumes(self, pod: Pod) -> bool:
        """Add the pod's volumes; true if the pod counts as processed now."""
        uid = pod.metadata.uid
        if self._processed.get(uid):
            return True
        mounts, devices = used_names(pod)
        all_added = True
        for volume in pod.spec.volumes:
            name = volume.get("name", "")
            if name not in mounts and name not in devices:
                continue
            try:
                spec = create_volume_spec(volume, pod, mounts, devices, self._read)
                added = self._desired.add_pod_to_volume(pod, spec, name)
            except VolumeError as error:
                self._desired.add_error_to_pod(uid, str(error))
                all_added = False
            else:
                added.attachable = self._is_attachable(added)
                self._touched(uid, added.volume_name)
        if all_added:
            for volume_name in self._actual.mark_remount_required(uid):
                self._touched(uid, volume_name)
            self._desired.pop_pod_errors(uid)
        elif uid not in self._processed:
            return False
        self._processed[uid] = True
        return True

    def _find_and_remove_deleted_pods(self) -> None:
        removed = self._states.should_pod_runtime_be_removed
        for uid in list(self._to_remove):
            exists = self._pods.by_uid(uid) is not None
            del self._to_remove[uid]
            if not removed(uid):
                continue
            for volume_name in list(self._desired.volumes_of(uid)):
                if exists and self._actual.find(uid, volume_name) is None:
                    continue  # it may still be mounted until the pod is gone
                self._desired.delete_pod_from_volume(uid, volume_name)
                self._processed.pop(uid, None)
                self._touched(uid, volume_name)
            if not exists:
                self._processed.pop(uid, None)
                self._desired.pop_pod_errors(uid)

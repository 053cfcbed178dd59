"""The pod sync of kubelets whose workers have no states: one call both runs and terminates a pod.

For a deleted or finished pod, the call first writes the status and then stops the pod. The next sync after a relist
reports the new container states.

Mirrors: pkg/kubelet/kubelet.go syncPod, killPod (v1.12)
"""

from __future__ import annotations

from kubesim.api.pod import Pod, PodStatus
from kubesim.api.pods.pod_kinds import is_mirror_pod
from kubesim.kubelet.context import PodViews
from kubesim.kubelet.loop.sync_pod import PodSync
from kubesim.kubelet.status.generate.api_pod_status import bare_failure
from kubesim.kubelet.volumes.manager import VolumeManager
from kubesim.podworkers.syncer import SyncContext, SyncOutcome
from kubesim.podworkers.undelivered import not_running
from kubesim.podworkers.updates import PodStatusFn, SyncPodType
from kubesim.runtime.kuberuntime.act.manager import RuntimeManager
from kubesim.runtime.kuberuntime.act.pod_listing import api_pod, running_pod
from kubesim.runtime.kuberuntime.labels import restore_specs
from kubesim.runtime.types import RuntimePod, RuntimePodStatus, bare_id
from kubesim.values import part

ERROR_KILLING = "error killing pod: "


@part
class SinglePodSync(PodSync):
    """Pod syncer without the later worker phases; implements `podworkers.PodSyncer`."""

    async def sync_pod(
        self, context: SyncContext, update_type: SyncPodType, pod: Pod, mirror_pod: Pod | None, status: RuntimePodStatus
    ) -> SyncOutcome:
        if pod.metadata.deletion_timestamp is None:
            outcome = await PodSync.sync_pod(self, context, update_type, pod, mirror_pod, status)
            if not outcome.terminal:
                return outcome
        else:
            self.views.statuses.set_pod_status(pod, self.generator.generate(pod, status)[0])
        killed = await self.runtime.kill_pod(pod, running_pod(status), None)
        self._check_killed(pod, killed, ERROR_KILLING)
        return SyncOutcome()

    async def sync_terminating_pod(
        self,
        context: SyncContext,
        pod: Pod,
        status: RuntimePodStatus,
        grace_period: int | None,
        status_fn: PodStatusFn | None,
    ) -> None:
        """Kill the pod. Its status becomes the caller's, without container statuses."""
        if status_fn is not None:
            wanted = status_fn(PodStatus())
            self.views.statuses.set_pod_status(pod, bare_failure(pod, wanted.reason, wanted.message))
        self._check_killed(pod, await self.runtime.kill_pod(pod, running_pod(status), grace_period), "")

    async def sync_terminating_runtime_pod(self, context: SyncContext, running_pod: RuntimePod) -> None:
        """The grace period and hooks come from the containers' labels."""
        pod, containers = api_pod(running_pod), []
        for listed in running_pod.containers:
            info = await self.runtime.runtime.container_status(bare_id(listed.id))
            pod, container = restore_specs(info.labels, info.annotations)
            containers.append(container)
        pod = pod.changed(spec=pod.spec.changed(containers=tuple(containers)))
        self._check_killed(pod, await self.runtime.kill_pod(pod, running_pod, None), "")


@part
class PodResources:
    """Node resources that a pod holds. Its API object may be removed when it holds none."""

    views: PodViews
    volumes: VolumeManager
    runtime: RuntimeManager
    counts_records: bool  # whether a dead container's record counts

    def may_be_removed(self, pod: Pod, status: PodStatus) -> bool:
        """Mirrors: pkg/kubelet/kubelet_pods.go PodResourcesAreReclaimed (v1.12), OkToDeletePod (v1.6)"""
        uid = pod.metadata.uid
        if pod.metadata.deletion_timestamp is None or is_mirror_pod(pod) or not not_running(status.container_statuses):
            return False
        if self.counts_records:
            observed = self.views.cache.known(uid)
            if observed is not None and observed.containers:
                return False
        return not self.volumes.pod_volumes_exist(uid) and uid not in self.runtime.pods_with_cgroup()

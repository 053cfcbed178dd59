"""The DRA manager: calls drivers to prepare the claims of a pod before it starts and to unprepare them after it has
ended.

Several pods can share a claim: it is prepared for the first and unprepared after the last. Go visits drivers in map
order; here the order is that of the allocation.

Mirrors: pkg/kubelet/cm/dra/manager.go
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Container, Pod, PodStatus
from kubesim.api.timestamps import SECOND
from kubesim.api.workloads.resource_claims import ClaimReferenceError, is_reserved_for_pod, why_not_for_pod
from kubesim.clock import LoopClock
from kubesim.concurrency import act_every
from kubesim.errors import ApiError
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.kubelet.cm.dra.claim_info import Checkpoints, ClaimInfo, ClaimInfoCache, new_claim_info
from kubesim.kubelet.cm.dra.health_info import DeviceHealthReport, HealthInfoCache
from kubesim.kubelet.cm.dra.plugin import ClaimResult, DraClaim, DraPlugin, DraPluginError, get_plugin
from kubesim.kubelet.cm.dra.pod_claims import container_requests, named_claims
from kubesim.kubelet.cm.dra.status import with_claim_health
from kubesim.runtime.helper import ContainerConfigError, DynamicResourcesError, RunContainerOptions

RECONCILE_PERIOD = 60 * SECOND

Read = Callable[[str, str, str], ApiObject]  # kind, namespace, name
Batches = dict[str, list[DraClaim]]  # by driver
Call = Callable[[Sequence[DraClaim]], Awaitable[Mapping[str, ClaimResult]]]


class DraManager:
    """The DRA manager of one kubelet process. Its persistent state is in the checkpoint."""

    def __init__(
        self,
        clock: LoopClock,
        checkpoints: Checkpoints,
        read: Read,
        active_pods: Callable[[], Sequence[Pod]],
        sources_ready: Callable[[], bool],
        gates: FeatureGates = DEFAULT_GATES,
        on_update: Callable[[Sequence[str]], object] = lambda _: None,
    ) -> None:
        self._clock = clock
        self.cache = ClaimInfoCache(checkpoints)
        self.health = HealthInfoCache(clock.now, checkpoints)
        self._read = read
        self._active_pods = active_pods
        self._sources_ready = sources_ready
        self._gates = gates
        self._on_update = on_update
        self.plugins: dict[str, DraPlugin] = {}

    # -- drivers ------------------------------------------------------------------------------------------------

    def plugin_registered(self, plugin: DraPlugin) -> None:
        self.plugins[plugin.name] = plugin

    def health_reported(self, driver: str, devices: Sequence[DeviceHealthReport]) -> None:
        """Pods that use a device with changed health update their status immediately."""
        changed = {(device.pool, device.device) for device in self.health.update(driver, devices)}
        pods = {
            uid: None
            for info in self.cache
            if any((device.pool_name, device.device_name) in changed for device in info.drivers.get(driver, ()))
            for uid in info.pod_uids
        }
        if pods:
            self._on_update(tuple(pods))

    # -- before a pod starts ------------------------------------------------------------------------------------

    async def prepare_resources(self, pod: Pod) -> None:
        try:
            await self._prepare(pod)
        except (DynamicResourcesError, ClaimReferenceError) as error:
            raise DynamicResourcesError(f"prepare dynamic resources: {error}") from None

    async def _prepare(self, pod: Pod) -> None:
        """Check all claims before recording any, so that a pod with a bad claim can be deleted without its driver."""
        infos = [self._checked(pod, name, must_check) for name, must_check in named_claims(pod, self._gates)]
        unprepared, batches = self._referenced(pod, infos)
        for driver, claims in batches.items():
            plugin = get_plugin(self.plugins, driver)
            answers = await _called("NodePrepareResources", plugin.node_prepare_resources, claims)
            for claim, result in _checked_answers("NodePrepareResources", claims, answers):
                self._known(claim.name, claim.namespace).drivers[driver] = result.devices
        for claim in unprepared:
            self._known(claim.name, claim.namespace).is_prepared = True
        self.cache.sync_to_checkpoint()

    def _checked(self, pod: Pod, name: str, must_check_owner: bool) -> ClaimInfo:
        """The new claim info of a claim that this pod may use."""
        try:
            claim = self._read("ResourceClaim", pod.metadata.namespace, name)
        except ApiError as error:
            raise DynamicResourcesError(f"fetch ResourceClaim {name}: {error.message}") from None
        problem = why_not_for_pod(pod, claim) if must_check_owner else ""
        if problem:
            raise DynamicResourcesError(problem)
        if not is_reserved_for_pod(pod, claim):
            own = f"pod {pod.metadata.name} ({pod.metadata.uid})"
            raise DynamicResourcesError(f"{own} is not allowed to use ResourceClaim {name} ({claim.metadata.uid})")
        try:
            info = new_claim_info(claim)
        except DynamicResourcesError as error:
            raise DynamicResourcesError(f"ResourceClaim {name}: {error}") from None
        for driver in info.drivers:
            get_plugin(self.plugins, driver)
        return info

    def _referenced(self, pod: Pod, infos: Sequence[ClaimInfo]) -> tuple[list[DraClaim], Batches]:
        """The claims to prepare. They are checkpointed first: if the pod is deleted, the kubelet finds them there."""
        unprepared: list[DraClaim] = []
        batches: Batches = {}
        for new in infos:
            info = self.cache.get(new.claim.name, new.claim.namespace)
            if info is None:
                info = new
                self.cache.add(info)
            elif info.claim.uid != new.claim.uid:
                raise DynamicResourcesError(
                    f"old ResourceClaim with same name {new.claim.name} and different UID {info.claim.uid} still "
                    "exists (previous pod force-deleted?!)"
                )
            info.pod_uids[pod.metadata.uid] = None
            self.cache.sync_to_checkpoint()
            if not info.is_prepared:
                unprepared.append(info.claim)
                for driver in info.drivers:
                    batches.setdefault(driver, []).append(info.claim)
        return unprepared, batches

    def _known(self, name: str, namespace: str) -> ClaimInfo:
        info = self.cache.get(name, namespace)
        if info is None:
            problem = f"internal error: unable to get claim info for ResourceClaim {name} in namespace {namespace}"
            raise DynamicResourcesError(problem)
        return info

    # -- container creation -------------------------------------------------------------------------------------

    def get_resources(self, pod: Pod, container: Container) -> RunContainerOptions:
        """The CDI devices of the requests that the container names. Raises ContainerConfigError."""
        try:
            devices = tuple(
                device
                for name, requests in container_requests(pod, container, self._gates).items()
                for request in requests
                for device in self._known(name, pod.metadata.namespace).cdi_devices(request)
            )
        except (DynamicResourcesError, ClaimReferenceError) as error:
            raise ContainerConfigError(str(error)) from None
        return RunContainerOptions(cdi_devices=devices)

    def update_allocated_resources_status(self, pod: Pod, status: PodStatus) -> PodStatus:
        for driver, plugin in self.plugins.items():
            reports = plugin.health()
            if reports:
                self.health.update(driver, reports)
        return with_claim_health(pod, status, self.cache, self.health, self._gates)

    # -- after the pod has ended --------------------------------------------------------------------------------

    async def unprepare_resources(self, pod: Pod) -> None:
        try:
            names = [name for name, _ in named_claims(pod, self._gates)]
            await self._unprepare(pod.metadata.uid, pod.metadata.namespace, names)
        except (DynamicResourcesError, ClaimReferenceError) as error:
            raise DynamicResourcesError(f"unprepare dynamic resources: {error}") from None

    async def _unprepare(self, uid: str, namespace: str, names: Sequence[str]) -> None:
        """Unprepare the pod's claims. A claim that other pods use only loses the reference of this pod."""
        batches: Batches = {}
        done: list[str] = []
        for name in names:
            info = self.cache.get(name, namespace)
            if info is None:
                continue
            if len(info.pod_uids) > 1:
                info.pod_uids.pop(uid, None)
                continue
            done.append(name)
            for driver in info.drivers:
                batches.setdefault(driver, []).append(info.claim)
        for driver, claims in batches.items():
            plugin = get_plugin(self.plugins, driver)
            answers = await _called("NodeUnprepareResources", plugin.node_unprepare_resources, claims)
            list(_checked_answers("NodeUnprepareResources", claims, answers))
        for name in done:
            self.cache.delete(name, namespace)
        self.cache.sync_to_checkpoint()

    def pod_might_need_to_unprepare_resources(self, uid: str) -> bool:
        return self.cache.has_pod_reference(uid)

    # -- deleted pods -------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Unprepare the claims of deleted pods once a minute."""
        await act_every(self._clock, "dra reconcile", RECONCILE_PERIOD, self.reconcile)

    async def reconcile(self) -> bool:
        """Unprepare the claims of deleted pods; true if another round may find work."""
        if not self._sources_ready():
            return True
        active = {pod.metadata.uid for pod in self._active_pods()}
        stale: dict[tuple[str, str], list[str]] = {}
        for info in self.cache:
            for uid in info.pod_uids:
                if uid not in active:
                    stale.setdefault((uid, info.claim.namespace), []).append(info.claim.name)
        for (uid, namespace), names in stale.items():
            try:
                await self._unprepare(uid, namespace, names)
            except DynamicResourcesError:
                continue  # the next round retries
        return bool(stale)


async def _called(name: str, call: Call, claims: Sequence[DraClaim]) -> Mapping[str, ClaimResult]:
    try:
        return await call(claims)
    except DraPluginError as error:
        raise DynamicResourcesError(f"{name}: {error}") from None


def _checked_answers(
    name: str, claims: Sequence[DraClaim], answers: Mapping[str, ClaimResult]
) -> Iterator[tuple[DraClaim, ClaimResult]]:
    """The driver's results, claim by claim. Raises DynamicResourcesError for a failed or a missing result."""
    by_uid = {claim.uid: claim for claim in claims}
    for uid, result in answers.items():
        claim = by_uid.get(uid)
        if claim is None:
            raise DynamicResourcesError(f"{name} returned result for unknown claim UID {uid}")
        if result.error:
            raise DynamicResourcesError(f"{name} failed for ResourceClaim {claim.name}: {result.error}")
        yield claim, result
    if len(answers) != len(claims):
        raise DynamicResourcesError(f"{name} skipped {len(claims) - len(answers)} ResourceClaims")

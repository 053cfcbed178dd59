"""Step 6 of SyncPod: applies the allocated resources to the pod's cgroup and its running containers.

Memory first, then cpu. The pod's cgroup grows before its containers and shrinks after them; limits grow before requests
and shrink after them. The first failure ends the step; the next sync continues.

Mirrors: pkg/kubelet/kuberuntime/kuberuntime_manager.go doPodResizeAction, updatePodContainerResources,
validateMemoryResizeAction, IsPodResizeInProgress
"""

from __future__ import annotations

from kubesim.api.pod import Pod, ResourceRequirements
from kubesim.api.pods.resources import CPU, MEMORY
from kubesim.api.pods.sidecars import is_restartable_init_container
from kubesim.api.quantity import BINARY_SI, Quantity
from kubesim.errors import RuntimeCallError
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.golang.text import quoted
from kubesim.runtime.allocation.actuated import ActuatedState, effective_requirements
from kubesim.runtime.allocation.cgroups import PodCgroups, ResourceConfig, resource_config_for_pod
from kubesim.runtime.allocation.linux_resources import linux_container_resources
from kubesim.runtime.helper import MemoryUsage, RuntimeHelper
from kubesim.runtime.kuberuntime.decide.action_types import (
    ContainerResources,
    ContainerToUpdate,
    PodActions,
    ResizableResource,
)
from kubesim.runtime.kuberuntime.decide.resize_actions import container_resources
from kubesim.runtime.kuberuntime.naming import format_pod
from kubesim.runtime.kuberuntime.results import RESIZE_POD_IN_PLACE_ERROR, SyncResult
from kubesim.runtime.protocol import Runtime
from kubesim.runtime.types import RuntimePodStatus, bare_id
from kubesim.values import part, replace

_POD_LEVEL = "InPlacePodLevelResourcesVerticalScaling"
_NOTHING = ResourceRequirements()
# A runtime without this call does not block the resize.
_UNIMPLEMENTED = ("code = Unimplemented", "not implemented")


def is_pod_resize_in_progress(
    pod: Pod, status: RuntimePodStatus, actuated: ActuatedState, gates: FeatureGates = DEFAULT_GATES
) -> bool:
    """Whether the resources of a running container, or of the pod, differ from the allocated ones."""
    applied = actuated.containers(pod.metadata.uid)
    containers = pod.spec.containers
    if pod.spec.init_containers:
        containers = (*filter(is_restartable_init_container, pod.spec.init_containers), *containers)
    for container in containers:
        before = applied.get(container.name, _NOTHING)
        if before is container.resources:
            continue  # skip: the default has no effect
        record = status.find(container.name)
        if record is None or record.state != "running":
            continue  # it starts with the right resources
        wanted = effective_requirements(pod, container.resources, gates)
        if container_resources(wanted, None) != container_resources(before, None):
            return True
    whole, of_pod = pod.spec.resources, actuated.pod(pod.metadata.uid)
    if whole is None or of_pod is None or not gates.enabled(_POD_LEVEL):
        return False
    return container_resources(whole, None) != container_resources(of_pod, None)


def memory_limits_below_usage(
    pod: Pod, actions: PodActions, current: ResourceConfig, usage: MemoryUsage | None, gates: FeatureGates
) -> str:
    """Why the memory limits cannot be lowered now; empty if they can.

    Checked before any change, so that a resize does not stop halfway. `usage` is None without measurements: the check
    then passes.
    """
    updates = actions.containers_to_update.get("memory", ())
    if usage is None or not (updates or actions.update_pod_resources):
        return ""
    problems = []
    limit = resource_config_for_pod(pod, gates=gates).memory
    if limit is not None and current.memory is not None and limit < current.memory:
        if usage.pod is None:
            problems.append("missing pod memory usage")
        elif usage.pod >= limit:
            problems.append(f"attempting to set pod memory limit ({limit}) below current usage ({usage.pod})")
    for update in updates:
        name, limit, before = update.container.name, update.desired.memory_limit, update.current.memory_limit
        if not limit or 0 < before <= limit or name not in usage.containers:
            continue
        used = usage.containers[name]
        if used is None:
            problems.append(f"missing container {quoted(name)} memory usage")
        elif used >= limit:
            # As upstream, the message has the pod's usage.
            text = f"attempting to set container {quoted(name)} memory limit ({limit}) below current usage"
            problems.append(f"{text} ({usage.pod})")
    unique = list(dict.fromkeys(problems))
    joined = unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"
    return f"cannot decrease memory limits: {joined}" if unique else ""


@part
class PodResizer:
    """Executes resizes; `actuated` records each completed step."""

    runtime: Runtime
    helper: RuntimeHelper
    actuated: ActuatedState
    cgroups: PodCgroups
    gates: FeatureGates = DEFAULT_GATES

    async def resize(self, pod: Pod, actions: PodActions) -> SyncResult:
        result = SyncResult("ResizePodInPlace", format_pod(pod))
        current = self.cgroups.get(pod.metadata.uid)
        if current is None:
            text = f"unable to get pod cgroup memory config for pod {quoted(format_pod(pod))}"
            result.fail(RESIZE_POD_IN_PLACE_ERROR, text)
            return result
        usage = self.helper.pod_memory_usage(pod.metadata.uid)
        too_low = memory_limits_below_usage(pod, actions, current, usage, self.gates)
        if too_low:
            result.fail(RESIZE_POD_IN_PLACE_ERROR, too_low)
            return result
        try:
            await _Resize(self, pod, actions, current).run()
        except RuntimeCallError as error:
            result.fail(RESIZE_POD_IN_PLACE_ERROR, str(error))
        self.helper.request_pod_reinspect(pod.metadata.uid)  # a partial resize must be seen too
        return result


class _Resize:
    """The resize of one pod."""

    def __init__(self, resizer: PodResizer, pod: Pod, actions: PodActions, current: ResourceConfig) -> None:
        self._resizer = resizer
        self._pod = pod
        self._actions = actions
        self._before = self._current = current
        # A removed pod-level limit stays in force: it cannot be removed from a running pod.
        has_quota = resizer.helper.internal_lifecycle.has_cpu_quota(pod)
        wanted = resource_config_for_pod(pod, enforce_cpu_limits=has_quota, gates=resizer.gates)
        self._wanted = replace(
            wanted,
            memory=current.memory if wanted.memory is None else wanted.memory,
            cpu_quota=current.cpu_quota if wanted.cpu_quota is None else wanted.cpu_quota,
        )
        self._now: dict[str, ContainerResources] = {}  # current resources of each container, by id

    async def run(self) -> None:
        actions, before, wanted = self._actions, self._before, self._wanted
        whole = actions.update_pod_resources or actions.update_pod_level_resources
        if actions.containers_to_update.get("memory") or whole:
            await self._resize("memory", _growth(before.memory, wanted.memory), 0)
        if actions.containers_to_update.get("cpu") or whole:
            shares = _growth(before.cpu_shares, wanted.cpu_shares)
            await self._resize("cpu", _growth(before.cpu_quota, wanted.cpu_quota), shares)

    async def _resize(self, resource: ResizableResource, limit: int, request: int) -> None:
        """Resize one resource. `limit` and `request` are the changes of the pod's own cgroup."""
        if limit > 0:
            await self._write_cgroup(self._limit_of(resource))
        if request > 0:
            await self._write_cgroup(ResourceConfig(cpu_shares=self._wanted.cpu_shares))
        for update in self._actions.containers_to_update.get(resource, ()):
            await self._update_container(resource, update)
        if request < 0:
            await self._write_cgroup(ResourceConfig(cpu_shares=self._wanted.cpu_shares))
        if limit < 0:
            await self._write_cgroup(self._limit_of(resource))
        if self._actions.update_pod_level_resources and self._resizer.gates.enabled(_POD_LEVEL):
            self._resizer.actuated.pod_resized(self._pod, resource)

    def _limit_of(self, resource: ResizableResource) -> ResourceConfig:
        wanted = self._wanted
        if resource == "memory":
            return ResourceConfig(memory=wanted.memory)
        return ResourceConfig(cpu_quota=wanted.cpu_quota, cpu_period=wanted.cpu_period)

    async def _write_cgroup(self, config: ResourceConfig) -> None:
        """Update the cgroup after the runtime, which may reject it."""
        sandbox, merged = self._actions.sandbox_id, self._current.merged(config)
        try:
            await self._resizer.runtime.update_pod_sandbox_resources(bare_id(sandbox), merged)
        except RuntimeCallError as error:
            if not any(text in str(error) for text in _UNIMPLEMENTED):
                resource = CPU if config.memory is None else MEMORY
                raise RuntimeCallError(
                    f"failed to notify runtime for UpdatePodSandboxResources (resource={resource}); resize rejected: "
                    f"updatePodSandboxResources failed for sanboxID {quoted(sandbox)}: {error}"
                ) from error
        self._resizer.cgroups.write(self._pod.metadata.uid, config)
        self._current = merged

    async def _update_container(self, resource: ResizableResource, update: ContainerToUpdate) -> None:
        """Update one resource; the other one keeps its last value."""
        has, wanted = self._now.get(update.id, update.current), update.desired
        if resource == "memory":
            has = replace(has, memory_limit=wanted.memory_limit, memory_request=wanted.memory_request)
        else:
            has = replace(has, cpu_limit_milli=wanted.cpu_limit_milli, cpu_request_milli=wanted.cpu_request_milli)
        container = update.container.changed(resources=_requirements(has, update.container.resources))
        helper, gates = self._resizer.helper, self._resizer.gates
        has_quota = helper.internal_lifecycle.has_cpu_quota(self._pod, container)
        reported = linux_container_resources(self._pod, container, gates, has_quota=has_quota, swap=helper.swap)
        await self._resizer.runtime.update_container_resources(bare_id(update.id), reported)
        self._resizer.actuated.started(self._pod, container, self._resizer.gates)
        self._now[update.id] = has


def _growth(before: int | None, wanted: int | None) -> int:
    assert before is not None
    assert wanted is not None
    return wanted - before


def _requirements(amounts: ContainerResources, like: ResourceRequirements) -> ResourceRequirements:
    """The resources as CRI values, including zeros."""
    return like.changed(
        limits={CPU: _milli(amounts.cpu_limit_milli), MEMORY: _bytes(amounts.memory_limit)},
        requests={CPU: _milli(amounts.cpu_request_milli), MEMORY: _bytes(amounts.memory_request)},
    )


def _milli(amount: int) -> str:
    return f"{amount // 1000}" if amount % 1000 == 0 else f"{amount}m"


def _bytes(amount: int) -> str:
    return str(Quantity(amount, 0, BINARY_SI))

"""Converts the nodes, images and containers of a scenario into the settings of the simulated components."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from kubesim.api.images import InvalidReference, apply_default_image_tag
from kubesim.api.quantity import quantity
from kubesim.api.timestamps import MILLISECOND, MINUTE
from kubesim.clock.randomness import Stream
from kubesim.features.rules import DEFAULT_RULES, Rules, rules_of
from kubesim.golang.yaml import YamlError, yaml_to_json
from kubesim.kubelet.eviction.manager import MONITORING_PERIOD
from kubesim.kubelet.node.node_status import DEFAULT_CAPACITY
from kubesim.kubelet.settings import KubeletSettings
from kubesim.runtime.allocation.swap import NodeSwap
from kubesim.runtime.containerd.cni_settings import CniSettings, NodePlan
from kubesim.runtime.kuberuntime.decide.security_profiles import SECCOMP_PROFILE_ROOT
from kubesim.runtime.protocol import RuntimeHandler
from kubesim.runtime.simulated.containers.behaviour import Behaviour, LogEntry
from kubesim.runtime.simulated.containers.security import SecurityProfiles
from kubesim.runtime.simulated.disturbances.dependencies import Dependency, Needed
from kubesim.runtime.simulated.draws import Draw, DrawnChoice, Exponential, LogNormal, Normal
from kubesim.runtime.simulated.registries import not_found
from kubesim.runtime.simulated.settings import ImageBehaviour, Latencies, SimulatedSettings, Span
from kubesim.scenario.hardware.node_machine import has_resource_managers, resource_manager_settings
from kubesim.scenario.language.document import NodeItem, Spec
from kubesim.scenario.language.nodes.node_items import SecurityProfilesItem
from kubesim.scenario.load.kubelet_configuration import KubeletConfiguration
from kubesim.values import replace

if TYPE_CHECKING:
    from kubesim.runtime.simulated.cri.sandbox_steps import SandboxFault
    from kubesim.scenario.language.container_items import BehaviourItem, ImageItem
    from kubesim.scenario.language.nodes.machine_items import SandboxFaultItem
    from kubesim.scenario.language.variation.draw_items import DurationDraw, ExitCodeDraw

CONTAINERD = "containerd"  # where the runtime calls CNI


def kubelet_settings(
    item: NodeItem, number: int, configuration: KubeletConfiguration, stream: Stream, rules: Rules = DEFAULT_RULES
) -> KubeletSettings:
    """The settings of the kubelet of the node with this number (from 0). The start times of its components are random,
    as on a real node."""
    base, values = KubeletSettings(), configuration.values
    back_off = values["crashLoopBackOff.maxContainerRestartPeriod"]
    managed = None
    if has_resource_managers(item.topology, configuration):
        managed = resource_manager_settings(item.capacity, item.topology, configuration)
    cpus = quantity(item.capacity.get("cpu", DEFAULT_CAPACITY["cpu"])).value()
    return replace(
        base,
        node_name=item.name,
        host_ips=(host_ip(number),),
        max_pods=configuration.max_pods(cpus),
        jitter=configuration.jitter,
        resync_interval=values["syncFrequency"],
        runtime_request_timeout=values["runtimeRequestTimeout"],
        node_status_period=values["nodeStatusUpdateFrequency"],
        lease_duration_s=values["nodeLeaseDurationSeconds"],
        policies=configuration.policies,
        resource_managers=managed or base.resource_managers,
        image_pulls=configuration.image_pulls,
        event_qps=values["eventRecordQPS"] or rules.event_qps_of_zero,
        event_burst=values["eventBurst"],
        allowed_unsafe_sysctls=tuple(values["allowedUnsafeSysctls"] or ()),
        sandbox=configuration.sandbox,
        max_container_restart_period=base.max_container_restart_period if back_off is None else back_off,
        status_manager_starts=stream.randrange(base.status_sync_period),
        container_gc_starts=stream.randrange(base.container_gc_period),
        pleg_starts=stream.randrange(base.relist_period),
        sync_loop_starts=stream.randrange(base.housekeeping_period),
        eviction_starts=stream.randrange(MONITORING_PERIOD),
        image_gc_starts=stream.randrange(MINUTE),
        node_status_starts=stream.randrange(values["nodeStatusUpdateFrequency"]),
        log_rotation_starts=stream.randrange(configuration.log_rotation.monitoring_period),
        volume_populator_starts=stream.randrange(base.volume_loop_period),
        volume_reconciler_starts=stream.randrange(base.volume_loop_period),
        swap=_swap(item, configuration),
        app_armor_enabled=item.security_profiles.app_armor_enabled,
        eviction=configuration.eviction,
        image_gc=configuration.image_gc,
        log_rotation=configuration.log_rotation,
        shutdown_periods=configuration.shutdown_periods,
    )


def _swap(item: NodeItem, configuration: KubeletConfiguration) -> NodeSwap | None:
    if item.swap is None or not item.has_swap:
        return None
    memory = quantity(item.capacity.get("memory", DEFAULT_CAPACITY["memory"])).value()
    return NodeSwap(quantity(item.swap).value(), memory, configuration.values["memorySwap.swapBehavior"])


def coming_up(settings: KubeletSettings, stream: Stream) -> KubeletSettings:
    """The settings of a kubelet that has just started: its components start within its first half second, one after the
    other."""
    begin = 200 * MILLISECOND + stream.randrange(300 * MILLISECOND)
    return replace(
        settings,
        volume_reconciler_starts=begin,
        volume_populator_starts=begin + MILLISECOND,
        status_manager_starts=begin,
        container_gc_starts=begin + MILLISECOND,
        pleg_starts=begin + 2 * MILLISECOND,
        sync_loop_starts=begin + 3 * MILLISECOND,
        eviction_starts=begin + 4 * MILLISECOND,
        image_gc_starts=begin + 5 * MILLISECOND,
        node_status_starts=begin + 6 * MILLISECOND,
        log_rotation_starts=begin + 7 * MILLISECOND,
    )


def runtime_settings(number: int, spec: Spec, latencies: Latencies, rules: Rules) -> SimulatedSettings:
    """The settings of the runtime of the node with this number.

    Each node has its own range of pod addresses: a single node uses the `podCIDR` of its configuration; several nodes
    get theirs from the cluster.
    """
    cidr = pod_cidrs(number, spec)[0]
    own = spec.kubelet_configuration.values["podCIDR"] and len(spec.nodes) == 1
    first_ip = str(ipaddress.ip_network(cidr)[2 if own else 10])
    images = {name: image_behaviour(name, item) for name, item in _images(spec)}
    node = spec.nodes[number]
    names = ("", *node.runtime_handlers)
    return SimulatedSettings(
        latencies=latencies,
        images=images,
        first_ip=first_ip,
        sandbox_errors=node.sandbox_errors,
        sandbox_faults=_sandbox_faults(node.sandbox_faults),
        security_profiles=_security_profiles(node.security_profiles),
        handlers=tuple(RuntimeHandler(name, node.user_namespaces is not False) for name in names),
        reports_handlers=rules.containerd != "1.7" or node.user_namespaces is not None,
        containerd=rules.containerd,
    )


def _sandbox_faults(items: Sequence[SandboxFaultItem]) -> tuple[SandboxFault, ...]:
    if not items:
        return ()
    from kubesim.runtime.simulated.cri.sandbox_steps import BY_NAME, SandboxFault

    names = {str(name): name for name in BY_NAME}
    return tuple(
        SandboxFault(names[item.step], item.error, item.pod, item.times or 0, item.clean_up_error) for item in items
    )


def _security_profiles(item: SecurityProfilesItem) -> SecurityProfiles:
    paths = tuple(f"{SECCOMP_PROFILE_ROOT}/{path}" for path in item.seccomp)
    return SecurityProfiles(item.app_armor_enabled, item.app_armor, paths)


def pod_cidrs(number: int, spec: Spec) -> tuple[str, str]:
    """The pod address ranges of a node: IPv4 and IPv6."""
    cidrs = {4: f"10.{88 + number // 256}.{number % 256}.0/24", 6: f"fd00:10:88:{number:x}::/64"}
    given = spec.kubelet_configuration.values["podCIDR"]
    if given and len(spec.nodes) == 1:
        networks = [ipaddress.ip_network(cidr.strip(), strict=False) for cidr in given.split(",")]
        cidrs.update((network.version, str(network)) for network in networks)
    return cidrs[4], cidrs[6]


def cni_settings(spec: Spec, state: str = "") -> CniSettings:
    """The settings of containerd's CRI plugin. `state` is the directory of a node that is the host itself."""
    from kubesim.cni.exec.faults import PluginFault, parse_terms

    cni = spec.cni
    order = rules_of(spec.profile).sandbox_order
    if order != CONTAINERD:
        from kubesim.scenario.play.node.docker_plans import docker_cni_settings

        cni = docker_cni_settings(cni, order, state)
    faults = tuple(
        (item.node, PluginFault(item.plugin, item.verb, parse_terms(item.do), item.pod)) for item in cni.faults
    )
    return CniSettings(
        cni.network,
        cni.conf_dir,
        cni.bin_dirs,
        faults,
        state,
        order,
        cni.max_conf_num,
        cni.setup_serially,
        cni.use_internal_loopback,
        cni.netns_mounts_under_state_dir,
    )


def node_plans(spec: Spec) -> list[NodePlan]:
    """The real nodes under the simulated nodes of a scenario."""
    plans = []
    for number, item in enumerate(spec.nodes):
        addresses = (f"{host_ip(number)}/16", f"fd00:10::{number + 1:x}/64")
        plans.append(NodePlan(item.name, addresses, pod_cidrs(number, spec)))
    return plans


def host_ip(number: int) -> str:
    return f"10.0.{number // 250}.{number % 250 + 1}"


def _images(spec: Spec) -> Iterator[tuple[str, ImageItem]]:
    """Each image that the scenario mentions, as the kubelet requests it, with the first item that matches it."""
    if not spec.images:
        return
    mentioned: dict[str, None] = {}
    _note_mentions(spec.objects, mentioned)
    _note_mentions((spec.steps, spec.sources), mentioned)
    for written in (*mentioned, *(item.name for item in spec.images)):
        try:
            name = apply_default_image_tag(written)
        except InvalidReference:
            continue
        for item in spec.images:
            if fnmatchcase(written, item.name) or fnmatchcase(name, item.name):
                yield name, item
                break


def _note_mentions(value: Any, mentioned: dict[str, None]) -> None:
    """Collect the images in a manifest, which may be given as text."""
    if isinstance(value, str):
        if "image" not in value:
            return
        try:
            value = yaml_to_json(value)
        except YamlError:
            return
    if isinstance(value, BaseModel):
        value = dict(value)
    if isinstance(value, dict):
        for key, item in value.items():
            if key in ("image", "reference") and isinstance(item, str):  # of a container or a volume
                mentioned[item] = None
            else:
                _note_mentions(item, mentioned)
    elif isinstance(value, list | tuple):
        for item in value:
            _note_mentions(item, mentioned)


def image_behaviour(name: str, item: ImageItem) -> ImageBehaviour:
    missing = item.missing if isinstance(item.missing, str) else ""
    if item.missing is True:
        missing = not_found(name)
    pull = None if item.pull_time is None else duration_draw(item.pull_time)
    given = item.credentials
    return ImageBehaviour(
        pull=pull,
        errors=item.errors,
        missing=missing,
        size=item.size,
        present=item.present,
        credentials=None if given is None else (given.username, given.password),
        user=item.user,
        stop_signal=item.stop_signal,
    )


Dependencies = Mapping[str, Dependency]
NO_DEPENDENCIES: Dependencies = {}


def dependencies(spec: Spec, is_ready: Callable[[str], bool]) -> Dependencies:
    """The dependencies, by name; `is_ready` returns whether a pod (`namespace/name`) is ready."""
    return {
        item.name: Dependency(item.name, duration_draw(item.latency), item.down, _is_up(item.pod, is_ready))
        for item in spec.dependencies
    }


def _is_up(pod: str, is_ready: Callable[[str], bool]) -> Callable[[], bool]:
    name = pod if "/" in pod else f"default/{pod}"
    return (lambda: is_ready(name)) if pod else lambda: True


def behaviours(spec: Spec, dependencies: Dependencies = NO_DEPENDENCIES) -> tuple[Behaviour, ...]:
    return tuple(_behaviour(item, dependencies) for item in spec.behaviours)


def _behaviour(item: BehaviourItem, dependencies: Dependencies) -> Behaviour:
    return Behaviour(
        pod=item.pod,
        container=item.container,
        image=item.image,
        times=item.times,
        run_for=None if item.run_for is None else duration_draw(item.run_for),
        exit_code=_exit_code(item.exit_code),
        oom_killed=item.oom_killed,
        ready_after=duration_draw(item.ready_after),
        log=tuple(LogEntry(entry.after, entry.text) for entry in item.log),
        termination_message=item.termination_message,
        start_error=item.start_error,
        ignores_term=item.on_term.ignore,
        stop_after=duration_draw(item.on_term.after),
        stop_exit_code=item.on_term.exit_code,
        memory=None if item.memory is None else quantity(item.memory).value(),
        disk=None if item.disk is None else quantity(item.disk).value(),
        processes=item.processes,
        needs=tuple(Needed(dependencies[need.name], need.path) for need in item.needs if need.name in dependencies),
    )


def duration_draw(draw: DurationDraw) -> Draw:
    if draw.value is not None:
        return Span(draw.value)
    if draw.min is not None:
        return Span(draw.min, draw.max)
    if draw.median is not None:
        return LogNormal(draw.median, draw.sigma or 0)
    if draw.stddev is not None:
        return Normal(draw.mean or 0, draw.stddev)
    return DrawnChoice(draw.choices) if draw.choices else Exponential(draw.mean or 0)


def _exit_code(draw: ExitCodeDraw) -> Draw:
    return DrawnChoice(draw.choices) if draw.choices else Span(draw.value or 0)

"""Generates the whole pod status from the runtime, the probes and the API server's status. Every sync calls it.

The order is: container statuses, the phase that follows from them, rules for terminal phases, Started and Ready of init
containers, conditions, addresses. The order matters: the phase depends on whether sidecars have started, but not yet on
their probe results.

Mirrors: pkg/kubelet/kubelet_pods.go generateAPIPodStatus, convertStatusToAPIStatus, determinePodResizeStatus.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from kubesim.api.model import REMEMBERED_PODS
from kubesim.api.pod import ContainerStatus, HostIP, Pod, PodCondition, PodIP, PodStatus
from kubesim.api.pods.phases import FAILED, TERMINAL_PHASES
from kubesim.api.pods.pod_conditions import DISRUPTION_TARGET, find_condition, put_condition
from kubesim.api.pods.resources import pod_qos_class
from kubesim.features import FeatureGates
from kubesim.kubelet.status.containers.container_statuses import convert_to_api_container_statuses, two_newest_records
from kubesim.kubelet.status.containers.probe_overlay import with_probe_results_of_init
from kubesim.kubelet.status.generate import conditions as make
from kubesim.kubelet.status.generate.active_deadline import (
    DEADLINE_EXCEEDED,
    DEADLINE_EXCEEDED_MESSAGE,
    past_active_deadline,
)
from kubesim.kubelet.status.generate.inputs import StatusInputs
from kubesim.kubelet.status.generate.phase import get_phase
from kubesim.kubelet.status.generate.pod_ips import host_network_pod_ips, parse_ip, sort_pod_ips
from kubesim.kubelet.status.generate.pod_resources import pod_level_resources
from kubesim.kubelet.status.resize_conditions import resize_status
from kubesim.runtime.kuberuntime.decide.restart_policy import (
    all_containers_could_restart,
    should_all_containers_restart,
)


def generate_api_pod_status(inputs: StatusInputs) -> PodStatus:
    """The generated status. The status manager sets start time, transition times and observedGeneration."""
    pod, old = inputs.pod, inputs.old_status
    if not inputs.gates.rules.reports_containers_of_failed and past_active_deadline(pod, old, inputs.now):
        return bare_failure(pod, DEADLINE_EXCEEDED, DEADLINE_EXCEEDED_MESSAGE)
    restarting = inputs.gates.enabled("RestartAllContainersOnContainerExits") and should_all_containers_restart(
        pod, inputs.runtime, old
    )
    spec, records = pod.spec, two_newest_records(inputs.runtime)
    init: tuple[ContainerStatus, ...] = ()
    ephemeral: tuple[ContainerStatus, ...] = ()
    regular = convert_to_api_container_statuses(
        "regular", inputs, spec.containers, old.container_statuses, records, restarting
    )
    if spec.init_containers:
        init = convert_to_api_container_statuses(
            "init", inputs, spec.init_containers, old.init_container_statuses, records, restarting
        )
    if spec.ephemeral_containers:
        ephemeral = convert_to_api_container_statuses(
            "ephemeral", inputs, spec.ephemeral_containers, old.ephemeral_container_statuses, records, restarting
        )
    phase, reason, message = _phase_and_why(inputs, old, regular + init)
    if init:
        init = with_probe_results_of_init(inputs, init)
    if not inputs.gates.enabled("StartupProbe"):
        init, regular = _without_started(init), _without_started(regular)
    return PodStatus(
        phase=phase,
        reason=reason,
        message=message,
        conditions=_conditions(inputs, old, init + regular, phase),
        init_container_statuses=init,
        container_statuses=regular,
        ephemeral_container_statuses=ephemeral,
        qos_class=pod_qos_class(pod, inputs.gates),
        resize=resize_status(inputs.resize_conditions) if inputs.gates.rules.decides_resizes_at_sync else "",
        **_addresses_by_version(inputs),
        **pod_level_resources(inputs, old),
    )


def bare_failure(pod: Pod, reason: str, message: str) -> PodStatus:
    """The status fields that older kubelets write for a failed pod. They omit the QoS class too; it stays here, because
    current API servers require it.
    """
    return PodStatus(phase=FAILED, reason=reason, message=message, qos_class=pod_qos_class(pod))


def _phase_and_why(inputs: StatusInputs, old: PodStatus, statuses: Sequence[ContainerStatus]) -> tuple[str, str, str]:
    """Phase, reason and message. Terminal phases are final; the API server's takes precedence."""
    pod, reported = inputs.pod, inputs.pod.status
    phase = get_phase(
        pod,
        statuses,
        pod_is_terminal=inputs.pod_is_terminal,
        pod_has_initialized=_has_any_active_regular_container(inputs),
        gates=inputs.gates,
    )
    if phase not in TERMINAL_PHASES:
        if old.phase in TERMINAL_PHASES:
            phase = old.phase
        elif reported.phase in TERMINAL_PHASES:
            phase = reported.phase
    reason = message = ""
    if phase == old.phase:
        reason = old.reason or reported.reason
        message = old.message or reported.message
    if past_active_deadline(pod, old, inputs.now):
        phase, reason, message = FAILED, DEADLINE_EXCEEDED, DEADLINE_EXCEEDED_MESSAGE
    if reported.phase in TERMINAL_PHASES:
        phase = reported.phase
    return phase, reason, message


def _has_any_active_regular_container(inputs: StatusInputs) -> bool:
    """Whether a regular container of the current sandbox exists, which implies that initialization has completed.

    Only the phase of pods with sidecars depends on it.
    """
    spec = inputs.pod.spec
    if not spec.init_containers:
        return True
    active = [record.name for record in inputs.runtime.containers if record.active]
    return not {container.name for container in spec.containers}.isdisjoint(active)


def _has_resize_conditions(gates: FeatureGates) -> bool:
    return gates.enabled("InPlacePodVerticalScaling") and not gates.rules.decides_resizes_at_sync


def _conditions(
    inputs: StatusInputs, old: PodStatus, statuses: Sequence[ContainerStatus], phase: str
) -> tuple[PodCondition, ...]:
    pod, gates = inputs.pod, inputs.gates
    own = make.conditions_by_kubelet(gates)
    found = [c for c in pod.status.conditions if c.type not in own]
    if inputs.resize_conditions and not inputs.pod_is_terminal and _has_resize_conditions(gates):
        found += [_resize_condition(inputs, condition) for condition in inputs.resize_conditions]
    # An eviction set this reason; it cannot be computed again.
    disruption = find_condition(old.conditions, DISRUPTION_TARGET)
    if disruption is not None:
        put_condition(found, disruption)

    known = statuses or None
    if gates.enabled("PodReadyToStartContainersCondition"):
        found.append(make.generate_pod_ready_to_start_containers_condition(pod, old, inputs.runtime, gates))
    found.append(make.generate_pod_initialized_condition(pod, old, known, phase, gates))
    containers_ready = make.generate_containers_ready_condition(pod, old, known, phase, gates)
    found.append(make.generate_pod_ready_condition(pod, old, found, containers_ready, gates))
    if gates.rules.containers_ready_condition:
        found.append(containers_ready)
    found.append(make.generate_pod_scheduled_condition(pod, old, gates))
    if gates.enabled("RestartAllContainersOnContainerExits") and all_containers_could_restart(pod.spec):
        found.append(make.generate_all_containers_restarting_condition(pod, old, inputs.runtime, phase))
    return tuple(found)


def _resize_condition(inputs: StatusInputs, condition: PodCondition) -> PodCondition:
    """Whether a resize condition belongs to the current generation, or generations are not tracked."""
    if make.condition_observed_generation(inputs.pod, inputs.old_status, condition.type, inputs.gates):
        return condition
    return condition.changed(observed_generation=0)


def _without_started(statuses: Sequence[ContainerStatus]) -> tuple[ContainerStatus, ...]:
    given = ({name: value for name, value in vars(status).items() if name != "started"} for status in statuses)
    return tuple(ContainerStatus(**fields) for fields in given)


def _addresses_by_version(inputs: StatusInputs) -> Mapping[str, Any]:
    found = _addresses(inputs.runtime.ips, inputs.prefers_ipv6, inputs.host_ips, inputs.pod.spec.host_network)
    if inputs.gates.rules.reports_all_addresses:
        return found
    return {name: found[name] for name in ("host_ip", "pod_ip") if name in found}


@lru_cache(maxsize=REMEMBERED_PODS)
def _addresses(
    ips: tuple[str, ...], prefers_ipv6: bool, node_ips: tuple[str, ...], host_network: bool
) -> Mapping[str, Any]:
    pod_ips = sort_pod_ips(ips, prefers_ipv6)
    fields: dict[str, Any] = {}
    if node_ips:
        host_ips = _host_ips(node_ips)
        fields["host_ip"] = host_ips[0].ip
        fields["host_ips"] = host_ips
        if host_network:
            pod_ips = host_network_pod_ips(pod_ips, [address.ip for address in host_ips])
    if pod_ips:
        fields["pod_ip"] = pod_ips[0]
        fields["pod_ips"] = tuple(PodIP(ip=ip) for ip in pod_ips)
    return fields


@lru_cache(maxsize=256)
def _host_ips(addresses: tuple[str, ...]) -> tuple[HostIP, ...]:
    """The node's addresses in a pod status: the first, and the second if there are exactly two."""
    spelled = [parsed[1] if (parsed := parse_ip(address)) else address for address in addresses]
    return tuple(HostIP(ip=ip) for ip in (spelled if len(spelled) == 2 else spelled[:1]))

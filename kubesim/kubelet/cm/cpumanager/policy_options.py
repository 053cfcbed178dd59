"""Options of the static CPU manager policy.

Mirrors: pkg/kubelet/cm/cpumanager/policy_options.go
"""

from __future__ import annotations

from collections.abc import Mapping

from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.golang.text import quoted
from kubesim.kubelet.cm.cpumanager.topology import CpuTopology
from kubesim.kubelet.cm.machine import MachineError
from kubesim.kubelet.cm.option_values import parse_bool
from kubesim.kubelet.cm.topologymanager.policy import SINGLE_NUMA_NODE
from kubesim.values import value_object

FULL_PCPUS_ONLY = "full-pcpus-only"
DISTRIBUTE_ACROSS_NUMA = "distribute-cpus-across-numa"
ALIGN_BY_SOCKET = "align-by-socket"
DISTRIBUTE_ACROSS_CORES = "distribute-cpus-across-cores"
STRICT_CPU_RESERVATION = "strict-cpu-reservation"
ALIGN_BY_UNCORE_CACHE = "prefer-align-cpus-by-uncorecache"

_ALPHA = (ALIGN_BY_SOCKET, DISTRIBUTE_ACROSS_CORES)
_BETA = (DISTRIBUTE_ACROSS_NUMA,)
_STABLE = (FULL_PCPUS_ONLY, STRICT_CPU_RESERVATION, ALIGN_BY_UNCORE_CACHE)
_EXCLUSIVE = (
    (FULL_PCPUS_ONLY, DISTRIBUTE_ACROSS_CORES),
    (DISTRIBUTE_ACROSS_NUMA, DISTRIBUTE_ACROSS_CORES),
    (ALIGN_BY_UNCORE_CACHE, DISTRIBUTE_ACROSS_CORES),
    (ALIGN_BY_UNCORE_CACHE, DISTRIBUTE_ACROSS_NUMA),
)


@value_object
class StaticPolicyOptions:
    full_pcpus_only: bool = False
    distribute_across_numa: bool = False
    align_by_socket: bool = False
    distribute_across_cores: bool = False
    strict_cpu_reservation: bool = False
    align_by_uncore_cache: bool = False


def check_option_available(option: str, gates: FeatureGates = DEFAULT_GATES) -> None:
    """Raises MachineError if the option is unknown or disabled by its feature gate."""
    if option not in (*_ALPHA, *_BETA, *_STABLE):
        raise MachineError(f"unknown CPU Manager Policy option: {quoted(option)}")
    for level, options in (("Alpha", _ALPHA), ("Beta", _BETA)):
        if option in options and not gates.enabled(f"CPUManagerPolicy{level}Options"):
            raise MachineError(
                f"CPU Manager Policy {level}-level Options not enabled, but option {quoted(option)} provided"
            )


def new_static_policy_options(given: Mapping[str, str], gates: FeatureGates = DEFAULT_GATES) -> StaticPolicyOptions:
    """Parse the options. Raises MachineError."""
    values: dict[str, bool] = {}
    for name, value in given.items():
        check_option_available(name, gates)
        try:
            values[name] = parse_bool(value)
        except ValueError as error:
            raise MachineError(f"bad value for option {quoted(name)}: {error}") from None
    for one, other in _EXCLUSIVE:
        if values.get(one) and values.get(other):
            raise MachineError(f"static policy options {one} and {other} can not be used at the same time")
    return StaticPolicyOptions(
        full_pcpus_only=values.get(FULL_PCPUS_ONLY, False),
        distribute_across_numa=values.get(DISTRIBUTE_ACROSS_NUMA, False),
        align_by_socket=values.get(ALIGN_BY_SOCKET, False),
        distribute_across_cores=values.get(DISTRIBUTE_ACROSS_CORES, False),
        strict_cpu_reservation=values.get(STRICT_CPU_RESERVATION, False),
        align_by_uncore_cache=values.get(ALIGN_BY_UNCORE_CACHE, False),
    )


def validate_static_policy_options(options: StaticPolicyOptions, topology: CpuTopology, topology_policy: str) -> None:
    """Check the options against the machine and the topology manager. Raises MachineError with upstream's message."""
    if not options.align_by_socket:
        return
    if topology_policy == SINGLE_NUMA_NODE:
        raise MachineError(
            f"Topolgy manager {SINGLE_NUMA_NODE} policy is incompatible with CPUManager {ALIGN_BY_SOCKET} policy option"
        )
    if topology.num_sockets > topology.num_numa_nodes:
        raise MachineError(
            "Align by socket is not compatible with hardware where number of sockets are more than number of NUMA"
        )

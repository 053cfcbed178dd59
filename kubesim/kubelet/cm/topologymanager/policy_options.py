"""Options of the topology manager policies.

Mirrors: pkg/kubelet/cm/topologymanager/policy_options.go
"""

from __future__ import annotations

from collections.abc import Mapping

from kubesim.golang.text import quoted
from kubesim.kubelet.cm.machine import MachineError
from kubesim.kubelet.cm.option_values import atoi, parse_bool
from kubesim.values import value_object

PREFER_CLOSEST_NUMA_NODES = "prefer-closest-numa-nodes"
MAX_ALLOWABLE_NUMA_NODES = "max-allowable-numa-nodes"
DEFAULT_MAX_ALLOWABLE_NUMA_NODES = 8  # with more, there are too many combinations of NUMA nodes


@value_object
class PolicyOptions:
    prefer_closest_numa: bool = False
    max_allowable_numa_nodes: int = DEFAULT_MAX_ALLOWABLE_NUMA_NODES


def new_policy_options(given: Mapping[str, str]) -> PolicyOptions:
    """Parse the options. Both are GA, so they need no feature gate."""
    closest, most = False, DEFAULT_MAX_ALLOWABLE_NUMA_NODES
    for name, value in given.items():
        if name == PREFER_CLOSEST_NUMA_NODES:
            try:
                closest = parse_bool(value)
            except ValueError as error:
                raise MachineError(f"bad value for option {quoted(name)}: {error}") from None
        elif name == MAX_ALLOWABLE_NUMA_NODES:
            most = _max_allowable(name, value)
        else:
            raise MachineError(f"unknown Topology Manager Policy option: {quoted(name)}")
    return PolicyOptions(closest, most)


def _max_allowable(name: str, value: str) -> int:
    try:
        number = atoi(value)
    except ValueError as error:
        raise MachineError(f"unable to convert policy option to integer {quoted(name)}: {error}") from None
    least = DEFAULT_MAX_ALLOWABLE_NUMA_NODES
    if number < least:
        raise MachineError(f"the minimum value of {quoted(name)} should not be less than {least}")
    return number

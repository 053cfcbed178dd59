"""Features that a scenario cannot request of real containers: they would be ignored, so they are rejected."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pydantic.alias_generators import to_camel

from kubesim.errors import UsageError
from kubesim.features import DEFAULT_PROFILE
from kubesim.scenario.language.document import NodeItem, Spec

_STEPS: Final = (
    "write_file", "remove_file", "reboot", "shutdown", "pressure", "hang", "flush", "clock_jump", "device_health",
    "dependency", "upgrade",
)  # fmt: skip
_OF_NODES: Final = (
    "topology", "files", "user_namespaces", "image_fs", "swap", "sandbox_errors", "cgroup_errors", "directory_errors",
    "docker", "sandbox_faults", "device_plugins", "dra_drivers",
)  # fmt: skip
_OF_RUNS: Final = ("behaviours", "dependencies")


def check_real_runtime(spec: Spec, runtime: str) -> None:
    """Raises UsageError for the first thing that only simulated containers and nodes can do."""
    for field in _needing_simulation(spec):
        raise UsageError(f"{field} needs runtime: simulated; runtime {runtime} runs real containers on this machine")
    if spec.profile != DEFAULT_PROFILE:
        raise UsageError(
            f"spec.profile {spec.profile}: runtime {runtime} has the kubelet {DEFAULT_PROFILE} only: older ones called "
            "their runtimes in other ways"
        )


def _needing_simulation(spec: Spec) -> Iterator[str]:
    for name in _OF_RUNS:
        if getattr(spec, name):
            yield f"spec.{to_camel(name)}"
    for number, node in enumerate(spec.nodes):
        plain = NodeItem(name=node.name)
        for name in _OF_NODES:
            if getattr(node, name) != getattr(plain, name):
                yield f"spec.nodes[{number}].{to_camel(name)}"
    for number, step in enumerate(spec.steps):
        target = step.stop or step.start or step.restart
        if step.action in _STEPS:
            yield f"spec.steps[{number}].{to_camel(step.action)}"
        elif target is not None and target.what != "kubelet":
            yield f"spec.steps[{number}].{step.action} of {target.what}"
        elif step.kill is not None and step.kill.process:
            yield f"spec.steps[{number}].kill.process"

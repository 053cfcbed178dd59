"""The names of the operations that faults and steps can refer to: `runtime.CreateContainer`.

A name can be written without its group (`CreateContainer`) and can be a glob (`api.*`).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Annotated

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

OPERATIONS = {
    "runtime": (
        "RunPodSandbox", "StopPodSandbox", "RemovePodSandbox", "PodSandboxStatus", "ListPodSandbox", "CreateContainer",
        "StartContainer", "StopContainer", "RemoveContainer", "ContainerStatus", "ListContainers", "ExecSync",
        "UpdateContainerResources", "UpdatePodSandboxResources", "Status",
    ),
    "image": ("PullImage", "ImageStatus", "ListImages", "RemoveImage"),
    "cni": ("ADD", "DEL", "CHECK", "GC", "STATUS", "VERSION"),
    "volume": ("MountVolume", "UnmountVolume"),
    "api": (
        "GetPod", "CreatePod", "PatchPodStatus", "DeletePod", "GetNode", "CreateNode", "PatchNodeStatus", "CreateEvent",
        "PatchEvent",
    ),
    "disk": ("WriteStaticPod", "WriteCheckpoint", "WriteCniCache"),
}  # fmt: skip
SIMULATED_CNI = ("ADD", "DEL")  # the verbs of a simulated network


def is_operation(pattern: str, group: str, name: str) -> bool:
    """Whether the name or glob matches this operation."""
    return fnmatchcase(f"{group}.{name}", pattern) or fnmatchcase(name, pattern)


def matching(pattern: str) -> Iterator[tuple[str, str]]:
    """The operations that a name or glob matches, as group and name."""
    for group, names in OPERATIONS.items():
        yield from ((group, name) for name in names if is_operation(pattern, group, name))


def operation_names() -> list[str]:
    """The valid operation names, with and without group."""
    return [word for group, names in OPERATIONS.items() for name in names for word in (name, f"{group}.{name}")]


def known_operation(pattern: str) -> str:
    if any(matching(pattern)):
        return pattern
    near = difflib.get_close_matches(pattern, operation_names(), n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"the groups are {', '.join(OPERATIONS)}: try runtime.* or PullImage"
    raise PydanticCustomError(
        "operation", "no operation is named {name}; {hint}", {"name": repr(pattern), "hint": hint}
    )


OperationName = Annotated[str, AfterValidator(known_operation)]

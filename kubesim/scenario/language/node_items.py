"""What a scenario says about a node, beside its name and capacity.

`NodeFiles`: `/etc/resolv.conf` and others that the kubelet or a hostPath volume reads. `TopologyItem`: its machine.
"""

from __future__ import annotations

import posixpath
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from kubesim.scenario.language.strict import Strict, as_list, is_amount


def _absolute(path: str) -> str:
    if not path.startswith("/") or posixpath.normpath(path) != path or path == "/":
        raise PydanticCustomError("path", "{path} must be the absolute path of a file", {"path": repr(path)})
    return path


NodeFiles = dict[Annotated[str, AfterValidator(_absolute)], str]
Amounts = Annotated[
    tuple[Annotated[str | int | float, AfterValidator(is_amount)], ...], BeforeValidator(as_list)
]  # one for each NUMA node
Distances = Annotated[tuple[Annotated[tuple[int, ...], BeforeValidator(as_list)], ...], BeforeValidator(as_list)]


class TopologyItem(Strict):
    """How the CPUs and the memory of the capacity are divided. All of it evenly, unless amounts are given."""

    sockets: int = Field(default=1, ge=1)
    numa_nodes: int | None = Field(default=None, ge=1, le=64)  # one for each socket
    threads_per_core: int = Field(default=1, ge=1)
    uncore_caches: int | None = Field(default=None, ge=1)  # one for each socket
    memory: Amounts = ()
    hugepages: dict[str, Amounts] = Field(default_factory=dict)  # by page size: 2Mi, 1Gi
    distances: Distances = ()  # from each NUMA node to each; 10 to itself and 20 to others

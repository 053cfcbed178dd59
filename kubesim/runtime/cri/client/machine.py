"""What the kubelet reads about the machine that real containers run on."""

from __future__ import annotations

import os

from kubesim.values import value_object

CGROUP_ROOT = "/sys/fs/cgroup"
_HUGE_PAGES = "/sys/kernel/mm/hugepages"
_PREFIX, _SUFFIX = "hugepages-", "kB"


@value_object
class MachineFacts:
    """`memory` and page sizes are in bytes."""

    memory: int
    huge_page_sizes: tuple[int, ...] = ()
    has_cgroup_v2: bool = False

    @property
    def unified(self) -> dict[str, str]:
        """What every cgroup gets (calculateLinuxResources): when memory runs out, the kernel ends all its processes."""
        return {"memory.oom.group": "1"} if self.has_cgroup_v2 else {}


def read_machine() -> MachineFacts:
    return MachineFacts(
        memory=memory_info()["MemTotal"],
        huge_page_sizes=tuple(_huge_page_sizes()),
        has_cgroup_v2=os.path.exists(f"{CGROUP_ROOT}/cgroup.controllers"),
    )


def memory_info() -> dict[str, int]:
    """/proc/meminfo, in bytes."""
    with open("/proc/meminfo") as file:
        rows = [line.split() for line in file]
    return {row[0].rstrip(":"): int(row[1]) * (1024 if len(row) > 2 else 1) for row in rows}


def _huge_page_sizes() -> list[int]:
    """In the order of the directory, as the kubelet lists them."""
    if not os.path.isdir(_HUGE_PAGES):
        return []
    names = [name for name in os.listdir(_HUGE_PAGES) if name.startswith(_PREFIX) and name.endswith(_SUFFIX)]
    return [int(name.removeprefix(_PREFIX).removesuffix(_SUFFIX)) * 1024 for name in names]

"""Which kubelet the node runs, and what of our rules does not hold for it.

The rules are those of v1.36. The list has what is known to differ; what is not in it was not compared.
"""

from __future__ import annotations

import re

RULES = (1, 36)

# Below this minor version: what is different there.
_DIFFERENCES: tuple[tuple[int, str], ...] = (
    (36, "patch releases and minor versions other than v1.36.4 were not measured; small differences are possible"),
    (35, "a container's last state is not kept from the old status when its record is gone"),
    (34, "Events say `Created container: NAME` and `Started container NAME`; `already present on machine` ends there"),
    (
        33,
        "a crashed container is looked at every 10 to 15 s, not when its back-off ends: restarts come up to 15 s late",
    ),
    (33, "a start is told by the next relist, up to 1 s later; conditions and statuses carry no observedGeneration"),
    (33, "in-place resize is off unless its feature gate is set"),
    (32, "the back-off of a crash cannot be configured on the node (crashLoopBackOff.maxContainerRestartPeriod)"),
    (29, "sidecars (init containers with restartPolicy Always) do not exist without their feature gate"),
    (29, "there is no condition PodReadyToStartContainers: whether the sandbox stands is guessed from the pod's IP"),
)


def parse_version(text: str) -> tuple[int, int] | None:
    """`v1.36.4` -> (1, 36)."""
    found = re.match(r"v?(\d+)\.(\d+)", text)
    return (int(found.group(1)), int(found.group(2))) if found else None


def differences(kubelet_version: str) -> tuple[str, ...]:
    """What to keep in mind about a node of this version; empty for the one whose rules these are."""
    version = parse_version(kubelet_version)
    if version is None:
        return (f"the version {kubelet_version!r} of the kubelet is not known: the rules of v1.36 are used",)
    if version > RULES:
        return (f"the node runs {kubelet_version}; the rules of v1.36 are used, and what is newer is not known",)
    return tuple(text for below, text in _DIFFERENCES if version < (1, below))

"""Pods and measurements for eviction tests, in a short notation."""

from __future__ import annotations

from typing import Any

from kubesim.api.pod import Pod
from kubesim.api.quantity import quantity
from kubesim.kubelet.eviction.stats import ContainerUsage, FsUsage, PodUsage, SignalObservation

LOW, DEFAULT, HIGH = -1, 0, 1
CRITICAL = 2_000_000_000


def amount(text: str) -> int:
    return quantity(text).value()


def make_pod(name: str, priority: int = DEFAULT, requests: dict[str, str] | None = None, **spec: Any) -> Pod:
    """A pod with one container and these requests; other arguments are parts of the spec."""
    limits = spec.pop("limits", {})
    container = {"name": "main", "image": "i", "resources": {"requests": requests or {}, "limits": limits}}
    return Pod.from_json(
        {
            "metadata": {"name": name, "namespace": "default", "uid": name},
            "spec": {"priority": priority, "containers": [container], **spec},
        }
    )


def memory(text: str) -> PodUsage:
    used = amount(text)
    return PodUsage(memory=used, containers=(ContainerUsage("main", memory=used),))


def disk(root: str, logs: str = "0", volume: str = "0", *, inodes: bool = False) -> PodUsage:
    """Usage of the writable layer, of logs, and of the volume `local`."""

    def part(text: str) -> FsUsage:
        return FsUsage(0, amount(text)) if inodes else FsUsage(amount(text), 0)

    total = sum(map(amount, (root, logs, volume)))
    containers = (ContainerUsage("main", memory=0, rootfs=part(root), logs=part(logs)),)
    return PodUsage(ephemeral_storage=total, containers=containers, volumes={"local": part(volume)})


def available(text: str, capacity: str = "16Gi", time: int | None = None) -> SignalObservation:
    return SignalObservation(quantity(text), quantity(capacity), time)

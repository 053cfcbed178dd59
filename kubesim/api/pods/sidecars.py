"""Sidecars: init containers that restart, and the order of a pod's containers.

Mirrors: pkg/api/v1/pod/util.go IsRestartableInitContainer, ContainerIter.
"""

from __future__ import annotations

from kubesim.api.pod import Container, PodSpec

ALWAYS = "Always"


def init_and_regular_containers(spec: PodSpec) -> tuple[Container, ...]:
    """Init containers, then regular containers: the order of upstream's ContainerIter."""
    return spec.init_containers + spec.containers


def is_restartable_init_container(container: Container) -> bool:
    """Whether an init container is a sidecar (restartPolicy Always). The caller knows that it is an init container."""
    return container.restart_policy == ALWAYS

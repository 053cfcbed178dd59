"""ImageLocality: prefers nodes that already have large images of the pod, if many nodes have them.

Mirrors: pkg/scheduler/framework/plugins/imagelocality/image_locality.go
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesim.api.pod import Pod
from kubesim.cluster.scheduling.framework.node_state import NodeState
from kubesim.cluster.scheduling.framework.plugin import MAX_NODE_SCORE, CycleState, Plugin

NAME = "ImageLocality"
_MB = 1024 * 1024
MIN_THRESHOLD = 23 * _MB
MAX_CONTAINER_THRESHOLD = 1000 * _MB


def score(cycle: CycleState, nodes: Sequence[NodeState]) -> Sequence[int]:
    spec, known = cycle.pod.spec, cycle.snapshot.nodes.values()
    wanted = list(_images(cycle.pod))
    # An image's score grows with the number of nodes that have it: otherwise the first node to pull it would get every
    # pod.
    spread = {image: sum(image in state.images for state in known) / len(known) for image in wanted}
    highest = MAX_CONTAINER_THRESHOLD * (len(spec.init_containers) + len(spec.containers))
    return [_score(state, wanted, spread, highest) for state in nodes]


def _score(state: NodeState, wanted: Sequence[str], spread: dict[str, float], highest: int) -> int:
    found = sum(int(state.images[image] * spread[image]) for image in wanted if image in state.images)
    found = min(max(found, MIN_THRESHOLD), highest)
    return MAX_NODE_SCORE * (found - MIN_THRESHOLD) // (highest - MIN_THRESHOLD)


def _images(pod: Pod) -> Iterator[str]:
    for container in (*pod.spec.init_containers, *pod.spec.containers):
        yield normalized_image_name(container.image)
    for volume in pod.spec.volumes:
        image = volume.get("image")
        if image is not None:
            yield normalized_image_name(image.get("reference", ""))


def normalized_image_name(name: str) -> str:
    """The image name with a tag, `:latest` by default."""
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"


PLUGIN = Plugin(NAME, score=score)

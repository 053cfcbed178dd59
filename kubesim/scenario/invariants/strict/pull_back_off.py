"""Repeated pulls of an image wait longer each time.

The kubelet waits 10 s after the first failed pull, then 20 s, up to 5 min (EnsureImageExists). So a container that
cannot be created pulls its image at most five times in five minutes.

Kubelets violate it if the image is pulled always and something else prevents the creation of the container, such as a
missing Secret: a successful pull has no back-off, and every sync repeats it (kubernetes/kubernetes#103643).
"""

from __future__ import annotations

from kubesim.api.images import apply_default_image_tag
from kubesim.api.timestamps import MINUTE
from kubesim.golang.text import duration
from kubesim.scenario.invariants.invariant import Invariant
from kubesim.scenario.invariants.strict.observer import RuleObserver, Scene, container_key, ends_kubelet
from kubesim.trace.records import CriCall, CriReturn, Record

MOST = 5
PERIOD = 5 * MINUTE


class PullBackOff(RuleObserver):
    """Remembers the pulls of each image for a pod, since a container of the pod was last created from it."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._pulls: dict[tuple[str, str], list[int]] = {}

    def recorded(self, record: Record) -> str:
        if isinstance(record, CriReturn) and record.call == "CreateContainer" and not record.error:
            container = self.scene.container(container_key(record))
            image = "" if container is None else apply_default_image_tag(container.image)
            self._pulls.pop((record.pod, image), None)
        elif ends_kubelet(record):
            self._pulls.clear()  # with its back-offs
        elif isinstance(record, CriCall) and record.call == "PullImage":
            image = apply_default_image_tag(record.args["image"])
            pulls = self._pulls.setdefault((record.pod, image), [])
            pulls.append(record.t)
            if len(pulls) > MOST and record.t - pulls[-MOST - 1] < PERIOD:
                taken = duration(record.t - pulls[-MOST - 1])
                return f"the image {image} was pulled {MOST + 1} times in {taken}, and no container was created from it"
        return ""


INVARIANT = Invariant("pull-back-off", observer=PullBackOff)

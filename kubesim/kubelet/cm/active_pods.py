"""The active pods. Assignments of other pods are stale and are released before an allocation.

Mirrors: pkg/kubelet/cm/cpumanager/cpu_manager.go removeStaleState
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from kubesim.api.pod import Pod
from kubesim.kubelet.cm.topologymanager.manager import all_containers
from kubesim.values import value_object


@value_object
class ActivePods:
    """Active pods of the resource managers. Until all sources are received, no pod counts as gone."""

    pods: Callable[[], list[Pod]]
    sources_ready: Callable[[], bool]

    def stale(self, assignments: Mapping[str, Mapping[str, object]]) -> Iterator[tuple[str, str]]:
        """Pod UID and container name of all assignments without an active pod."""
        if not assignments or not self.sources_ready():
            return
        active = {pod.metadata.uid: {each.name for each in all_containers(pod)} for pod in self.pods()}
        for uid, containers in list(assignments.items()):
            for name in list(containers):
                if name not in active.get(uid, ()):
                    yield uid, name

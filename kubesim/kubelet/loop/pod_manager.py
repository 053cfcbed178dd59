"""The pods that the sources want on this node, and the mirror pods of static ones.

A static pod and its mirror have the same full name and nothing else in common.
Mirrors: pkg/kubelet/pod/pod_manager.go
"""

from __future__ import annotations

from collections.abc import KeysView

from kubesim.api.pod import Pod
from kubesim.api.pods.phases import TERMINAL_PHASES
from kubesim.api.pods.pod_kinds import is_mirror_pod, is_static_pod, pod_full_name
from kubesim.sources.checkpoint import PodCheckpoints

# A pod, None for a mirror pod whose static pod is not known, and its mirror, if there is one.
PodAndMirror = tuple[Pod | None, Pod | None]


class PodManager:
    """All lookups are by uid or by full name; order is the order of arrival. `checkpoints` has only a v1.12 kubelet."""

    def __init__(self, checkpoints: PodCheckpoints | None = None) -> None:
        self._checkpoints = checkpoints
        self._by_uid: dict[str, Pod] = {}
        self._by_full_name: dict[str, Pod] = {}
        self._mirrors_by_uid: dict[str, Pod] = {}
        self._mirrors_by_full_name: dict[str, Pod] = {}
        self._pod_of_mirror: dict[str, str] = {}
        self.with_deadline: dict[str, Pod] = {}  # by uid, those with activeDeadlineSeconds
        self.finished: set[str] = set()  # uids of pods whose phase at their source is terminal

    def update(self, pod: Pod) -> PodAndMirror:
        """Hold this version of the pod; answers what `pod_and_mirror` says of it from now on."""
        if self._checkpoints is not None:
            self._checkpoints.put(pod)
        name, uid = pod_full_name(pod), pod.metadata.uid
        if is_mirror_pod(pod):
            self._mirrors_by_uid[uid] = pod
            self._mirrors_by_full_name[name] = pod
            static = self._by_full_name.get(name)
            if static is not None:
                self._pod_of_mirror[uid] = static.metadata.uid
            return static, pod
        self._by_uid[uid] = pod
        self._by_full_name[name] = pod
        if pod.spec.active_deadline_seconds is not None:
            self.with_deadline[uid] = pod
        else:
            self.with_deadline.pop(uid, None)
        if pod.status.phase in TERMINAL_PHASES:
            self.finished.add(uid)
        else:
            self.finished.discard(uid)
        mirror = self._mirrors_by_full_name.get(name)
        if mirror is not None:
            self._pod_of_mirror[mirror.metadata.uid] = uid
        return pod, mirror

    def remove(self, pod: Pod) -> None:
        name = pod_full_name(pod)
        if is_mirror_pod(pod):
            self._mirrors_by_uid.pop(pod.metadata.uid, None)
            self._mirrors_by_full_name.pop(name, None)
            self._pod_of_mirror.pop(pod.metadata.uid, None)
        else:
            self._by_uid.pop(pod.metadata.uid, None)
            self.with_deadline.pop(pod.metadata.uid, None)
            self.finished.discard(pod.metadata.uid)
            self._by_full_name.pop(name, None)
        if self._checkpoints is not None:
            self._checkpoints.remove(pod)

    def pods(self) -> list[Pod]:
        return list(self._by_uid.values())

    def uids(self) -> KeysView[str]:
        """The uids of all pods but mirrors; a live view."""
        return self._by_uid.keys()

    def mirror_uids(self) -> KeysView[str]:
        return self._mirrors_by_uid.keys()

    def mirror_pods(self) -> list[Pod]:
        return list(self._mirrors_by_uid.values())

    def orphaned_mirror_full_names(self) -> list[str]:
        return [name for name in self._mirrors_by_full_name if name not in self._by_full_name]

    def by_uid(self, uid: str) -> Pod | None:
        return self._by_uid.get(uid)

    def by_full_name(self, name: str) -> Pod | None:
        return self._by_full_name.get(name)

    def mirror_of(self, pod: Pod) -> Pod | None:
        return self._mirrors_by_full_name.get(pod_full_name(pod)) if self._mirrors_by_full_name else None

    def translate_uid(self, uid: str) -> str:
        """A mirror's uid becomes its static pod's."""
        return self._pod_of_mirror.get(uid, uid)

    def uid_translations(self) -> tuple[dict[str, str], dict[str, str]]:
        """Static pod uid -> mirror uid ("" without one), and mirror uid -> static pod uid."""
        pod_to_mirror = {uid: "" for uid, pod in self._by_uid.items() if is_static_pod(pod)}
        pod_to_mirror.update({pod: mirror for mirror, pod in self._pod_of_mirror.items()})
        return pod_to_mirror, dict(self._pod_of_mirror)

    def pod_and_mirror(self, pod: Pod) -> PodAndMirror:
        if is_mirror_pod(pod):
            return self._by_full_name.get(pod_full_name(pod)), pod
        return pod, self.mirror_of(pod)

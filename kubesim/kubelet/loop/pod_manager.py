"""The pod manager: pods that the sources want on this node, and the mirror pods of static pods.

A static pod and its mirror pod have the same full name, but different UIDs.

Mirrors: pkg/kubelet/pod/pod_manager.go
"""

from __future__ import annotations

from collections.abc import KeysView

from kubesim.api.pod import Pod
from kubesim.api.pods.phases import TERMINAL_PHASES
from kubesim.api.pods.pod_kinds import is_mirror_pod, is_static_pod, pod_full_name
from kubesim.sources.checkpoint import PodCheckpoints

# A pod (None for a mirror pod without a known static pod) and its mirror pod, if there is one.
PodAndMirror = tuple[Pod | None, Pod | None]


class PodManager:
    """Pods by UID or full name, in order of arrival. Only a v1.12 kubelet has `checkpoints`."""

    def __init__(self, checkpoints: PodCheckpoints | None = None) -> None:
        self._checkpoints = checkpoints
        self._by_uid: dict[str, Pod] = {}
        self._by_full_name: dict[str, Pod] = {}
        self._mirrors_by_uid: dict[str, Pod] = {}
        self._mirrors_by_full_name: dict[str, Pod] = {}
        self._pod_of_mirror: dict[str, str] = {}
        self.with_deadline: dict[str, Pod] = {}  # pods with activeDeadlineSeconds, by UID
        self.finished: set[str] = set()  # UIDs of pods whose source reports a terminal phase

    def update(self, pod: Pod) -> PodAndMirror:
        """Store this version of the pod; returns its new `pod_and_mirror`."""
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
        """The UIDs of all pods except mirror pods; a live view."""
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
        """The static pod's UID for a mirror pod's UID; any other UID unchanged."""
        return self._pod_of_mirror.get(uid, uid)

    def uid_translations(self) -> tuple[dict[str, str], dict[str, str]]:
        """Static pod UID -> mirror UID ("" without one), and mirror UID -> static pod UID."""
        pod_to_mirror = {uid: "" for uid, pod in self._by_uid.items() if is_static_pod(pod)}
        pod_to_mirror.update({pod: mirror for mirror, pod in self._pod_of_mirror.items()})
        return pod_to_mirror, dict(self._pod_of_mirror)

    def pod_and_mirror(self, pod: Pod) -> PodAndMirror:
        if is_mirror_pod(pod):
            return self._by_full_name.get(pod_full_name(pod)), pod
        return pod, self.mirror_of(pod)

"""The crash back-off of each container, computed from restart to restart.

The kubelet keeps the back-off in memory and does not report it; an observer of every status can compute the same
values. As upstream, a restart without an observed exit (a failed probe, a new image) does not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kubesim.api.event import Event
from kubesim.api.pod import Container, ContainerStatus, Pod
from kubesim.api.pods.sidecars import init_and_regular_containers
from kubesim.attach.explain.observation import CrashEntry, event_time, moment
from kubesim.attach.explain.periods import DEFAULT_PERIODS, KubeletPeriods
from kubesim.runtime.kuberuntime.naming import backoff_key

_KILLED_FOR = ("failed liveness probe", "failed startup probe", "definition changed", "resize")

_NO_IMAGE = ("ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError")


class CrashMemory:
    """Tracks the crash back-offs of all pods of a node."""

    def __init__(self, periods: KubeletPeriods = DEFAULT_PERIODS) -> None:
        self._periods = periods
        self._backoff = periods.crash_backoff()
        self._updated: dict[str, int] = {}  # when each entry last changed
        self._keys: dict[str, set[str]] = {}  # by uid
        # Uid and container: attempts that failed before they were counted.
        self._uncounted: set[tuple[str, str]] = set()
        self._since = 0  # when the kubelet started, if known

    def entries(self, pod: Pod) -> Mapping[str, CrashEntry]:
        """The entries by container name, only those whose every change was observed."""
        keys = self._keys.get(pod.metadata.uid)
        if not keys:
            return {}
        found = {}
        for container in init_and_regular_containers(pod.spec):
            key = backoff_key(pod, container)
            if key in keys and self._backoff.get(key):
                found[container.name] = CrashEntry(self._backoff.get(key), self._updated[key])
        return found

    def follow(self, old: Pod, new: Pod, events: Iterable[Event]) -> None:
        """Update the back-offs after a change of a pod's status."""
        statuses = (*new.status.init_container_statuses, *new.status.container_statuses)
        before = {s.name: s for s in (*old.status.init_container_statuses, *old.status.container_statuses)}
        for status in statuses:
            was = before.get(status.name)
            if was is None or status.restart_count != was.restart_count + 1:
                init = status in new.status.init_container_statuses
                if was is not None and (
                    status.restart_count > was.restart_count or (init and _is_another(was, status))
                ):
                    self._forget(new, status.name)  # attempts were missed
                elif _failed_to_start(status):
                    self._uncounted.add((new.metadata.uid, status.name))
                    self._forget(new, status.name)
                continue
            container = new.spec.find_container(status.name)
            if container is not None:
                self._restarted(new, container, was, status, events)

    def _restarted(
        self, pod: Pod, container: Container, was: ContainerStatus, now: ContainerStatus, events: Iterable[Event]
    ) -> None:
        ended = now.last_state.terminated
        if now.state.running is None and was.last_state.terminated is not None:
            ended = was.last_state.terminated  # the last state of an attempt that failed to start is the attempt itself
        finished = moment(ended.finished_at) if ended is not None else None
        known = list(events)
        began_before = finished is not None and finished < self._since
        uncounted = (pod.metadata.uid, container.name) in self._uncounted
        if began_before or uncounted or _in_new_sandbox(was, known):
            # An earlier kubelet may have handled this exit, or it does not count: a new sandbox starts the containers
            # of a lost one
            # without checking how they ended. Or there were more attempts than the count says.
            self._forget(pod, container.name)
            return
        if was.state.running is not None and not known:
            self._forget(pod, container.name)  # crashed, or killed for a probe: only Events could show which
            return
        if was.state.running is not None and _was_killed(was, container, known):
            return
        if was.state.running is not None and (container.liveness_probe or container.startup_probe):
            self._forget(pod, container.name)  # the Event of a kill may not have arrived yet, or was dropped
            return
        key = backoff_key(pod, container)
        if was.restart_count > 0 and not self._backoff.get(key):
            return  # restarted before the watch began: its back-off is unknown
        running = now.state.running
        started = moment(running.started_at) if running is not None else finished
        if finished is None or started is None:
            self._forget(pod, container.name)
            return
        self._backoff.next(key, finished, started)
        self._updated[key] = started
        self._keys.setdefault(pod.metadata.uid, set()).add(key)

    def forget(self, pod: Pod) -> None:
        self._uncounted = {one for one in self._uncounted if one[0] != pod.metadata.uid}
        for key in self._keys.pop(pod.metadata.uid, ()):
            self._updated.pop(key, None)
            self._backoff.drop(key)

    def forget_all(self, since: int) -> None:
        """Forget all entries: the kubelet restarted."""
        self._since = since
        self._uncounted.clear()
        self._backoff = self._periods.crash_backoff()
        self._updated.clear()
        self._keys.clear()

    def gc(self, now: int) -> None:
        """Remove old entries, as the kubelet's housekeeping does, so that memory does not grow in a long watch."""
        self._backoff.gc(now)

    def _forget(self, pod: Pod, name: str) -> None:
        container = pod.spec.find_container(name)
        if container is not None:
            key = backoff_key(pod, container)
            self._backoff.drop(key)
            self._keys.get(pod.metadata.uid, set()).discard(key)


def _is_another(was: ContainerStatus, now: ContainerStatus) -> bool:
    """Whether the container id changed: in a new sandbox the attempts of an init container are counted from 0."""
    return bool(was.container_id and now.container_id) and was.container_id != now.container_id


def _failed_to_start(status: ContainerStatus) -> bool:
    """Whether an attempt failed for lack of its image: it doubles the back-off and is not counted."""
    waiting = status.state.waiting
    return waiting is not None and status.last_state.terminated is not None and waiting.reason in _NO_IMAGE


def _in_new_sandbox(was: ContainerStatus, events: Iterable[Event]) -> bool:
    began = moment(was.state.running.started_at) if was.state.running is not None else None
    return began is not None and any(e.reason == "SandboxChanged" and event_time(e) >= began for e in events)


def _was_killed(was: ContainerStatus, container: Container, events: Iterable[Event]) -> bool:
    """Whether the kubelet itself stopped and restarted a running container in one sync. Such a restart has no exit, so
    it does not count."""
    began = moment(was.state.running.started_at) if was.state.running is not None else None
    for event in events:
        if event.reason == "Killing" and event.involved_object.field_path.endswith(f"{{{container.name}}}"):
            reported = any(word in event.message for word in _KILLED_FOR)
            if reported and (began is None or event_time(event) >= began):
                return True
    return False

"""Invariants of a pod's lifecycle under any faults: phases, restarts, order of containers, time to stop. Checks runtime
calls, the trace and the API server.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from kubesim.api.pod import Container, Pod
from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock
from kubesim.cluster.store.watches import WatchEvent
from kubesim.runtime.protocol import ContainerInfo
from kubesim.runtime.simulated.runtime import SimulatedRuntime
from kubesim.trace.records import EventRecorded, Record, SyncBegin, SyncEnd, WorkerState

MINIMUM = 2 * SECOND  # when a container must be stopped
UP_FILE = "/tmp/up"  # a startup probe for this file succeeds no earlier than the container has
UP_AFTER = 3 * SECOND  # run for this long
RANKS = {"": 0, "Pending": 0, "Running": 1, "Succeeded": 2, "Failed": 2}


@dataclass(frozen=True, slots=True)
class _Killing:
    """The kubelet is stopping a container, which must end between these times."""

    begin: int
    least: int
    most: int


class LifeRules:
    """Rules for one pod at a time. `strict`: no call fails, so the whole pod must stop in time."""

    def __init__(self, clock: LoopClock, runtime: SimulatedRuntime, *, strict: bool) -> None:
        self._clock = clock
        self._runtime = runtime
        self._strict = strict
        self._pod: Pod | None = None
        self._history: dict[str, ContainerInfo] = {}  # every container so far by id, in its last state
        self._earlier: set[str] = set()  # containers before a restart of all containers, or of a recreated pod
        self._forgotten: set[str] = set()  # containers removed by an eviction that the kubelet has forgotten
        self._misled: set[str] = set()  # sandboxes whose progress was derived from records of an earlier one
        self._stopped: set[str] = set()  # containers stopped by the kubelet
        self._killing: dict[str, _Killing] = {}  # by container name
        self._sync: SyncBegin | None = None
        self._was_ending = False  # terminating before a deletion
        self._deletions: list[int] = []  # their grace periods in seconds
        self._is_forced = False  # deleted with grace period 0: the pod is removed before its containers
        self._evictions: list[int] = []
        self._is_evicted = False  # and the running kubelet knows it
        self._restarts: dict[str, int] = {}
        self._started_over = False  # new sandbox, or all containers, since the pod last ran
        runtime.on_change(self._runtime_changed)

    # -- the runtime as it is -----------------------------------------------------------------------------------

    def _infos(self, uid: str) -> list[ContainerInfo]:
        known = self._runtime._by_pod.get(uid)
        return [self._runtime._containers[identifier].info for identifier in known[1]] if known else []

    def _running(self, uid: str) -> list[str]:
        return [info.name for info in self._infos(uid) if info.state == "running"]

    def _runtime_changed(self, uid: str) -> None:
        if not uid:
            return
        infos = self._infos(uid)
        self._history.update((info.id, info) for info in infos)
        if not infos and not self._is_evicted:  # dead containers of an evicted pod are removed immediately
            self._earlier.update(self._history)
            self._started_over = True
        twice = [name for name, count in Counter(self._running(uid)).items() if count > 1]
        assert not twice, f"containers that run twice: {twice}"

    # -- what the kubelet asks of it ----------------------------------------------------------------------------

    def called(self, name: str, args: tuple[Any, ...]) -> None:
        if name == "run_pod_sandbox":
            self._started_over = True
        elif name == "create_container":
            self._creates(args[0], args[1].container, args[1].attempt)
        elif name == "start_container":
            assert self._pod is None or not _has_ended(self._pod), f"{args[0]} starts although the pod has ended"
        elif name == "stop_container":
            self._stops(*args)
        elif name == "stop_pod_sandbox" and self._strict:
            still = [info.name for info in self._history.values() if info.sandbox_id == args[0] and _runs(info)]
            assert not still, f"a sandbox is stopped while {still} run"

    def _creates(self, sandbox_id: str, container: Container, attempt: int) -> None:
        """The stages: init containers one after the other, then all others."""
        assert self._pod is not None
        spec = self._pod.spec
        name = container.name
        names = [init.name for init in spec.init_containers]
        before = spec.init_containers[: names.index(name)] if name in names else spec.init_containers
        infos = self._infos(self._pod.metadata.uid)
        if not self._strict and any(_reports_earlier(info, sandbox_id, names) for info in infos):
            self._misled.add(sandbox_id)
        for init in before:
            reported = sandbox_id in self._misled or self._is_done(init, sandbox_id)
            assert reported, f"{name} is created before {init.name} is done"
        if name in names and container.restart_policy != "Always":
            main = {regular.name for regular in spec.containers}
            begun = [i.name for i in self._remembered(sandbox_id) if i.name in main and i.started_at is not None]
            assert not begun, f"init container {name} is created again after {begun}"
        self._may_run_again(container, sandbox_id)
        # Removed records include the logs, and thereby the restart count.
        attempts = [info.attempt for info in infos if info.name == name]
        assert attempt > max(attempts, default=-1), f"{name} is created with attempt {attempt} after {attempts}"

    def _may_run_again(self, container: Container, sandbox_id: str) -> None:
        """Whether a container that exited may restart, by its rules, its own policy or the pod's policy."""
        assert self._pod is not None
        lives = [info for info in self._remembered(sandbox_id) if info.name == container.name]
        last = max(lives, key=lambda info: info.created_at, default=None)
        if last is None or last.state != "exited" or last.id in self._stopped:
            return
        for rule in container.restart_policy_rules:
            assert rule.exit_codes is not None
            if (last.exit_code in rule.exit_codes.values) == (rule.exit_codes.operator == "In"):
                return
        policy = container.restart_policy or self._pod.spec.restart_policy
        wanted = policy == "Always" or (policy == "OnFailure" and (last.exit_code != 0 or last.reason == "OOMKilled"))
        assert wanted, f"{container.name} ended with {last.exit_code} and is created again, with policy {policy}"

    def _generation(self, sandbox_id: str) -> list[ContainerInfo]:
        """The containers of a sandbox since its creation, or since the last restart of all containers."""
        return [i for i in self._history.values() if i.sandbox_id == sandbox_id and i.id not in self._earlier]

    def _remembered(self, sandbox_id: str) -> list[ContainerInfo]:
        return [info for info in self._generation(sandbox_id) if info.id not in self._forgotten]

    def _is_done(self, init: Container, sandbox_id: str) -> bool:
        lives = [info for info in self._generation(sandbox_id) if info.name == init.name]
        if init.restart_policy != "Always":
            return any(i.state == "exited" and i.exit_code == 0 and i.reason != "OOMKilled" for i in lives)
        probe = init.startup_probe
        slow = probe is not None and probe.exec is not None and UP_FILE in probe.exec.command
        return any(self._age(info) >= (UP_AFTER if slow else 0) for info in lives)

    def _age(self, info: ContainerInfo) -> int:
        """How long the container has run; -1 if it never did."""
        if info.started_at is None:
            return -1
        return (info.finished_at or self._clock.now()) - info.started_at

    def _stops(self, container_id: str, timeout: int) -> None:
        """Hook, waiting turn and timeout together take the grace period, in whole seconds and with the minimum."""
        name = self._history[container_id].name
        self._stopped.add(container_id)
        killing, end = self._killing.get(name), self._clock.now() + timeout
        assert killing is not None, f"{name} is stopped and no Event says so"
        assert timeout >= MINIMUM, f"{name} gets only {timeout} to stop"
        over, short = end - killing.begin - killing.most, killing.begin + killing.least - end
        assert over <= MINIMUM + self._cut(name), f"{name} gets {over} more than its grace"
        assert short <= 0, f"{name} gets {short} less than its grace"

    def _cut(self, name: str) -> int:
        """A sidecar's hook and wait are rounded down separately; the truncated part is granted twice."""
        assert self._pod is not None
        sidecars = [c for c in self._pod.spec.init_containers if c.restart_policy == "Always" and c.name == name]
        return SECOND if any(c.lifecycle is not None and c.lifecycle.pre_stop is not None for c in sidecars) else 0

    # -- the trace ----------------------------------------------------------------------------------------------

    def record(self, record: Record) -> None:
        if isinstance(record, SyncBegin):
            self._sync = record
        elif isinstance(record, SyncEnd):
            self._sync_ended(record)
        elif isinstance(record, WorkerState):
            if record.state == "terminating" and "deleted" not in record.why:
                self._was_ending = True
        elif isinstance(record, EventRecorded) and record.reason == "Killing":
            least, most = self._grace(record.container, record.message)
            self._killing[record.container] = _Killing(self._clock.now(), least * SECOND, most * SECOND)

    def forced(self) -> None:
        self._is_forced = True

    def evicted(self, grace_s: int) -> None:
        self._evictions.append(grace_s)
        self._is_evicted = True

    def kubelet_restarts(self) -> None:
        """Only the running kubelet knows of an eviction until all containers have ended. A restarted kubelet has no
        record of the removed containers.
        """
        if not self._is_evicted:
            return
        self._is_evicted = False
        kept = {info.id for info in self._infos(self._pod.metadata.uid)} if self._pod is not None else set()
        self._forgotten.update(self._history.keys() - kept)
        if not kept:
            self._earlier.update(self._history)
        self._started_over = True

    def _sync_ended(self, end: SyncEnd) -> None:
        """Without faults a pod stops within its grace period, the minimum, and a moment for the sandbox."""
        begin = self._sync
        if not self._strict or end.sync != "SyncTerminatingPod" or begin is None or begin.sync != end.sync:
            return
        _, most = self._grace("", "")
        over = end.t - begin.t - most * SECOND - MINIMUM
        assert over <= SECOND + SECOND // 2, f"the pod is stopped {over} after the end of its grace"

    def _grace(self, container: str, message: str) -> tuple[int, int]:
        """The minimum and maximum grace period that a container gets now, in seconds."""
        assert self._pod is not None
        own = self._pod.spec.termination_grace_period_seconds or 0
        deletions = [max(grace, 1) for grace in (*self._deletions, *self._evictions)]
        sync = self._sync.sync if self._sync is not None else ""
        if sync == "SyncTerminatingRuntimePod":
            graces = [1]
        elif message == "killing":  # all containers restart
            graces = [0]
        elif sync == "SyncTerminatingPod":
            graces = deletions if deletions and not self._was_ending else [max(own, 1), *deletions]
        else:
            graces = [self._probe_grace(container, message, own), *deletions]
        return min(graces), max(graces)

    def _probe_grace(self, container: str, message: str, own: int) -> int:
        assert self._pod is not None
        found = self._pod.spec.find_container(container)
        assert found is not None
        probe = found.liveness_probe if "failed liveness probe" in message else None
        probe = found.startup_probe if "failed startup probe" in message else probe
        grace = None if probe is None else probe.termination_grace_period_seconds
        return own if grace is None else grace

    # -- the API server -----------------------------------------------------------------------------------------

    def pod_changed(self, change: WatchEvent) -> None:
        pod, before = change.object, self._pod
        assert isinstance(pod, Pod)
        self._pod = pod
        self._saw_deletion(pod)
        if change.type == "DELETED":
            running = self._running(pod.metadata.uid)
            assert not running or self._is_forced, f"{running} outlive their pod"
            return
        self._phase_goes_on(before, pod)
        self._restarts_grow(pod)
        self._status_is_sound(pod)

    def _saw_deletion(self, pod: Pod) -> None:
        grace = pod.metadata.deletion_grace_period_seconds
        if grace is not None and (not self._deletions or self._deletions[-1] != grace):
            self._deletions.append(grace)

    def _phase_goes_on(self, before: Pod | None, pod: Pod) -> None:
        old, new = ("" if before is None else before.status.phase), pod.status.phase
        if old != new and RANKS[old] == 2:
            late = new == "Failed" and pod.status.reason == "DeadlineExceeded"
            assert late, f"the pod had ended as {old} and is {new}"
        if RANKS[old] == 1 and RANKS[new] == 0:
            assert self._started_over or self._hides_its_end(pod), "the pod was Running and is Pending"
        if new == "Running" and self._has_begun(pod):
            self._started_over = False
        if RANKS[new] == 2 and RANKS[old] < 2:
            running = self._running(pod.metadata.uid)
            assert not running, f"the pod is reported to have ended, and {running} run"

    def _has_begun(self, pod: Pod) -> bool:
        """Whether a regular container has started in the newest sandbox, since the last restart of all containers."""
        main = {container.name for container in pod.spec.containers}
        newest = list(self._runtime._sandboxes)[-1:]
        return any(i.name in main and i.started_at is not None for s in newest for i in self._generation(s))

    def _hides_its_end(self, pod: Pod) -> bool:
        """Whether the newest instance was created and not started, and its predecessor too, if it exists. Then the
        status has no exit.
        """
        states: dict[str, list[str]] = {}
        for info in sorted(self._infos(pod.metadata.uid), key=lambda info: -info.created_at):
            states.setdefault(info.name, []).append(info.state)
        return not self._strict and any(set(found[:2]) == {"created"} for found in states.values())

    def _restarts_grow(self, pod: Pod) -> None:
        for status in (*pod.status.init_container_statuses, *pod.status.container_statuses):
            before = self._restarts.get(status.name, 0)
            assert status.restart_count >= before, f"{status.name} restarted {before}, now {status.restart_count} times"
            self._restarts[status.name] = status.restart_count

    def _status_is_sound(self, pod: Pod) -> None:
        """Ready containers run; a pod is ready if all its containers are; success requires all of them to have
        succeeded. For an evicted pod, only the phase is delayed until its containers have ended, and their records are
        removed early.
        """
        statuses = pod.status.container_statuses
        if self._evictions:
            return
        for status in statuses:
            assert not status.ready or status.state.running is not None, f"{status.name} is ready and does not run"
        conditions = {condition.type: condition.status for condition in pod.status.conditions}
        if conditions.get("Ready") == "True":
            assert len(statuses) == len(pod.spec.containers)
            assert all(status.ready for status in statuses), "the pod is ready, and not all its containers are"
            assert pod.status.phase == "Running", f"the pod is ready and {pod.status.phase}"
        if pod.status.phase == "Succeeded":
            codes = {s.name: s.state.terminated.exit_code if s.state.terminated else None for s in statuses}
            assert set(codes.values()) == {0}, f"the pod succeeded with {codes}"


def _has_ended(pod: Pod) -> bool:
    return RANKS[pod.status.phase] == 2


def _reports_earlier(info: ContainerInfo, sandbox_id: str, init_names: list[str]) -> bool:
    """Whether the kubelet attributes a record of an earlier sandbox to this one and derives progress from it: an init
    container whose removal failed, or a container that could not be started.
    """
    return info.sandbox_id != sandbox_id and (info.name in init_names or info.state == "created")


def _runs(info: ContainerInfo) -> bool:
    return info.state == "running"

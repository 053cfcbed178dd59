"""The probe manager: runs a worker for every probe of every regular container and sidecar.

SyncPod adds pods, termination stops liveness and startup probes first and the rest later, housekeeping cleans up. The
status generation reads its data (`workers_of`, the results' `by_id`, `start`) and returns the readiness workers to
trigger (readiness_workers_to_trigger).

Mirrors: pkg/kubelet/prober/prober_manager.go
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from kubesim.api.pod import Container, Pod, PodStatus
from kubesim.api.pods.sidecars import is_restartable_init_container
from kubesim.clock import LoopClock, Randomness
from kubesim.concurrency import TaskSet
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.kubelet.probes.results import ResultsManager
from kubesim.kubelet.probes.worker import ProbeWorker, RunsProbes, WorkerEnvironment
from kubesim.kubelet.probes.worker_rules import WorkerSubject, probe_types
from kubesim.kubelet.status.generate.inputs import ProbeType
from kubesim.runtime.protocol import CallContext
from kubesim.trace import Recorder

REMOVE_ORDER: tuple[ProbeType, ...] = ("readiness", "liveness", "startup")
STOPPED_BY_TERMINATION: tuple[ProbeType, ...] = ("liveness", "startup")

WorkerName = tuple[str, ProbeType]  # container name, probe type
_NO_WORKERS: frozenset[WorkerName] = frozenset()


class ProbeManager:
    """Workers by pod, in order of creation, so that operations on several workers have a fixed order."""

    def __init__(
        self,
        clock: LoopClock,
        tasks: TaskSet,
        recorder: Recorder,
        prober: RunsProbes,
        pod_status: Callable[[str], PodStatus | None],
        randomness: Randomness,
        *,
        jitter: bool = True,
        node: str = "",
        gates: FeatureGates = DEFAULT_GATES,
        on_worker_end: Callable[[str], None] = lambda uid: None,
    ) -> None:
        self.start = clock.wall()
        self._on_worker_end = on_worker_end
        self.liveness = ResultsManager("liveness")
        self.readiness = ResultsManager("readiness")
        self.startup = ResultsManager("startup")
        self._results: dict[ProbeType, ResultsManager] = {
            "liveness": self.liveness,
            "readiness": self.readiness,
            "startup": self.startup,
        }
        self._tasks = tasks
        self._workers: dict[str, dict[WorkerName, ProbeWorker]] = {}
        self._names: dict[str, frozenset[WorkerName]] = {}  # cache of workers_of
        self._environment = WorkerEnvironment(
            clock=clock,
            recorder=recorder,
            prober=prober,
            pod_status=pod_status,
            randomness=randomness,
            kubelet_start=self.start,
            jitter=jitter,
            node=node,
            gates=gates,
        )

    def add_pod(self, pod: Pod, context: CallContext | None = None) -> None:
        """Start the pod's workers. As upstream, an existing worker ends the loop: the others exist too."""
        workers, gates = self._workers.get(pod.metadata.uid, {}), self._environment.gates
        if not gates.rules.sync_cancels_exec_probes:
            context = None
        for container in _probed_containers(pod):
            for probe_type in probe_types(container, gates):
                if (container.name, probe_type) in workers:
                    return
                workers = self._add_worker(WorkerSubject.of(pod, container, probe_type, context))

    def _add_worker(self, subject: WorkerSubject) -> dict[WorkerName, ProbeWorker]:
        uid, name, probe_type = subject.pod.metadata.uid, subject.container.name, subject.probe_type
        worker = ProbeWorker(subject, self._results[probe_type], self._environment, self._remove_worker)
        workers = self._workers.setdefault(uid, {})
        workers[name, probe_type] = worker
        self._names.pop(uid, None)
        self._tasks.start(f"{probe_type} probe of {name} in {uid}", worker.run())
        return workers

    def stop_liveness_and_startup(self, pod: Pod) -> None:
        """The pod is terminating. Sidecars keep their workers until `remove_pod`."""
        self._stop(pod, pod.spec.containers, STOPPED_BY_TERMINATION)

    def remove_pod(self, pod: Pod) -> None:
        """Stop all workers of the pod."""
        self._stop(pod, _probed_containers(pod), REMOVE_ORDER)

    def _stop(self, pod: Pod, containers: Collection[Container], probe_types: tuple[ProbeType, ...]) -> None:
        workers = self._workers.get(pod.metadata.uid)
        if not workers:
            return
        for container in containers:
            for probe_type in probe_types:
                worker = workers.get((container.name, probe_type))
                if worker is not None:
                    worker.stop()

    def cleanup_pods(self, may_run: Callable[[str], bool]) -> None:
        """Stop the workers of pods that cannot be running (by UID)."""
        for uid, workers in self._workers.items():
            if not may_run(uid):
                for worker in workers.values():
                    worker.stop()

    def trigger_readiness(self, uid: str, container_name: str) -> bool:
        """Probe readiness now for started containers that are not ready, after a status update (as upstream)."""
        if not self._environment.gates.rules.probes_started_containers:
            return False
        worker = self._workers.get(uid, {}).get((container_name, "readiness"))
        return worker is not None and worker.trigger()

    def workers_of(self, uid: str) -> frozenset[WorkerName]:
        """The workers of a pod, in the form that the status generation reads."""
        names = self._names.get(uid)
        if names is None:
            workers = self._workers.get(uid)
            if not workers:
                return _NO_WORKERS
            names = self._names[uid] = frozenset(workers)
        return names

    def workers(self) -> Iterator[ProbeWorker]:
        for workers in self._workers.values():
            yield from workers.values()

    def _remove_worker(self, worker: ProbeWorker) -> None:
        """Called by a worker when it exits."""
        uid = worker.subject.pod.metadata.uid
        workers = self._workers[uid]
        del workers[worker.subject.container.name, worker.subject.probe_type]
        if not workers:
            del self._workers[uid]
        self._names.pop(uid, None)
        self._on_worker_end(uid)


def _probed_containers(pod: Pod) -> tuple[Container, ...]:
    """Regular containers, then sidecars: upstream's order."""
    if not pod.spec.init_containers:
        return pod.spec.containers
    return (*pod.spec.containers, *filter(is_restartable_init_container, pod.spec.init_containers))

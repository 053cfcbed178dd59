"""Tasks on the workers of a Ray cluster. Needs the extra `ray`.

As many tasks are submitted as the cluster has CPUs, and a few more so that no CPU waits for the driver. Ray repeats
nothing by itself: this side counts how often a task lost its worker, so that each one has exactly one result. A cluster
may grow and shrink while it works.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from socket import create_connection
from typing import Any, Final

from kubesim import __version__
from kubesim.errors import UsageError
from kubesim.executors.executor import ATTEMPTS, Lost, PureTask, T

AHEAD: Final = 2  # tasks submitted for each CPU
REACHED_WITHIN_S: Final = 5.0
# With this variable at 0, Ray does not replace a loopback address by that of the machine's interface: a cluster on the
# loopback interface does not listen there.
KEEP_LOOPBACK: Final = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
MOST_LOSSES: Final = 5 * ATTEMPTS  # a node that ends takes all of its tasks with it, so a task may lose several in turn


class RayCluster:
    """Implements `Executor`. Connects to the cluster that `RAY_ADDRESS` names, or to the one of this machine."""

    def __init__(self, address: str | None = None) -> None:
        self._ray = _connected(address)
        self._call = self._ray.remote(max_retries=0, num_cpus=1)(call)
        self.jobs = max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        try:
            self._check_version()
        except BaseException:
            self.close()
            raise

    def _check_version(self) -> None:
        there = self._ray.get(self._ray.remote(max_retries=3)(version).remote())
        if there != version():
            self.close()
            raise UsageError(f"--executor ray: the cluster has {there}, but this machine {version()}: install the same")

    def results(self, tasks: Sequence[PureTask[T]]) -> Iterator[tuple[int, T | Lost]]:
        waiting = list(range(len(tasks)))[::-1]
        losses: Counter[int] = Counter()
        running: dict[Any, int] = {}
        try:
            while waiting or running:
                while waiting and len(running) < AHEAD * self.jobs:
                    number = waiting.pop()
                    running[self._call.remote(tasks[number])] = number
                ready, _ = self._ray.wait(list(running), num_returns=1)
                for reference in ready:
                    number = running.pop(reference)
                    result = self._result_of(reference)
                    losses[number] += isinstance(result, Lost)
                    if isinstance(result, Lost) and losses[number] < MOST_LOSSES:
                        waiting.append(number)
                    else:
                        yield number, result
        finally:
            for reference in running:
                self._ray.cancel(reference, force=True)

    def _result_of(self, reference: Any) -> Any:
        """The result of a task that has ended; `Lost` if its worker or its node has died."""
        from ray import exceptions

        try:
            return self._ray.get(reference)
        except exceptions.RayTaskError:
            raise  # the task raised: a defect, as in every other executor
        except exceptions.RayError as error:
            return Lost(f"its Ray worker was lost: {type(error).__name__}")

    def close(self) -> None:
        self._ray.shutdown()


def call(task: PureTask[T]) -> T:
    """In a worker."""
    return task()


def version() -> str:
    """Run in a worker: the versions that must be equal for equal results."""
    return f"kubesim {__version__} on Python {sys.version_info.major}.{sys.version_info.minor}"


def _connected(address: str | None) -> Any:
    chosen = address or os.environ.get("RAY_ADDRESS") or "auto"
    host, _, port = chosen.rpartition(":")
    if host.startswith("127.") or host == "localhost":
        os.environ.setdefault(KEEP_LOOPBACK, "0")
    try:
        import ray
    except ImportError:
        raise UsageError("--executor ray needs Ray: pip install 'kubesim[ray]'") from None
    try:
        if host and port.isdigit():
            create_connection((host, int(port)), REACHED_WITHIN_S).close()  # Ray itself tries for minutes
        ray.init(chosen, log_to_driver=False, logging_level="ERROR")
    except (OSError, RuntimeError, ValueError) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        hint = "start one with: ray start --head, or set RAY_ADDRESS to HOST:PORT"
        raise UsageError(f"--executor ray: no Ray cluster at {chosen!r}: {reason}; {hint}") from None
    _silence()
    return ray


def _silence() -> None:
    """Keep Ray from printing a page of its log for each lost node, on standard output, where the results are."""
    from ray._private import worker

    if hasattr(worker, "print_to_stdstream"):
        worker.print_to_stdstream = lambda *arguments, **named: None

"""Runs tasks one after the other in this process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesim.executors.executor import Lost, PureTask, T
from kubesim.values import part


@part
class SameProcess:
    """Implements `Executor`."""

    jobs: int = 1

    def results(self, tasks: Sequence[PureTask[T]]) -> Iterator[tuple[int, T | Lost]]:
        for number, task in enumerate(tasks):
            yield number, task()

    def close(self) -> None:
        pass

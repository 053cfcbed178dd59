"""`Executor`: runs tasks that are pure functions, and yields their results as they arrive.

A task is a value object that can be pickled and called without arguments. It contains everything that its
result depends on, so it can run in any process, on any machine, and more than once. Implementations differ in where the
tasks run, never in the results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Protocol, TypeVar

from kubesim.values import value_object

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
ATTEMPTS: Final = 2  # how often a task may lose its worker before it is `Lost`


class PureTask(Protocol[T_co]):
    """A picklable call without arguments. It must not raise errors caused by its input: they are part of its result."""

    def __call__(self) -> T_co: ...


@value_object
class Lost:
    """A task without a result, because its process died or took too long."""

    why: str


class Executor(Protocol):
    """Runs tasks in any order, each at least once, and yields exactly one result for each.

    - `results` yields the number of a task in `tasks`, and its result, as soon as there is one. It may be called again
      after it is exhausted or closed; the tasks of one call run before those of the next.
    - A task whose worker dies is repeated on another worker, and yields `Lost` if that one dies too (`ATTEMPTS`).
    - A task that takes longer than the executor's limit yields `Lost` and is not repeated.
    - Closing the iterator early, as a KeyboardInterrupt does, ends the tasks in progress.
    """

    jobs: int  # how many tasks run at the same time, for progress

    def results(self, tasks: Sequence[PureTask[T]]) -> Iterator[tuple[int, T | Lost]]: ...

    def close(self) -> None:
        """Free the workers."""
        ...

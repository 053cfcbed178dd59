"""The run of a lab's scenario, and the type of the function that runs it, which the command line provides."""

from __future__ import annotations

from collections.abc import Callable

from kubesim.cluster.saved.history import RunHistory
from kubesim.scenario.language.document import Scenario
from kubesim.trace.records import Record
from kubesim.values import value_object


@value_object
class LessonRun:
    """The records of a run, the failed expectations, and the objects of the cluster at each time."""

    records: tuple[Record, ...]
    failed: tuple[str, ...]
    history: RunHistory | None = None  # None: there is no cluster, only CNI plugins


Play = Callable[[Scenario], LessonRun]

"""`compare`: the first difference of two traces and its effects, pod by pod."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kubesim.trace.compare.contents import exact_streams, outline_streams
from kubesim.trace.compare.first import FirstDifference, first_difference
from kubesim.trace.compare.lives import PodLife, paired_pods, pod_lives
from kubesim.trace.records import Record
from kubesim.values import value_object

NO_LIFE = PodLife()


@value_object
class PodPair:
    """A pod in both traces; a side is None if the pod does not exist there. `name` is the name on the left, if any."""

    name: str
    left: PodLife | None
    right: PodLife | None

    def differs(self, *, with_times: bool) -> bool:
        if self.left is None or self.right is None:
            return True
        ours, theirs = self.left, self.right
        if with_times:
            return ours != theirs
        return (ours.restarts, ours.phase, ours.events) != (theirs.restarts, theirs.phase, theirs.events)


@value_object
class TraceComparison:
    """The result of a comparison. `is_exact`: all fields of all records are compared, including times; else only what
    happened to each pod.
    """

    left: Sequence[Record]
    right: Sequence[Record]
    is_exact: bool
    first: FirstDifference | None
    pods: tuple[PodPair, ...]

    @property
    def is_same(self) -> bool:
        return self.first is None

    @property
    def changed_pods(self) -> list[PodPair]:
        """The pods that differ; first those that differ in more than times."""
        if self.is_same:
            return []
        changed = [pair for pair in self.pods if pair.differs(with_times=self.is_exact)]
        return sorted(changed, key=lambda pair: not pair.differs(with_times=False))

    def events(self) -> dict[str, tuple[int, int]]:
        """Reasons of pod Events whose counts differ, with both counts."""
        ours, theirs = (sum((life.events for life in lives), Counter[str]()) for lives in self._lives())
        return {
            reason: (ours[reason], theirs[reason]) for reason in {**ours, **theirs} if ours[reason] != theirs[reason]
        }

    def restarts(self) -> tuple[int, int]:
        ours, theirs = (sum(life.restart_count for life in lives) for lives in self._lives())
        return ours, theirs

    def _lives(self) -> tuple[list[PodLife], list[PodLife]]:
        return [pair.left or NO_LIFE for pair in self.pods], [pair.right or NO_LIFE for pair in self.pods]


def compare(left: Sequence[Record], right: Sequence[Record], *, is_exact: bool | None = None) -> TraceComparison:
    """Compare two traces. `is_exact` None: exact if the first pod has the same uid in both traces, as in runs with the
    same seed.
    """
    if is_exact is None:
        is_exact = _first_uid(left) == _first_uid(right)
    ours, theirs = pod_lives(left), pod_lives(right)
    names = paired_pods(list(ours), list(theirs))
    found = {names.get(name, name): life for name, life in theirs.items()}
    pairs = tuple(PodPair(name, ours.get(name), found.get(name)) for name in {**ours, **found})
    if is_exact:
        first = first_difference(exact_streams(left), exact_streams(right)) or _another_order(left, right)
    else:
        first = first_difference(outline_streams(left, {}), outline_streams(right, names))
    return TraceComparison(left, right, is_exact, first, pairs)


def _first_uid(records: Sequence[Record]) -> str:
    return next((record.uid for record in records if record.uid), "")


def _another_order(left: Sequence[Record], right: Sequence[Record]) -> FirstDifference | None:
    """The first record at which only the order or the cause differs, although each pod has the same records."""
    for ours, theirs in zip(left, right, strict=True):
        if (ours.pod, ours.KIND, ours.cause) != (theirs.pod, theirs.KIND, theirs.cause):
            return FirstDifference(ours, theirs)
    return None

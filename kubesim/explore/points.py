"""The points of a run at which a fault can be placed or a draw chosen, and the choices there. Pure.

A point is the start or the end of an operation. A fault of the whole node is placed once at each instant: before an
operation and after the one before it at the same instant are the same. Reads of the runtime (lists and statuses) change
nothing and are frequent, so only those count with which the PLEG noticed something.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from kubesim.clock.choices import RecordedDraw
from kubesim.explore.choice import CRASHES, DRAW, DRAWS, FIRST, READS, Choice
from kubesim.scenario.faults.files import PULLED
from kubesim.trace.records import OperationPassed, PlegEvent, Record
from kubesim.values import replace, value_object

_QUIET = ("api.CreateEvent", "api.PatchEvent")  # an Event is lost or late without any effect on a pod
_NO_ORDER = ("/events", "/latency", "/exec", "/shell", "/userns", "faults", "/names", "choices")
_SYNCHRONOUS = ("disk.", "volume.")


@value_object
class Point:
    """The start or the end of the `nth` operation of its kind on a subject. `t` is microseconds since the start."""

    t: int
    operation: str
    moment: str  # before, after; of a draw, the end of the range that it has: low, high, or empty
    nth: int
    node: str = ""
    pod: str = ""
    container: str = ""
    subject: str = ""

    def choice(self, effect: str) -> Choice:
        return Choice(effect, self.operation, self.moment, self.nth, self.node, self.pod, self.container, self.subject)


def points_of(records: Iterable[Record]) -> tuple[Point, ...]:
    """The points of a trace with observed operations, in its order."""
    listed = list(records)
    noticed = {record.t for record in listed if isinstance(record, PlegEvent)}
    counts: Counter[tuple[str, ...]] = Counter()
    found = []
    for record in listed:
        if not isinstance(record, OperationPassed):
            continue
        subject = "" if record.operation.startswith("runtime.") else record.subject  # ids are drawn
        about = (record.operation, record.node, record.pod, record.container, subject)
        key = (record.moment, *about)
        counts[key] += 1
        nth = counts["before", *about]  # only the last one can have succeeded
        if record.operation not in READS or record.t in noticed:
            found.append(Point(record.t, record.operation, record.moment, nth, *about[1:]))
    return tuple(found)


def draw_points(draws: Iterable[RecordedDraw]) -> tuple[Point, ...]:
    """The draws of a run that decide an order or a time. Those of durations and names are left to the seed."""
    return tuple(
        Point(0, DRAW, draw.end, draw.number, subject=draw.stream)
        for draw in draws
        if not draw.stream.endswith(_NO_ORDER)
    )


def choices_of(points: Sequence[Point], effects: Sequence[str], *, nodes: int = 1) -> list[Choice]:
    """All single choices in the order of a search: first the effects that break most, in turn, then the others; each
    spread evenly over the trace."""
    first = [effect for effect in effects if effect in FIRST]
    return [
        choice
        for group in (first, [effect for effect in effects if effect not in FIRST])
        for choice in _in_turn([_spread(list(_of_effect(points, effect, nodes))) for effect in group])
    ]


def _in_turn(lists: Sequence[list[Choice]]) -> Iterator[Choice]:
    longest = max(map(len, lists), default=0)
    return (listed[n] for n in range(longest) for listed in lists if n < len(listed))


def _of_effect(points: Sequence[Point], effect: str, nodes: int) -> Iterator[Choice]:
    if effect == "crash-apiserver" and nodes < 2:
        return  # disconnect is the same
    if effect in DRAWS:
        drawn = (point for point in points if point.operation == DRAW and point.moment != effect)
        yield from (replace(point.choice(effect), moment="") for point in drawn)
        return
    points = [point for point in points if point.operation != DRAW]
    if effect in CRASHES:
        yield from (point.choice(effect) for point in _instants(points))
        return
    for point in points:
        if point.moment == "before" and fits(effect, point.operation, point.subject):
            yield point.choice(effect)


def fits(effect: str, operation: str, subject: str = "") -> bool:
    """Whether an operation can have this effect.

    A power failure cannot tear a checkpoint: the kubelet writes another file, syncs it, and renames it (filestore.go).
    It does not sync the records of pulled images (fs_pullrecords.go).
    """
    if effect in CRASHES:
        return operation not in READS and operation not in _QUIET
    if effect == "torn":
        return operation in ("disk.WriteStaticPod", "disk.WriteCniCache") or subject.startswith(PULLED)
    if operation in _QUIET or (operation.startswith("disk.") and effect in ("hang", "delay")):
        return False
    return not (effect == "lost" and operation in READS)


def _instants(points: Sequence[Point]) -> Iterator[Point]:
    """The points at which a crash of the node differs from that at other points."""
    acting = [point for point in points if fits("reboot", point.operation)]
    ended = {(point.node, point.t) for point in acting if point.moment == "after"}
    yield from (point for point in acting if point.moment == "after" or (point.node, point.t) not in ended)


def _spread(choices: list[Choice]) -> list[Choice]:
    """The same choices in an order in which the first ones are spread evenly: bit-reversed positions."""
    bits = max(len(choices) - 1, 1).bit_length()
    order = sorted(range(len(choices)), key=lambda n: int(f"{n:0{bits}b}"[::-1], 2))
    return [choices[n] for n in order]

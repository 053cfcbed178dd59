"""The statement about a pod: its stage, the rules that keep it there, and what happens next and when.

A statement has causes, the most important first. Each names a rule of the kubelet and its upstream source, the fields
that show it, the next steps, and what would change that. Steps use the vocabulary of `attach/shadow/changes.py`, so
that later observations can be compared with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from kubesim.values import value_object

Stage = Literal[
    "unscheduled",
    "new",
    "starting",
    "initializing",
    "running",
    "ready",
    "finishing",
    "terminating",
    "succeeded",
    "failed",
    "unknown",
    "gone",
]

ChangeKind = Literal[
    "scheduled",  # the scheduler gave it a node
    "unschedulable",  # the scheduler found no node
    "accepted",  # the kubelet wrote its first status
    "rejected",  # the kubelet rejected it
    "sandbox-ready",
    "sandbox-lost",
    "started",  # a container runs (again)
    "exited",
    "waits",  # a container waits for another reason than before
    "started-up",  # its startup probe succeeded
    "container-ready",
    "container-unready",
    "initialized",
    "ready",
    "unready",
    "ended",  # the pod reached a terminal phase
    "acknowledged",  # the kubelet has seen the newest generation
    "resizing",
    "resized",
    "finalizing",  # the grace period is 0: only finalizers keep the object
    "removed",
    "deletion-requested",
    "changed-by-others",
]

Due = Literal[
    "accept",  # the kubelet reports that it has the pod
    "restart",  # a container is started again
    "restart-by",  # the same, but only the end of the window is certain
    "pull",
    "mount",
    "retry",  # a failed sync is repeated
    "startup",  # a startup probe succeeds
    "readiness",
    "acknowledge",
    "kill",  # the grace period is over
    "end",  # the terminal phase is written
    "clean-up",  # the object is removed
]


@value_object
class Window:
    """The time between two moments (microseconds since the epoch); None = no bound is known."""

    earliest: int | None = None
    latest: int | None = None

    def contains(self, moment: int, tolerance: int = 0) -> bool:
        if self.earliest is not None and moment < self.earliest - tolerance:
            return False
        return self.latest is None or moment <= self.latest + tolerance


@value_object
class NextStep:
    """An expected step. If `certain`, the kubelet does it by itself; otherwise it depends on the program or on other
    components."""

    change: ChangeKind
    what: str
    container: str = ""
    window: Window | None = None
    because: str = ""  # how its time is known
    certain: bool = True
    due: Due | None = None  # set if a watcher can check the kubelet against the window


def upper_first(text: str) -> str:
    """The text with its first letter in upper case; the rest is unchanged."""
    return text[:1].upper() + text[1:]


def listed(names: Sequence[str]) -> str:
    """A list in words: `a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(names[:-1]), *names[-1:]] if len(names) > 1 else names)


@value_object
class Fact:
    """A field that supports the cause."""

    field: str
    value: str


@value_object
class Cause:
    """A rule that keeps the pod where it is."""

    code: str  # a word for programs: CrashLoopBackOff, Finalizers, ...
    says: str
    rule: str
    ref: str
    container: str = ""
    steps: tuple[NextStep, ...] = ()
    remedies: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    unseen: tuple[str, ...] = ()  # unknown times that cannot be observed from outside
    detail: str = ""  # the name or number that a table shows beside the code


@value_object
class Statement:
    """The statement about one pod at one time."""

    namespace: str
    name: str
    uid: str
    node: str
    as_of: int
    stage: Stage
    causes: tuple[Cause, ...]

    @property
    def steps(self) -> tuple[NextStep, ...]:
        return tuple(step for cause in self.causes for step in cause.steps)

    @property
    def summary(self) -> str:
        return self.causes[0].says

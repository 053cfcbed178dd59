"""Dependencies of containers with a behaviour, such as a database. All nodes share them; scenario steps change them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

from kubesim.clock.randomness import Stream
from kubesim.runtime.simulated.draws import Draw
from kubesim.values import mutable, value_object


@mutable(eq=False)
class Dependency:
    """A dependency. In addition to `down`, `is_up` checks whether its pod is Ready."""

    name: str
    latency: Draw
    down: bool = False
    is_up: Callable[[], bool] = lambda: True


@value_object
class Needed:
    """A container calls this dependency before it responds to a request for this path (a glob)."""

    dependency: Dependency
    path: str = "*"


@value_object
class CallOutcome:
    """The outcome of the calls: their duration, and the name of a dependency that is down."""

    latency: int = 0
    down: str = ""


NO_CALLS = CallOutcome()


def ask(needs: Sequence[Needed], path: str, stream: Stream) -> CallOutcome:
    """Call one after the other; the first one that is down fails immediately and ends the calls."""
    latency = 0
    for need in needs:
        if fnmatchcase(path, need.path):
            if need.dependency.down or not need.dependency.is_up():
                return CallOutcome(latency, need.dependency.name)
            latency += need.dependency.latency.draw(stream)
    return CallOutcome(latency)

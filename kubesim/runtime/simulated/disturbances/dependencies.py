"""What containers with a behaviour depend on, such as a database. All nodes share them; a step changes one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

from kubesim.clock.randomness import Stream
from kubesim.runtime.simulated.draws import Draw
from kubesim.values import mutable, value_object


@mutable(eq=False)
class Dependency:
    """`is_up` is checked in addition to `down`: whether the pod behind it is Ready."""

    name: str
    latency: Draw
    down: bool = False
    is_up: Callable[[], bool] = lambda: True


@value_object
class Needed:
    """A container calls this dependency before it answers a request with this path (a glob)."""

    dependency: Dependency
    path: str = "*"


@value_object
class Asked:
    """What came of asking: how long it took, and the name of the dependency that is down, if one is."""

    latency: int = 0
    down: str = ""


NOT_ASKED = Asked()


def ask(needs: Sequence[Needed], path: str, stream: Stream) -> Asked:
    """Call one after the other; one that is down fails immediately, and the rest are not called."""
    latency = 0
    for need in needs:
        if fnmatchcase(path, need.path):
            if need.dependency.down or not need.dependency.is_up():
                return Asked(latency, need.dependency.name)
            latency += need.dependency.latency.draw(stream)
    return Asked(latency)

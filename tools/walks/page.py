"""`docs/walk.md`, generated from the tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tools.walks import cni, containerd, kubelet_v1_6, kubelet_v1_12, kubelet_v1_30
from tools.walks.steps import Shown, Step, Walk

WALKS: Final[tuple[Walk, ...]] = (
    kubelet_v1_12.WALK,
    kubelet_v1_6.WALK,
    kubelet_v1_30.WALK,
    containerd.WALK,
    cni.WALK,
)

_ABOUT = (
    "kubesim follows the code of real kubelets, of containerd and of libcni. This page goes through that code from the",
    "beginning to the end, five times, and has a command for each step: a part of its output stands beside the step.",
    "Long lines of a timeline are wrapped; `-v` shows every record with the function that it mirrors. A test runs all",
    "commands of this page in a clone and looks for these texts. `kubesim cni add`, `check` and `del` need a network",
    "namespace `blue` (`ip netns add blue`, as root). [first-packet.md](first-packet.md) follows one pod instead, and",
    "[fidelity.md](fidelity.md#what-is-not-simulated) says what is left out.",
)


def walk_lines() -> Iterator[str]:
    """The lines of the page below its title."""
    yield from _ABOUT
    for number, walk in enumerate(WALKS, 1):
        yield from ("", f"## {number}. {walk.title}", "", walk.about)
        for part in walk.parts:
            yield from _part(part)


def _part(part: Shown) -> Iterator[str]:
    yield ""
    if part.about:
        yield from (part.about, "")
    yield from (f"    $ {part.command}", "", "| step | upstream | look for |", "|---|---|---|")
    yield from map(_row, part.steps)


def _row(step: Step) -> str:
    cells = (step.what, step.upstream, f"{'no ' if step.is_absent else ''}`{step.shows}`")
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"

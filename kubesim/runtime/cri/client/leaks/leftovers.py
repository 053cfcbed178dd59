"""The remains of killed runs with real containers: sandboxes and state directories.

A sandbox is ours if it has our labels. An active run holds the lock of its state directory. Cgroups of a run
are removed before its state directory, so one of both leads to them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import field

from kubesim.runtime.cri.client.cgroups import remove_group
from kubesim.runtime.cri.client.labels import DIRECTORY, STATE
from kubesim.runtime.cri.client.leaks.cleaning import remove_sandboxes, sandboxes_of
from kubesim.runtime.cri.client.state import cgroup_of, is_kept, remove_state, state_id, unused
from kubesim.runtime.cri.wire import cri_pb2 as pb
from kubesim.runtime.cri.wire.methods import Calls
from kubesim.values import mutable


@mutable(eq=False)
class LeftRun:
    """The remains of one run. `directory` is empty if the state directory is gone."""

    id: str
    directory: str = ""
    sandboxes: list[pb.PodSandbox] = field(default_factory=list)
    kept: bool = False

    def lines(self) -> Iterator[str]:
        note = " (--keep)" if self.kept else ""
        for sandbox in self.sandboxes:
            pod = sandbox.metadata
            yield f"sandbox {sandbox.id[:13]} of pod {pod.namespace}/{pod.name}{note}"
        if self.directory:
            yield f"state directory {self.directory}{note}"


async def left_runs(calls: Calls, states: str) -> list[LeftRun]:
    """Runs that have ended. `states` is the directory with the state directories of runs. Raises CriError."""
    runs: dict[str, LeftRun] = {}
    for sandbox in await sandboxes_of(calls, ""):
        run = runs.setdefault(sandbox.labels[STATE], LeftRun(sandbox.labels[STATE]))
        run.sandboxes.append(sandbox)
        _found(run, sandbox.annotations.get(DIRECTORY, ""))
    for directory in _below(states):
        if identifier := state_id(directory):
            _found(runs.setdefault(identifier, LeftRun(identifier)), directory)
    return [run for run in runs.values() if _has_ended(run)]


def _found(run: LeftRun, directory: str) -> None:
    """A directory with another id is not the one that the sandbox names."""
    if directory and state_id(directory) == run.id:
        run.directory, run.kept = directory, is_kept(directory)


def _below(states: str) -> Iterable[str]:
    try:
        return [os.path.join(states, name) for name in sorted(os.listdir(states))]
    except OSError:
        return []


def _has_ended(run: LeftRun) -> bool:
    with unused(run.directory) as ended:
        return ended


async def remove(calls: Calls, run: LeftRun) -> list[str]:
    """What could not be removed. Raises CriError."""
    with unused(run.directory) as ended:
        if not ended:
            return [f"{run.directory} is in use again"]
        problems = await remove_sandboxes(calls, run.id) if run.sandboxes else remove_group(cgroup_of(run.id))
        if run.directory and not problems:
            problem = remove_state(run.directory)
            return [problem] if problem else []
        return problems

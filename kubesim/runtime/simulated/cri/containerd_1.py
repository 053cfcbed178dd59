"""RunPodSandbox in containerd 1.7: its steps, and how they are undone after a failure. Pure.

There is no sandbox controller yet: RunPodSandbox executes all steps itself, so their errors have no prefix of a caller,
and the pause container is created before the network. For a pod with a user namespace, the runtime creates the network
namespace with the task; CNI runs afterwards, before the task starts.

Mirrors: containerd 1.7 pkg/cri/server/sandbox_run.go RunPodSandbox
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kubesim.runtime.simulated.cri.sandbox_steps import BY_NAME, SandboxStep, StepName
from kubesim.values import replace

PAUSE_IMAGE: Final = "pause:3.8"
_BEFORE_NETWORK: Final[tuple[StepName, ...]] = (
    "name", "image", "ociRuntime", "spec", "specOptions", "container", "rootDirectory", "stateDirectory", "files",
)  # fmt: skip
_NETWORK: Final[tuple[StepName, ...]] = ("netns", "network")
_TASK: Final[tuple[StepName, ...]] = ("task", "exitWatch")
_START: Final[tuple[StepName, ...]] = ("nri", "start")
_NAMES: Final = (*_BEFORE_NETWORK, *_NETWORK, *_TASK, *_START)
CLEANING_STEPS: Final = _NAMES[_NAMES.index("container") + 1 :]  # steps whose undoing can fail
_ALWAYS_UNDONE: Final = frozenset[StepName](("task", "files", "stateDirectory", "rootDirectory"))


def _step(name: StepName) -> SandboxStep:
    step = replace(BY_NAME[name], during="NRI" if name == "nri" else "RunPodSandbox")
    return replace(step, failure=f'failed to get sandbox image "{PAUSE_IMAGE}"') if name == "image" else step


STEPS: Final = {name: _step(name) for name in _NAMES}


def steps_of_run(*, host_network: bool, user_namespace: bool) -> tuple[SandboxStep, ...]:
    names = _NAMES if not user_namespace else (*_BEFORE_NETWORK, *_TASK, *_NETWORK, *_START)
    return tuple(STEPS[name] for name in names if not (host_network and name in _NETWORK))


def undone(failed: SandboxStep, steps: tuple[SandboxStep, ...], *, kept: bool) -> Iterator[SandboxStep]:
    """The steps of `steps` that are undone after one has failed, in reverse order.

    `kept`: the task cannot be deleted (or without a task, the container). Then critical resources that would be removed
    later stay, and so does the sandbox.
    """
    done = steps[: steps.index(failed)] + ((failed,) if failed.name == "network" else ())
    stuck, dirty = STEPS["task" if STEPS["task"] in done else "container"], False
    for step in reversed(done):
        if step == stuck and kept:
            dirty = True
        elif step.undo and (step.name in _ALWAYS_UNDONE or not dirty):
            yield step

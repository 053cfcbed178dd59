"""The steps of RunPodSandbox in containerd 2 and of its sandbox controller, with the effects of faults. Pure.

A failed step returns containerd's error with the prefix of each caller. Then the results of earlier steps are removed
in reverse order. If the controller cannot remove its resources, the sandbox stays.

Mirrors: containerd internal/cri/server/sandbox_run.go RunPodSandbox, podsandbox/sandbox_run.go Controller.Start
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Final, Literal

from kubesim.values import mutable, value_object

PAUSE_IMAGE: Final = "pause:3.10.2"
_ROOT = "/var/lib/containerd/io.containerd.grpc.v1.cri/sandboxes/{id}"
_STATE = "/run/containerd/io.containerd.grpc.v1.cri/sandboxes/{id}"

During = Literal["RunPodSandbox", "Controller.Start", "NRI", "CRI plugin"]
StepName = Literal[
    "name", "lease", "runtime", "metadata", "netns", "network", "create", "pauseImage", "image", "imageSpec",
    "ociRuntime", "rootDirectory", "stateDirectory", "spec", "specOptions", "container", "files", "task", "exitWatch",
    "start", "store", "nri",
]  # fmt: skip


@value_object
class SandboxStep:
    """A step. `failure` is its error prefix; `undo` is executed if a later step fails."""

    name: StepName
    text: str
    failure: str
    undo: str = ""
    during: During = "RunPodSandbox"
    network: bool = False  # skipped for host network

    def own_error(self, text: str, sandbox_id: str, sandbox_name: str) -> str:
        """The error of the step's own caller for `text`."""
        return f"{self.failure.format(id=sandbox_id, name=sandbox_name, image=PAUSE_IMAGE)}: {text}"

    def error(self, text: str, sandbox_id: str, sandbox_name: str) -> str:
        """The resulting error of RunPodSandbox."""
        before = f'failed to start sandbox "{sandbox_id}": ' if self.during == "Controller.Start" else ""
        return before + self.own_error(text, sandbox_id, sandbox_name)


def _controller(name: StepName, text: str, failure: str, undo: str = "") -> SandboxStep:
    return SandboxStep(name, text, failure, undo, "Controller.Start")


STEPS: Final = (
    SandboxStep("name", "reserve the name", 'failed to reserve sandbox name "{name}"', "release the name"),
    SandboxStep("lease", "create a lease", 'failed to create lease for sandbox name "{name}"', "delete the lease"),
    SandboxStep("runtime", "look up the handler's runtime", 'unable to get OCI runtime for sandbox "{id}"'),
    SandboxStep("metadata", "store the metadata", "failed to save sandbox metadata", "delete the metadata"),
    SandboxStep(
        "netns",
        "create the network namespace",
        'failed to create network namespace for sandbox "{id}"',
        "remove the network namespace",
        network=True,
    ),
    SandboxStep(
        "network",
        "set up the network",
        'failed to setup network for sandbox "{id}"',
        "tear down the network",
        network=True,
    ),
    SandboxStep("create", "create the sandbox in its controller", 'failed to create sandbox "{id}"'),
    SandboxStep("pauseImage", "ensure that the pause image is there", 'failed to pull image "{image}"'),
    _controller("image", "get the pause image", 'failed to get sandbox image "{image}"'),
    _controller("imageSpec", "read the image's configuration", "failed to get image spec"),
    _controller("ociRuntime", "get the OCI runtime and its options", "failed to get sandbox runtime"),
    _controller(
        "rootDirectory",
        "create the root directory",
        f'failed to create sandbox root directory "{_ROOT}"',
        "remove the root directory",
    ),
    _controller(
        "stateDirectory",
        "create the volatile directory",
        f'failed to create volatile sandbox root directory "{_STATE}"',
        "remove the volatile directory",
    ),
    _controller("spec", "generate the OCI spec", "failed to generate sandbox container spec"),
    _controller("specOptions", "generate the spec's options", "failed to generate sandbox container spec options"),
    _controller(
        "container",
        "create the snapshot and the container",
        "failed to create containerd container",
        "delete the container and its snapshot",
    ),
    _controller(
        "files",
        "write hostname, hosts and resolv.conf, mount /dev/shm",
        "failed to setup sandbox files",
        "unmount /dev/shm",
    ),
    _controller("task", "create the task", "failed to create containerd task", "kill and delete the task"),
    _controller("exitWatch", "wait for the task's exit", "failed to wait for sandbox container task"),
    _controller("start", "start the task", 'failed to start sandbox container task "{id}"'),
    SandboxStep(
        "store",
        "store what the controller returned",
        'unable to save sandbox "{id}" to sandbox store',
    ),
    SandboxStep("nri", "RunPodSandbox", "NRI RunPodSandbox failed", during="NRI"),
)
AFTER_START: Final = "shut down the sandbox"  # replaces the undo actions inside the controller
BY_NAME: Final = {step.name: step for step in STEPS}
CONTROLLER_STEPS: Final = tuple(step for step in STEPS if step.during == "Controller.Start")
_FIRST_MADE = CONTROLLER_STEPS.index(BY_NAME["rootDirectory"])
# steps after which the controller cleans up
CLEANING_STEPS: Final = tuple(step.name for step in CONTROLLER_STEPS[_FIRST_MADE + 1 :])


@mutable
class SandboxFault:
    """A fault in a step of RunPodSandbox, `times` times (0: always), for pods with these names.

    With `clean_up_error`, the controller's cleanup fails too: the sandbox stays as not ready.
    """

    step: StepName
    error: str
    pod: str = "*"
    times: int = 0
    clean_up_error: str = ""
    happened: int = 0

    def applies_to(self, step: StepName, pod: str) -> bool:
        """Whether the fault applies now; counts its uses."""
        due = step == self.step and (not self.times or self.happened < self.times) and fnmatchcase(pod, self.pod)
        self.happened += due
        return due


def steps_of_run(*, host_network: bool) -> tuple[SandboxStep, ...]:
    return tuple(step for step in STEPS if not (step.network and host_network))


def undone(failed: SandboxStep, steps: tuple[SandboxStep, ...], *, kept: bool) -> Iterator[SandboxStep]:
    """The steps of `steps` that are undone after one has failed, in reverse order.

    `kept`: the controller could not clean up; the sandbox keeps all its resources except its lease.
    """
    done = steps[: steps.index(failed)]
    if failed.name == "network":
        done = (*done, failed)  # plugins may leave resources even if they fail
    for step in reversed(done):
        started = step.during == "Controller.Start"
        if step.undo and (step.name == "lease" or not (kept or (started and failed.during != "Controller.Start"))):
            yield step

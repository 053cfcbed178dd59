"""The steps of RunPodSandbox in containerd 2, of its sandbox controller, and what a fault in one of them does. Pure.

A step that fails gives the error that containerd returns, with the texts that each caller puts before it. Then the
results of the earlier steps are removed, last first. If the controller cannot remove what it made, the sandbox stays.

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
    """`failure` is the prefix of the step's error; `undo` is done when a later step fails."""

    name: StepName
    text: str
    failure: str
    undo: str = ""
    during: During = "RunPodSandbox"
    network: bool = False  # left out for a pod on the host's network

    def own_error(self, text: str, sandbox_id: str, sandbox_name: str) -> str:
        """What the step's own caller returns when it fails with `text`."""
        return f"{self.failure.format(id=sandbox_id, name=sandbox_name, image=PAUSE_IMAGE)}: {text}"

    def error(self, text: str, sandbox_id: str, sandbox_name: str) -> str:
        """What RunPodSandbox returns then."""
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
AFTER_START: Final = "shut down the sandbox"  # in place of changes that the controller undoes itself
BY_NAME: Final = {step.name: step for step in STEPS}
CONTROLLER_STEPS: Final = tuple(step for step in STEPS if step.during == "Controller.Start")
_FIRST_MADE = CONTROLLER_STEPS.index(BY_NAME["rootDirectory"])
CLEANING_STEPS: Final = tuple(step.name for step in CONTROLLER_STEPS[_FIRST_MADE + 1 :])  # after which it cleans up


@mutable
class SandboxFault:
    """A step of RunPodSandbox that fails, `times` times (0: always), for pods of these names.

    With `clean_up_error`, removing what the controller has made fails too: the sandbox stays as one that is not ready.
    """

    step: StepName
    error: str
    pod: str = "*"
    times: int = 0
    clean_up_error: str = ""
    happened: int = 0

    def strikes(self, step: StepName, pod: str) -> bool:
        """Whether it happens now; counts that it did."""
        due = step == self.step and (not self.times or self.happened < self.times) and fnmatchcase(pod, self.pod)
        self.happened += due
        return due


def steps_of_run(*, host_network: bool) -> tuple[SandboxStep, ...]:
    return tuple(step for step in STEPS if not (step.network and host_network))


def undone(failed: SandboxStep, steps: tuple[SandboxStep, ...], *, kept: bool) -> Iterator[SandboxStep]:
    """The steps of `steps` that are undone after one has failed, last first.

    `kept`: the controller could not remove what it made; all that the sandbox has stays with it, but for its lease.
    """
    done = steps[: steps.index(failed)]
    if failed.name == "network":
        done = (*done, failed)  # plugins may have done something, also when they say that they failed
    for step in reversed(done):
        started = step.during == "Controller.Start"
        if step.undo and (step.name == "lease" or not (kept or (started and failed.during != "Controller.Start"))):
            yield step

"""A container is ready only after its postStart hook has completed.

The kubelet runs the hook right after StartContainer, and the container counts as started only then (startContainer).

Kubelets violate it if they end between StartContainer and the end of the hook, or do not receive the answer of
StartContainer: the next sync finds a running container, and nothing records that its hook is pending
(kubernetes/kubernetes#122803, #60053). Only hooks that execute a command are checked.
"""

from __future__ import annotations

from kubesim.api.pod import Container, Pod
from kubesim.api.pods.pod_conditions import READY, is_condition_true
from kubesim.scenario.invariants.invariant import Invariant
from kubesim.scenario.invariants.strict.observer import ContainerKey, RuleObserver, Scene, container_key
from kubesim.trace.records import CriCall, CriReturn, Record

Command = tuple[str, ...]


class PostStart(RuleObserver):
    """Remembers which commands have completed in each container since its last start."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._completed: dict[ContainerKey, set[Command]] = {}  # containers that this run has started
        self._begun: dict[int, Command] = {}  # by the number of the call's record

    def recorded(self, record: Record) -> str:
        if isinstance(record, CriCall):
            if record.call == "StartContainer":
                self._completed[container_key(record)] = set()
            elif record.call == "ExecSync":
                self._begun[record.seq] = tuple(record.args["cmd"])
        elif isinstance(record, CriReturn) and record.call == "ExecSync":
            command = self._begun.pop(record.cause or 0, None)
            if command is not None and not record.error:
                self._completed.setdefault(container_key(record), set()).add(command)
        return ""

    def reported(self, old: Pod | None, new: Pod) -> str:
        if not is_condition_true(new.status.conditions, READY):
            return ""
        pod = f"{new.metadata.namespace}/{new.metadata.name}"
        for container in new.spec.containers:
            hook, completed = hook_of(container), self._completed.get((pod, container.name))
            if hook and completed is not None and hook not in completed:
                return f"the pod is ready, but the postStart hook of container {container.name} has not completed"
        return ""


def hook_of(container: Container) -> Command:
    """The command of the postStart hook; empty if there is none."""
    lifecycle = container.lifecycle
    if lifecycle is None or lifecycle.post_start is None or lifecycle.post_start.exec is None:
        return ()
    return tuple(lifecycle.post_start.exec.command)


INVARIANT = Invariant("post-start", observer=PostStart)

"""Compares a pod of the attached agent with the real one: how far they are apart, and by which rule. Pure.

The agent's pod is `ahead` if it is further along, and `behind` if it is not as far: they may become equal with time.
They are `different` if waiting does not help. A difference is certain only where a rule of the kubelet leaves no choice
at any timing: the phase follows from the exit codes, the QoS class from requests and limits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from kubesim.api.pod import ContainerStatus, Pod
from kubesim.api.pods.phases import TERMINAL_PHASES
from kubesim.api.pods.pod_conditions import READY, TRUE, find_condition
from kubesim.api.pods.resources import compute_pod_qos
from kubesim.values import value_object

Relation = Literal["same", "ahead", "behind", "different"]
Restarts = Mapping[str, int]  # by container: the restarts of the real one when it was first seen

_WAITING, _RUNNING, _ENDED = range(3)
_STEPS = ("waiting", "running", "ended")
_CREATING = frozenset({"", "ContainerCreating", "PodInitializing"})
_BY_ITS_SPEC = "DeadlineExceeded"  # the agent reaches this by itself
_PULLING = frozenset({"ErrImagePull", "ImagePullBackOff"})


@value_object
class PodVerdict:
    """The result for one pod. `rule` names the difference; empty if there is none."""

    relation: Relation
    rule: str = ""
    detail: str = ""
    certain: bool = False

    def to_json(self) -> dict[str, Any]:
        shown = {"verdict": self.relation, "rule": self.rule, "detail": self.detail}
        return {**{name: value for name, value in shown.items() if value}, "certain": self.certain}


SAME = PodVerdict("same")


def compare(real: Pod, ours: Pod | None, before: Restarts) -> PodVerdict:
    """`ours` is None when the agent has finished the pod. The first rule that finds a difference decides."""
    meant = compute_pod_qos(real)
    if real.status.qos_class and real.status.qos_class != meant:
        detail = f"the QoS class is {real.status.qos_class}; requests and limits make it {meant}"
        return PodVerdict("different", "qos", detail, certain=True)
    if ours is None:
        return PodVerdict("ahead", "deletion", "the agent would have deleted the pod")
    return _phases(real, ours) or _containers(real, ours, before) or _ready(real, ours) or SAME


def _phases(real: Pod, ours: Pod) -> PodVerdict | None:
    theirs, own = real.status.phase, ours.status.phase
    over = theirs in TERMINAL_PHASES, own in TERMINAL_PHASES
    if theirs == own:
        return _ends(real, ours) if over[0] else None
    detail = f"real {theirs or 'Pending'}, agent {own or 'Pending'}"
    if over == (True, True):
        codes = exit_codes(real)
        certain = codes is not None and codes == exit_codes(ours) and not (real.status.reason or ours.status.reason)
        because = f", with the same exit codes {codes}" if certain else ""
        return PodVerdict("different", "phase", detail + because, certain=certain)
    for whose, pod in (("the real one", real), ("the agent's", ours)):
        if pod.status.phase in TERMINAL_PHASES and _ended_by_its_node(pod):
            reason = pod.status.reason or "no reason in its status"
            return PodVerdict("different", "phase", f"{detail}: its node ended {whose}, with {reason}")
    if over[0] or over[1]:
        return PodVerdict("behind" if over[0] else "ahead", "phase", detail)
    return None  # Pending and Running are compared by their container statuses


def _ended_by_its_node(pod: Pod) -> bool:
    """Whether the node ended the pod for a reason of its own: evicted, preempted, rejected or shut down. Containers
    that are always restarted never finish a pod by themselves; a deadline applies to both pods."""
    reason = pod.status.reason
    return reason != _BY_ITS_SPEC and (bool(reason) or pod.spec.restart_policy == "Always")


def _ends(real: Pod, ours: Pod) -> PodVerdict:
    """Compare two finished pods of the same phase."""
    there, here = exit_codes(real), exit_codes(ours)
    if there is None or here is None or there == here:
        return SAME
    return PodVerdict("different", "exit code", f"real ended with {there}, agent with {here}")


def exit_codes(pod: Pod) -> dict[str, int] | None:
    """The exit codes of all containers of a pod; None if one of them has not ended."""
    codes = {}
    statuses = {status.name: status for status in _statuses(pod)}
    for container in (*pod.spec.init_containers, *pod.spec.containers):
        status = statuses.get(container.name)
        if status is None or status.state.terminated is None:
            return None
        codes[container.name] = status.state.terminated.exit_code
    return codes


def _containers(real: Pod, ours: Pod, before: Restarts) -> PodVerdict | None:
    own = {status.name: status for status in _statuses(ours)}
    ahead, behind = [], []
    for status in _statuses(real):
        simulated = own.get(status.name)
        there = _position(status, before.get(status.name, 0))
        here = _position(simulated, 0)
        detail = f"container {status.name}: real {_in_words(there)}, agent {_in_words(here)}"
        if here > there:
            ahead.append(detail)
        elif here < there:
            behind.append(detail)
        elif simulated is not None and (differs := _inside(status, simulated, here[1])) is not None:
            return differs
    if ahead and behind:
        return PodVerdict("different", "containers", f"{ahead[0]}; {behind[0]}")
    if ahead or behind:
        return PodVerdict("ahead" if ahead else "behind", "containers", (ahead or behind)[0])
    return None


def _position(status: ContainerStatus | None, before: int) -> tuple[int, int]:
    """How far a container is: its restarts, and its current state since the last one."""
    if status is None:
        return 0, _WAITING
    if status.state.running is not None:
        step = _RUNNING
    else:
        step = _ENDED if status.state.terminated or status.last_state.terminated else _WAITING
    return max(0, status.restart_count - before), step


def _in_words(position: tuple[int, int]) -> str:
    restarts, step = position
    return _STEPS[step] + (f" after {restarts} restart{'s' if restarts > 1 else ''}" if restarts else "")


def _inside(real: ContainerStatus, ours: ContainerStatus, step: int) -> PodVerdict | None:
    """Compare two containers that are equally far."""
    if step == _ENDED:
        theirs, own = (status.state.terminated or status.last_state.terminated for status in (real, ours))
        if theirs is not None and own is not None and theirs.exit_code != own.exit_code:
            detail = f"container {real.name}: real ended with {theirs.exit_code}, agent with {own.exit_code}"
            return PodVerdict("different", "exit code", detail)
    if step == _WAITING:
        reasons = [status.state.waiting.reason if status.state.waiting else "" for status in (real, ours)]
        there, here = (reason if reason not in _PULLING else "ErrImagePull" for reason in reasons)
        if there == here or (there in _CREATING and here in _CREATING):
            return None
        detail = f"container {real.name}: real waits with {reasons[0]}, agent with {reasons[1]}"
        if there in _CREATING:
            return PodVerdict("ahead", "waiting reason", detail)
        return PodVerdict("behind" if here in _CREATING else "different", "waiting reason", detail)
    return None


def _ready(real: Pod, ours: Pod) -> PodVerdict | None:
    there, here = (_is_ready(pod) for pod in (real, ours))
    if there == here:
        return None
    return PodVerdict("behind" if there else "ahead", "ready", f"real {_yes(there)}, agent {_yes(here)}")


def _is_ready(pod: Pod) -> bool:
    condition = find_condition(pod.status.conditions, READY)
    return condition is not None and condition.status == TRUE


def _yes(ready: bool) -> str:
    return "is ready" if ready else "is not ready"


def _statuses(pod: Pod) -> Iterator[ContainerStatus]:
    yield from pod.status.init_container_statuses
    yield from pod.status.container_statuses

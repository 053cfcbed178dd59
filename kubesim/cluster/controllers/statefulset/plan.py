"""Plans one sync of a StatefulSet: pods to create, repair and delete, and the status.

1. Replicas, in order: delete failed pods, create missing ones, wait for an unavailable one (OrderedReady).
2. Condemned pods (with ordinals beyond the set's): claims first, then the pods, highest ordinal first.
3. Rolling update: replace the highest outdated ordinal, down to the partition.

With OrderedReady, a step that waits blocks all later ones. With Parallel, only a rolling update waits.

Mirrors: pkg/controller/statefulset/stateful_set_control.go updateStatefulSet, processReplica, processCondemned
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.api.pods.phases import PENDING, TERMINAL_PHASES
from kubesim.api.workloads.apps import ControllerRevision, StatefulSet, StatefulSetStatus
from kubesim.cluster.controllers.history import template_of
from kubesim.cluster.controllers.pods import is_pod_available
from kubesim.cluster.controllers.statefulset.identity import (
    claim_names,
    identity_matches,
    new_versioned_pod,
    ordinal_of,
    ordinals,
    revision_of,
    start_ordinal,
    storage_matches,
)
from kubesim.cluster.controllers.statefulset.retention import has_stale_claim, is_claim_owner_up_to_date
from kubesim.cluster.controllers.statefulset.status import (
    is_created,
    is_running_and_ready,
    is_terminating,
    is_unavailable,
    with_counts,
)
from kubesim.values import value_object


@value_object
class Versions:
    """The current and the update revision; they are the same when no update is in progress."""

    current: ControllerRevision
    update: ControllerRevision
    collision_count: int = 0


@value_object
class PodStep:
    """Steps for one pod. `claims` creates its missing claims, `retain` sets the owners of its claims."""

    verb: Literal["create", "update", "delete", "claims", "retain"]
    pod: Pod
    why: str = ""  # steps on the pod itself


Phase = tuple[tuple[PodStep, ...], ...]  # the steps of each pod


@value_object
class StatefulSetPlan:
    """The plan. `phases` run in order, then `update`; the first failure stops it. `status` is the status before."""

    status: StatefulSetStatus
    phases: tuple[Phase, ...] = ()
    update: PodStep | None = None


@value_object
class Situation:
    """Existing pods. `replicas` has a pod for each ordinal; those without a phase must be created."""

    set_: StatefulSet
    replicas: tuple[Pod, ...]
    condemned: tuple[Pod, ...]  # highest ordinal first
    claims: Mapping[str, ApiObject]  # by name
    now: int

    @property
    def is_ordered(self) -> bool:
        return self.set_.spec.pod_management_policy != "Parallel"

    def is_available(self, pod: Pod) -> bool:
        return is_pod_available(pod, self.set_.spec.min_ready_seconds, self.now)

    def is_unavailable(self, pod: Pod) -> bool:
        return is_unavailable(pod, self.set_.spec.min_ready_seconds, self.now)

    def claims_of(self, pod: Pod) -> list[ApiObject]:
        """The pod's existing claims."""
        names = claim_names(self.set_, ordinal_of(pod)).values()
        return [self.claims[name] for name in names if name in self.claims]

    def keeps_retention_policy(self, pod: Pod) -> bool:
        return all(is_claim_owner_up_to_date(claim, self.set_, pod) for claim in self.claims_of(pod))


def plan_sync(
    set_: StatefulSet, versions: Versions, pods: Sequence[Pod], claims: Mapping[str, ApiObject], now: int
) -> StatefulSetPlan:
    """Plan one sync. `pods` are the pods that the set controls, `claims` those of existing and of missing pods."""
    status = StatefulSetStatus(
        observed_generation=set_.metadata.generation,
        current_revision=versions.current.metadata.name,
        update_revision=versions.update.metadata.name,
        collision_count=versions.collision_count,
    )
    if set_.metadata.deletion_timestamp is not None:
        return StatefulSetPlan(with_counts(status, pods, set_.spec.min_ready_seconds, now))
    situation = assess(set_, versions, pods, claims, now)
    all_pods = (*situation.replicas, *situation.condemned)
    status = with_counts(status, all_pods, set_.spec.min_ready_seconds, now)
    replicas, blocked = _plan_replicas(situation)
    if blocked:
        return StatefulSetPlan(status, (replicas,))
    retained = tuple(
        () if situation.keeps_retention_policy(pod) else (PodStep("retain", pod),) for pod in situation.condemned
    )
    condemned, blocked = _plan_condemned(situation)
    phases = (replicas, retained, condemned)
    if blocked or set_.spec.update_strategy.type == "OnDelete":
        return StatefulSetPlan(status, phases)
    return StatefulSetPlan(status, phases, plan_update(situation, versions.update.metadata.name))


def assess(
    set_: StatefulSet, versions: Versions, pods: Sequence[Pod], claims: Mapping[str, ApiObject], now: int
) -> Situation:
    """Sort the pods into replicas and condemned ones; a pod without an ordinal is neither."""
    wanted = ordinals(set_)
    found = {ordinal_of(pod): pod for pod in pods if ordinal_of(pod) in wanted}
    current, update = at_revision(set_, versions.current), at_revision(set_, versions.update)
    names = versions.current.metadata.name, versions.update.metadata.name
    replicas = [found.get(n) or new_versioned_pod(current, update, names, n) for n in wanted]
    condemned = [pod for pod in pods if ordinal_of(pod) >= 0 and ordinal_of(pod) not in wanted]
    condemned.sort(key=ordinal_of, reverse=True)
    return Situation(set_, tuple(replicas), tuple(condemned), claims, now)


def at_revision(set_: StatefulSet, revision: ControllerRevision) -> StatefulSet:
    return set_.changed(spec=set_.spec.changed(template=template_of(revision)))


def _plan_replicas(situation: Situation) -> tuple[Phase, bool]:
    """The steps of each replica, and whether a replica blocks later steps."""
    phase: list[tuple[PodStep, ...]] = []
    for pod in situation.replicas:
        steps, waits = process_replica(situation, pod)
        phase.append(steps)
        if waits and situation.is_ordered:
            return tuple(phase), True
    return tuple(phase), False


def process_replica(situation: Situation, pod: Pod) -> tuple[tuple[PodStep, ...], bool]:
    """The steps of one replica, and whether the following replicas must wait."""
    set_, name = situation.set_, pod.metadata.name
    if pod.status.phase in TERMINAL_PHASES:
        # Succeeded pods too: their exit code does not tell why they stopped.
        why = f"pod {name} is in phase {pod.status.phase}, so it is deleted to be created again"
        return (() if is_terminating(pod) else (PodStep("delete", pod, why),)), True
    if not is_created(pod):
        if has_stale_claim(set_, pod, situation.claims_of(pod)):
            return (), True
        return (PodStep("create", pod, _why_create(situation, pod)),), True
    steps: tuple[PodStep, ...] = ()
    if pod.status.phase == PENDING:
        steps = (PodStep("claims", pod),)  # it may be waiting for deleted claims
    if is_terminating(pod) or not is_running_and_ready(pod) or not situation.is_available(pod):
        if situation.is_ordered:
            return steps, True
    kept = bool(steps) or situation.keeps_retention_policy(pod)
    if identity_matches(set_, pod) and storage_matches(set_, pod) and kept:
        return steps, False
    return (*steps, PodStep("update", pod, "its identity, volumes or claims are not those of its ordinal")), False


def _why_create(situation: Situation, pod: Pod) -> str:
    name = pod.metadata.name
    if not situation.is_ordered:
        return f"pod {name} is missing, and with podManagementPolicy Parallel it waits for no other"
    if ordinal_of(pod) == start_ordinal(situation.set_):
        return f"pod {name} is missing, and it is the first"
    return f"pod {name} is missing, and all pods before it are available"


def _plan_condemned(situation: Situation) -> tuple[Phase, bool]:
    """The steps of surplus pods, and whether a rolling update must wait."""
    phase: list[tuple[PodStep, ...]] = []
    for pod in situation.condemned:
        steps = process_condemned(situation, pod)
        phase.append(steps)
        if situation.is_ordered:
            return tuple(phase), True
    return tuple(phase), False


def process_condemned(situation: Situation, pod: Pod) -> tuple[PodStep, ...]:
    """Delete a condemned pod. With OrderedReady, it must be available, or the first unavailable one."""
    if is_terminating(pod):
        return ()
    healthy = is_running_and_ready(pod) and situation.is_available(pod)
    if situation.is_ordered and not healthy and pod is not _first_unavailable(situation):
        return ()
    replicas = situation.set_.spec.replicas
    return (PodStep("delete", pod, f"the set has {replicas} replicas now, and this one is too many"),)


def _first_unavailable(situation: Situation) -> Pod | None:
    candidates = (*situation.replicas, *reversed(situation.condemned))
    return next((pod for pod in candidates if situation.is_unavailable(pod)), None)


def plan_update(situation: Situation, revision: str) -> PodStep | None:
    """The next pod to replace by the update revision. An unavailable pod is waited for."""
    rolling = situation.set_.spec.update_strategy.rolling_update
    partition = 0 if rolling is None else rolling.partition or 0
    for pod in reversed(situation.replicas[partition:]):
        if revision_of(pod) != revision and not is_terminating(pod):
            why = f"pod {pod.metadata.name} is not at revision {revision}, so it is deleted to be created at it"
            return PodStep("delete", pod, why)
        if situation.is_unavailable(pod):
            return None
    return None

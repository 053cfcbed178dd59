"""Random pods with random faults: invariants of phases, restarts, order and grace periods hold, and pods terminate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings

from kubesim.api.timestamps import SECOND
from kubesim.kubelet.probes.worker import ProbeWorker
from kubesim.kubelet.status import manager_rules
from kubesim.kubelet.status.containers import container_statuses
from kubesim.kubelet.status.generate import api_pod_status as generate
from kubesim.kubelet.status.generate import phase
from kubesim.podworkers import requeue, workers
from kubesim.podworkers.state import PodSyncStatuses
from kubesim.runtime.kuberuntime.act import container_kill, manager
from kubesim.runtime.kuberuntime.act.container_kill import ContainerKiller, TerminationOrdering
from kubesim.runtime.kuberuntime.act.container_start import ContainerStarter
from kubesim.runtime.kuberuntime.act.manager import RuntimeManager
from kubesim.runtime.kuberuntime.decide import actions, init_actions, termination
from kubesim.runtime.kuberuntime.decide.action_types import PodActions
from kubesim.runtime.kuberuntime.decide.init_actions import _Search
from kubesim.runtime.kuberuntime.results import PodSyncResult
from tests.support.lives.life import Faults, Happening, Story, happened, live
from tests.support.lives.stories import DEAF, FALSE, PROMPT, SLOW, SLOW_START, UP, command, stories
from tests.support.soak import LONG, rounds

pytestmark = LONG

LIVES = 2000


@settings(max_examples=rounds(LIVES), print_blob=True)
@given(story=stories())
def test_every_life_follows_the_rules(story: Story) -> None:
    live(story)


@settings(max_examples=rounds(LIVES // 4), print_blob=True)
@given(story=stories().filter(lambda story: story.faults.none))
def test_idle_ticks_may_be_skipped(story: Story) -> None:
    """Two probes that time out at the same instant may be handled in another order."""
    assert happened(replace(story, every_tick=True)) == happened(replace(story, every_tick=False))


def test_a_seed_reproduces_its_run() -> None:
    story = Story(4, spec(main(DEAF)), Faults(0.1, 0.01, 0.1), (Happening(20 * SECOND, "kill sandbox"),))
    assert live(story) == live(story)
    assert live(story) != live(replace(story, seed=5))


# -- a kubelet that breaks a rule is noticed ------------------------------------------------------------------------

Break = Callable[[pytest.MonkeyPatch], None]


def main(program: str, name: str = "main0", **more: Any) -> dict[str, Any]:
    return {"name": name, "image": "busybox:1", **command(program), **more}


def spec(*containers: dict[str, Any], init: tuple[dict[str, Any], ...] = (), **more: Any) -> dict[str, Any]:
    return {"terminationGracePeriodSeconds": 5, "containers": list(containers), "initContainers": list(init), **more}


def sidecar(program: str, **more: Any) -> dict[str, Any]:
    return main(program, "init0", restartPolicy="Always", **more)


def at(second: int, what: str, number: int = 0) -> tuple[Happening, ...]:
    return (Happening(second * SECOND, what, number),)


def returns(target: Any, name: str, answer: Any) -> Break:
    """Replace a function by one that always returns this value."""
    return lambda patch: patch.setattr(target, name, lambda *_, **__: answer)


def returns_later(target: Any, name: str, answer: Any) -> Break:
    async def instead(*_: Any, **__: Any) -> Any:
        return answer

    return lambda patch: patch.setattr(target, name, instead)


def counts_nothing(target: Any, name: str) -> Break:
    """A wait happens, but its duration is not counted."""
    original = getattr(target, name)

    async def waits(*args: Any) -> int:
        await original(*args)
        return 0

    return lambda patch: patch.setattr(target, name, waits)


def ignores_probe_grace(patch: pytest.MonkeyPatch) -> None:
    grace = termination.termination_grace_period
    patch.setattr(container_kill, "termination_grace_period", lambda pod, container, _: grace(pod, container, ""))


def ignores_deletion_grace(patch: pytest.MonkeyPatch) -> None:
    kill = ContainerKiller.kill

    async def with_own_grace(self: ContainerKiller, pod: Any, *args: Any, **options: Any) -> None:
        if options.get("grace_override_s"):
            options["grace_override_s"] = pod.spec.termination_grace_period_seconds
        await kill(self, pod, *args, **options)

    patch.setattr(ContainerKiller, "kill", with_own_grace)


def does_not_wait_for_startup(patch: pytest.MonkeyPatch) -> None:
    def running(self: _Search, index: int, container: Any, record: Any) -> None:
        self.mark_initialized(index, "it runs")
        self.decision.kept.append(container.name)

    patch.setattr(_Search, "running_sidecar", running)


def counts_waiting_as_new(patch: pytest.MonkeyPatch) -> None:
    count = phase._count_regular

    def counted(counts: Any, container: Any, status: Any, *rest: Any) -> None:
        if status is not None and status.state.waiting is not None:
            counts.waiting += 1
        else:
            count(counts, container, status, *rest)

    patch.setattr(phase, "_count_regular", counted)


def forgets_restarts(patch: pytest.MonkeyPatch) -> None:
    course = container_statuses._history_from_records

    def newest_record_alone(records: Any, *rest: Any) -> Any:
        return course(records, *rest)._replace(restart_count=records[0].restart_count)

    patch.setattr(container_statuses, "_history_from_records", newest_record_alone)


def never_tries_again(patch: pytest.MonkeyPatch) -> None:
    after = requeue.requeue_after

    def late(intervals: Any, transition: bool, error: Any, now: int) -> Any:
        made = after(intervals, transition, error, now)
        return made if error is None else replace(made, delay=10**6 * SECOND)

    patch.setattr(workers, "requeue_after", late)


def deletes_at_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(manager_rules, "can_be_deleted", lambda pod, _: pod.metadata.deletion_timestamp is not None)


def leaves_probes_behind(patch: pytest.MonkeyPatch) -> None:
    run = ProbeWorker.run

    async def goes_on(self: ProbeWorker) -> None:
        await run(self)
        await self._environment.clock.sleep(10**7 * SECOND)

    patch.setattr(ProbeWorker, "run", goes_on)


DONE, FAILS = main("true", "init0"), main("exit 1", "init1")
SLOW_SIDECAR = (sidecar(SLOW_START, startupProbe=UP),)
WAITS = Story(1, spec(main(PROMPT), init=(main("exit 1", "init0"), main("true", "init1"))))
RESTARTED = Story(1, spec(main("sleep 5; exit 1")))
REBUILT = Story(1, spec(main(PROMPT), init=(DONE, main("true", "init1"))), activity_count=at(20, "kill sandbox"))
HALF_BUILT = Story(1, spec(main(PROMPT), init=(DONE, FAILS)), activity_count=at(30, "kill sandbox"))
DELETED = Story(1, spec(main(DEAF)), activity_count=at(20, "delete", 10))
HOOK: dict[str, Any] = {"lifecycle": {"preStop": {"exec": {"command": ["sleep", "4"]}}}}
IN_ORDER = Story(1, spec(main(SLOW), init=(sidecar(DEAF),)))
ENDS = Story(1, spec(main("sleep 3"), main("sleep 9; exit 1", "main1"), restartPolicy="Never"), ends_by_itself=True)
LATE = Story(1, spec(main(SLOW), activeDeadlineSeconds=20), ends_by_itself=True)
FAILING = Story(3, spec(main("sleep 3"), restartPolicy="Never"), Faults(failing=0.5), ends_by_itself=True)
UNHEALTHY = Story(1, spec(main(DEAF, livenessProbe={**FALSE, "terminationGracePeriodSeconds": 20})))


@pytest.mark.parametrize(
    ("broken", "story", "complaint"),
    [
        (returns(actions, "compute_init_container_actions", True), WAITS, "created before init0 is done"),
        (returns(init_actions, "is_init_container_failed", False), WAITS, "created before init0 is done"),
        (does_not_wait_for_startup, Story(1, spec(main(PROMPT), init=SLOW_SIDECAR)), "main0 is created before init0"),
        (returns(manager, "init_records", []), REBUILT, "main0 is created before init0"),
        (returns(ContainerStarter, "_restart_count", 0), RESTARTED, "created with attempt 0"),
        (forgets_restarts, HALF_BUILT, "init1 restarted"),
        (returns(actions, "should_container_be_restarted", True), ENDS, "created again, with policy Never"),
        (returns(PodActions, "kill", None), Story(1, spec(main(PROMPT)), activity_count=at(20, "image")), "run twice"),
        (counts_waiting_as_new, RESTARTED, "was Running and is Pending"),
        (returns(PodSyncStatuses, "could_have_running_containers", False), LATE, "reported to have ended"),
        (lambda patch: patch.setattr(container_kill, "MINIMUM_GRACE_PERIOD_S", 0),
         Story(1, spec(main(DEAF), terminationGracePeriodSeconds=1)), "gets only 1000000 to stop"),
        (counts_nothing(ContainerKiller, "_execute_pre_stop_hook"), Story(1, spec(main(DEAF, **HOOK))), "more than"),
        (counts_nothing(TerminationOrdering, "wait_for_turn"), IN_ORDER, "more than its grace"),
        (ignores_probe_grace, UNHEALTHY, "less than its grace"),
        (ignores_deletion_grace, DELETED, "less than its grace"),
        (returns_later(RuntimeManager, "kill_pod", PodSyncResult()), DELETED, "was deleted and is still there"),
        (deletes_at_once, DELETED, "outlive their pod"),
        (leaves_probes_behind, Story(1, spec(main(PROMPT, readinessProbe=UP))), "readiness probe of main0"),
        (never_tries_again, FAILING, "has no end"),
        (returns(generate, "past_active_deadline", False), LATE, "has no end"),
    ],
)  # fmt: skip
@pytest.mark.violates_invariants
def test_a_broken_rule_is_detected(
    broken: Break, story: Story, complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    live(story)
    broken(monkeypatch)
    with pytest.raises(AssertionError, match=complaint):
        live(story)

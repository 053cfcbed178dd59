"""Plays a scenario: its objects at time 0, its steps at their times, until the end.

When a run ends:

- at its `duration`, if it has one;
- with `convergesWithin`, when everything is idle, after its `duration` if it has one; what is not idle by then fails;
- with steps, when all are done and everything is idle: every pod is ready, has ended or is gone, every workload has the
  pods that it requests, and no expectation is still open. After two minutes of waiting the run ends anyway; a CronJob
  is never idle;
- without steps, at `--until`, if it is given;
- without steps and `--until`, the whole life is shown: once everything is idle, the pods are left alone for 30 s, then
  workloads and pods are deleted, and the run ends when they are gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import field
from functools import partial
from inspect import iscoroutinefunction
from operator import itemgetter
from typing import TYPE_CHECKING

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.api.pods.pod_kinds import is_mirror_pod
from kubesim.api.timestamps import MINUTE, SECOND
from kubesim.clock import NEVER, Awaited, LoopClock, wake
from kubesim.cluster.controllers.owners import controller_of
from kubesim.cluster.store.watches import WatchEvent
from kubesim.concurrency import TaskSet
from kubesim.golang.text import duration
from kubesim.scenario.client.api_steps import StepFailed
from kubesim.scenario.ending.outcome import pod_outcome, workload_counts
from kubesim.scenario.ending.rest import WORKLOADS, is_idle, is_settled
from kubesim.scenario.language.document import Spec
from kubesim.scenario.load.objects import apply_order, shown
from kubesim.scenario.play.expectations import Judge
from kubesim.scenario.play.world import World
from kubesim.values import part

if TYPE_CHECKING:
    from kubesim.scenario.faults.interceptor import Interceptor
    from kubesim.scenario.language.step_items import Step
    from kubesim.scenario.play.steps.when_steps import WhenSteps

IDLE_TIMEOUT = 2 * MINUTE  # how long to wait until everything is idle
RUNNING_TIME = 30 * SECOND  # from idle to the deletion
WHY_DELETED = "no steps: pods are deleted 30 s after everything is idle (--until or spec.duration sets another end)"
LAST_WORDS = 3 * SECOND  # for the kubelet's remaining clean-up


@part
class Player:
    """Runs the objects and steps of a scenario.

    `inspect` is called once: when everything is idle, before pods are deleted, or at the end. `cut` ends the run early
    without changing anything before, unlike `until`. `added` are steps that do not change anything before them either;
    the run ends only after they were executed and everything is idle again.
    """

    clock: LoopClock
    tasks: TaskSet
    world: World
    judge: Judge
    spec: Spec
    until: int | None = None
    inspect: Callable[[], None] | None = None
    cut: int | None = None
    interceptor: Interceptor | None = None
    added: tuple[Step, ...] = ()
    _taken: int = 0  # number of added steps that were executed
    _start: int = field(init=False)
    _limit: int | None = field(init=False)
    _awaited: Callable[[], bool] | None = None  # the condition that the player waits for, if any ...
    _over: asyncio.Future[None] = field(init=False)  # ... and the future that is done when it holds
    _pods: dict[tuple[str, str], Pod] = field(default_factory=dict)  # existing pods ...
    _unsettled: dict[tuple[str, str], None] = field(default_factory=dict)  # ... and those that are not settled
    _workloads: dict[tuple[str, str, str], ApiObject] = field(default_factory=dict)  # by kind, namespace and name
    _not_idle: dict[tuple[str, str, str], None] = field(default_factory=dict)  # workloads that are not idle
    _busy: list[Step] = field(default_factory=list)  # long steps in progress
    _when: WhenSteps | None = None  # steps that wait for a condition

    def __post_init__(self) -> None:
        self._start = self.clock.now()
        end = self.spec.duration if self.spec.converges_within is None else None
        limits = [limit for limit in (end, self.until, self.cut) if limit is not None]
        self._limit = self._start + min(limits) if limits else None
        self.judge.on_verdict = self._wake

    async def play(self) -> None:
        """Run the scenario. Returns when the run is over."""
        stops = [self.world.watch("Pod", self._pod_changed)]
        stops += [self.world.watch(kind, self._workload_changed) for kind in WORKLOADS]
        self._begin_when()
        if self.added:
            self.tasks.start("added steps", self._take_added())
        try:
            for name, content in self.spec.sources.file.manifests.items():
                self.world.write_static_pod_everywhere(name, content)
            if self.spec.sources.http is not None and self.spec.sources.http.answers:
                self.world.serve_manifest(self.spec.sources.http)
            for manifest in apply_order(self.spec.objects):
                self._attempt(f"apply {shown(manifest)}", partial(self.world.apply, manifest))
            if await self._steps():
                await self._ending()
            if self._when is not None:
                self._when.close()
            self._call_before_end()
            for step in self._busy:
                if step.exec is not None:
                    self._failed(step, "the command has not ended at the end of the run")
            self._check_faults()
        finally:
            for stop in stops:
                stop()

    def _check_faults(self) -> None:
        """Fail the run for a fault that matched no operation of the run, because of a mistake such as a wrong name."""
        if self.interceptor is None or self.until is not None or self.cut is not None:
            return
        from kubesim.scenario.faults.decide import why_unused  # only runs with faults import it

        for state in self.interceptor.faults:
            why = why_unused(state)
            if why and state.fault in self.spec.faults:
                self.judge.step_failed(f"fault of {state.fault.operation}", why, state.fault.location)
        for step in self.spec.steps:
            if step.hang is not None and step.hang.call and self.interceptor.was_unused(step.hang):
                self._failed(step, "no operation of the run hung: check its names and times")

    async def _steps(self) -> bool:
        """Execute the steps; False if time ran out first."""
        timed = [(step.at, step) for step in self.spec.steps if step.at is not None]
        for at, step in sorted(timed, key=itemgetter(0)):
            if not await self._sleep_until(self._start + at):
                return False
            self._take(step)
        return self._when is None or await self._when_steps(self._when)

    def _begin_when(self) -> None:
        steps = [step for step in self.spec.steps if step.when is not None]
        if not steps:
            return
        from kubesim.scenario.play.steps.when_steps import WhenSteps  # only runs with such steps import it

        self._when = WhenSteps(self.clock, self.world, self.interceptor, self._take, self._failed, self._wake)
        self._when.begin(steps)

    async def _when_steps(self, when: WhenSteps) -> bool:
        """Wait until all of them were executed, two minutes for each. False if time ran out first."""
        while left := when.left():
            deadline = max(self.clock.now() + IDLE_TIMEOUT, when.latest())
            await self._wait_until(lambda left=left: when.left() < left, deadline)  # type: ignore[misc]
            if when.left() == left:
                break
        when.close()
        return self._limit is None or self.clock.now() < self._limit

    def _take(self, step: Step) -> None:
        """Execute a step. The name of its action is the name of a method of World."""
        name = step.action
        action = partial(getattr(self.world, name), getattr(step, name))
        if iscoroutinefunction(action):
            self._busy.append(step)
            self.tasks.start(step.text, self._take_time(step, action))
            return
        try:
            action()
        except StepFailed as error:
            self._failed(step, str(error))

    async def _take_added(self) -> None:
        for step in sorted(self.added, key=lambda step: step.at or 0):
            await self.clock.sleep_until(self._start + (step.at or 0))
            self._take(step)
            self._taken += 1
            self._wake()

    async def _take_time(self, step: Step, action: Callable[[], Awaitable[None]]) -> None:
        try:
            await action()
        except StepFailed as error:
            self._failed(step, str(error))
        finally:
            self._busy.remove(step)
            self._wake()

    def _failed(self, step: Step, why: str) -> None:
        self.judge.step_failed(step.text, why, step.location, step.pod)

    def _attempt(self, text: str, action: Callable[[], None]) -> None:
        try:
            action()
        except StepFailed as error:
            self.judge.step_failed(text, str(error))

    # -- the end ------------------------------------------------------------------------------------------------

    async def _ending(self) -> None:
        if self.spec.duration is not None:
            await self._sleep_until(self._start + self.spec.duration)
            if self.spec.converges_within is not None:
                await self._become_idle(before_deletion=False)
            return
        if self.spec.sources.apiserver is not None:  # a live cluster has no end
            await self._sleep_until(NEVER)
            return
        whole_life = not self.spec.steps
        if whole_life and self.until is not None:
            await self._sleep_until(NEVER)
            return
        await self._become_idle(before_deletion=whole_life)
        if whole_life and await self._sleep_until(self.clock.now() + RUNNING_TIME) and not self._taken:
            self._call_before_end()
            await self._delete_all()
        await self._sleep_until(self.clock.now() + LAST_WORDS)
        if self.added:
            await self._wait_until(self._is_over, self._idle_deadline())
            await self._sleep_until(self.clock.now() + LAST_WORDS)

    async def _become_idle(self, *, before_deletion: bool) -> None:
        def is_idle() -> bool:
            return self._is_idle(before_deletion=before_deletion)

        await self._wait_until(is_idle, self._idle_deadline())
        for _ in range(self._limited_faults()):  # a late fault begins the time again
            if not is_idle():
                await self._wait_until(is_idle, self._faults_end() + (self.spec.converges_within or 0))
        self._check_convergence(self._unsettled, self._not_idle)

    def _limited_faults(self) -> int:
        """The number of faults that end, if everything must converge after them."""
        if self.spec.converges_within is None:
            return 0
        return sum(fault.times is not None or fault.end is not None for fault in self.spec.faults)

    def _faults_end(self) -> int:
        """The time of the last fault so far."""
        return 0 if self.interceptor is None else self.interceptor.disturbed_at

    def _check_convergence(self, pods: Iterable[tuple[str, str]], workloads: Iterable[tuple[str, str, str]]) -> None:
        """Fail the run for what is not idle after `convergesWithin`."""
        limit = self.spec.converges_within
        if limit is None:
            return
        for key in sorted(pods):
            name, why = "/".join(key), self._why_not_settled(self._pods[key])
            self.judge.did_not_converge(
                f"pod {name} must be ready, finished or gone within {duration(limit)}", why, name
            )
        for kind, namespace, name in sorted(workloads):
            why = workload_counts(self._workloads[kind, namespace, name])
            self.judge.did_not_converge(f"{kind} {namespace}/{name} must be idle within {duration(limit)}", why)

    def _why_not_settled(self, pod: Pod) -> str:
        why = pod_outcome(pod, None, [node.name for node in self.spec.nodes])
        problem = self.world.problem_of_node(pod.spec.node_name)
        return f"it is {why}" + (f"; {problem}" if problem else "")

    def _is_over(self) -> bool:
        return self._taken == len(self.added) and self._is_idle(before_deletion=False)

    def _call_before_end(self) -> None:
        inspect, self.inspect = self.inspect, None
        if inspect is not None:
            inspect()

    def _idle_deadline(self) -> int:
        """How long to wait until everything is idle: two minutes, or longer if an expectation has a later deadline."""
        latest = max((expect.deadline or 0 for expect in self.spec.expect), default=0)
        return max(self.clock.now() + (self.spec.converges_within or IDLE_TIMEOUT), self._start + latest + 1)

    def _is_idle(self, *, before_deletion: bool) -> bool:
        if self._busy or self.judge.waits(before_deletion=before_deletion):
            return False
        return not self._unsettled and not self._not_idle

    async def _delete_all(self) -> None:
        """Delete all pods and workloads, owners first: their controllers would replace deleted pods."""
        self.world.remove_all_static_pods()
        pods = [self._pods[key] for key in sorted(self._pods) if not is_mirror_pod(self._pods[key])]
        if pods or self._workloads:
            self.world.note(WHY_DELETED)
        owners = [obj for key, obj in sorted(self._workloads.items(), key=_owners_first) if controller_of(obj) is None]
        for owner in owners:
            name = f"{owner.kind}/{owner.metadata.namespace}/{owner.metadata.name}"
            self._attempt(f"delete {name}", partial(self.world.delete_object, owner, "Background"))
        for pod in pods:
            if controller_of(pod) is None:
                name = f"{pod.metadata.namespace}/{pod.metadata.name}"
                self._attempt(f"delete pod {name}", partial(self.world.delete_object, pod))
        grace = max((pod.spec.termination_grace_period_seconds or 0 for pod in pods), default=0)
        deadline = self.clock.now() + grace * SECOND + (self.spec.converges_within or IDLE_TIMEOUT)
        await self._wait_until(lambda: not self._pods, deadline)
        self._check_convergence(self._pods, self._workloads)

    # -- waiting ------------------------------------------------------------------------------------------------

    def _pod_changed(self, change: WatchEvent) -> None:
        pod = change.object
        assert isinstance(pod, Pod)
        key = (pod.metadata.namespace, pod.metadata.name)
        if change.type == "DELETED":
            self._pods.pop(key, None)
            self._unsettled.pop(key, None)
        else:
            self._pods[key] = pod
            if is_settled(pod):
                self._unsettled.pop(key, None)
            else:
                self._unsettled[key] = None
        self._wake()

    def _workload_changed(self, change: WatchEvent) -> None:
        obj = change.object
        key = (obj.kind, obj.metadata.namespace, obj.metadata.name)
        if change.type == "DELETED":
            self._workloads.pop(key, None)
        else:
            self._workloads[key] = obj
        if change.type == "DELETED" or is_idle(obj):
            self._not_idle.pop(key, None)
        else:
            self._not_idle[key] = None
        self._wake()

    def _wake(self) -> None:
        """Re-evaluate the awaited condition after a change."""
        if self._awaited is not None and self._awaited():
            wake(self._over, None)

    async def _sleep_until(self, moment: int) -> bool:
        """Sleep until a time; False if the run ended first."""
        limit = self._limit
        if limit is not None and limit < moment:
            await self.clock.sleep_until(limit)
            return False
        if moment > self.clock.now():
            await self.clock.sleep_until(moment)
        return True

    async def _wait_until(self, condition: Callable[[], bool], deadline: int) -> None:
        """Wait until the condition holds after some change, or until the deadline."""
        if self._limit is not None:
            deadline = min(deadline, self._limit)
        while not condition() and self.clock.now() < deadline:
            self._awaited, self._over = condition, Awaited("the condition that the scenario waits for")
            timer = self.clock.call_at(deadline, wake, self._over, None)
            try:
                await self._over
            finally:
                timer.cancel()
                self._awaited = None


def _owners_first(item: tuple[tuple[str, str, str], ApiObject]) -> tuple[int, tuple[str, str, str]]:
    return WORKLOADS.index(item[0][0]), item[0]

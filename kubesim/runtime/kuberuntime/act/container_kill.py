"""Kills containers: preStop hook, termination order, remaining grace period, CRI call.

Mirrors: pkg/kubelet/kuberuntime/kuberuntime_container.go killContainer, executePreStopHook,
killContainersWithSyncResult; kuberuntime_termination_order.go
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from kubesim.api.pod import Container, Pod
from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock, go, wake
from kubesim.concurrency import run_together
from kubesim.errors import RuntimeCallError
from kubesim.features.rules import DEFAULT_RULES, Rules
from kubesim.golang.text import quoted
from kubesim.runtime.helper import EventRecorder
from kubesim.runtime.kuberuntime.act.hooks import HookFailed, HookRunner
from kubesim.runtime.kuberuntime.decide.termination import (
    MINIMUM_GRACE_PERIOD_S,
    KillReason,
    termination_grace_period,
    termination_waits_for,
)
from kubesim.runtime.kuberuntime.naming import format_pod
from kubesim.runtime.kuberuntime.results import KILL_CONTAINER_ERROR, SyncResult
from kubesim.runtime.kuberuntime.start_failure import SHORT_ID
from kubesim.runtime.protocol import NotFound, Runtime
from kubesim.runtime.types import ListedContainer, bare_id, container_id


class TerminationOrdering:
    """Makes each container wait for those it must outlive, up to its grace period."""

    def __init__(self, clock: LoopClock, waits_for: Mapping[str, Sequence[str]]) -> None:
        self._clock = clock
        self._waits_for = waits_for
        awaited = {name for names in waits_for.values() for name in names}
        loop = asyncio.get_running_loop()
        self._ended: dict[str, asyncio.Future[None]] = {name: loop.create_future() for name in awaited}

    async def wait_for_turn(self, name: str, grace_s: int) -> int:
        """Waited time in whole seconds, truncated."""
        begin = self._clock.now()
        deadline = begin + grace_s * SECOND
        for other in self._waits_for.get(name, ()):
            if not await _within(self._clock, self._ended[other], deadline):
                # The containers it waits for may time out in this same instant; they end first.
                await self._clock.sleep(0)
                break
        return (self._clock.now() - begin) // SECOND

    def container_terminated(self, name: str) -> None:
        ended = self._ended.get(name)
        if ended is not None:
            wake(ended, None)


class ContainerKiller:
    """Kills one container, or all containers of a pod concurrently."""

    def __init__(
        self,
        runtime: Runtime,
        clock: LoopClock,
        events: EventRecorder,
        hooks: HookRunner,
        rules: Rules = DEFAULT_RULES,
    ) -> None:
        self._rules = rules
        self._runtime = runtime
        self._clock = clock
        self._events = events
        self._hooks = hooks
        self.hooks_under_way: dict[asyncio.Task[None], None] = {}

    async def kill(
        self,
        pod: Pod,
        identifier: str,
        name: str,
        *,
        message: str | None = None,
        reason: KillReason = "",
        grace_override_s: int | None = None,
        ordering: TerminationOrdering | None = None,
    ) -> None:
        """Stop a container. Raises RuntimeCallError. Without a message, the pod is being deleted."""
        container = pod.spec.find_container(name)
        if container is None:
            raise RuntimeCallError(
                f"failed to get containerSpec {quoted(name)} (id={quoted(container_id(bare_id(identifier)))}) in pod "
                f"{quoted(format_pod(pod))} when killing container for reason {quoted(message or '')}"
            )
        rules = self._rules
        grace_s = termination_grace_period(pod, container, reason)
        if not rules.emits_killing_after_stop:
            self._emit_killing(pod, identifier, name, message)
        if grace_override_s is not None and not rules.grace_override_is_final:
            grace_s = grace_override_s
        if container.lifecycle is not None and container.lifecycle.pre_stop is not None and grace_s > 0:
            grace_s -= await self._execute_pre_stop_hook(pod, identifier, container, grace_s)
        if ordering is not None and grace_s > 0:
            grace_s -= await ordering.wait_for_turn(name, grace_s)
        grace_s = max(grace_s, MINIMUM_GRACE_PERIOD_S)
        if grace_override_s is not None and rules.grace_override_is_final:
            grace_s = grace_override_s
        problem: RuntimeCallError | None = None
        try:
            await self._runtime.stop_container(bare_id(identifier), grace_s * SECOND)
        except NotFound:
            pass
        except RuntimeCallError as error:
            problem = error
        if rules.emits_killing_after_stop:
            self._emit_killing(pod, identifier, name, message)
        if problem is not None:
            raise problem
        if ordering is not None:
            ordering.container_terminated(name)

    def _emit_killing(self, pod: Pod, identifier: str, name: str, message: str | None) -> None:
        rules, short_id = self._rules, bare_id(identifier)[:SHORT_ID]
        message = rules.stopping_message.format(name=name) if message is None else message
        text = rules.killing_event.format(name=name, id=short_id, message=message)
        self._events.event(pod, "Normal", "Killing", text if message else text.rstrip(": "), name)

    async def _execute_pre_stop_hook(self, pod: Pod, identifier: str, container: Container, grace_s: int) -> int:
        """Run the hook; returns its whole seconds. A hook that exceeds the grace period continues unattended."""
        begin = self._clock.now()
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        async def hook() -> None:
            assert container.lifecycle is not None
            assert container.lifecycle.pre_stop is not None
            try:
                await self._hooks.run(bare_id(identifier), pod, container, container.lifecycle.pre_stop)
            except HookFailed as failure:
                # The current Event is short, because the message may contain secrets from the server's response.
                text = self._rules.hook_failed_event.format(hook="PreStopHook", message=failure)
                self._events.event(pod, "Warning", "FailedPreStopHook", text, container.name)
            finally:
                wake(done, None)

        task = go(hook(), f"prestop {container.name}")
        self.hooks_under_way[task] = None
        task.add_done_callback(self._hook_ended)
        in_time = await _within(self._clock, done, begin + grace_s * SECOND)
        if not in_time and self._rules.emits_unfinished_pre_stop_hooks:
            metadata = pod.metadata
            shown = quoted(f"{bare_id(identifier)} {container.name} {metadata.namespace}/{metadata.name}")
            text = f"preStop hook for container {shown} did not complete in {grace_s} seconds"
            self._events.event(pod, "Warning", "UnfinishedPreStopHook", text, container.name)
        return (self._clock.now() - begin) // SECOND

    def _hook_ended(self, task: asyncio.Task[None]) -> None:
        del self.hooks_under_way[task]

    async def kill_all(
        self, pod: Pod, containers: Sequence[ListedContainer], grace_override_s: int | None
    ) -> list[SyncResult]:
        """Stop all containers concurrently; sidecars in termination order."""
        ordering: TerminationOrdering | None = None
        if pod.spec.init_containers:
            waits_for = termination_waits_for(pod, [container.name for container in containers])
            ordering = TerminationOrdering(self._clock, waits_for) if waits_for else None

        async def kill_one(container: ListedContainer) -> SyncResult:
            result = SyncResult("KillContainer", container.name)
            try:
                await self.kill(pod, container.id, container.name, grace_override_s=grace_override_s, ordering=ordering)
            except RuntimeCallError as error:
                result.fail(KILL_CONTAINER_ERROR, str(error))
            return result

        return await run_together((f"kill {container.name}", kill_one(container)) for container in containers)


async def _within(clock: LoopClock, awaited: asyncio.Future[None], deadline: int) -> bool:
    """Wait until the deadline; true if the awaitable finished. It continues either way."""
    if awaited.done():
        return True
    came: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    def notify(_: object) -> None:
        wake(came, True)

    awaited.add_done_callback(notify)
    timer = clock.call_at(deadline, wake, came, False)
    try:
        return await came
    finally:
        timer.cancel()
        awaited.remove_done_callback(notify)

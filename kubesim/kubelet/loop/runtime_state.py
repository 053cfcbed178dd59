"""Health of the runtime, its network and the PLEG. The sync loop pauses while any of them is unhealthy.

The kubelet polls the runtime every 5 s.

Mirrors: pkg/kubelet/runtime.go runtimeState, pkg/kubelet/kubelet.go updateRuntimeUp, initializeRuntimeDependentModules
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from kubesim.api.timestamps import SECOND
from kubesim.clock import NEVER, LoopClock
from kubesim.concurrency import Ticker
from kubesim.errors import RuntimeCallError
from kubesim.features.rules import DEFAULT_RULES, Rules
from kubesim.runtime.protocol import Runtime, RuntimeHandler

UNSEEN_AFTER = 30 * SECOND  # the runtime counts as down after that long without an answer


class RuntimeState:
    """The polled runtime conditions. `on_network_change` is called when the network becomes ready or unready.
    `initialize` is called when the runtime first comes up, and the kubelet waits for it.
    """

    def __init__(
        self,
        clock: LoopClock,
        runtime: Runtime,
        pleg_healthy: Callable[[int], tuple[bool, str]],
        on_network_change: Callable[[], None],
        rules: Rules = DEFAULT_RULES,
    ) -> None:
        self._clock = clock
        self._runtime = runtime
        self._pleg_healthy = pleg_healthy
        self._on_network_change = on_network_change
        self._network_text = rules.network_problem
        self.initialize: Callable[[], Awaitable[None]] | None = None
        self._last_sync: int | None = None  # time of the last poll that found the runtime ready
        self._is_failing = True  # whether the last poll failed
        self._runtime_problem = ""
        self._network_problem = ""
        self.handlers: tuple[RuntimeHandler, ...] = ()  # as last reported by the runtime

    async def run(self, period: int) -> None:
        ticker = Ticker(self._clock, "runtime poll", period)
        ticker.on_skip = self._seen
        try:
            await self.update()
            while True:
                await ticker.channel.receive()
                before = (self._is_failing, self._network_problem)
                await self.update()
                now = (self._is_failing, self._network_problem)
                ticker.done(0 if self._is_failing or now != before else NEVER)
        finally:
            ticker.stop()

    def _seen(self, moment: int) -> None:
        self._last_sync = moment

    async def update(self) -> None:
        """Poll the runtime's conditions."""
        self._is_failing, now = True, self._clock.now()
        try:
            conditions = await self._runtime.status()
        except RuntimeCallError:
            return
        self.handlers = conditions.handlers
        network, runtime = conditions.network_problem, conditions.runtime_problem
        before = self._network_problem
        self._network_problem = self._network_text.format(problem=network) if network else ""
        if self._network_problem != before:
            self._on_network_change()
        self._runtime_problem = f"container runtime not ready: {runtime}" if runtime else ""
        if not runtime:
            if self.initialize is not None:
                initialize, self.initialize = self.initialize, None
                await initialize()
            self._last_sync, self._is_failing = now, False

    def runtime_problem(self, now: int) -> str:
        """The reason why pods cannot be synced now; empty if they can."""
        last, (healthy, why) = self._last_sync, self._pleg_healthy(now)
        if last is not None and now < last + UNSEEN_AFTER and healthy and not self._runtime_problem:
            return ""
        problems = []
        if last is None:
            problems.append("container runtime status check may not have completed yet")
        elif now >= last + UNSEEN_AFTER:
            problems.append("container runtime is down")
        if not healthy:
            problems.append(f"PLEG is not healthy: {why}")
        if self._runtime_problem:
            problems.append(self._runtime_problem)
        return f"[{', '.join(problems)}]" if len(problems) > 1 else "".join(problems)

    def is_failing(self) -> bool:
        """Whether the problems can change with time alone."""
        return self._is_failing or not self._pleg_healthy(self._clock.now())[0]

    def network_problem(self) -> str:
        return self._network_problem

"""Is the runtime up, is its network ready, is the PLEG alive? The sync loop pauses while it is not.

The kubelet asks the runtime every 5 s. While the answer is good and nothing changed, asking again tells nothing: those
polls are skipped, and the runtime counts as seen.
Mirrors: pkg/kubelet/runtime.go runtimeState, pkg/kubelet/kubelet.go updateRuntimeUp
"""

from __future__ import annotations

from collections.abc import Callable

from kubesim.api.timestamps import SECOND
from kubesim.errors import RuntimeCallError
from kubesim.runtime.protocol import Runtime

UNSEEN_AFTER = 30 * SECOND  # a runtime that did not answer for so long counts as down


class RuntimeState:
    def __init__(
        self,
        runtime: Runtime,
        pleg_healthy: Callable[[int], tuple[bool, str]],
        pleg_unhealthy_from: Callable[[], int | None],
        pleg_fails: Callable[[], bool],
    ) -> None:
        self._runtime = runtime
        self._pleg_healthy = pleg_healthy
        self._pleg_unhealthy_from = pleg_unhealthy_from
        self._pleg_fails = pleg_fails
        self._pleg_well_until = 0  # what was found when it was asked last; it may be well for longer
        self._asked = False
        self._good_until: int | None = None  # the last good poll before polls began to fail; None while they are good
        self._runtime_problem = ""
        self._network_problem = ""

    async def update(self, now: int, period: int) -> bool:
        """Ask the runtime how it is; False when it should be asked again at the next poll."""
        try:
            conditions = await self._runtime.status()
        except RuntimeCallError:
            self._poll_failed(now, period)
            return False
        network, runtime = conditions.network_problem, conditions.runtime_problem
        self._network_problem = f"container runtime network not ready: {network}" if network else ""
        self._runtime_problem = f"container runtime not ready: {runtime}" if runtime else ""
        if runtime:
            self._poll_failed(now, period)
            return False
        self._asked, self._good_until = True, None
        return not network and not self._pleg_fails()

    def _poll_failed(self, now: int, period: int) -> None:
        if self._asked and self._good_until is None:
            self._good_until = now - period

    def runtime_problem(self, now: int) -> str:
        """Why pods cannot be synced now; empty if they can."""
        healthy, why = True, ""
        if now >= self._pleg_well_until:
            healthy, why = self._pleg_healthy(now)
            self._pleg_well_until = self._pleg_unhealthy_from() or 0
        if healthy and self._asked and self._good_until is None:
            return self._runtime_problem
        problems = []
        if not self._asked:
            problems.append("container runtime status check may not have completed yet")
        elif self._good_until is not None and now >= self._good_until + UNSEEN_AFTER:
            problems.append("container runtime is down")
        if not healthy:
            problems.append(f"PLEG is not healthy: {why}")
        if self._runtime_problem:
            problems.append(self._runtime_problem)
        return f"[{', '.join(problems)}]" if len(problems) > 1 else "".join(problems)

    def is_failing(self, now: int) -> bool:
        """Whether what is told here may change without anybody doing something."""
        unhealthy = self._pleg_fails() or not self._pleg_healthy(now)[0]
        return not self._asked or self._good_until is not None or unhealthy

    def network_problem(self) -> str:
        return self._network_problem

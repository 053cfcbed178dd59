"""Broken rules for the scenarios about the scenario language: faults, conditions of steps, disturbances."""

from __future__ import annotations

from typing import Any

from kubesim.runtime.simulated.disturbances.dependencies import CallOutcome
from kubesim.scenario.load.assembly.include import merge
from tests.support.mutations import Mutation, returns


async def _nothing(*args: Any) -> None:
    """Does nothing, in place of an async function."""


NO_FAULT = Mutation("kubesim.scenario.faults.interceptor:first_fault", returns(None))
NO_SIGNAL = "kubesim.runtime.simulated.containers.shell_process:ShellProcess.signal_named"
NO_FREEZE = "kubesim.runtime.simulated.disturbances.frozen:freeze"


def _included_first(own: Any, other: Any) -> Any:
    return merge(other, own) if isinstance(own.value, list) else merge(own, other)


LANGUAGE_RULES = {
    "language/clock-forward": Mutation("kubesim.clock.clock:SkewedClock.wall", lambda clock: clock.now()),
    "language/connection-cut": Mutation("kubesim.cluster.connection:ApiConnection.cut", returns(None)),
    "language/crash-inside-call": NO_FAULT,
    "language/fault-sequence": NO_FAULT,
    "language/flushed-routes": Mutation(
        "kubesim.scenario.play.node.simulated_node:SimulatedNode.run_on_machine", _nothing
    ),
    "language/hanging-call": Mutation("kubesim.scenario.faults.interceptor:Interceptor._hangs_until", returns(0)),
    "language/hanging-container": Mutation(NO_FREEZE, returns(lambda: None)),
    "language/kill-when-ready": Mutation(NO_SIGNAL, returns(True)),
    "language/lost-status-update": NO_FAULT,
    "language/matrix": Mutation("kubesim.scenario.load.assembly.include:merge", _included_first),
    "language/node-file": Mutation("kubesim.shell.kernel.files:Volume.remove", returns(None)),
    "language/reboot-before-start": Mutation("kubesim.scenario.faults.interceptor:Interceptor.passed", returns(False)),
    "language/shared-database": Mutation("kubesim.runtime.simulated.containers.behaviour:ask", returns(CallOutcome())),
    "language/slow-volumes": NO_FAULT,
    "language/torn-manifest": NO_FAULT,
    "language/web-base": Mutation(
        "kubesim.kubelet.status.containers.probe_overlay:_is_container_ready", returns(False)
    ),
}

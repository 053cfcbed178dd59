"""Bugs that are planted in kubesim are found, and shrunk to at most two faults."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from weakref import WeakKeyDictionary

import pytest

from kubesim.clock import LoopClock
from kubesim.errors import RuntimeCallError
from kubesim.explore.choice import EFFECTS
from kubesim.kubelet.probes.worker import ProbeWorker
from kubesim.kubelet.probes.worker_rules import Write
from kubesim.kubelet.status.manager import StatusManager
from kubesim.runtime.simulated.addresses import Addresses
from kubesim.scenario.faults.runtime import _SimulatedNetworkFaults
from kubesim.values import replace
from tests.support.searches import found, search, subject_of
from tests.support.soak import SOAK

pytestmark = pytest.mark.violates_invariants

Plant = Callable[[pytest.MonkeyPatch], None]
RUNS = 2000 if SOAK else 120

POD = """
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: main, image: nginx%s}]
"""
PLAIN = POD % ""
STAYS = """
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {name: stays}
spec: {duration: 2m}
---"""
PROBED = STAYS + POD % ", readinessProbe: {httpGet: {port: 80}, initialDelaySeconds: 20, periodSeconds: 5}"


def loses_status_updates(patch: pytest.MonkeyPatch) -> None:
    """A status counts as written when its write has failed, and nothing compares it with the API server's later."""
    sync = StatusManager._sync_pod

    async def once(self: StatusManager, uid: str, status: Any) -> None:
        await sync(self, uid, status)
        self.api_status_versions[uid] = status.version

    patch.setattr(StatusManager, "_sync_pod", once)
    patch.setattr(StatusManager, "needs_reconcile", lambda *_: False)


def leaks_addresses(patch: pytest.MonkeyPatch) -> None:
    """A StopPodSandbox that has failed once counts as done: its retry releases no address."""
    network, release = _SimulatedNetworkFaults._network, Addresses.release

    async def give_up(self: Any, verb: str, pod: str, doing: str, call: Awaitable[Any]) -> Any:
        try:
            return await network(self, verb, pod, doing, call)
        except RuntimeCallError:
            if verb == "DEL":
                vars(self._inner._addresses).setdefault("failed", []).append(doing)
            raise

    def forget(self: Addresses, sandbox_id: str) -> None:
        if not any(sandbox_id in doing for doing in vars(self).get("failed", ())):
            release(self, sandbox_id)

    patch.setattr(_SimulatedNetworkFaults, "_network", give_up)
    patch.setattr(Addresses, "release", forget)


def keeps_probe_results(patch: pytest.MonkeyPatch) -> None:
    """The result of a probe is kept by the name of its container: the next instance inherits it, also after a reboot of
    the node."""
    next_turn, is_news = ProbeWorker._next_turn, ProbeWorker._is_news
    kept = WeakKeyDictionary[LoopClock, set[Any]]()  # the places whose probe has succeeded, by the clock of the run

    def place(self: ProbeWorker) -> tuple[str, ...]:
        return self._uid, self.subject.container.name, self.subject.probe_type

    def noted(self: ProbeWorker, write: Write) -> bool:
        if write.result == "success":
            kept.setdefault(self._environment.clock, set()).add(place(self))
        return is_news(self, write)

    def inherited(self: ProbeWorker) -> Any:
        previous = self.state.container_id
        turn = next_turn(self)
        if self.state.container_id != previous and place(self) in kept.get(self._environment.clock, ()):
            return replace(turn, writes=(Write(self.state.container_id, "success", "it has succeeded before"),))
        return turn

    patch.setattr(ProbeWorker, "_next_turn", inherited)
    patch.setattr(ProbeWorker, "_is_news", noted)


PLANTED = [
    (loses_status_updates, PLAIN, tuple(EFFECTS), "no convergence"),
    (leaks_addresses, PLAIN, ("lost", "error", "delay"), "invariant addresses"),
    # If only the kubelet crashes, real ones break this rule as well.
    (keeps_probe_results, PROBED, ("reboot",), "invariant readiness"),
]


@pytest.mark.parametrize(("plant", "text", "effects", "rule"), PLANTED, ids=[row[0].__name__ for row in PLANTED])
def test_it_is_found_and_shrunk(
    plant: Plant, text: str, effects: tuple[str, ...], rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not found(search(subject_of(text), RUNS // 4, effects), rule)
    plant(monkeypatch)
    findings = found(search(subject_of(text), RUNS, effects), rule)
    assert findings
    assert all(1 <= len(finding.choices) <= 2 for finding in findings)

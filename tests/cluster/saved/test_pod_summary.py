"""A status from the API server is summarized like the kubelet's status update in the trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kubesim.app import run_scenario
from kubesim.cluster.saved.history import ObjectChange
from kubesim.cluster.saved.observer import RunObserver
from kubesim.cluster.saved.pod_summary import shown_pod
from kubesim.scenario.load.loader import load_scenario
from kubesim.trace.records import ApiWrite, Record

SCENARIOS = Path(__file__).parents[3] / "scenarios"
NAMES = ("phase", "reason", "conditions")
KINDS = ("containers", "initContainers", "ephemeralContainers")
OF_CONTAINERS = ("state", "ready", "restartCount")


class _Listener:
    def __init__(self) -> None:
        self.pods: dict[str, dict[str, Any] | None] = {}
        self.compared: list[tuple[dict[str, Any], dict[str, Any]]] = []

    def change(self, change: ObjectChange) -> None:
        if change.object["kind"] == "Pod":
            name, _, self.pods[name] = shown_pod(change)

    def record(self, record: Record) -> None:
        if not isinstance(record, ApiWrite) or not record.is_pod_status:
            return
        shown = self.pods[record.pod]
        assert shown is not None
        self.compared.append((self._words(record.summary), self._words(shown)))

    def _words(self, summary: Any) -> dict[str, Any]:
        found = {name: summary.get(name) for name in NAMES}
        for kind in KINDS:
            found[kind] = {
                name: [state[word] for word in OF_CONTAINERS] for name, state in summary.get(kind, {}).items()
            }
        return found


@pytest.mark.parametrize("name", ["probes", "init-containers", "resize", "memory-pressure", "missing-image"])
def test_the_servers_status_has_the_kubelets_summary(name: str) -> None:
    listener = _Listener()
    run_scenario(load_scenario(str(SCENARIOS / f"{name}.yaml")), sinks=(RunObserver(listener),))
    assert len(listener.compared) > 3
    for written, shown in listener.compared:
        assert shown == written


def test_a_deleted_pod_has_no_summary() -> None:
    pod = {"kind": "Pod", "metadata": {"namespace": "a", "name": "b"}, "spec": {"nodeName": "n"}}
    assert shown_pod(ObjectChange(1, "DELETED", pod)) == ("a/b", "n", None)
    nothing: dict[str, Any] = {"conditions": {}, "containers": {}, "initContainers": {}, "ephemeralContainers": {}}
    assert shown_pod(ObjectChange(1, "ADDED", pod))[2] == nothing

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kubesim.app import Simulation
from kubesim.clock import run_virtual
from kubesim.concurrency import TaskSet
from kubesim.kubelet.observability import (
    Metric,
    health_checks,
    metrics_of,
    pods_of,
    render_healthz,
    render_metrics,
    render_pods,
    render_state,
    statistics,
)
from kubesim.runtime.protocol import RuntimeConditions
from kubesim.scenario.load import load_scenario

SCENARIO = Path(__file__).parent.parent.parent / "scenarios" / "static-pod.yaml"


def test_metrics_in_the_format_of_prometheus() -> None:
    metrics = [
        Metric("b_total", "counter", "Things.", {(("what", 'a "thing"\\'),): 2, (("what", "x"),): 1}),
        Metric("a", "gauge", "Plain.", {(): 0.5}),
        Metric("none", "gauge", "Nothing.", {}),
    ]
    assert render_metrics(metrics) == (
        "# HELP a Plain.\n# TYPE a gauge\na 0.5\n"
        "# HELP b_total Things.\n# TYPE b_total counter\n"
        'b_total{what="a \\"thing\\"\\\\"} 2\nb_total{what="x"} 1\n'
    )


def test_healthz_keeps_its_reasons_to_itself() -> None:
    assert render_healthz({"ping": "", "syncloop": ""}) == (200, "ok")
    status, text = render_healthz({"ping": "", "syncloop": "secret"})
    assert status == 500
    assert text == "[+]ping ok\n[-]syncloop failed: reason withheld\nhealthz check failed\n"


def test_an_agent_with_static_and_other_pods() -> None:
    async def main() -> dict[str, Any]:
        async with TaskSet() as tasks:
            scenario = load_scenario(str(SCENARIO))
            simulation = Simulation(scenario, 0, tasks)
            node = simulation.nodes["node-1"]
            node.start()
            for name, content in scenario.spec.sources.file.manifests.items():
                simulation.world.write_static_pod_everywhere(name, content)
            await simulation.clock.sleep(60_000_000)
            kubelet = node.kubelet
            before = statistics(kubelet)
            healthy = health_checks(kubelet, simulation.clock.now())
            node.runtime.set_conditions(RuntimeConditions(runtime_problem="broken"))
            await simulation.clock.sleep(60_000_000)
            found = {
                "state": json.loads(render_state(before)),
                "pods": json.loads(render_pods(pods_of(kubelet))),
                "metrics": render_metrics(metrics_of(kubelet)).splitlines(),
                "healthy": render_healthz(healthy),
                "broken": render_healthz(health_checks(kubelet, simulation.clock.now())),
            }
            await node.close()
            return found

    found = run_virtual(main)
    assert found["healthy"] == (200, "ok")
    assert found["broken"][0] == 500
    assert found["pods"]["kind"] == "PodList"
    assert {item["status"]["phase"] for item in found["pods"]["items"]} == {"Running"}
    count = len(found["pods"]["items"])
    assert len(found["state"]["pods"]) == count
    assert found["state"]["sourcesReady"]
    for line in (
        'kubelet_node_name{node="node-1"} 1',
        f'kubelet_desired_pods{{static="true"}} {count}',
        f'kubelet_active_pods{{static="true"}} {count}',
        f"kubelet_mirror_pods {count}",
        f"kubelet_running_pods {count}",
        f'kubelet_working_pods{{config="desired",lifecycle="sync",static="true"}} {count}',
    ):
        assert line in found["metrics"]

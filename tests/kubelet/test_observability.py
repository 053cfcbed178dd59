from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kubesim.app import Simulation
from kubesim.clock import run_virtual
from kubesim.concurrency import TaskSet
from kubesim.kubelet.metrics.exposition import render_metrics
from kubesim.kubelet.observability import (
    health_checks,
    metrics_of,
    pods_of,
    render_healthz,
    render_pods,
    render_state,
    statistics,
)
from kubesim.runtime.protocol import RuntimeConditions
from kubesim.scenario.language.document import Scenario
from kubesim.scenario.load.loader import load_scenario
from tests.support.played import SERVER, pod

SCENARIO = Path(__file__).parent.parent.parent / "scenarios" / "static-pod.yaml"


def test_healthz_does_not_disclose_its_reasons() -> None:
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
            short = health_checks(kubelet, simulation.clock.now())
            await simulation.clock.sleep(300_000_000)
            found = {
                "state": json.loads(render_state(before)),
                "pods": json.loads(render_pods(pods_of(kubelet))),
                "metrics": render_metrics(metrics_of(kubelet)).splitlines(),
                "healthy": render_healthz(healthy),
                "short": render_healthz(short),
                "broken": render_healthz(health_checks(kubelet, simulation.clock.now())),
            }
            await node.close()
            return found

    found = run_virtual(main)
    assert found["healthy"] == (200, "ok")
    assert found["short"] == (200, "ok"), "a blocked loop counts after five minutes"
    assert found["broken"] == (
        500,
        "[+]ping ok\n[+]log ok\n[-]syncloop failed: reason withheld\nhealthz check failed\n",
    )
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


def test_metrics_of_started_rejected_and_probed_pods() -> None:
    probe = {"exec": {"command": ["true"]}, "periodSeconds": 1}
    main = {"name": "main", "image": "busybox:1", "command": SERVER, "readinessProbe": probe}
    broken = {"name": "broken", "image": "busybox:1", "command": ["/no/such/program"], "restartPolicy": "Never"}
    init = {"name": "init", "image": "busybox:1", "command": ["true"]}
    good = pod("good", containers=[main, broken], initContainers=[init])
    big = pod("big", containers=[{**main, "resources": {"requests": {"cpu": "100"}}}])

    async def run() -> list[str]:
        async with TaskSet() as tasks:
            spec = {"images": [{"name": "busybox:1", "present": True}]}
            simulation = Simulation(Scenario.model_validate({"metadata": {"name": "s"}, "spec": spec}), 0, tasks)
            node = simulation.nodes["node-1"]
            node.start()
            await simulation.clock.sleep(60_000_000)
            for manifest in (good, big):
                simulation.world.apply(manifest)
            await simulation.clock.sleep(8_000_000)
            lines = render_metrics(metrics_of(node.kubelet)).splitlines()
            await node.close()
            return lines

    found = run_virtual(run)
    for line in (
        "kubelet_started_pods_total 1",
        'kubelet_started_containers_total{container_type="init_container"} 1',
        'kubelet_started_containers_total{container_type="container"} 2',
        'kubelet_started_containers_errors_total{code="RunContainerError",container_type="container"} 1',
        'kubelet_admission_rejections_total{reason="OutOfcpu"} 1',
    ):
        assert line in found
    probes = [line for line in found if line.startswith("prober_probe_total")]
    assert len(probes) == 1
    assert 'container="main",namespace="default",pod="good"' in probes[0]
    assert 'probe_type="Readiness",result="successful"' in probes[0]
    assert int(probes[0].rpartition(" ")[2]) > 5

"""The input of a plugin in a private node: a spy at the end of the chain stores its standard input.

Mirrors: containerd internal/cri/server/sandbox_run.go cniNamespaceOpts, toCNIDNS
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubesim.api.timestamps import SECOND
from kubesim.app import Simulation
from kubesim.clock import run_virtual
from kubesim.concurrency import TaskSet
from kubesim.linux.private_node.private import OWN_DIR
from kubesim.runtime.containerd.cni_nodes import CniNodes
from kubesim.scenario.load.loader import parse_scenario
from kubesim.scenario.play.settings import cni_settings, node_plans
from kubesim.scenario.runtimes.paced import RealParts
from tests.support.machine.cni_host import BIN_DIR
from tests.support.machine.cni_runs import ON_THE_HOST
from tests.support.machine.networks import BRIDGE

ANNOTATIONS = "io.kubernetes.cri.pod-annotations"
OFFERED = ("portMappings", "bandwidth", "dns", "cgroupPath", ANNOTATIONS)
SPY = f"""#!/bin/sh
cat > {OWN_DIR}/spy-$CNI_COMMAND.json
python3 -c 'import json; print(json.dumps(json.load(open("{OWN_DIR}/spy-'$CNI_COMMAND'.json")).get("prevResult")))'
"""
SCENARIO = """
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {{name: x}}
spec:
  runtime: cni
  nodes: [{{name: node-1, files: {{/etc/resolv.conf: "nameserver 192.0.2.1\\nsearch corp.example\\n"}}}}]
  cni: {{confDir: {folder}/net.d, binDirs: [{bin}, {folder}]}}
  images: [{{name: "*", present: true}}]
  kubeletConfiguration: {configuration}
  objects:
    - apiVersion: v1
      kind: Pod
      metadata: {{name: web, annotations: {{kubernetes.io/ingress-bandwidth: 1M}}}}
      spec:
        {spec}
        containers: [{{name: main, image: "nginx:1", ports: [{{containerPort: 80, hostPort: 8080}}], {container}}}]
"""


def received(
    folder: Path, spec: str = "", container: str = "", configuration: str = "{}", offered: tuple[str, ...] = OFFERED
) -> tuple[dict[str, Any], str]:
    """The spy's runtimeConfig at ADD, and the uid of the pod."""
    spy = {"type": "spy", "capabilities": dict.fromkeys(offered, True)}
    Path(folder, "net.d").mkdir()
    network = {"cniVersion": "1.0.0", "name": "net", "plugins": [BRIDGE, spy]}
    Path(folder, "net.d", "10-net.conflist").write_text(json.dumps(network))
    Path(folder, "spy").write_text(SPY)
    Path(folder, "spy").chmod(0o755)
    text = SCENARIO.format(
        folder=folder, bin=BIN_DIR, spec=spec, container=container or "env: []", configuration=configuration
    )
    scenario = parse_scenario(text, "x.yaml", overlay=ON_THE_HOST)
    real = CniNodes(cni_settings(scenario.spec), node_plans(scenario.spec))

    async def main() -> str:
        async with TaskSet() as tasks:
            simulation = Simulation(scenario, 0, tasks, real=RealParts(real))
            await tasks.run_until(simulation.run(until=5 * SECOND))
            (pod,) = simulation.store.list("Pod")
            return pod.metadata.uid

    try:
        uid: str = run_virtual(main)
        stored = Path(real.nodes[0].node.state_directory(), "spy-ADD.json")
        return json.loads(stored.read_text()).get("runtimeConfig") or {}, uid
    finally:
        real.close()


def test_a_network_gets_the_capabilities_that_it_declares_as_containerd_passes_them(tmp_path: Path) -> None:
    config, uid = received(tmp_path)
    annotations = config.pop(ANNOTATIONS)
    assert annotations["kubernetes.io/ingress-bandwidth"] == "1M"
    assert config == {
        "portMappings": [{"HostPort": 8080, "ContainerPort": 80, "Protocol": "tcp", "HostIP": ""}],
        "bandwidth": {"IngressRate": 1000000, "IngressBurst": 2**32 - 1, "EgressRate": 0, "EgressBurst": 0},
        "dns": {
            "Servers": ["10.96.0.10"],
            "Searches": ["default.svc.cluster.local", "svc.cluster.local", "cluster.local", "corp.example"],
            "Options": ["ndots:5"],
        },
        "cgroupPath": f"/kubepods/besteffort/pod{uid}",
    }


def test_undeclared_capabilities_are_not_passed(tmp_path: Path) -> None:
    assert received(tmp_path, offered=())[0] == {}


def test_an_empty_list_is_null_after_cri(tmp_path: Path) -> None:
    spec = "dnsPolicy: None\n        dnsConfig: {nameservers: [192.0.2.7]}"
    config, _ = received(tmp_path, spec, offered=("dns",))
    assert config == {"dns": {"Servers": ["192.0.2.7"], "Searches": None, "Options": None}}


@pytest.mark.parametrize(
    ("container", "configuration", "expected"),
    [
        (
            "resources: {requests: {cpu: 100m}}",
            "{cgroupDriver: systemd}",
            "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod<uid>.slice",
        ),
        (
            "resources: {limits: {cpu: 100m, memory: 1Mi}}",
            "{cgroupDriver: systemd}",
            "/kubepods.slice/kubepods-pod<uid>.slice",
        ),
        ("resources: {requests: {cpu: 100m}}", "{cgroupRoot: /kube}", "/kube/kubepods/burstable/pod<uid>"),
    ],
)
def test_the_cgroup_path_is_that_of_the_pods_qos_class_and_the_kubelets_driver(
    tmp_path: Path, container: str, configuration: str, expected: str
) -> None:
    config, uid = received(tmp_path, "", container, configuration, ("cgroupPath",))
    name = uid.replace("-", "_") if "systemd" in configuration else uid
    assert config == {"cgroupPath": expected.replace("<uid>", name)}


def test_without_pod_cgroups_there_is_no_path(tmp_path: Path) -> None:
    configuration = "{cgroupsPerQOS: false, enforceNodeAllocatable: []}"
    assert received(tmp_path, configuration=configuration, offered=("cgroupPath",))[0] == {}


def test_a_pod_with_a_user_namespace_gets_its_network_in_a_private_node(tmp_path: Path) -> None:
    """Its network namespace belongs to a new user namespace, in which only the node's root is mapped."""
    config, _ = received(tmp_path, "hostUsers: false", offered=("cgroupPath",))
    assert config["cgroupPath"].startswith("/kubepods/besteffort/pod")

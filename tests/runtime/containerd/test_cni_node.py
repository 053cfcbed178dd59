"""Pods with real networks, in a node that is gone afterwards."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from kubesim.api.pod import Pod
from kubesim.api.timestamps import MILLISECOND, SECOND
from kubesim.app import Simulation
from kubesim.clock import run_virtual
from kubesim.clock.clock import VIRTUAL_START
from kubesim.concurrency import TaskSet
from kubesim.errors import UsageError
from kubesim.linux.networks import network
from kubesim.runtime.containerd.cni_nodes import CniNodes
from kubesim.runtime.simulated.settings import Latencies, Span
from kubesim.scenario.ending.result import RunResult
from kubesim.scenario.load.loader import parse_scenario
from kubesim.scenario.play.settings import cni_settings, node_plans
from kubesim.scenario.runtimes.paced import RealParts
from kubesim.trace import HashSink
from tests.support.machine.cni_host import on_host
from tests.support.machine.cni_runs import ON_THE_HOST, POD, SPEC, Run
from tests.support.machine.host_state import host_state
from tests.support.machine.unprivileged import unprivileged


def test_the_address_of_a_pod_comes_from_the_plugins() -> None:
    run = Run()
    assert run.result.phases == {"default/pod-0": "Succeeded"}
    assert run.ips() == {"default/pod-0": "10.88.0.2"}
    added = [(each.command, each.plugin, each.pod) for each in run.executions()]
    assert added[:4] == [("ADD", plugin, "default/pod-0") for plugin in ("bridge", "loopback", "portmap", "bandwidth")]
    assert [(command, plugin) for command, plugin, _ in added[4:]][:4] == [
        ("DEL", plugin) for plugin in ("loopback", "bandwidth", "portmap", "bridge")
    ]


@pytest.mark.parametrize(
    ("network", "addresses"),
    [
        ("bridge", ["10.88.0.2/24"]),
        ("ptp", ["10.88.0.2/24"]),
        ("dual-stack", ["10.88.0.2/24", "fd00:10:88::2/64"]),
    ],
)
def test_the_bundled_networks_work(network: str, addresses: list[str]) -> None:
    run = Run(f"cni: {{network: {network}}}")
    assert run.result.phases == {"default/pod-0": "Succeeded"}
    last = next(each for each in run.executions() if (each.command, each.plugin) == ("ADD", "bandwidth"))
    assert [ip["address"] for ip in last.result["ips"]] == addresses


def test_a_pod_of_a_dual_stack_network_has_two_addresses() -> None:
    scenario = parse_scenario(
        SPEC.format(more="cni: {network: dual-stack}") + POD.format(name="pod-0"), "x.yaml", overlay=ON_THE_HOST
    )
    real = CniNodes(cni_settings(scenario.spec), node_plans(scenario.spec))

    async def main() -> list[str]:
        async with TaskSet() as tasks:
            simulation = Simulation(scenario, 0, tasks, real=RealParts(real))
            await tasks.run_until(simulation.run(until=5 * SECOND))
            (pod,) = simulation.store.list("Pod")
            assert isinstance(pod, Pod)
            return [entry.ip for entry in pod.status.pod_ips]

    try:
        assert run_virtual(main) == ["10.88.0.2", "fd00:10:88::2"]
    finally:
        real.close()


def test_the_same_run_has_the_same_hash_with_any_addresses_and_links() -> None:
    one, two = Run(pods=5), Run(pods=5)
    assert one.result.trace_hash == two.result.trace_hash
    macs = [
        [link["mac"] for each in run.executions() if each.plugin == "bridge" and each.result for link in
         each.result["interfaces"]] for run in (one, two)
    ]  # fmt: skip
    assert macs[0] != macs[1]


def test_the_run_is_the_same_with_everything_in_one_instant() -> None:
    """Each pod takes as long as the others, also on another node: plugins and probes run concurrently."""
    pods = "".join(POD.format(name=f"pod-{number}") for number in range(6)).replace('nginx:1"', PROBED)
    scenario = parse_scenario(SPEC.format(more="duration: 10s") + pods, "x.yaml")
    latencies = Latencies(run_sandbox=Span(100 * MILLISECOND))

    def traced() -> tuple[str, dict[str, str]]:
        real, hashed = CniNodes(cni_settings(scenario.spec), node_plans(scenario.spec)), HashSink(placeholders=True)

        async def main() -> RunResult:
            async with TaskSet() as tasks:
                simulation = Simulation(scenario, 0, tasks, (hashed,), latencies=latencies, real=RealParts(real))
                result: RunResult = await tasks.run_until(simulation.run())
                return result

        try:
            phases = run_virtual(main).phases
            return hashed.hexdigest(), phases
        finally:
            real.close()

    assert traced() == traced()


PROBED = 'nginx:1", readinessProbe: {httpGet: {port: 80}}, livenessProbe: {tcpSocket: {port: 80}}'


def test_a_node_allocates_its_pod_range_and_recovers_after_exhaustion() -> None:
    """A /29 has five addresses for pods: the sixth pod waits until another one goes."""
    more = "kubeletConfiguration: {podCIDR: 10.9.0.0/29}\n  steps: [{at: 30s, delete: {pod: pod-0}}]\n  duration: 90s"
    run = Run(more, pods=6)
    assert sorted(run.result.phases.values()) == ["Running"] * 5 + ["Succeeded"]
    assert sorted(set(run.ips().values())) == [f"10.9.0.{number}" for number in range(2, 7)]
    failed = run.messages("FailedCreatePodSandBox")
    assert failed
    assert "no IP addresses available in range set: 10.9.0.1-10.9.0.6" in failed[0]


STORY = """duration: 4m
  steps:
    - {at: 20s, restart: kubelet}
    - {at: 40s, restart: {what: runtime, containers: gone, downFor: 5s}}
    - {at: 80s, reboot: node}
    - {at: 150s, kill: {pod: pod-0, sandbox: true}}"""


def test_a_node_that_restarts_reboots_and_loses_sandboxes_keeps_one_network_for_each_pod() -> None:
    run = Run(STORY)
    assert not run.result.expectations_failed
    assert run.result.phases == {"default/pod-0": "Running"}
    (picture,) = run.result.networks
    bridge = next(link for link in picture.own["links"] if link["name"] == "cni0")
    assert len([link for link in picture.own["links"] if link["master"] == bridge["index"]]) == 1
    assert list(picture.pods) == ["default/pod-0"]
    addresses = [entry["address"] for entry in picture.pods["default/pod-0"]["addresses"]]
    assert f"{run.ips()['default/pod-0']}/24" in addresses


def test_configurations_and_plugins_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "net.d").mkdir()
    plugin = tmp_path / "fixed"
    interfaces, ips = [{"name": "eth0", "sandbox": "x"}], [{"interface": 0, "address": "192.0.2.7/24"}]
    answer = {"cniVersion": "1.0.0", "interfaces": interfaces, "ips": ips}
    plugin.write_text(f"#!/bin/sh\n[ $CNI_COMMAND = ADD ] && echo '{json.dumps(answer)}'\nexit 0\n")
    plugin.chmod(0o755)
    conflist = {"cniVersion": "1.0.0", "name": "own", "plugins": [{"type": "fixed"}]}
    (tmp_path / "net.d" / "10-own.conflist").write_text(json.dumps(conflist))
    run = Run(f"cni: {{confDir: {tmp_path}/net.d, binDirs: [{tmp_path}, /usr/lib/cni]}}")
    assert run.ips() == {"default/pod-0": "192.0.2.7"}


def test_without_a_configuration_the_node_is_not_ready(tmp_path: Path) -> None:
    run = Run(f"cni: {{confDir: {tmp_path}}}\n  duration: 20s")
    assert run.result.phases == {"default/pod-0": "Pending"}
    assert "cni plugin not initialized" in run.messages("NetworkNotReady")[0]


def test_a_configuration_added_later_is_loaded(tmp_path: Path) -> None:
    """As in containerd: when the file has been written."""
    conflist = network("bridge", ("10.9.0.0/24", "fd00:9::/64"))
    scenario = parse_scenario(
        SPEC.format(more=f"cni: {{confDir: {tmp_path}}}") + POD.format(name="pod-0"), "x.yaml", overlay=ON_THE_HOST
    )
    real = CniNodes(cni_settings(scenario.spec), node_plans(scenario.spec))

    async def main() -> RunResult:
        async with TaskSet() as tasks:
            simulation = Simulation(scenario, 0, tasks, real=RealParts(real))
            clock = simulation.clock
            clock.call_at(VIRTUAL_START + 20 * SECOND, (tmp_path / "10-net.conflist").write_text, conflist)
            result: RunResult = await tasks.run_until(simulation.run(until=60 * SECOND))
            (pod,) = simulation.store.list("Pod")
            assert isinstance(pod, Pod)
            assert pod.status.pod_ip == "10.9.0.2"
            return result

    try:
        assert run_virtual(main).phases == {"default/pod-0": "Running"}
    finally:
        real.close()


@pytest.mark.parametrize(
    ("cni", "words"),
    [
        ("binDirs: [/nowhere]", "--cni-bin-dir /nowhere is not a directory"),
        ("binDirs: [/run/x]", "--cni-bin-dir /run/x is hidden in a private node, whose /run is its own"),
        ("binDirs: [/usr/bin]", "the CNI plugins loopback, bridge, host-local, portmap, bandwidth are not in /usr/bin"),
        ("confDir: /nowhere", "--cni-conf-dir /nowhere is not a directory"),
    ],
)
def test_an_impossible_setting_is_reported_before_anything_runs(cni: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Run(f"cni: {{{cni}}}")


def three_pods() -> dict[str, Any]:
    before = host_state()
    Run(pods=3)
    return {"before": before, "after": host_state()}


def test_the_host_is_the_same_before_and_after() -> None:
    reported = on_host(three_pods)
    assert reported["after"] == reported["before"]


def without_rights() -> dict[str, Any]:
    before = host_state()
    with unprivileged() as user:
        (user.folder / "x.yaml").write_text(SPEC.format(more="") + POD.format(name="pod-0"))
        said = user.run("-m", "kubesim", "run", "-o", "json", "x.yaml")
        user.run("-m", "kubesim", "run", "-q", "--runtime", "cni", "scenarios/grpc-probe.yaml")  # as it expects
    return {"said": said, "before": before, "after": host_state()}


def test_an_unprivileged_user_has_the_same_run() -> None:
    reported = on_host(without_rights)
    assert reported["after"] == reported["before"]
    outcome = json.loads(reported["said"])["runs"][0]
    assert outcome["phases"] == {"default/pod-0": "Succeeded"}
    assert outcome["traceHash"] == Run().result.trace_hash


FORBIDDEN = """
import os, sys
from kubesim.linux import namespaces
uid, gid = os.geteuid(), os.getegid()
namespaces.unshare(namespaces.CLONE_NEWUSER)
for name, text in (("setgroups", "deny"), ("uid_map", f"1000 {uid} 1"), ("gid_map", f"1000 {gid} 1")):
    with open(f"/proc/self/{name}", "w") as file:
        file.write(text)
with open("/proc/sys/user/max_user_namespaces", "w") as file:
    file.write("0")  # in the namespace that this process has just made
os.execv(sys.executable, [sys.executable, "-S", "-m", "kubesim", "run", *sys.argv[1:], "scenarios/hello-pod.yaml"])
"""


def test_forbidden_user_namespaces_are_reported_with_the_remedy() -> None:
    with unprivileged() as user:
        (user.folder / "forbidden.py").write_text(FORBIDDEN)
        with user.start("forbidden.py", "--runtime", "cni") as process:
            out, err = process.communicate()
        assert (process.returncode, out) == (2, "")
        assert err == (
            "kubesim: error: no private node for real pod networks: a user namespace: No space left on device; "
            "user namespaces are switched off: sysctl user.max_user_namespaces=10000 as root allows them, "
            "or use --runtime simulated, which has no requirements\n"
        )
        assert "last phase Succeeded" in user.run("forbidden.py", "--runtime", "simulated")


def test_nothing_of_kubesim_runs_afterwards() -> None:
    Run()
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    assert not [pid for pid in children if b"kubesim.linux" in Path(f"/proc/{pid}/cmdline").read_bytes()]


LATE = "cni: {{faults: [{{plugin: bridge, verb: ADD, do: 1*delay({delay})}}]}}\n  duration: 6m"


def test_a_slow_plugin_is_ended_when_the_kubelet_gives_up() -> None:
    run = Run(LATE.format(delay="10m"))
    late = "Failed to create pod sandbox: rpc error: code = DeadlineExceeded desc = context deadline exceeded"
    assert run.messages("FailedCreatePodSandBox") == [late]
    assert run.result.phases == {"default/pod-0": "Running"}


def test_a_sandbox_whose_kubelet_has_died_is_reverted_and_the_next_kubelet_creates_another() -> None:
    run = Run(LATE.format(delay="1m") + "\n  steps: [{at: 2s, restart: kubelet}]")
    assert run.result.phases == {"default/pod-0": "Running"}
    commands = [(each.command, each.error) for each in run.executions() if each.plugin == "bridge"]
    given_up = "netplugin failed with no error message: context canceled"
    assert commands == [("ADD", given_up), ("DEL", ""), ("ADD", "")]
    assert run.messages("FailedCreatePodSandBox") == []

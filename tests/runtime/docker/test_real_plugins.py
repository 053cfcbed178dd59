"""Real CNI plugins called by the kubelet's own network plugin, in a private node."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from kubesim.errors import CniError, UsageError
from kubesim.runtime.docker.real_node import address_of
from kubesim.trace.records import RuntimeStep
from tests.support.machine.cni_runs import Run


def commands(run: Run) -> list[str]:
    return [f"{each.command} {each.plugin}" for each in run.executions()]


def test_v1_12_calls_the_chain_after_pause_runs_and_deletes_the_default_network_only() -> None:
    run = Run("profile: v1.12")
    assert run.ips() == {"default/pod-0": "10.88.0.2"}
    assert commands(run) == [
        "ADD loopback", "ADD bridge", "ADD portmap", "ADD bandwidth", "DEL bandwidth", "DEL portmap", "DEL bridge",
    ]  # fmt: skip
    records = run.sink.records
    started = next(r.seq for r in records if isinstance(r, RuntimeStep) and r.step == "start the sandbox container")
    assert started < run.executions()[0].seq
    assert run.result.phases == {"default/pod-0": "Running"}  # these kubelets wrote no final phase


def test_v1_6_calls_a_single_plugin() -> None:
    run = Run("profile: v1.6")
    assert run.ips() == {"default/pod-0": "10.88.0.2"}
    # DEL runs again for an infra container that is dead, until its record is removed.
    assert commands(run)[:3] == ["ADD loopback", "ADD bridge", "DEL bridge"]
    assert {*commands(run)[3:]} <= {"DEL bridge"}
    assert run.result.phases == {"default/pod-0": "Running"}  # these kubelets wrote no last phase


HANGS = """cni: {faults: [{plugin: bridge, verb: ADD, do: '1*hang'}]}
  duration: 9m
  steps: [{at: 8m, restart: kubelet}]"""


def test_v1_12_abandons_a_sandbox_whose_plugin_hangs_and_the_next_one_waits_for_the_same_plugin() -> None:
    """A kubelet that starts does not know whether the network is ready, so it runs DEL first."""
    run = Run(f"profile: v1.12\n  {HANGS}")
    late = "Failed create pod sandbox: rpc error: code = DeadlineExceeded desc = context deadline exceeded"
    assert run.messages("FailedCreatePodSandBox") == [late]
    undo = ["DEL bandwidth", "DEL portmap", "DEL bridge"]
    assert commands(run)[:7] == ["ADD loopback", "ADD bridge", *undo, "ADD loopback", "ADD bridge"]
    assert run.executions()[2].t > 480_000_000, "not before the kubelet was restarted"
    assert run.ips() == {"default/pod-0": "10.88.0.3"}  # the first address was never released


def test_v1_6_waits_for_a_hanging_plugin_and_keeps_the_infra_container_across_a_restart() -> None:
    run = Run(f"profile: v1.6\n  {HANGS}")
    assert run.messages("FailedSync") == []
    assert commands(run) == ["ADD loopback", "ADD bridge"]
    assert run.result.phases == {"default/pod-0": "Running"}


def test_v1_12_runs_del_after_a_failed_add_and_again_before_the_next_attempt() -> None:
    run = Run("""profile: v1.12
  cni: {faults: [{plugin: bandwidth, verb: ADD, do: '1*error(11, "no address")'}]}""")
    undo = ["DEL bandwidth", "DEL portmap", "DEL bridge"]
    first = commands(run)[: commands(run).index("DEL bandwidth")]
    assert commands(run) == [*first, *undo, *undo, "ADD loopback", "ADD bridge", "ADD portmap", "ADD bandwidth", *undo]
    assert run.messages("SandboxChanged") == ["Pod sandbox changed, it will be killed and re-created."]
    [message] = run.messages("FailedCreatePodSandBox")
    assert message.endswith('NetworkPlugin cni failed to set up pod "pod-0_default" network: no address')
    assert run.result.phases == {"default/pod-0": "Running"}  # these kubelets wrote no last phase


def test_v1_6_runs_no_del_after_a_failed_add_but_before_the_next_infra_container() -> None:
    run = Run("""profile: v1.6
  cni: {faults: [{plugin: bridge, verb: ADD, do: '1*crash'}]}""")
    assert commands(run)[:5] == ["ADD loopback", "ADD bridge", "DEL bridge", "ADD loopback", "ADD bridge"]
    assert {*commands(run)[5:]} == {"DEL bridge"}
    assert run.messages("FailedCreatePodSandBox") == []
    assert run.result.phases == {"default/pod-0": "Running"}  # these kubelets wrote no last phase


def plugin(folder: Path, name: str) -> None:
    """A plugin that records its calls, and returns no address."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("#!/bin/sh\necho '{}'\n")
    os.chmod(folder / name, 0o755)


def test_v1_12_accepts_plugin_directories_separated_by_commas(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    run = Run(f"""profile: v1.12
  cni: {{binDirs: ["{tmp_path}/empty,/usr/lib/cni"]}}""")
    assert run.ips() == {"default/pod-0": "10.88.0.2"}
    with pytest.raises(UsageError, match=r"--cni-bin-dir .*empty,/usr/lib/cni is not a directory"):
        Run(f"""profile: v1.6
  cni: {{binDirs: ["{tmp_path}/empty,/usr/lib/cni"]}}""")


def test_v1_6_searches_configurations_in_the_plugin_directory(tmp_path: Path) -> None:
    bridge = {
        "cniVersion": "0.2.0", "name": "mine", "type": "bridge", "bridge": "mine0", "isGateway": True,
        "ipam": {"type": "host-local", "subnet": "10.77.0.0/24"},
    }  # fmt: skip
    (tmp_path / "10-mine.conf").write_text(json.dumps(bridge))
    run = Run(f"""profile: v1.6
  cni: {{plugin: {{dir: "{tmp_path}"}}}}""")
    assert run.ips() == {"default/pod-0": "10.77.0.2"}


def test_a_current_configuration_is_too_new_for_v1_12(tmp_path: Path) -> None:
    plugin(tmp_path / "bin", "mine")
    network = {"cniVersion": "1.0.0", "name": "net", "plugins": [{"type": "mine"}]}
    (tmp_path / "10-net.conflist").write_text(json.dumps(network))
    run = Run(f"""profile: v1.12
  duration: 5s
  cni: {{confDir: "{tmp_path}", binDirs: ["{tmp_path}/bin", /usr/lib/cni]}}""")
    assert run.messages("FailedCreatePodSandBox")[0].endswith('network: unsupported CNI result version "1.0.0"')


def test_these_profiles_cannot_use_the_host_network() -> None:
    with pytest.raises(UsageError, match=r"^--host-network-node is not for profiles v1.6 and v1.12"):
        Run("profile: v1.12", host_state="/nowhere")


def test_the_address_is_the_first_global_one_of_the_interface() -> None:
    links = [{"name": "lo", "index": 1}, {"name": "eth0", "index": 2}]

    def seen(*addresses: str) -> dict[str, object]:
        local = {"index": 2, "address": "fe80::1/64", "link_local": True}
        there = [{"index": 2, "address": each, "link_local": False} for each in addresses]
        return {"links": links, "addresses": [{**local, "index": 1, "link_local": False}, local, *there]}

    assert address_of(seen("fd00::2/64", "10.1.0.2/24"), "eth0") == "10.1.0.2"
    assert address_of(seen("fd00::2/64"), "eth0") == "fd00::2"
    with pytest.raises(CniError, match=r"^Unexpected address output"):
        address_of(seen(), "eth0")
    with pytest.raises(CniError, match='Device "eth1" does not exist'):
        address_of(seen(), "eth1")

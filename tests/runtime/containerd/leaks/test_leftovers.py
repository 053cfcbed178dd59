"""Nothing remains: neither of failing plugins, nor of a kubesim that is killed on the host's network."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from kubesim.app import run_scenario
from kubesim.cli.main import main
from kubesim.cni.cache import RuntimeConf
from kubesim.cni.conf.network_lists import network_conf_from_bytes
from kubesim.cni.exec.process import RealExec
from kubesim.cni.libcni import CNIConfig
from kubesim.errors import InputError, UsageError
from kubesim.scenario.load.loader import load_scenario, parse_scenario
from tests.support.machine.cni_host import BIN_DIR, on_host
from tests.support.machine.cni_runs import ON_THE_HOST, POD, Run
from tests.support.machine.leaks import STORY, leaks, left_over, lived
from tests.support.machine.networks import BRIDGE, PORTMAP, conflist, new_namespace


def ended(state: str, by: signal.Signals) -> int:
    """kubesim gets a signal when its pod runs, long before the end; returns how it exited."""
    words = ["run", "-o", "jsonl", "--speed", "5", "--host-network-node", "--state", state, "-"]
    outcome = lived(words, STORY, lambda record: record.get("reason") == "Started" and bool(record["pod"]), by=by)
    return int(outcome["code"])


def interrupted(folder: str, by: int) -> dict[str, Any]:
    state = f"{folder}/state"
    return {"code": ended(state, signal.Signals(by)), "after": left_over(state)}


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_a_process_that_is_asked_to_end_leaves_nothing(tmp_path: Path, by: signal.Signals) -> None:
    reported = on_host(interrupted, folder=str(tmp_path), by=by)
    assert reported["code"] == 130
    assert not any(reported["after"].values()), reported["after"]


# -- the command ----------------------------------------------------------------------------------------------------


def reported_and_cleaned(folder: str) -> dict[str, Any]:
    state = f"{folder}/state"
    return {
        "killed": ended(state, signal.SIGKILL),
        "found": leaks("--state", state),
        "json": leaks("--state", state, "-o", "json"),
        "cleaned": leaks("--state", state, "--clean"),
        "after": left_over(state),
    }


def test_leaks_are_listed_and_removed(tmp_path: Path) -> None:
    reported = on_host(reported_and_cleaned, folder=str(tmp_path))
    assert reported["killed"] == -signal.SIGKILL
    code, text = reported["found"]
    assert code == 1
    kinds = [line.split()[0] for line in text.splitlines()]
    assert set(kinds) == {"sandbox", "namespace", "link", "chain", "address", "cache", "network"}, text
    assert "of pod default/web" in text
    assert reported["json"][0] == 1
    assert len(json.loads(reported["json"][1])["leaks"]) == len(kinds)
    assert reported["cleaned"] == [0, f"nothing is left behind ({tmp_path}/state)\n"]
    assert not any(reported["after"].values()), reported["after"]


def with_lost_state(folder: str) -> dict[str, Any]:
    """There is also a pod of another client on the host; and the state directory of kubesim is empty."""
    ports = {"portMappings": [{"hostPort": 9999, "containerPort": 80, "protocol": "tcp"}]}
    others = network_conf_from_bytes(conflist(BRIDGE, PORTMAP))
    runtime = RuntimeConf("theirs", new_namespace("theirs"), "eth0", (), ports)
    asyncio.run(CNIConfig([BIN_DIR], RealExec()).add_network_list(others, runtime))
    before, state = left_over(f"{folder}/state"), f"{folder}/state"
    ended(state, signal.SIGKILL)
    for name in ("attachments", "sandboxes", "cni"):
        shutil.rmtree(f"{state}/{name}")
    own = next(path for path in Path("/var/lib/cni/networks").iterdir() if path.name.startswith("kubesim-"))
    (own / "10.88.0.99").touch()  # host-local was killed before it wrote into it
    found, cleaned = leaks("--state", state), leaks("--state", state, "--clean")
    return {"found": found, "cleaned": cleaned, "before": before, "after": left_over(state)}


def test_without_its_state_resources_are_found_by_name_and_others_are_kept(tmp_path: Path) -> None:
    reported = on_host(with_lost_state, folder=str(tmp_path))
    kinds = [line.split()[0] for line in reported["found"][1].splitlines()]
    assert set(kinds) == {"namespace", "link", "chain", "address", "network"}
    assert "10.88.0.99" in reported["found"][1]
    assert reported["cleaned"] == [0, f"nothing is left behind ({tmp_path}/state)\n"]
    assert any("theirs" in rule for rule in reported["before"]["chains"])
    assert reported["after"] == reported["before"]


def test_without_an_earlier_run_there_is_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cni", "leaks", "--state", str(tmp_path / "none")]) == 0
    assert capsys.readouterr().out == f"nothing is left behind ({tmp_path}/none)\n"
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("name", ["lock", "plugins.lock"])
def test_an_unusable_state_directory_is_named(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "state" / name).mkdir(parents=True)
    assert main(["cni", "leaks", "--clean", "--state", str(tmp_path / "state")]) == 2
    assert capsys.readouterr().err == f"kubesim: error: --state {tmp_path}/state: Is a directory\n"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--state", "x"], "--state needs --host-network-node: a private node leaves nothing behind"),
        (["--host-network-node"], "--host-network-node needs --runtime cni"),
        (["--host-network-node", "--step"], "--step cannot be combined with --host-network-node"),
    ],
)
def test_flags_that_cannot_be_combined(words: list[str], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *words, "scenarios/hello-pod.yaml"]) == 2
    assert problem in capsys.readouterr().err


# -- in a private node, too -----------------------------------------------------------------------------------------


def test_the_remains_of_a_failed_sandbox_are_removed_a_minute_later() -> None:
    """containerd forgets a sandbox that never started, even if its DEL failed; its address would be lost
    permanently."""
    more = """kubeletConfiguration: {podCIDR: 10.9.0.0/29}
  duration: 2m
  cni:
    faults: [{plugin: portmap, verb: ADD, do: '5*error(11, "again")'}, {plugin: portmap, verb: DEL, do: 5*hang}]"""
    both = Run(more, pods=2)
    failed = both.messages("FailedCreatePodSandBox")
    assert 'plugin type="portmap" failed (add): again' in failed[0]
    assert any("no IP addresses available in range set: 10.9.0.1-10.9.0.6" in message for message in failed)
    assert set(both.result.phases.values()) == {"Running"}


ANSWERS = """#!/bin/sh
case $CNI_COMMAND in
ADD) echo '{"cniVersion": "1.1.0", "interfaces": [{"name": "eth0", "sandbox": "x"}],
            "ips": [{"interface": 0, "address": "192.0.2.7/24"}]}' ;;
esac
"""


def test_plugins_that_can_collect_garbage_get_the_valid_attachments(tmp_path: Path) -> None:
    (tmp_path / "own").write_text(ANSWERS)
    (tmp_path / "own").chmod(0o755)
    (tmp_path / "net.d").mkdir()
    (tmp_path / "net.d/10-own.conflist").write_text(
        '{"cniVersion": "1.1.0", "name": "n", "plugins": [{"type": "own"}]}'
    )
    run = Run(
        f"""cni:
    confDir: {tmp_path}/net.d
    binDirs: [{tmp_path}, /usr/lib/cni]
    faults: [{{plugin: own, verb: ADD, do: 1*crash}}]
  duration: 2m"""
    )
    assert run.result.phases == {"default/pod-0": "Running"}
    collected = [each for each in run.executions() if each.command == "GC"]
    assert [(each.plugin, each.t // 1_000_000, each.error) for each in collected] == [("own", 60, "")]


def test_faults_apply_to_executed_plugins() -> None:
    known = "loopback, bridge, portmap, bandwidth, host-local"
    with pytest.raises(UsageError, match=f"cni.faults: dhcp is not a plugin of these networks: {known}"):
        Run("cni: {faults: [{plugin: dhcp, do: hang}]}")


@pytest.mark.parametrize(
    ("term", "words"),
    [
        ('error(11, "no lease")', 'plugin type="bridge" failed (add): no lease'),
        ("crash", "netplugin failed with no error message: signal: segmentation fault"),
        ("garbage", "invalid character 'g' looking for beginning of value"),
        ("partial", "unexpected end of JSON input"),
        ("hang", "rpc error: code = DeadlineExceeded desc = context deadline exceeded"),
    ],
)
def test_a_plugin_started_by_another_plugin_can_fail_too(term: str, words: str) -> None:
    run = Run(f"duration: 6m\n  cni: {{faults: [{{plugin: host-local, verb: ADD, do: '1*{term}'}}]}}")
    assert words in run.messages("FailedCreatePodSandBox")[0]
    assert run.result.phases == {"default/pod-0": "Running"}


def test_an_invalid_fault_is_reported_with_its_line() -> None:
    text = "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nmetadata: {name: x}\nspec:\n  runtime: cni\n  cni:\n"
    text += "    faults:\n      - {do: explode}\n" + POD.format(name="a")
    with pytest.raises(InputError, match=r"x.yaml:8: spec.cni.faults\[0\].do: 'explode' is not one of ok, error"):
        parse_scenario(text, "x.yaml", overlay=ON_THE_HOST)


def test_the_host_is_one_node(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="--host-network-node is one node; the scenario has 2"):
        on_host(two_nodes, folder=str(tmp_path))


def two_nodes(folder: str) -> None:
    run_scenario(load_scenario("scenarios/two-nodes.yaml"), host_state=f"{folder}/state")

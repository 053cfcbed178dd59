"""`kubesim cni`: configurations, commands with their plugin executions, recordings and replays."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from kubesim.cli.main import main
from kubesim.linux import netns
from tests.support.machine.cni_host import BIN_DIR, NETNS_DIR, links, on_host
from tests.support.machine.unprivileged import unprivileged

BRIDGE = {"type": "bridge", "bridge": "cni0", "ipam": {"type": "host-local", "subnet": "10.9.0.0/24"}}


@pytest.fixture
def conf_dir(tmp_path: Path) -> Path:
    """A valid list, a shadowed file, and an ignored one."""
    folder = tmp_path / "net.d"
    folder.mkdir()
    network = {"cniVersion": "1.0.0", "name": "mynet", "plugins": [BRIDGE, {"type": "nosuch"}]}
    (folder / "10-mynet.conflist").write_text(json.dumps(network))
    (folder / "20-bad.conf").write_text("{")
    (folder / "README").write_text("hello")
    return folder


def places(folder: Path) -> list[str]:
    return ["--conf-dir", str(folder), "--bin-dir", BIN_DIR]


def complaint(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["cni", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert re.fullmatch(r"kubesim: error: .+\n", said.err), said.err
    return said.err.removeprefix("kubesim: error: ").rstrip("\n")


def test_conf_lists_what_would_be_loaded_and_why_not(conf_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cni", "conf", *places(conf_dir)]) == 1  # a binary is missing
    assert capsys.readouterr().out.splitlines() == [
        "10-mynet.conflist: loaded as eth0: network 'mynet', version 1.0.0",
        "    bridge with host-local",
        "    nosuch",
        f'    missing: failed to find plugin "nosuch" in path [{BIN_DIR}]',
        "20-bad.conf: not reached: max_conf_num is 1",
        "README: ignored: the name does not end in .conf, .conflist, .json",
    ]


def test_conf_as_json(conf_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["cni", "conf", *places(conf_dir), "--max-conf-num", "0", "-o", "json"])
    reported = json.loads(capsys.readouterr().out)
    assert [(entry["file"], entry["state"]) for entry in reported] == [
        ("10-mynet.conflist", "loaded"), ("20-bad.conf", "bad"), ("README", "ignored"),
    ]  # fmt: skip
    assert reported[1]["why"] == "error parsing configuration: unexpected end of JSON input"


def test_conf_of_an_older_kubelet(conf_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (conf_dir / "05-bad.conf").write_text("{}")
    assert main(["cni", "conf", *places(conf_dir), "--profile", "v1.12"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"{conf_dir}/10-mynet.conflist: chosen: network 'mynet'"
    assert main(["cni", "conf", *places(conf_dir), "--profile", "v1.6", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["chosen"]["file"] == f"{conf_dir}/05-bad.conf"


def test_info_equals_crictl_info(conf_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cni", "info", *places(conf_dir)]) == 0
    reported = json.loads(capsys.readouterr().out)
    assert [network["Config"]["Name"] for network in reported["cniconfig"]["Networks"]] == ["cni-loopback", "mynet"]
    assert reported["lastCNILoadStatus"] == "OK"

    (conf_dir / "05-bad.conf").write_text("{")
    assert main(["cni", "info", *places(conf_dir)]) == 1
    reported = json.loads(capsys.readouterr().out)
    assert reported["status"]["conditions"][1]["message"] == (
        "Network plugin returns error: cni plugin not initialized"
    )
    assert reported["lastCNILoadStatus"].endswith("invalid cni config: failed to load cni config")


def test_config_dump_equals_containerds(conf_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cni", "config-dump", "--conf-dir", str(conf_dir), "--bin-dir", "/a'b", "--max-conf-num", "0"]) == 0
    [cni] = tomllib.loads(capsys.readouterr().out)["plugins"].values()
    assert cni["cni"] == {
        "bin_dir": "", "bin_dirs": ["/a'b"], "conf_dir": str(conf_dir), "max_conf_num": 0, "setup_serially": False,
        "conf_template": "", "ip_pref": "", "use_internal_loopback": False,
    }  # fmt: skip
    assert main(["cni", "config-dump", "--internal-loopback", "--setup-serially"]) == 0
    reported = capsys.readouterr().out
    assert "      setup_serially = true" in reported
    assert "      use_internal_loopback = true" in reported


def test_version(conf_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cni", "version", "bridge", "nosuch", *places(conf_dir)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "bridge: 0.1.0 0.2.0 0.3.0 0.3.1 0.4.0 1.0.0",
        f'nosuch: error: failed to find plugin "nosuch" in path [{BIN_DIR}]',
    ]


def test_errors(conf_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    at = places(conf_dir)
    assert "needs a NETWORK" in complaint(capsys, "add", *at)
    assert "needs a NETNS" in complaint(capsys, "add", "mynet", *at)
    (conf_dir / "20-bad.conf").unlink()
    assert complaint(capsys, "add", "other", "x", *at).startswith(
        f'no net configuration with name "other" in {conf_dir}'
    )
    assert complaint(capsys, "add", "mynet", "x", *at, "--args", "A") == "--args: 'A' is not K=V"
    assert "not JSON" in complaint(capsys, "add", "mynet", "x", *at, "--capability-args", "{")
    assert "must be a JSON object" in complaint(capsys, "add", "mynet", "x", *at, "--capability-args", "[]")
    assert "must be ID/IFNAME" in complaint(capsys, "gc", "mynet", *at, "--valid", "x")
    assert "not empty" in complaint(capsys, "add", "mynet", "x", *at, "--record", str(conf_dir))
    assert "not a recording" in complaint(capsys, "add", "--replay", str(conf_dir))
    assert "a colon" in complaint(capsys, "conf", "--bin-dir", "/a:/b")
    assert "kubesim has no bundled plugin bridge" in complaint(capsys, "install", str(tmp_path), "bridge")
    assert "numbers" in complaint(capsys, "bench", "--parallel", "x")


def kubesim(*arguments: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "kubesim", "cni", *arguments], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def a_session(folder: str) -> dict[str, Any]:
    """Commands of an engineer, in order."""
    Path(folder, "10-mynet.conflist").write_text(
        json.dumps({"cniVersion": "1.0.0", "name": "mynet", "plugins": [BRIDGE]})
    )
    at = ["--conf-dir", folder, "--bin-dir", BIN_DIR]
    netns.new_netns(os.path.join(NETNS_DIR, "pod"))
    reported = {
        "add": kubesim("add", "mynet", "pod", *at, "--record", f"{folder}/recording"),
        "again": kubesim("add", "mynet", "pod", *at),
        "check": kubesim("check", "mynet", "pod", *at, "-o", "json", "--delegated"),
        "status": kubesim("status", "mynet", *at),
        "del": kubesim("del", "mynet", "pod", *at, "-q"),
        "gc": kubesim("gc", "mynet", *at),
    }
    return {**reported, "links": links(), "recorded": sorted(os.listdir(f"{folder}/recording"))}


def test_a_session_with_real_plugins(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reported = on_host(a_session, folder=str(tmp_path))
    code, out, _ = reported["add"]
    assert code == 0
    lines = out.splitlines()
    assert re.fullmatch(r"ADD bridge  [\d.]+ ms  exit status 0", lines[0])
    assert "    env     CNI_NETNS=/var/run/netns/pod" in lines
    assert any(line.startswith('    stdin   {"bridge":"cni0","cniVersion":"1.0.0"') for line in lines)
    assert json.loads(out[out.index("\n{\n") :])["ips"][0]["address"] == "10.9.0.2/24"

    code, out, err = reported["again"]
    assert code == 1
    assert "container veth name provided (eth0) already exists" in err
    assert err.startswith("kubesim: error: plugin type=")

    code, out, _ = reported["check"]
    executions = json.loads(out)["executions"]
    assert [(entry["plugin"], entry["delegated"]) for entry in executions] == [("bridge", False), ("host-local", True)]
    assert reported["del"] == [0, "", ""]
    too_old = "plugins know {} from version 1.1.0 on, and the network has 1.0.0\n"
    assert reported["status"] == [0, f"network mynet: no plugin was asked: {too_old.format('STATUS')}", ""]
    no_stale = "no attachment in the cache had to be detached"
    assert reported["gc"] == [0, f"network mynet: {no_stale}; {too_old.format('GC')}", ""]
    assert reported["links"] == ["cni0", "lo"]

    assert reported["recorded"] == ["0001-ADD-bridge.json", "operation.json"]
    recording = tmp_path / "recording"
    assert main(["cni", "add", "--replay", str(recording), "-q"]) == 0  # here, without permissions
    assert json.loads(capsys.readouterr().out)["ips"][0]["address"] == "10.9.0.2/24"

    operation = json.loads((recording / "operation.json").read_text())
    (recording / "operation.json").write_text(json.dumps(operation | {"ifname": "eth1"}))
    assert main(["cni", "add", "--replay", str(recording), "-q"]) == 1
    assert "CNI_IFNAME was 'eth0', now it is 'eth1'" in capsys.readouterr().out


def test_an_add_that_times_out_is_undone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plugin = tmp_path / "hang"
    plugin.write_text('#!/bin/sh\n[ "$CNI_COMMAND" = DEL ] || exec sleep 4720\n')
    plugin.chmod(0o755)
    network = {"cniVersion": "1.0.0", "name": "n", "plugins": [{"type": "hang"}]}
    (tmp_path / "1.conflist").write_text(json.dumps(network))
    at = ["--conf-dir", str(tmp_path), "--bin-dir", str(tmp_path), "--cache-dir", str(tmp_path / "cache")]
    assert main(["cni", "add", "n", "/x", *at, "--timeout", "200ms", "-o", "json"]) == 1
    reported = json.loads(capsys.readouterr().out)
    assert [entry["env"]["CNI_COMMAND"] for entry in reported["executions"]] == ["ADD", "DEL"]
    assert reported["error"] == (
        'plugin type="hang" failed (add): netplugin failed with no error message: signal: killed '
        "(context deadline exceeded); cleaned up with DEL"
    )


def test_install_writes_plugins_that_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cni", "install", str(tmp_path)]) == 0
    path = capsys.readouterr().out.strip()
    answer = subprocess.run([path], env={"CNI_COMMAND": "VERSION"}, capture_output=True, text=True, check=True).stdout
    assert json.loads(answer)["supportedVersions"][-1] == "1.1.0"


def test_bench_prints_a_line_per_number_of_concurrent_pods() -> None:
    code, out, err = kubesim("bench", "--pods", "2", "--pairs", "1", "--parallel", "1,2")
    assert code == 0
    assert re.fullmatch(r"cni bench: 1 of 4 pairs of runs, about \d+ s left\n", err)
    assert len(out.splitlines()) == 2
    assert re.match(r"  1 at a time: \d\.\d{3}x bare execution \(1 pairs", out)


def without_rights() -> list[Any]:
    with unprivileged() as user:
        (user.folder / "10-mynet.conflist").write_text(json.dumps({"name": "mynet", "plugins": [BRIDGE]}))
        os.makedirs(NETNS_DIR, exist_ok=True)
        netns.new_netns(f"{NETNS_DIR}/pod")
        words = ["-m", "kubesim", "cni", "add", "mynet", "pod", "-q", "--conf-dir", str(user.folder)]
        with user.start(*words, "--bin-dir", BIN_DIR) as process:
            out, err = process.communicate()
    return [process.returncode, out, err]


def test_add_without_permissions_suggests_alternatives() -> None:
    code, out, err = on_host(without_rights)
    assert (code, out) == (1, "")
    assert err.startswith("kubesim: error: ")
    assert err.endswith(
        "; plugins need root: use a network of your own (`unshare -rnm`, then the command), or a private node "
        "(`kubesim run --runtime cni`)\n"
    )

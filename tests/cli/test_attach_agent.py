"""`kubesim attach --agent` with a cluster over HTTP: the timeline, the verdict and the exit code."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubesim.attach.agent.node_scenario import node_scenario
from kubesim.cli.main import main
from tests.support.attach.pods import pod, running, terminated
from tests.support.cluster.kubeconfig import kubeconfig
from tests.support.cluster.served import ServedCluster, served_cluster


@pytest.fixture
def cluster() -> Iterator[ServedCluster]:
    with served_cluster(tokens=["t0ken"]) as served:
        ready = pod(running(), metadata={"name": "ok", "uid": ""}, spec={"nodeName": "node-a"})
        served.call(served.store.create, ready)
        yield served


@pytest.fixture
def attach(cluster: ServedCluster, tmp_path: Path) -> list[str]:
    config = kubeconfig(tmp_path / "config", cluster.address, {"token": "t0ken"})
    return ["attach", "--node", "node-a", "--kubeconfig", config, "--agent"]


def test_the_timeline_shows_suppressed_writes_and_ends_with_a_verdict(
    attach: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log, report = tmp_path / "kubelet.log", tmp_path / "report.html"
    assert main([*attach, "--for", "5s", "--serve", "0", "--log", str(log), "--report", str(report)]) == 0
    said = capsys.readouterr()
    assert "HandlePodAdditions" in said.out
    assert "would write: Started: Container started" in said.out
    assert re.search(r"status +shop/ok +would write: (Pending|Running) ", said.out)
    assert said.out.splitlines()[-1].startswith("real against agent, 1 pods: ")
    assert re.search(r"serving on (http://127\.0\.0\.1:\d+), the report on \1/report", said.err)
    assert "next to that of node-a: kubesim report</title>" in report.read_text()
    assert "Started: Container started" in report.read_text()
    assert "SyncLoop ADD" in log.read_text()
    assert "t0ken" not in said.out + said.err + log.read_text()


def test_pods_can_have_real_networks_in_a_private_node(attach: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*attach, "--for", "5s", "-o", "jsonl", "--runtime", "cni"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    statuses = [line for line in lines if line["kind"] == "api.write" and line["resource"] == "pods/status"]
    assert any("10.88.0." in json.dumps(line) for line in statuses)


def test_once_for_scripts(attach: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*attach, "--once", "-o", "json"]) == 0
    reported = json.loads(capsys.readouterr().out)
    assert reported["pods"] == [{"pod": "shop/ok", "verdict": "same", "certain": False}]
    assert (reported["node"], reported["same"], reported["certain"]) == ("node-a", 1, 0)


def test_json_lines_mark_suppressed_writes(attach: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*attach, "--for", "4s", "-o", "jsonl"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {line["kind"] for line in lines if line.get("wouldWrite")} <= {"event", "api.write"}
    assert all(line.get("wouldWrite") for line in lines if line["kind"] == "event")
    assert lines[-1]["kind"] == "verdict"


def test_a_certain_difference_exits_with_3(
    cluster: ServedCluster, attach: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    status = {"phase": "Running", "qosClass": "Guaranteed"}
    odd = pod(running(), metadata={"name": "odd", "uid": ""}, spec={"nodeName": "node-a"}, status=status)
    cluster.call(cluster.store.create, odd)
    assert main([*attach, "--for", "4s", "-q"]) == 3
    assert "shop/odd  different, certain (qos)" in capsys.readouterr().out


def test_stepping_through_the_trace(
    attach: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("n\nq\n"))
    assert main([*attach, "--for", "2s", "--step"]) == 0
    assert "the agent of node-a" in capsys.readouterr().out


def test_an_unknown_node_and_flags_without_the_agent(attach: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*attach, "--node", "typo", "--once"]) == 2
    assert "--node typo: there is no such node in the cluster" in capsys.readouterr().err
    plain = [word for word in attach if word != "--agent"]
    for flag in ("-v", "-q", "--step"):
        assert main([*plain, flag]) == 2
        assert f"{flag} needs --agent" in capsys.readouterr().err


def test_its_kubelet_is_configured_by_a_file(
    attach: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "kubelet.yaml"
    file.write_text("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: 7\n")
    assert node_scenario("node-a", None, str(file)).spec.kubelet_configuration.max_pods(4) == 7
    assert main([*attach, "--for", "2s", "--config", str(file)]) == 0
    capsys.readouterr()
    file.write_text("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: none\n")
    assert main([*attach, "--for", "2s", "--config", str(file)]) == 2
    assert "maxPods" in capsys.readouterr().err


@pytest.mark.parametrize("flags", [["--record", "x.jsonl"], ["--configz"]])
def test_flags_without_effect_are_rejected(
    attach: list[str], capsys: pytest.CaptureFixture[str], flags: list[str]
) -> None:
    assert main([*attach, *flags]) == 2
    assert f"{flags[0]} cannot be combined with --agent" in capsys.readouterr().err


def test_finished_pods_are_ignored(
    cluster: ServedCluster, attach: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    over = pod(
        terminated(0), metadata={"name": "over", "uid": ""}, spec={"nodeName": "node-a"}, status={"phase": "Succeeded"}
    )
    cluster.call(cluster.store.create, over)
    assert main([*attach, "--once", "-o", "json"]) == 0
    rows = {row["pod"]: row["verdict"] for row in json.loads(capsys.readouterr().out)["pods"]}
    assert rows["shop/over"] == "same"


def test_a_scenario_with_pods_from_a_live_api_server(
    cluster: ServedCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kubeconfig(tmp_path / "config", cluster.address, {"token": "t0ken"})
    scenario = {
        "apiVersion": "kubesim.dev/v1alpha1",
        "kind": "Scenario",
        "metadata": {"name": "live"},
        "spec": {
            "nodes": [{"name": "node-a"}],
            "sources": {"apiserver": {"kubeconfig": "config", "node": "node-a"}},
            "behaviours": [{"pod": "ok", "runFor": "1s", "exitCode": 5}],
            "expect": [{"pod": "shop/ok", "event": "Started", "by": "20s"}],
        },
    }
    (tmp_path / "live.yaml").write_text(json.dumps(scenario))
    assert main(["run", str(tmp_path / "live.yaml"), "--until", "20s", "--speed", "5", "-v", "--allow-host"]) == 0
    said = capsys.readouterr().out
    assert "ADD from source api" in said
    assert "exited with 5" in said
    assert "would write: Started" in said
    assert "t0ken" not in said
    scenario["spec"]["sources"]["apiserver"]["node"] = "typo"  # type: ignore[index]
    (tmp_path / "live.yaml").write_text(json.dumps(scenario))
    assert main(["run", str(tmp_path / "live.yaml")]) == 2
    assert "typo is no node of this scenario; name it in nodes" in capsys.readouterr().err


def test_progress_is_shown_at_the_bottom_of_a_terminal(
    attach: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert main([*attach, "-q", "--for", "3s"]) == 0
    err = capsys.readouterr().err
    assert re.search(r"\[#+\.*\] \d\S* on the node of 3s \(\d+\.\d%\) in \ds", err)
    assert "pods: 1 Running; " in err
    assert err.endswith("\x1b[K")  # the view is removed at the end


def test_a_report_needs_the_agent(attach: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    assert main([*attach[:-1], "--once", "--report", str(report)]) == 2
    assert "--report needs --agent" in capsys.readouterr().err
    assert not report.exists()
    assert main([*attach, "--step", "--report", str(report)]) == 2
    assert "--step cannot be combined with --report" in capsys.readouterr().err

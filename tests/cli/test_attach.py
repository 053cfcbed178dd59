"""`kubesim attach` and `kubesim explain POD` with a cluster over HTTP: output, requests and exit codes."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubesim.api.pod import Pod
from kubesim.attach.watch.certificate import MASTERS, organisations, privileges
from kubesim.cli.main import main
from tests.support.attach.pods import event, pod, running, waiting
from tests.support.cluster.served import ServedCluster, served_cluster

TOKEN = "s3cret-t0ken"


@pytest.fixture
def cluster() -> Iterator[ServedCluster]:
    with served_cluster(tokens=[TOKEN]) as served:
        ready = pod(running(), metadata={"name": "ok", "uid": ""}, spec={"nodeName": "node-a"})
        stuck = pod(waiting("ImagePullBackOff"), metadata={"name": "web", "uid": ""}, spec={"nodeName": "node-a"})
        failed = event("Failed", 'Failed to pull image "nginx:1.27": not found', 4, 2, "main")
        about = failed.involved_object.changed(uid="")
        for obj in (ready, stuck, failed.changed(involved_object=about, metadata=failed.metadata.changed(
                name="e", namespace="shop"))):  # fmt: skip
            served.call(served.store.create, obj)
        yield served


@pytest.fixture
def config(cluster: ServedCluster, tmp_path: Path) -> str:
    return kubeconfig(tmp_path / "config", cluster.address, {"token": TOKEN})


def kubeconfig(path: Path, server: str, user: dict[str, Any]) -> str:
    value = {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": user}],
    }
    path.write_text(yaml.safe_dump(value))
    return str(path)


def test_once_on_a_node(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["attach", "--node", "node-a", "--once", "--kubeconfig", config]) == 0
    said = capsys.readouterr()
    assert "shop/web" in said.out
    assert "ImagePullBackOff" in said.out
    assert "cannot be checked" in said.err
    assert TOKEN not in said.out + said.err


def test_the_log_of_an_attached_agent(config: str, tmp_path: Path) -> None:
    log = tmp_path / "attach.log"
    arguments = ["attach", "--node", "node-a", "--once", "--kubeconfig", config, "--log", str(log)]
    assert main([*arguments, "--log-verbosity", "6", "--log-format", "json"]) == 0
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    listed = {line["type"] for line in lines if line["msg"] == "Listing and watching"}
    assert listed == {"*v1.Pod", "*v1.Node", "*v1.Event", "*v1.Lease"}
    responses = [line for line in lines if line["msg"] == "Response"]
    assert all(line["verb"] == "GET" and line["status"] == "200 OK" for line in responses)
    assert any(line["url"].startswith("/api/v1/pods?fieldSelector=spec.nodeName%3Dnode-a") for line in responses)
    assert {line["type"] for line in lines if line["msg"] == "Watch close"} <= listed
    assert TOKEN not in log.read_text()
    assert "uthorization" not in log.read_text()


@pytest.mark.parametrize("name", ["node.jsonl", "node.jsonl.gz"])
def test_a_recording_can_be_replayed_after_the_process_was_killed(
    config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    path = tmp_path / name
    command = ["attach", "--node", "node-a", "--kubeconfig", config, "-o", "jsonl", "--record", str(path)]
    process = subprocess.Popen(
        [sys.executable, "-m", "kubesim", *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    with process.stdout as lines:
        seen = next(line for line in lines if '"statement"' in line)
    process.kill()
    process.wait()
    assert "shop" in seen
    raw = path.read_bytes()
    recorded = [json.loads(line) for line in (gzip.decompress(raw) if name.endswith("gz") else raw).splitlines()]
    assert recorded[0]["header"]["node"] == "node-a"
    pods = next(line for line in recorded if line.get("kind") == "Pod")
    assert [item["metadata"]["name"] for item in pods["items"]] == ["ok", "web"]
    assert TOKEN not in json.dumps(recorded)
    later = {"t": recorded[-1]["t"] + 30, "action": "end"}
    (tmp_path / "longer.jsonl").write_text("".join(json.dumps(line) + "\n" for line in [*recorded, later]))
    assert main(["attach", "--replay", str(tmp_path / "longer.jsonl")]) in (0, 3)
    assert capsys.readouterr().out.splitlines()[-1].endswith(" statements")


def test_connection_errors_are_logged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "attach.log"
    config = kubeconfig(tmp_path / "config", "http://127.0.0.1:9", {"token": TOKEN})
    assert main(["attach", "--node", "a", "--for", "100ms", "--kubeconfig", config, "--log", str(log)]) in (0, 2)
    first = log.read_text().splitlines()[0]
    assert first.startswith("E")
    assert 'node_follower.py:1] "Cannot follow the cluster" err="' in first
    assert "connection refused" in first


def test_json_output(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["attach", "--node", "node-a", "--once", "-o", "json", "--kubeconfig", config]) == 0
    reported = json.loads(capsys.readouterr().out)
    assert {one["pod"]["name"] for one in reported["pods"]} == {"ok", "web"}
    assert main(["attach", "--node", "node-a", "--for", "1500ms", "-o", "jsonl", "--kubeconfig", config]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {line["type"] for line in lines} == {"statement"}


def test_a_divergence_exits_with_3(cluster: ServedCluster, config: str, capsys: pytest.CaptureFixture[str]) -> None:
    def forge() -> None:
        found = cluster.store.get("Pod", "shop", "ok")
        assert isinstance(found, Pod)
        cluster.store.replace(found.changed(status=found.status.changed(phase="Pending")))

    cluster.call(forge)
    assert main(["attach", "--node", "node-a", "--once", "--kubeconfig", config]) == 3
    assert "phase Pending does not follow" in capsys.readouterr().out


def test_a_pod_of_the_cluster_is_explained(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "shop/web", "--kubeconfig", config, "--at", "2026-11-16T12:00:00Z"]) == 0
    assert "after failure 2" in " ".join(capsys.readouterr().out.split())
    assert main(["explain", "web", "-n", "shop", "-o", "json", "--kubeconfig", config]) == 0
    assert json.loads(capsys.readouterr().out)["causes"][0]["code"] == "ImagePullBackOff"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["attach"], "give --node NAME"),
        (
            ["attach", "--node", "nowhere", "--once"],
            "--node nowhere: the cluster has no such node; `kubectl get nodes`",
        ),
        (
            ["attach", "--node", "node-aa"],
            "--node node-aa: the cluster has no such node; did you mean node-a or node-b?",
        ),
        (["attach", "--node", "node-a", "--once", "--context", "absent"], "absent"),
        (["attach", "--node", "node-a", "-o", "json"], "--once"),
        (["attach", "--view", "twin"], "use --agent instead of --view twin"),
        (["attach", "--node", "node-a", "--agent", "--for", "1s", "--runtime", "docker"], "simulated, cni"),
        (["attach", "--node", "node-a", "--once", "--runtime", "simulated"], "--runtime needs --agent"),
        (["explain", "shop/absent"], "there is no such pod"),
        (["explain", "shop/ok", "--configz"], "the kubelet of node node-a cannot be reached: answer 400"),
        (
            ["attach", "--node", "node-a", "--once", "--configz"],
            "the kubelet of node node-a cannot be reached: answer 400",
        ),
        (["attach", "--node", "node-a", "--once", "--config", "/absent"], "/absent"),
    ],
)
def test_errors_are_one_line(
    arguments: list[str], expected: str, config: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--kubeconfig", config]) == 2
    said = [line for line in capsys.readouterr().err.splitlines() if "kubesim: error: " in line]
    assert len(said) == 1
    assert expected in said[0]


def test_an_invalid_token_is_not_printed(
    cluster: ServedCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = kubeconfig(tmp_path / "wrong", cluster.address, {"token": "not-" + TOKEN})
    assert main(["explain", "shop/web", "--kubeconfig", wrong]) == 2
    assert TOKEN not in capsys.readouterr().err


def test_the_minimal_role_is_sufficient(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["attach", "--print-rbac"]) == 0
    objects = list(yaml.safe_load_all(capsys.readouterr().out))
    assert [one["kind"] for one in objects] == ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"]
    rules = [rule for one in objects for rule in one.get("rules", ())]
    assert {verb for rule in rules for verb in rule["verbs"]} == {"get", "list", "watch"}
    assert not any("secrets" in rule["resources"] or "*" in rule["resources"] for rule in rules)
    assert main(["attach", "--print-rbac", "--references"]) == 0
    (role, *_) = yaml.safe_load_all(capsys.readouterr().out)
    assert role["rules"][1:] == [{"apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": ["get"]}]
    assert main(["attach", "--print-rbac", "--configz"]) == 0
    (role, *_) = yaml.safe_load_all(capsys.readouterr().out)
    assert role["rules"][1:] == [{"apiGroups": [""], "resources": ["nodes/proxy"], "verbs": ["get"]}]


def test_the_node_configuration_is_read_from_a_file(
    config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "kubelet.yaml"
    file.write_text("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nsyncFrequency: 2m\n")
    configured = ["--kubeconfig", config, "--config", str(file)]
    assert main(["attach", "--node", "node-a", "--once", *configured]) == 0
    assert "configured: syncFrequency 2m0s" in capsys.readouterr().out
    assert main(["explain", "shop/ok", *configured]) == 0
    assert "every 2m0s to 3m0s" in " ".join(capsys.readouterr().out.split())


def test_a_pods_dependencies_are_checked_on_request(
    cluster: ServedCluster, config: str, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = {"nodeName": "node-a", "volumes": [{"name": "cfg", "configMap": {"name": "settings"}}]}
    waits = pod(waiting("ContainerCreating"), metadata={"name": "db", "uid": ""}, spec=spec, sandbox=False)
    cluster.call(cluster.store.create, waits)
    asked = ["--references", "--kubeconfig", config]
    assert main(["explain", "shop/db", *asked]) == 0
    assert "ConfigMap shop/settings not found" in capsys.readouterr().out
    assert main(["attach", "--node", "node-a", "--once", "-o", "json", *asked]) == 0
    (reported,) = [one for one in json.loads(capsys.readouterr().out)["pods"] if one["pod"]["name"] == "db"]
    assert reported["causes"][0]["code"] == "FailedMount"
    assert main(["explain", "shop/db", "--kubeconfig", config]) == 0
    assert "not found" not in capsys.readouterr().out


def test_a_certificate_of_system_masters_causes_a_warning(tmp_path: Path) -> None:
    assert shutil.which("openssl"), "openssl makes the certificate"
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command = ["openssl", "req", "-x509", *curve, "-nodes", "-days", "1",
               "-subj", f"/O={MASTERS}/CN=admin", "-keyout", str(key), "-out", str(certificate)]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    assert organisations(certificate.read_text()) == [MASTERS]
    path = kubeconfig(tmp_path / "config", "https://127.0.0.1:1", {"client-certificate": "cert.pem"})
    assert MASTERS in privileges(path, "")
    assert "cannot be checked" in privileges(kubeconfig(tmp_path / "other", "x", {"token": "t"}), "")
    assert organisations("no certificate") == []

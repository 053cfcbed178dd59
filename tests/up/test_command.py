"""`kubesim up` as a process: output, end, and errors."""

from __future__ import annotations

import json
import signal
import socket
import ssl
import stat
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from kubesim.cli.main import main
from tests.support.processes import start
from tests.support.up import TIMEOUT_S, Up, running_up, start_up


def answer(up: Up, path: str, token: str | None = None) -> int:
    config = json.loads(up.kubeconfig.read_text())
    cluster = config["clusters"][0]["cluster"]
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(cluster["server"] + path, headers=headers)
    try:
        with urllib.request.urlopen(request, context=context, timeout=TIMEOUT_S) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_the_kubeconfig_is_private_and_deleted_at_the_end(tmp_path: Path) -> None:
    with running_up(tmp_path, "--nodes", "2", "--speed", "20") as up:
        assert stat.S_IMODE(up.kubeconfig.stat().st_mode) == 0o600
        assert up.kubectl("get", "nodes", "-o", "name").split() == ["node/node-1", "node/node-2"]
        code, out, error = up.stop()
        assert (code, error) == (0, "")
        assert f"export KUBECONFIG={up.kubeconfig}\n    kubectl get nodes\n" in out
        assert out.endswith("kubesim: stopped\n")
        assert not up.kubeconfig.exists()


def test_requests_without_the_token_are_rejected(tmp_path: Path) -> None:
    with running_up(tmp_path) as up:
        assert answer(up, "/version") == 401
        assert answer(up, "/api/v1/namespaces/default/pods/x/exec?command=sh&stdout=1") == 401
        assert answer(up, "/version", "wrong") == 401
        assert answer(up, "/version", json.loads(up.kubeconfig.read_text())["users"][0]["user"]["token"]) == 200
        account = up.kubectl("create", "token", "default").strip()
        assert answer(up, "/api/v1/pods", account) == 200
        assert answer(up, "/api/v1/pods", account[:-9] + "AAAAAAAAA") == 401


def test_sigterm_stops_it_cleanly(tmp_path: Path) -> None:
    up = start_up(tmp_path)
    code, out, _ = up.stop(signal.SIGTERM)
    assert code == 0
    assert out.endswith("kubesim: stopped\n")
    assert list(tmp_path.iterdir()) == []


def test_it_ends_after_the_given_time(tmp_path: Path) -> None:
    process = start("up", "--kubeconfig", str(tmp_path / "k"), "--for", "300ms")
    out, error = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, error) == (0, "")
    assert out.endswith("kubesim: stopped\n")


def test_manifests_are_applied_and_steps_are_run(tmp_path: Path) -> None:
    file = tmp_path / "story.yaml"
    file.write_text("""\
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {name: story}
spec:
  objects:
    - {apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: main, image: nginx}]}}
  steps:
    - {at: 5s, delete: {pod: a}}
""")
    with running_up(tmp_path, "-f", str(file), "--speed", "10") as up:
        up.wait_for(lambda: up.kubectl("get", "pods", "-o", "name") == "", "the step that deletes the pod")
        reasons = {event["reason"] for event in up.get("events")["items"]}
        assert {"Scheduled", "Started", "Killing"} <= reasons


def test_the_timeline_and_the_report_are_live(tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    with running_up(tmp_path, "--timeline", "--report", str(report), "--speed", "20") as up:
        up.run_pod("web", image="nginx")
        _, out, _ = up.stop()
    assert "SyncPod" in out
    assert "web" in report.read_text()


def refusal(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["up", *words]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error.removeprefix("kubesim: error: ").rstrip("\n")


def test_a_port_in_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        problem = refusal(capsys, "--listen", f"127.0.0.1:{port}", "--kubeconfig", str(tmp_path / "k"))
    assert problem == f"cannot serve on 127.0.0.1:{port}: Address already in use"
    assert list(tmp_path.iterdir()) == []


def test_a_public_address_needs_permission(capsys: pytest.CaptureFixture[str]) -> None:
    problem = "other machines could reach it: add --allow-remote if they may, or listen on 127.0.0.1"
    assert refusal(capsys, "--listen", "0.0.0.0:6443") == f"--listen 0.0.0.0: {problem}"


def test_another_clusters_kubeconfig_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "config"
    file.write_text("clusters: [{name: mine}]\n")
    problem = "kubesim up did not write this file, and would replace it: name another one"
    assert refusal(capsys, "--kubeconfig", str(file)) == f"{file}: {problem}"
    assert file.read_text() == "clusters: [{name: mine}]\n"


def test_errors_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text("kind: Pod\napiVersion: v1\nmetadata: {name: A_B}\nspec: {}\n")
    assert refusal(capsys, "-f", str(bad)).startswith(f"{bad}:")
    assert refusal(capsys, "--nodes", "5001") == "--nodes 5001: give a number from 0 to 5000"


def test_the_report_follows_the_cluster(tmp_path: Path) -> None:
    page = tmp_path / "up.html"
    with running_up(tmp_path, "--speed", "20", "--report", str(page), "--serve", "0") as up:
        assert up.process.stderr is not None
        shown = up.process.stderr.readline()
        address = shown.split(", the report on ")[1].strip()
        assert shown.startswith("kubesim: serving on http://127.0.0.1:")
        with urllib.request.urlopen(address, timeout=TIMEOUT_S) as answered:
            assert "follow" in answered.read().decode()
        up.run_pod("web", "sleep", "1000")
        with urllib.request.urlopen(f"{address}/data", timeout=TIMEOUT_S) as answered:
            assert "default/web" in answered.read().decode()
        assert up.stop()[0] == 0
    assert "default/web" in page.read_text()

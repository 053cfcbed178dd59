"""`kubesim node`: simulated nodes for an API server in another process."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

from kubesim.cli.main import main
from kubesim.cluster.served.access import attributes_of
from kubesim.up.node.status_patch import changes
from tests.support.fakes.faulty_proxy import FaultyProxy
from tests.support.processes import start
from tests.support.up import TIMEOUT_S, Up, is_ready, running_up

SPEED = ("--speed", "10")


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    with running_up(tmp_path_factory.mktemp("up"), *SPEED) as up:
        yield up


@contextmanager
def nodes(up: Up, *words: str) -> Iterator[subprocess.Popen[str]]:
    """Run nodes in the block, registered from its start."""
    given = ("--kubeconfig", str(up.kubeconfig), "--allow-writes", "--allow-real-nodes", *SPEED)
    process = start("node", *given, *words)
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("kubesim: registered ")
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=TIMEOUT_S)


def pod_on(node: str, name: str, **container: Any) -> str:
    body = {"containers": [{"name": "main", "image": "busybox", **container}], "nodeName": node}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": body})


def create(up: Up, manifest: str) -> None:
    up.kubectl("create", "--validate=false", "-f", "-", input=manifest)


def reasons(up: Up, name: str) -> list[str]:
    items = up.get("events", f"--field-selector=involvedObject.name={name}")["items"]
    return [item["reason"] for item in items]


def test_the_lifecycle_of_a_pod_on_a_node_of_another_process(up: Up) -> None:
    with nodes(up, "--name", "far"):
        up.wait_for(lambda: is_ready(up.get("node", "far")), "the node to be ready")
        create(up, pod_on("far", "one", command=["sleep", "3600"]))
        up.wait_for(lambda: is_ready(up.get("pod", "one")), "the pod to be ready")
        status = up.get("pod", "one")["status"]
        assert status["phase"] == "Running"
        assert status["containerStatuses"][0]["containerID"].startswith("containerd://")
        up.wait_for(lambda: "Started" in reasons(up, "one"), "its Events")
        assert reasons(up, "one") == ["Pulling", "Pulled", "Created", "Started"]
        up.wait_for(lambda: up.run("get", "lease", "-n", "kube-node-lease", "far").returncode == 0, "its Lease")
        lease = up.get("lease", "-n", "kube-node-lease", "far")["spec"]
        assert lease["holderIdentity"] == "far"
        up.kubectl("delete", "pod", "one", "--grace-period=1")
        assert up.run("get", "pod", "one").returncode == 1


def test_a_pod_reads_its_config_map(up: Up) -> None:
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "42"}}
    with nodes(up, "--name", "reads", "--count", "2"):
        variable = {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "a"}}}
        create(up, pod_on("reads-2", "two", env=[variable], command=["sh", "-c", 'test "$A" = 42; exit $?']))
        up.wait_for(lambda: "Failed" in reasons(up, "two"), "the ConfigMap to be missed")
        create(up, json.dumps(settings))
        up.wait_for(lambda: restarts(up, "two") > 0, "the container to run")
        ended = up.get("pod", "two")["status"]["containerStatuses"][0]
        state = ended["state"].get("terminated") or ended["lastState"]["terminated"]
        assert state["exitCode"] == 0


def restarts(up: Up, name: str) -> int:
    return sum(each["restartCount"] for each in up.get("pod", name)["status"].get("containerStatuses", ()))


def test_a_node_of_an_earlier_run_is_reused(up: Up) -> None:
    for _ in range(2):
        with nodes(up, "--name", "again"):
            up.wait_for(lambda: is_ready(up.get("node", "again")), "the node to be ready")


def refusal(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["node", *words]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error.removeprefix("kubesim: error: ").rstrip("\n")


def test_it_writes_only_permitted_objects(up: Up, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ("--kubeconfig", str(up.kubeconfig))
    assert "add --allow-writes; --print-rbac prints the rights" in refusal(capsys, "--name", "n", *where)
    problem = refusal(capsys, "--name", "n", "--allow-writes", *where)
    assert "nodes that are not simulated" in problem
    assert "--allow-real-nodes" in problem
    problem = refusal(capsys, "--name", "node-1", "--allow-writes", "--allow-real-nodes", *where)
    assert problem == "--name node-1: the cluster has a node of that name that is not simulated: name another"
    assert refusal(capsys, "--allow-writes", *where) == "give a --name for the node"
    assert refusal(capsys, "--name", "A_b", "--allow-writes").startswith("--name A_b: a node's name has lower-case")
    assert refusal(capsys, "--name", "n", "--count", "0", "--allow-writes") == "--count 0: give a number from 1 to 1000"
    problem = refusal(capsys, "--name", "n", "--allow-writes", "--kubeconfig", str(tmp_path / "no"))
    assert problem == f"{tmp_path}/no: there is no such file; name a kubeconfig that exists"
    file = tmp_path / "pod.yaml"
    file.write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, image: i}]}\n")
    assert "spec.objects is not for kubesim node" in refusal(capsys, "--name", "n", "--allow-writes", str(file))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_it_cleanly(up: Up, number: int) -> None:
    with nodes(up, "--name", "stops") as process:
        process.send_signal(number)
        out, error = process.communicate(timeout=TIMEOUT_S)
        assert (process.returncode, error) == (0, "")
        assert out == "kubesim: stopped; the nodes stay registered, and the cluster will find them not ready\n"


def test_it_ends_after_the_given_time(up: Up) -> None:
    with nodes(up, "--name", "ends", "--for", "300ms") as process:
        process.communicate(timeout=TIMEOUT_S)
        assert process.returncode == 0


def test_the_printed_rights_are_sufficient(up: Up, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Every request that the server gets from the nodes is one of the rules."""
    assert main(["node", "--print-rbac"]) == 0
    rules = yaml.safe_load(capsys.readouterr().out)["rules"]
    config = json.loads(up.kubeconfig.read_text())
    server, token = config["clusters"][0]["cluster"]["server"], config["users"][0]["user"]["token"]
    with FaultyProxy(server, token).serving() as proxy:
        used: set[tuple[str, str, str]] = set()

        def note(method: str, target: str) -> None:
            url = urlsplit(target)
            asked = attributes_of(method, url.path, parse_qs(url.query))
            subresource = f"/{asked.subresource}" if asked.subresource else ""
            used.add((asked.group, f"{asked.resource}{subresource}", asked.verb))

        proxy.fault = note
        kubeconfig = proxy.kubeconfig(tmp_path / "kubeconfig")
        with nodes(up, "--kubeconfig", str(kubeconfig), "--name", "rights"):
            create(up, pod_on("rights", "modest", command=["sleep", "3600"]))
            up.wait_for(lambda: is_ready(up.get("pod", "modest")), "the pod to be ready")
            up.wait_for(lambda: "Started" in reasons(up, "modest"), "its Events")
            assert up.kubectl("logs", "modest") == ""
            up.kubectl("delete", "pod", "modest", "--grace-period=1")
            up.wait_for(lambda: ("coordination.k8s.io", "leases", "create") in used, "the lease")
    granted = {
        (group, resource, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    assert used <= granted
    assert ("authorization.k8s.io", "subjectaccessreviews", "create") in granted
    assert {("", "pods/status", "patch"), ("", "events", "create"), ("", "pods", "watch")} <= used


def test_required_permissions(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["node", "--print-rbac"]) == 0
    assert "resources: [nodes/status, pods/status]\n  verbs: [patch]\n" in capsys.readouterr().out


def test_a_status_patch_has_only_the_differences() -> None:
    ready, gone = {"type": "Ready", "status": "False"}, {"type": "Gone", "status": "True"}
    old = {"phase": "Pending", "podIP": "1.1.1.1", "hostIP": "h", "conditions": [ready, gone], "list": [1]}
    new = {"phase": "Running", "hostIP": "h", "conditions": [{**ready, "status": "True"}], "list": [1, 2]}
    assert changes(old, new) == {
        "phase": "Running",
        "podIP": None,
        "list": [1, 2],
        "conditions": [{"type": "Ready", "status": "True"}, {"type": "Gone", "$patch": "delete"}],
        "$setElementOrder/conditions": [{"type": "Ready"}],
    }
    assert changes(new, new) == {}

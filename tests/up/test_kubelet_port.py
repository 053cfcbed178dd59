"""The HTTPS port of the kubelets of `kubesim node`, to which the API server of another process forwards requests."""

from __future__ import annotations

import json
import signal
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kubesim.cli.main import main
from kubesim.cluster.served.access import Attributes
from kubesim.errors import UsageError
from kubesim.up.kubelet.endpoints import open_endpoints
from kubesim.up.kubelet.requests import KubeletRequest, attributes_of, parse_path, query_of
from tests.support.stream_checks import check_cp, check_exec_stdin, check_exec_streams, check_port_forward
from tests.support.up import TIMEOUT_S, Up, is_ready, running_nodes, running_up

both = pytest.mark.parametrize("version", ["1.36", "1.20"])
LOOP = ["sh", "-c", "echo begun; while true; do sleep 1; echo tick; done"]


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """A cluster whose only nodes are those of another process."""
    with (
        running_up(tmp_path_factory.mktemp("up"), "--nodes", "0", "--speed", "10") as up,
        running_nodes(up, "--name", "far", "--count", "2", "--speed", "10"),
    ):
        create(up, "box", command=LOOP)
        create(up, "web", image="nginx")
        for name in ("box", "web"):
            up.wait_for_pod(name)
        yield up


def create(up: Up, name: str, **container: Any) -> None:
    spec = {"nodeName": "far-1", "containers": [{"name": "main", "image": "busybox", **container}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
    up.kubectl("create", "--validate=false", "-f", "-", input=json.dumps(pod))


@both
def test_exec_has_streams_and_an_exit_code(up: Up, version: str) -> None:
    check_exec_streams(up, version)


@both
def test_exec_forwards_stdin_to_its_end(up: Up, version: str) -> None:
    check_exec_stdin(up, version)


@both
def test_cp_in_both_directions(up: Up, version: str, tmp_path: Path) -> None:
    check_cp(up, version, tmp_path)


@both
def test_port_forward(up: Up, version: str) -> None:
    check_port_forward(up, version)


def test_logs_follow(up: Up) -> None:
    with subprocess.Popen(up.command("logs", "-f", "box"), stdout=subprocess.PIPE, text=True) as follow:
        assert follow.stdout is not None
        lines = [follow.stdout.readline() for _ in range(10)]
        follow.send_signal(signal.SIGTERM)
    assert lines == ["begun\n", *["tick\n"] * 9]
    assert up.kubectl("logs", "box", "--limit-bytes=4") == "begu"


def test_attach(up: Up) -> None:
    with subprocess.Popen(up.command("attach", "box"), stdout=subprocess.PIPE, text=True) as attached:
        assert attached.stdout is not None
        assert attached.stdout.readline() == "tick\n"
        attached.send_signal(signal.SIGTERM)


def test_problems_have_the_words_of_a_kubelet(up: Up) -> None:
    done = up.run("logs", "box", "--previous")
    assert done.stderr == (
        'Error from server (BadRequest): previous terminated container "main" in pod "box" not found\n'
    )
    done = up.run("exec", "box", "--", "nosuch")
    assert done.returncode == 1
    assert 'exec: "nosuch": executable file not found in $PATH' in done.stderr


def test_each_node_has_an_address_and_the_port_of_a_kubelet(up: Up) -> None:
    statuses = [up.get("node", f"far-{number}")["status"] for number in (1, 2)]
    assert [status["daemonEndpoints"] for status in statuses] == [{"kubeletEndpoint": {"Port": 10250}}] * 2
    addresses = [{each["type"]: each["address"] for each in status["addresses"]} for status in statuses]
    assert addresses[0]["InternalIP"] != addresses[1]["InternalIP"]
    assert all(each["Hostname"] == each["InternalIP"] for each in addresses)
    assert up.get("pod", "box")["status"]["hostIP"] == addresses[0]["InternalIP"]


def ask(up: Up, path: str, token: str = "", method: str = "GET") -> tuple[int, str]:
    """Ask the kubelet of far-1 directly."""
    address = up.get("node", "far-1")["status"]["addresses"][0]["address"]
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(f"https://{address}:10250{path}", headers=headers, method=method)
    try:
        with urllib.request.urlopen(request, context=context, timeout=TIMEOUT_S) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_only_users_of_the_cluster_reach_a_kubelet(up: Up) -> None:
    head, claims, _ = up.kubectl("create", "token", "default").strip().split(".")
    forged = f"{head}.{claims}.{'A' * 43}"
    for path in ("/pods", "/healthz", "/containerLogs/default/box/main", "/exec/default/box/main?command=ls&output=1"):
        assert ask(up, path) == (401, "Unauthorized")
        assert ask(up, path, "wrong") == (401, "Unauthorized")
        assert ask(up, path, forged) == (401, "Unauthorized")


def test_a_user_with_a_token_reads_pods_health_metrics_and_usage(up: Up) -> None:
    token = up.kubectl("create", "token", "default").strip()
    assert ask(up, "/healthz", token) == (200, "ok")
    names = {item["metadata"]["name"] for item in json.loads(ask(up, "/pods", token)[1])["items"]}
    assert names == {"box", "web"}
    assert "kubelet_running_pods" in ask(up, "/metrics", token)[1]
    usage = json.loads(ask(up, "/stats/summary", token)[1])
    assert usage["node"]["nodeName"] == "far-1"
    assert {pod["podRef"]["name"] for pod in usage["pods"]} == {"box", "web"}
    assert all(pod["memory"]["workingSetBytes"] >= 2 << 20 for pod in usage["pods"])
    assert ask(up, "/containerLogs/default/gone/main", token) == (404, 'pod "gone" does not exist')
    assert ask(up, "/containerLogs/default/box/x", token) == (404, 'container "x" not found in pod "box"')
    assert ask(up, "/attach/default/gone/main?output=1", token) == (404, "pod does not exist")
    assert ask(up, "/exec/default/box/other/main?command=ls&output=1", token) == (404, "pod not found")
    assert ask(up, "/containerLogs/default/box/main?tailLines=x", token)[0] == 400
    assert ask(up, "/nothing", token)[0] == 404
    assert ask(up, "/containerLogs/default/box/main", token, "POST")[0] == 405


def test_anybody_may_if_the_configuration_says_so(up: Up) -> None:
    open_to_all = ("--anonymous-auth", "--authorization-mode=AlwaysAllow", "--kubelet-listen", "127.0.0.1")
    with running_nodes(up, "--name", "open", "--speed", "10", *open_to_all):
        endpoint = up.get("node", "open")["status"]["daemonEndpoints"]["kubeletEndpoint"]
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        url = f"https://127.0.0.1:{endpoint['Port']}/healthz"
        with urllib.request.urlopen(url, context=context, timeout=TIMEOUT_S) as response:
            assert response.read() == b"ok"


def test_a_node_that_is_taken_over_has_its_new_address(up: Up) -> None:
    for words in (("--kubelet-listen", "off"), ()):
        with running_nodes(up, "--name", "moved", "--speed", "10", *words):
            status = up.get("node", "moved")["status"]
    assert status["daemonEndpoints"] == {"kubeletEndpoint": {"Port": 10250}}
    assert {each["type"] for each in status["addresses"]} == {"InternalIP", "Hostname"}


def test_the_kubelet_of_a_dead_process_refuses_connections(up: Up) -> None:
    with running_nodes(up, "--name", "dead", "--speed", "10"):
        spec = {"nodeName": "dead", "containers": [{"name": "main", "image": "nginx"}]}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "orphan"}, "spec": spec}
        up.kubectl("create", "--validate=false", "-f", "-", input=json.dumps(pod))
        up.wait_for(lambda: is_ready(up.get("pod", "orphan")), "the pod to be ready")
    done = up.run("logs", "orphan")
    assert done.returncode == 1
    assert "containerLogs/default/orphan/main" in done.stderr
    assert "connection refused" in done.stderr
    assert "connection refused" in up.run("exec", "orphan", "--", "ls").stderr


def test_paths_and_rights() -> None:
    assert parse_path("/exec/ns/pod/main?command=ls") == KubeletRequest(
        "exec", ("ns", "pod", "main"), "ns", "pod", container="main"
    )
    assert parse_path("/attach/ns/pod/uid/main").uid == "uid"
    assert parse_path("/portForward/ns/pod/uid") == KubeletRequest(
        "portForward", ("ns", "pod", "uid"), "ns", "pod", "uid"
    )
    assert parse_path("/containerLogs/ns/pod").pod == ""
    assert query_of("/x?input=1&error=1&command=a&command=b&container=no", "main") == {
        "container": ["main"], "stdin": ["1"], "stderr": ["1"], "command": ["a", "b"],
    }  # fmt: skip
    rights = [each.subresource for each in attributes_of("GET", "pods", "n")]
    assert rights == ["pods", "proxy"]
    assert attributes_of("POST", "exec", "n") == [Attributes("create", resource="nodes", subresource="proxy", name="n")]
    assert [each.subresource for each in attributes_of("GET", "stats", "n")] == ["stats"]


@pytest.mark.parametrize(
    ("listen", "problem"),
    [
        ("192.0.2.1", "--kubelet-listen 192.0.2.1: other machines could reach it: add --allow-remote"),
        ("nowhere", "'nowhere' is not an address to serve on"),
        ("nowhere:1", "--kubelet-listen nowhere:1: give ADDRESS, ADDRESS:PORT or off"),
        ("127.0.0.1:65535", "--kubelet-listen 127.0.0.1:65535: 127.0.0.1:65536: no such port"),
    ],
)
def test_bad_addresses(listen: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem), open_endpoints(listen, ["a", "b"], allowed=False):
        pass


def test_all_addresses_are_no_address() -> None:
    with pytest.raises(UsageError, match="name one address"), open_endpoints("0.0.0.0", ["a"], allowed=True):
        pass


def test_a_client_ca_that_cannot_be_read(up: Up, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ("--kubeconfig", str(up.kubeconfig), "--name", "n", "--allow-writes")
    assert main(["node", *where, "--client-ca-file", str(tmp_path / "no")]) == 2
    error = capsys.readouterr().err
    assert error == f"kubesim: error: authentication.x509.clientCAFile {tmp_path}/no: No such file or directory\n"


@pytest.mark.parametrize(
    "access",
    [
        "{authentication: {anonymous: {enabled: true}}}",
        "{authorization: {mode: AlwaysAllow}}",
        "{authentication: {x509: {clientCAFile: /etc/hosts}}}",
    ],
)
def test_a_scenario_cannot_open_the_kubelets(tmp_path: Path, capsys: pytest.CaptureFixture[str], access: str) -> None:
    file = tmp_path / "scenario.yaml"
    head = "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nmetadata: {name: open}\n"
    file.write_text(f"{head}spec:\n  nodes: [{{name: far}}]\n  kubeletConfiguration: {access}\n")
    assert main(["node", "--name", "n", "--allow-writes", "-f", str(file)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert ": a scenario cannot say who may use the kubelets: use --config, or the kubelet's own flag" in error

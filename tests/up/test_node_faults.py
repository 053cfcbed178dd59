"""`kubesim node` while its API server answers with errors, hangs up or is away, and when others delete its objects."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.support.fakes.faulty_proxy import CUT, FaultyProxy
from tests.support.processes import start
from tests.support.up import TIMEOUT_S, Up, running_up

NODE = "faulty"


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    with running_up(tmp_path_factory.mktemp("up"), "--nodes", "0", "--speed", "5") as up:
        yield up


@pytest.fixture(scope="module")
def proxy(up: Up) -> Iterator[FaultyProxy]:
    config = json.loads(up.kubeconfig.read_text())
    server, token = config["clusters"][0]["cluster"]["server"], config["users"][0]["user"]["token"]
    with FaultyProxy(server, token).serving() as proxy:
        yield proxy


@pytest.fixture(scope="module")
def node(up: Up, proxy: FaultyProxy, tmp_path_factory: pytest.TempPathFactory) -> Iterator[subprocess.Popen[str]]:
    kubeconfig = proxy.kubeconfig(tmp_path_factory.mktemp("proxy") / "kubeconfig")
    words = ("--name", NODE, "--allow-writes", "--speed", "5", "--kubelet-listen", "off")
    process = start("node", "--kubeconfig", str(kubeconfig), *words)
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("kubesim: registered "), process.communicate()
        yield process
        assert process.poll() is None
    finally:
        process.terminate()
        _, error = process.communicate(timeout=TIMEOUT_S)
    assert "Traceback" not in error
    assert process.returncode == 0


@pytest.fixture(autouse=True)
def healthy(node: subprocess.Popen[str], proxy: FaultyProxy) -> Iterator[None]:
    """The process lives, and the proxy forwards everything again."""
    proxy.faults.clear()
    yield
    proxy.fault = lambda method, target: None
    assert node.poll() is None, node.communicate()


def create(up: Up, name: str, **container: Any) -> None:
    spec = {"nodeName": NODE, "containers": [{"name": "main", "image": "nginx", **container}]}
    up.create_raw("/api/v1/namespaces/default/pods", {"metadata": {"name": name}, "spec": spec})


def first(proxy: FaultyProxy, count: int, matches: str, status: int, headers: Mapping[str, str] | None = None) -> None:
    """Answer the first requests whose method and target contain this text with a status."""

    def fault(method: str, target: str) -> tuple[int, Mapping[str, str], str] | None:
        if len(proxy.faults) < count and matches in f"{method} {target}":
            return status, headers or {}, "not now"
        return None

    proxy.fault = fault


@pytest.mark.parametrize(
    ("name", "matches", "status"),
    [
        ("conflict", "PATCH /api/v1/namespaces/default/pods/", 409),
        ("internal", "PATCH /api/v1/namespaces/default/pods/", 500),
        ("hang-up", "PATCH /api/v1/namespaces/default/pods/", CUT),
        ("unauthorized", "PATCH /api/v1/namespaces/default/pods/", 401),
        ("read", "GET /api/v1/namespaces/default/pods/", 500),
        ("event", "POST /api/v1/namespaces/default/events", 500),
    ],
)
def test_a_request_that_failed_is_sent_again(up: Up, proxy: FaultyProxy, name: str, matches: str, status: int) -> None:
    first(proxy, 1, matches, status)
    create(up, name)
    up.wait_for_pod(name)
    up.wait_for(lambda: len(proxy.faults) == 1, "the fault")
    started = f"--field-selector=involvedObject.name={name},reason=Started"
    up.wait_for(lambda: len(up.get("events", started)["items"]) == 1, "its Event")


def test_too_many_requests_are_sent_again_when_the_server_says_so(up: Up, proxy: FaultyProxy) -> None:
    """client-go waits for Retry-After and sends the same request; the status manager does not see the error."""
    first(proxy, 3, "PATCH /api/v1/namespaces/default/pods/patient", 429, {"Retry-After": "1"})
    create(up, "patient")
    up.wait_for_pod("patient")
    assert len(proxy.faults) == 3


def test_a_server_that_is_away_gets_the_last_status_when_it_is_back(up: Up, proxy: FaultyProxy) -> None:
    create(up, "lonely", image="busybox", command=["sh", "-c", "sleep 10; exit 3"])
    up.wait_for_pod("lonely")
    proxy.fault = lambda method, target: (CUT, {}, "")
    proxy.end_watches()
    up.wait_for(lambda: len(proxy.faults) > 20, "attempts to connect")
    assert up.get("pod", "lonely")["status"]["phase"] == "Running"
    proxy.fault = lambda method, target: None
    up.wait_for(lambda: restarts(up, "lonely") > 0, "the status of the restarted container")


def restarts(up: Up, name: str) -> int:
    return sum(each["restartCount"] for each in up.get("pod", name)["status"].get("containerStatuses", ()))


@pytest.mark.parametrize(("name", "status"), [("closed", CUT), ("expired", 410), ("busy", 429)])
def test_pods_are_found_after_a_watch_has_ended(up: Up, proxy: FaultyProxy, name: str, status: int) -> None:
    first(proxy, 1, f"fieldSelector=spec.nodeName%3D{NODE}", status, {"Retry-After": "1"})
    proxy.end_watches()
    up.wait_for(lambda: len(proxy.faults) == 1, "the next watch to fail")
    create(up, name)
    up.wait_for_pod(name)


def test_a_pod_removed_by_force_is_stopped(up: Up) -> None:
    create(up, "forced")
    up.wait_for_pod("forced")
    up.kubectl("delete", "pod", "forced", "--force", "--grace-period=0")
    reason = "--field-selector=involvedObject.name=forced,reason=Killing"
    up.wait_for(lambda: len(up.get("events", reason)["items"]) == 1, "its container to be killed")


def test_a_deleted_node_is_not_registered_again(up: Up, node: subprocess.Popen[str]) -> None:
    """A kubelet registers at its start only; it goes on with its pods."""
    create(up, "survivor")
    up.wait_for_pod("survivor")
    up.kubectl("delete", "node", NODE)
    lease = up.get("lease", "-n", "kube-node-lease", NODE)["spec"]["renewTime"]
    up.wait_for(
        lambda: up.get("lease", "-n", "kube-node-lease", NODE)["spec"]["renewTime"] > lease, "the lease to be renewed"
    )
    assert up.run("get", "node", NODE).returncode == 1

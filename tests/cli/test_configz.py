"""`--configz` over HTTP: one GET of the node's /configz, its effect, and the error if it is forbidden."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubesim.cli.main import main
from tests.support.attach.pods import node, pod, terminated

CRASHED = pod(terminated(1, restarts=9), status={"phase": "Running"}).to_json()
CONFIGZ = "/api/v1/nodes/n1/proxy/configz"


class Server(ThreadingHTTPServer):
    """An API server with one pod, and a node whose kubelet answers with `configz`."""

    configz: tuple[int, Any] = (200, {})
    asked: list[tuple[str, str]]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        self.server.asked.append((self.command, path))
        answers = {
            "/api/v1/namespaces/shop/pods/web": (200, CRASHED),
            "/api/v1/nodes/n1": (200, node("True").to_json()),
            CONFIGZ: self.server.configz,
        }
        status, value = answers.get(path, (404, {"kind": "Status", "code": 404}))
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Disable logging."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as served:
        served.asked = []
        thread = threading.Thread(target=served.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield served
        served.shutdown()
        thread.join()


def explained(server: Server, tmp_path: Path) -> int:
    config = {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}],
        "users": [{"name": "u", "user": {}}],
    }
    file = tmp_path / "config"
    file.write_text(yaml.safe_dump(config))
    return main(["explain", "shop/web", "--configz", "--kubeconfig", str(file)])


def test_the_maximum_back_off_comes_from_the_kubelet(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.configz = (200, {"kubeletconfig": {"crashLoopBackOff": {"maxContainerRestartPeriod": "25s"}}})
    assert explained(server, tmp_path) == 0
    assert "at most 25s" in " ".join(capsys.readouterr().out.split())
    assert server.asked.count(("GET", CONFIGZ)) == 1
    assert {method for method, _ in server.asked} == {"GET"}


def test_forbidden_is_one_line_that_names_the_permission(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.configz = (403, {"kind": "Status", "code": 403, "message": "nodes is forbidden"})
    assert explained(server, tmp_path) == 2
    reported = capsys.readouterr().err.splitlines()
    assert len(reported) == 1
    assert reported[0].startswith("kubesim: error: --configz: ")
    assert "verb get on resource nodes/proxy" in reported[0]
    assert "kubesim attach --print-rbac --configz" in reported[0]

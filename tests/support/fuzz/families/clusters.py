"""`explain`, `attach` and the HTTP source with a loopback server that returns damaged responses; damaged
kubeconfigs.
"""

from __future__ import annotations

import functools
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from typing import Any

from tests.support.cluster.kubeconfig import kubeconfig as write_kubeconfig
from tests.support.fuzz.damage import json_bytes, yaml_bytes
from tests.support.fuzz.families import Invocation
from tests.support.fuzz.families.running import _CONFIGURATION
from tests.support.fuzz.families.watching import objects, pods_seen
from tests.support.fuzz.mutations import Mutator

TIMEOUT = ["--request-timeout", "1s"]
CODES = (200,) * 12 + (201, 204, 301, 400, 401, 403, 404, 410, 429, 500, 503)
PORT = 8001  # free, as each worker has its own network namespace
_LISTS = {"pods": "Pod", "events": "Event", "nodes": "Node", "leases": "Lease"}


class _Handler(BaseHTTPRequestHandler):
    """Answers every GET from the server's tables."""

    protocol_version = "HTTP/1.1"
    server: FuzzedServer

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        status, body = self.server.answer(path, "watch=" in query)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Disable logging."""


class FuzzedServer(ThreadingHTTPServer):
    """`answers` has status and body for parts of paths; the first match is used."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", PORT), _Handler)
        self.answers: list[tuple[str, int, bytes]] = []
        threading.Thread(target=self.serve_forever, name="fuzzed", daemon=True).start()

    def answer(self, path: str, is_watch: bool) -> tuple[int, bytes]:
        asked = f"{path}{'?watch' if is_watch else ''}"
        return next(((status, body) for part, status, body in self.answers if re.search(part, asked)), (404, b"{}"))

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnect early."""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@functools.cache
def _server() -> FuzzedServer:
    return FuzzedServer()


@functools.cache
def _lists() -> Mutator:
    return Mutator([_list(kind) for kind in _LISTS.values()])


def _list(kind: str) -> dict[str, Any]:
    version = "coordination.k8s.io/v1" if kind == "Lease" else "v1"
    return {
        "kind": f"{kind}List",
        "apiVersion": version,
        "metadata": {"resourceVersion": "1"},
        "items": objects(kind)[:3],
    }


@functools.cache
def _events() -> Mutator:
    """The events of a watch."""
    types = ("ADDED", "MODIFIED", "DELETED", "BOOKMARK")
    changes = [{"type": type, "object": one} for one in objects("Pod")[:6] for type in types]
    gone = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": 410,
        "reason": "Expired",
        "message": "too old",
    }
    return Mutator([*changes, {"type": "ERROR", "object": gone}])


def api_answers(rng: Random, folder: Path) -> Invocation:
    spoiled = rng.choice((*_LISTS, "pod", "watch", "configz"))

    def body(part: str, tree: Any, mutator: Mutator) -> tuple[int, bytes]:
        if part != spoiled:
            return 200, json.dumps(tree).encode()
        return rng.choice(CODES), json_bytes(mutator.change(json.loads(json.dumps(tree)), rng), rng)

    node = objects("Node")[0]["metadata"]["name"]
    lines = b"".join(body("watch", rng.choice(_events().good), _events())[1] + b"\n" for _ in range(3))
    one = rng.choice(objects("Pod"))
    configz = {"kubeletconfig": {name: value for name, value in _CONFIGURATION.items() if name not in ("jitter",)}}
    server = _server()
    server.answers = [
        (r"\?watch", 200, lines),
        ("/configz", *body("configz", configz, Mutator([configz]))),
        ("/pods/", *body("pod", one, pods_seen())),
        *((f"/{part}$", *body(part, _list(kind), _lists())) for part, kind in _LISTS.items()),
        ("/nodes/", 200, json.dumps(objects("Node")[0]).encode()),
    ]
    config = write_kubeconfig(folder / "config", server.address, {"token": "t"})
    shared = ["--kubeconfig", config, *TIMEOUT, *rng.choice(([], ["--configz"], ["--references"]))]
    if spoiled in ("pod", "events"):
        return Invocation(["explain", f"{one['metadata']['namespace']}/{one['metadata']['name']}", *shared])
    return Invocation(["attach", "--node", node, "--once", *shared, *rng.choice(([], ["-o", "json"]))])


def kubeconfig(rng: Random, folder: Path) -> Invocation:
    server = _server()
    server.answers = [
        ("/pods/", 200, json.dumps(objects("Pod")[0]).encode()),
        ("", 200, json.dumps(_list("Event")).encode()),
    ]
    user = rng.choice(({"token": "t"}, {"username": "u", "password": "p"}, {"tokenFile": "token"},
    {"client-certificate-data": "eA==", "client-key-data": "eA=="},
                       {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "false", "args": ["a"],
                       "env": [{"name": "A", "value": "b"}], "interactiveMode": "Never"}}))  # fmt: skip
    cluster = rng.choice(
        (
            {},
            {"certificate-authority-data": "eA=="},
            {"insecure-skip-tls-verify": True, "tls-server-name": "a"},
            {"proxy-url": "http://127.0.0.1:1"},
        )
    )
    content = {
        "apiVersion": "v1", "kind": "Config", "current-context": "main", "preferences": {},
        "contexts": [{"name": "main", "context": {"cluster": "c", "user": "u", "namespace": "n"}}],
        "clusters": [{"name": "c", "cluster": {"server": server.address, **cluster}}], "users": [{"name": "u",
        "user": user}],
    }  # fmt: skip
    file = folder / "config"
    file.write_bytes(yaml_bytes([Mutator([content]).mutated(rng)], rng))
    how = rng.choice((["explain", "a/b"], ["attach", "--node", "n", "--once"]))
    return Invocation(
        [
            *how,
            "--kubeconfig",
            str(file),
            *TIMEOUT,
            *rng.choice(([], [], ["--context", "main"], ["--context", "other"])),
        ]
    )

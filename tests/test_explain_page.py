"""docs/explain.md: every command works in the environment of `make demo`, with a served cluster."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubesim.cluster.served import http
from kubesim.cluster.served.access import RoleAccess
from kubesim.cluster.served.rest import Request, Response, handle
from kubesim.cluster.store.store import Store
from tests.support.attach.pods import node, pod, running
from tests.support.cluster import kubeconfig as kubeconfigs
from tests.support.cluster.served import served_cluster
from tests.support.demo_environment import link_packages, python
from tests.support.processes import interruptible

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "explain.md").read_text()
COMMANDS = re.findall(r"^    ((?:kubesim|kubectl) .+)$", PAGE, re.MULTILINE)
WEB = pod(running(), metadata={"uid": ""}, spec={"nodeName": "worker-1"})
FILES = {
    "pod.json": json.dumps(WEB.to_json()),
    "events.json": json.dumps({"kind": "List", "apiVersion": "v1", "items": []}),
    "kubelet.yaml": "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nsyncFrequency: 20s\n",
}
CONFIGZ = "/api/v1/nodes/worker-1/proxy/configz"


def answer(store: Store, request: Request, access: RoleAccess | None = None) -> Response:
    """Forward requests for /configz to the node's kubelet, like the API server."""
    if request.path.partition("?")[0] == CONFIGZ:
        return Response(200, {"kubeletconfig": {"syncFrequency": "20s"}})
    return handle(store, request, access)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of a reader whose kubeconfig refers to a cluster with the node and the pod of the page."""
    folder = tmp_path_factory.mktemp("reader")
    _, variables = python(link_packages(folder / "packages"))
    worker = node("True").to_json() | {"metadata": {"name": "worker-1"}}
    with pytest.MonkeyPatch.context() as patch, served_cluster(tokens=["t0ken"]) as served:
        patch.setattr(http, "handle", answer)
        served.call(served.store.create, type(node("True")).from_json(worker))
        served.call(served.store.create, WEB)
        config = kubeconfigs.kubeconfig(folder / "config", served.address, {"token": "t0ken"})
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "KUBESIM_"))}
        yield {**kept, **variables, "PYTHONUNBUFFERED": "1", "KUBECONFIG": config}


def test_the_page_has_commands() -> None:
    assert len(COMMANDS) >= 15


@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_works(command: str, environment: dict[str, str], tmp_path: Path) -> None:
    """A command that follows the node is interrupted after its first line, as by Ctrl-C."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    first, _, second = command.rpartition(" | ")
    kind = "List" if "events" in first else "Pod"
    given = json.dumps(
        {"kind": "List", "apiVersion": "v1", "items": [WEB.to_json()]} if kind == "List" else WEB.to_json()
    )
    words = shlex.split(second.replace("--serve 9100", "--serve 0"))  # an unused port of the machine
    assert words[0] == "kubesim"
    with subprocess.Popen(
        [*python(tmp_path)[0], "-m", "kubesim", *words[1:]],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        cwd=tmp_path, env=environment, text=True, preexec_fn=interruptible,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(given if first else "")
        process.stdin.close()
        shown = process.stdout.readline()
        follows = words[1] == "attach" and not {"--once", "--replay"} & {*words}
        if follows and shown:
            process.send_signal(signal.SIGINT)
        process.stdout.read()
        errors = process.stderr.read()
        assert (process.wait(), bool(shown)) == (130 if follows else 0, True), errors

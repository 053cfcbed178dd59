"""`explain` and `attach` with hostile servers: one clear error line, with limited time and memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kubesim.cli.main import main
from tests.support.attach.pods import pod, waiting
from tests.support.cluster.hostile import hostile_server
from tests.support.cluster.kubeconfig import kubeconfig
from tests.support.cluster.served import served_cluster

TIMEOUT_S = 2
GROWTH_MB = 100
PATIENCE_S = 60
# Prints the growth of the process in megabytes after all imports, and the duration in seconds.
MEASURED = """
import resource, sys, time
import aiohttp, kubernetes.aio.client, kubernetes.aio.config
import kubesim.attach.watch.node_follower, kubesim.attach.reading.live, kubesim.attach.watch.views, kubesim.app
from kubesim.cli.main import main
size = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before, began = size(), time.monotonic()
code = main(sys.argv[1:])
print((size() - before) // 1024, time.monotonic() - began)
sys.exit(code)
"""
IN_WORDS = {
    "endless-body": "more than",
    "endless-pods": "",
    "bomb": "more than 16 MiB",
    "slow-bytes": "within 2 s",
    "silent": "within 2 s",
    "garbage": "no JSON",
    "not-http": "no HTTP answer",
    "html": "no JSON",
    "html-502": "the server answered 502: <html>\\x1b[31mbad gateway</html>",
    "redirect": "the server redirects (302) to http://elsewhere.example/; redirects are not followed",
    "deep": "nested too deeply",
    "rather-deep": "nested too deeply",
    "many-values": "the JSON has more than 800000 values",
    "empty-object": "",
    "null": "",
    "list": "",
    "wrong-kind": "but a Secret",
    "unauthorized": "the API server does not accept the credentials: the token \\x1b[31m has expired",
}


# A busy machine may reach the timeout first.
SLOW = frozenset({"endless-body", "bomb", "many-values", "deep"})
# Listing works the same way for these.
OF_EXPLAIN = frozenset({"not-http", "html-502", "rather-deep", "empty-object", "list", "wrong-kind"})


@pytest.mark.parametrize(
    ("command", "kind"),
    [*(("explain", kind) for kind in IN_WORDS), *(("attach", kind) for kind in IN_WORDS if kind not in OF_EXPLAIN)],
)
def test_one_clear_line_with_limited_time_and_memory(tmp_path: Path, command: str, kind: str) -> None:
    arguments = ["explain", "shop/web"] if command == "explain" else ["attach", "--node", "node-a", "--once"]
    with hostile_server(kind) as address:
        config = kubeconfig(tmp_path / "config", address, {"token": "t0ken"})
        options = ["--kubeconfig", config, "--request-timeout", f"{TIMEOUT_S}s"]
        run = subprocess.run(
            [sys.executable, "-c", MEASURED, *arguments, *options],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    lines = [line for line in run.stderr.splitlines() if "cannot be checked" not in line]
    assert len(lines) == 1, run.stderr
    assert lines[0].startswith("kubesim: error: ")
    assert lines[0].isprintable()
    assert IN_WORDS[kind] in lines[0] or (kind in SLOW and "within 2 s" in lines[0])
    assert "Traceback" not in run.stderr
    assert "t0ken" not in run.stderr
    assert run.returncode == 2
    grown, took = run.stdout.split()
    assert int(grown) < GROWTH_MB
    # The rest allows for other work on the machine.
    assert float(took) < TIMEOUT_S + 10


def test_a_silent_server_times_out_while_following_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with hostile_server("silent") as address:
        config = kubeconfig(tmp_path / "config", address, {})
        assert main(["attach", "--node", "a", "--kubeconfig", config, "--request-timeout", "1"]) == 2
    assert "cannot reach the cluster: no answer within 1 s" in capsys.readouterr().err


@pytest.mark.parametrize("output", ["text", "json", "jsonl"])
def test_control_characters_from_a_cluster_are_escaped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], output: str
) -> None:
    state = waiting("ImagePullBackOff\x1b[31m\x9b")
    state["state"]["waiting"]["message"] = "\x1b]0;title\x07\x9b2J\u202eback\n\x1b[2J"
    stuck = pod(state, metadata={"name": "web", "uid": ""}, spec={"nodeName": "node-a"})
    with served_cluster() as cluster:
        cluster.call(cluster.store.create, stuck)
        config = kubeconfig(tmp_path / "config", cluster.address, {})
        log = tmp_path / "log"
        assert main(["explain", "shop/web", "--kubeconfig", config, "-o", output]) == 0
        arguments = ["attach", "--node", "node-a", "--once", "--kubeconfig", config, "-o", output]
        assert main([*arguments, "--log", str(log), "--log-verbosity", "9"]) in (0, 3)
    said = capsys.readouterr()
    assert "web" in said.out
    assert all(line.isprintable() for line in (said.out + said.err + log.read_text()).split("\n"))

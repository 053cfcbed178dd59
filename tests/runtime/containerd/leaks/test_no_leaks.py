"""Nothing ever remains on a host: pods start and stop, plugins fail and hang, kubesim is killed at random times.

The host is a process with network and mount namespaces that outlive kubesim. Its content is read with other tools than
those of kubesim.
"""

from __future__ import annotations

import itertools
import json
import random
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kubesim.linux.networks import NETWORKS
from tests.support.machine.cni_host import on_host
from tests.support.machine.leaks import left_over, lived
from tests.support.processes import kubesim
from tests.support.soak import LONG, rounds

pytestmark = LONG

PODS = 5  # in each run of kubesim
FAULTS = '10%error(11, "try again") -> 5%hang -> 3%crash -> 2%garbage'


def manifest(name: str, number: int) -> dict[str, Any]:
    """Some have a port of the host, some have limited bandwidth: rules and devices of the host itself."""
    metadata: dict[str, Any] = {"name": name}
    container: dict[str, Any] = {"name": "main", "image": "nginx:1"}
    if number % 2:
        container["ports"] = [{"containerPort": 80, "hostPort": 8000 + number}]
    if number % 3 == 1:
        metadata["annotations"] = {f"kubernetes.io/{way}-bandwidth": "10M" for way in ("ingress", "egress")}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}


def scenario(life: int, pods: int, more: dict[str, Any]) -> str:
    names = [f"pod-{life}-{number}" for number in range(pods)]
    made = [{"at": f"{n}s", "apply": manifest(name, n)} for n, name in enumerate(names)]
    deleted = [{"at": f"{60 + n}s", "delete": {"pod": name}} for n, name in enumerate(names)]
    spec = {
        "runtime": "cni",
        "seed": life,
        "images": [{"name": "*", "present": True}],
        "steps": made + deleted,
        "expect": [{"pod": name, "gone": True, "by": "1h"} for name in names],
        **more,
    }
    whole = {"apiVersion": "kubesim.dev/v1alpha1", "kind": "Scenario", "metadata": {"name": "x"}, "spec": spec}
    return json.dumps(whole)


def after(executions: int) -> Callable[[dict[str, Any]], bool]:
    """The execution of a plugin with this number is fatal; none if it is 0."""
    numbers = itertools.count(1)
    return lambda record: record["kind"] == "cni.exec" and next(numbers) == executions


def churned(
    folder: str, lives: int, pods: int, more: dict[str, Any], seed: int, flags: list[str] | None = None
) -> dict[str, Any]:
    """kubesim is started repeatedly, and killed each time except the last."""
    chance, state, reported = random.Random(seed), f"{folder}/state", []
    words = ["run", "-o", "jsonl", "--host-network-node", "--state", state, "-"]
    for life in range(lives):
        own = flags or ["--cni-network", NETWORKS[life % len(NETWORKS)]]
        fatal = chance.randrange(1, pods * 8) if life < lives - 1 else 0
        pause_s = chance.random() * 0.05  # while the next plugin runs
        outcome = lived([*words, *own], scenario(life, pods, more), after(fatal), pause_s)
        reported.append({**outcome, "left": left_over(state)})
    leaks = subprocess.run(kubesim("cni", "leaks", "--state", state), capture_output=True, text=True, check=False)
    return {"lives": reported, "leaks": leaks.stdout + leaks.stderr}


def check_nothing_is_left(reported: dict[str, Any]) -> None:
    *killed, last = reported["lives"]
    assert last["code"] == 0
    assert {kind: left for kind, left in last["left"].items() if left} == {}
    assert reported["leaks"].startswith("nothing is left behind (")
    assert {life["code"] for life in killed} == {-signal.SIGKILL}
    assert any(any(life["left"].values()) for life in killed), "no kill left anything: nothing had to be cleaned up"


def test_nothing_remains_after_the_last_restart(tmp_path: Path) -> None:
    more = {"cni": {"faults": [{"do": FAULTS}]}}
    reported = on_host(churned, folder=str(tmp_path), lives=rounds(300) // PODS, pods=PODS, more=more, seed=1)
    check_nothing_is_left(reported)
    assert any(life["events"] for life in reported["lives"])


def test_a_small_pool_is_exhausted_and_recovers_and_nothing_remains(tmp_path: Path) -> None:
    """A /28 has thirteen addresses for pods; sixteen pods need one."""
    ipam = {"type": "host-local", "ranges": [[{"subnet": "10.9.0.0/28"}]]}
    bridge = {"type": "bridge", "bridge": "small", "isGateway": True, "ipam": ipam}
    network = {"cniVersion": "1.0.0", "name": "small", "plugins": [bridge]}
    (tmp_path / "net.d").mkdir()
    (tmp_path / "net.d" / "10-small.conflist").write_text(json.dumps(network))
    more = {"cni": {"faults": [{"do": FAULTS}]}}
    given = {"folder": str(tmp_path), "lives": max(2, rounds(300) // 16), "pods": 16, "more": more, "seed": 2}
    reported = on_host(churned, **given, flags=["--cni-conf-dir", str(tmp_path / "net.d")])
    for life in reported["lives"]:  # the user's own network: its bridge, and the file with its next address
        life["left"]["links"] = [name for name in life["left"]["links"] if name != "small"]
        life["left"]["addresses"] = [each for each in life["left"]["addresses"] if each["ifname"] != "small"]
        life["left"]["files"] = [path for path in life["left"]["files"] if not path.endswith(("/lock", "ip.0"))]
    check_nothing_is_left(reported)
    exhausted = "failed to allocate for range 0: no IP addresses available in range set: 10.9.0.1-10.9.0.14"
    assert any(exhausted in message for message in reported["lives"][-1]["events"])

"""The output of `--show network`."""

from __future__ import annotations

import re

import pytest

from kubesim.cli.main import main


def test_nodes_and_pods_with_links_addresses_and_routes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "-q", "--show", "network", "scenarios/two-nodes.yaml"]) == 0
    said = capsys.readouterr().out
    drawn = re.sub(r"veth[0-9a-f]{8}", "VETH", said[said.index("node node-1") :])
    assert drawn == (
        "node node-1\n"
        "├─ lo 127.0.0.1/8 ::1/128\n"
        "├─ eth0 10.0.0.1/16 fd00:10::1/64\n"
        "├─ cni0 (bridge) 10.88.0.1/24\n"
        "│  └─ VETH ── eth0 10.88.0.2/24 of pod web\n"
        "│          route default via 10.88.0.1 on eth0\n"
        "├─ route 10.88.1.0/24 via 10.0.0.2 on eth0\n"
        "└─ route fd00:10:88:1::/64 via fd00:10::2 on eth0\n"
        "\n"
        "node node-2\n"
        "├─ lo 127.0.0.1/8 ::1/128\n"
        "├─ eth0 10.0.0.2/16 fd00:10::2/64\n"
        "├─ cni0 (bridge) 10.88.1.1/24\n"
        "├─ route 10.88.0.0/24 via 10.0.0.1 on eth0\n"
        "└─ route fd00:10:88::/64 via fd00:10::1 on eth0\n"
    )


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--show", "network"], "--show network needs --runtime cni: simulated networks have no links"),
        (["--show", "network", "-o", "json"], "--show cannot be combined with --output and --step"),
        (["--runtime", "docker"], "there is no runtime docker: use one of simulated, cni, cri"),
    ],
)
def test_flags_that_exclude_each_other(words: list[str], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *words, "scenarios/hello-pod.yaml"]) == 2
    assert problem in capsys.readouterr().err

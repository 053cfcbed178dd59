"""Signs of a restarted kubelet: which Node statuses explain a finding that depends on the kubelet's memory."""

from __future__ import annotations

from kubesim.api.node import Node
from kubesim.api.timestamps import SECOND
from kubesim.attach.shadow.divergence import Divergence
from kubesim.attach.watch.restart_signs import PendingFindings
from tests.support.attach.pods import NOW, ago


def report(seconds: int, images: int = 0) -> Node:
    """A Node status, written this many seconds after NOW."""
    condition = {"type": "Ready", "status": "True", "lastHeartbeatTime": ago(-seconds)}
    status = {"conditions": [condition], "images": [{"names": [f"image:{n}"]} for n in range(images)]}
    return Node.from_json({"kind": "Node", "metadata": {"name": "n1"}, "status": status})


def restarted(*reports: Node, found_s: int) -> bool:
    """Whether these reports explain an early restart at that time."""
    findings = PendingFindings()
    for one in reports:
        findings.node_received(one)
    findings.hold(Divergence("early", "shop", "web", "u1", NOW + found_s * SECOND, "too early", "", (), True))
    return findings.restart() is not None


def test_an_unchanged_node_status_off_schedule_is_a_sign_of_a_restart() -> None:
    assert restarted(report(0), report(300), report(360), found_s=362)
    assert not restarted(report(0), report(300), report(360), found_s=370)
    assert not restarted(report(0), report(300), report(600), found_s=602)


def test_a_changed_node_status_is_not_a_sign() -> None:
    assert not restarted(report(0), report(300), report(360, images=1), found_s=362)


def test_a_changed_node_status_does_not_shift_the_schedule() -> None:
    """Two pulled images cause two reports, at any time; the unchanged one after them is that of a new kubelet."""
    assert restarted(report(0), report(80, images=1), report(110, images=2), report(220, images=2), found_s=223)


def test_after_a_change_the_next_node_status_may_arrive_after_half_a_period() -> None:
    assert not restarted(report(0), report(300), report(360, images=1), report(512, images=1), found_s=513)
    assert restarted(report(0), report(300), report(360, images=1), report(490, images=1), found_s=491)


def test_a_node_whose_statuses_always_arrive_early_has_a_shorter_period() -> None:
    assert not restarted(report(0), report(60), report(120), report(180), found_s=181)

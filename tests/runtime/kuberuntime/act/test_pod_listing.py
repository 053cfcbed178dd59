"""Listings of pods: the newest of several sandboxes or containers, and unchanged pods."""

from __future__ import annotations

from kubesim.runtime.kuberuntime.act.pod_listing import runtime_pod, runtime_pod_status, sandbox_ips
from kubesim.runtime.protocol import SandboxInfo
from kubesim.runtime.types import SandboxNetwork


def sandbox(identifier: str, attempt: int, created_at: int) -> SandboxInfo:
    return SandboxInfo(identifier, "u", "p", "ns", attempt, ready=False, created_at=created_at)


def test_the_latest_attempt_is_the_newest_sandbox_then_the_one_created_last_then_the_first_id() -> None:
    """kuberuntime/helpers.go podSandboxByCreatedThenID."""
    given = [sandbox("d", 0, 9), sandbox("c", 1, 5), sandbox("b", 1, 5), sandbox("a", 1, 7)]
    listed = runtime_pod("u", given, [])
    assert [one.id.rpartition("/")[2] for one in listed.sandboxes] == ["a", "b", "c", "d"]
    assert listed.created_at == 9


def test_no_sandbox_replaces_the_newest_one_if_that_is_removed_between_listing_and_status() -> None:
    """kuberuntime_manager.go GetPodStatus."""
    older = SandboxInfo("a", "u", "p", "ns", 0, ready=True, created_at=1, network=SandboxNetwork("10.0.0.1"))
    newer = SandboxInfo("b", "u", "p", "ns", 1, ready=True, created_at=2, network=SandboxNetwork("10.0.0.2"))
    listed = runtime_pod("u", [older, newer], [])
    assert runtime_pod_status(listed, [newer, older], [], {}).ips == ("10.0.0.2",)
    assert runtime_pod_status(listed, [older], [], {}).ips == ()


def test_an_invalid_address_makes_all_addresses_invalid() -> None:
    """kuberuntime_sandbox.go determinePodSandboxIPs reads sloppily: leading zeros do not matter, a zone does."""
    assert sandbox_ips(SandboxNetwork("10.0.0.010", ("fd00::1",))) == ("10.0.0.010", "fd00::1")
    for wrong in ("10.0.0.256", "10.0.0", "fe80::1%eth0", "pod"):
        assert sandbox_ips(SandboxNetwork("10.0.0.1", (wrong,))) == ()
    assert sandbox_ips(SandboxNetwork("")) == ()

"""Listings of pods: which of several sandboxes or containers counts as the newest."""

from __future__ import annotations

from kubesim.runtime.pod_listing import runtime_pod
from kubesim.runtime.protocol import SandboxInfo


def sandbox(identifier: str, attempt: int, created_at: int) -> SandboxInfo:
    return SandboxInfo(identifier, "u", "p", "ns", attempt, ready=False, created_at=created_at)


def test_the_latest_attempt_is_the_newest_sandbox_then_the_one_created_last_then_the_first_id() -> None:
    """kuberuntime/helpers.go podSandboxByCreatedThenID."""
    given = [sandbox("d", 0, 9), sandbox("c", 1, 5), sandbox("b", 1, 5), sandbox("a", 1, 7)]
    listed = runtime_pod("u", given, [])
    assert [one.id.rpartition("/")[2] for one in listed.sandboxes] == ["a", "b", "c", "d"]
    assert listed.created_at == 9

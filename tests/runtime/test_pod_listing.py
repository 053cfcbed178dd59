"""Listings of pods: which of several sandboxes or containers counts as the newest, and what did not change."""

from __future__ import annotations

from kubesim.api.pod import ResourceRequirements
from kubesim.frozen import replace
from kubesim.runtime.pod_listing import ContainerRecords, runtime_pod, runtime_pod_status, sandbox_ips
from kubesim.runtime.protocol import ContainerInfo, SandboxInfo
from kubesim.runtime.types import SandboxNetwork


def sandbox(identifier: str, attempt: int, created_at: int) -> SandboxInfo:
    return SandboxInfo(identifier, "u", "p", "ns", attempt, ready=False, created_at=created_at)


def test_the_latest_attempt_is_the_newest_sandbox_then_the_one_created_last_then_the_first_id() -> None:
    """kuberuntime/helpers.go podSandboxByCreatedThenID."""
    given = [sandbox("d", 0, 9), sandbox("c", 1, 5), sandbox("b", 1, 5), sandbox("a", 1, 7)]
    listed = runtime_pod("u", given, [])
    assert [one.id.rpartition("/")[2] for one in listed.sandboxes] == ["a", "b", "c", "d"]
    assert listed.created_at == 9


def test_no_sandbox_takes_the_place_of_the_newest_if_that_one_goes_between_listing_and_status() -> None:
    """kuberuntime_manager.go GetPodStatus."""
    older = SandboxInfo("a", "u", "p", "ns", 0, ready=True, created_at=1, network=SandboxNetwork("10.0.0.1"))
    newer = SandboxInfo("b", "u", "p", "ns", 1, ready=True, created_at=2, network=SandboxNetwork("10.0.0.2"))
    listed = runtime_pod("u", [older, newer], [])
    assert runtime_pod_status(listed, [newer, older], [], {}).ips == ("10.0.0.2",)
    assert runtime_pod_status(listed, [older], [], {}).ips == ()


def test_an_address_that_cannot_be_read_spoils_them_all() -> None:
    """kuberuntime_sandbox.go determinePodSandboxIPs reads sloppily: leading zeros do not matter, a zone does."""
    assert sandbox_ips(SandboxNetwork("10.0.0.010", ("fd00::1",))) == ("10.0.0.010", "fd00::1")
    for wrong in ("10.0.0.256", "10.0.0", "fe80::1%eth0", "pod"):
        assert sandbox_ips(SandboxNetwork("10.0.0.1", (wrong,))) == ()
    assert sandbox_ips(SandboxNetwork("")) == ()


def test_a_record_is_made_anew_when_the_container_its_sandbox_or_its_resources_changed() -> None:
    info = ContainerInfo("c", "s", "u", "main", attempt=0, state="running", created_at=1)
    records, applied = ContainerRecords(), {"main": ResourceRequirements()}
    first = records.of([info], "s", applied)[0]
    assert records.of([info], "s", applied)[0] is first
    assert records.of([info], "another", applied)[0].active is False
    assert records.of([info], "s", {"main": ResourceRequirements(requests={"memory": "1Mi"})})[0].resources is not None
    assert records.of([replace(info, state="exited")], "s", applied)[0].state == "exited"

"""What holds for sandboxes of every runtime."""

from __future__ import annotations

from kubesim.runtime.kuberuntime.labels import POD_UID
from kubesim.runtime.protocol import NotFound
from kubesim.testing.runtime_contract.subject import Subject, refusal

FOREVER = "sleep 1000"
UNKNOWN = "0" * 64


async def no_problem(subject: Subject) -> None:
    conditions = await subject.runtime.status()
    assert (conditions.runtime_problem, conditions.network_problem) == ("", "")


async def ready(subject: Subject) -> None:
    identifier, config = await subject.sandbox("ready")
    [listed] = await subject.runtime.list_pod_sandboxes("uid-of-ready")
    status = await subject.runtime.pod_sandbox_status(identifier)
    for info in (listed, status):
        assert info.id == identifier
        assert (info.pod_uid, info.pod_name, info.pod_namespace) == ("uid-of-ready", "ready", "contract")
        assert info.ready
        assert info.attempt == 0
        assert dict(info.labels) == {**config.labels, **info.labels}
        assert info.labels[POD_UID] == "uid-of-ready"
        assert info.annotations["note"] == "of ready"
        assert 0 < info.created_at <= subject.clock.wall()
    assert listed.created_at == status.created_at
    assert status.network is not None
    assert status.network.ip
    assert status.network_namespace == "POD"


async def stopped(subject: Subject) -> None:
    identifier, _ = await subject.sandbox("stopped")
    for _ in range(2):
        await subject.runtime.stop_pod_sandbox(identifier)
        assert not (await subject.runtime.pod_sandbox_status(identifier)).ready
    [listed] = await subject.runtime.list_pod_sandboxes("uid-of-stopped")
    assert not listed.ready


async def removed(subject: Subject) -> None:
    identifier, _ = await subject.sandbox("removed")
    await subject.runtime.stop_pod_sandbox(identifier)
    for _ in range(2):
        await subject.runtime.remove_pod_sandbox(identifier)
        assert await subject.runtime.list_pod_sandboxes("uid-of-removed") == []
    status = subject.runtime.pod_sandbox_status(identifier)
    assert await refusal(status, "a removed sandbox has a status", NotFound)


async def listed_by_pod(subject: Subject) -> None:
    one, one_config = await subject.sandbox("one")
    other, other_config = await subject.sandbox("other")
    own = await subject.started(one, one_config, FOREVER)
    await subject.started(other, other_config, FOREVER)
    runtime = subject.runtime
    assert [info.id for info in await runtime.list_pod_sandboxes("uid-of-one")] == [one]
    assert [(info.id, info.sandbox_id) for info in await runtime.list_containers("uid-of-one")] == [(own, one)]
    assert {one, other} <= {info.id for info in await runtime.list_pod_sandboxes()}
    assert await runtime.list_containers("uid-of-nobody") == []


async def removed_with_containers(subject: Subject) -> None:
    identifier, config = await subject.sandbox("cascade")
    await subject.started(identifier, config, FOREVER)
    await subject.runtime.stop_pod_sandbox(identifier)
    await subject.runtime.remove_pod_sandbox(identifier)
    assert await subject.runtime.list_containers("uid-of-cascade") == []


async def unknown(subject: Subject) -> None:
    runtime = subject.runtime
    await runtime.remove_pod_sandbox(UNKNOWN)
    await runtime.remove_container(UNKNOWN)
    config = subject.sandbox_config(subject.pod("unknown"))
    calls = {
        "PodSandboxStatus": runtime.pod_sandbox_status(UNKNOWN),
        "ContainerStatus": runtime.container_status(UNKNOWN),
        "StartContainer": runtime.start_container(UNKNOWN),
        "ExecSync": runtime.exec_sync(UNKNOWN, ("true",), 0),
        "CreateContainer": subject.created(UNKNOWN, config, FOREVER),
    }
    for name, call in calls.items():
        assert await refusal(call, f"{name} of an unknown object succeeds", NotFound)

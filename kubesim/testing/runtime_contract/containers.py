"""Checks of containers."""

from __future__ import annotations

import asyncio

from kubesim.api.timestamps import SECOND
from kubesim.clock import go
from kubesim.runtime.kuberuntime.labels import CONTAINER_HASH, CONTAINER_NAME
from kubesim.runtime.protocol import ContainerEventResponse, NotFound
from kubesim.runtime.types import RuntimeResources
from kubesim.testing.runtime_contract.sandboxes import FOREVER
from kubesim.testing.runtime_contract.subject import LIMIT, STEP, Subject, refusal

SIGKILLED, SIGTERMED = 137, 143
SMALL = RuntimeResources(cpu_request="100m", cpu_limit="500m", memory_limit="64Mi")
LARGE = RuntimeResources(cpu_request="250m", cpu_limit="1", memory_limit="128Mi")


async def life(subject: Subject) -> None:
    sandbox_id, sandbox = await subject.sandbox("life")
    identifier = await subject.created(sandbox_id, sandbox, "sleep 1; exit 3")
    runtime = subject.runtime
    created = await runtime.container_status(identifier)
    assert (created.state, created.started_at, created.finished_at) == ("created", None, None)
    await runtime.start_container(identifier)
    running = await runtime.container_status(identifier)
    assert running.state == "running"
    assert running.started_at is not None
    assert running.started_at >= running.created_at == created.created_at
    ended = await subject.exited(identifier)
    assert (ended.exit_code, ended.reason) == (3, "Error")
    assert ended.finished_at is not None
    assert ended.finished_at > running.started_at == ended.started_at
    [listed] = await runtime.list_containers("uid-of-life")
    assert (listed.id, listed.state) == (identifier, "exited")
    completed = await subject.started(sandbox_id, sandbox, "exit 0", attempt=1)
    ended = await subject.exited(completed)
    assert (ended.exit_code, ended.reason) == (0, "Completed")


async def status(subject: Subject) -> None:
    sandbox_id, sandbox = await subject.sandbox("status")
    identifier = await subject.started(sandbox_id, sandbox, FOREVER, attempt=2)
    [listed] = await subject.runtime.list_containers("uid-of-status")
    status = await subject.runtime.container_status(identifier)
    for info in (listed, status):
        assert (info.id, info.sandbox_id, info.pod_uid) == (identifier, sandbox_id, "uid-of-status")
        assert (info.name, info.attempt, info.state) == ("main", 2, "running")
        assert info.labels[CONTAINER_NAME] == "main"
        assert info.annotations[CONTAINER_HASH]
        assert info.image_ref
    assert status.image == subject.image


async def attempts(subject: Subject) -> None:
    sandbox_id, sandbox = await subject.sandbox("attempts")
    first = await subject.started(sandbox_id, sandbox, "exit 1")
    await subject.exited(first)
    second = await subject.started(sandbox_id, sandbox, FOREVER, attempt=1)
    found = {info.id: (info.attempt, info.state) for info in await subject.runtime.list_containers("uid-of-attempts")}
    assert found == {first: (0, "exited"), second: (1, "running")}


async def reserved_name(subject: Subject) -> None:
    sandbox_id, sandbox = await subject.sandbox("reserved")
    await subject.created(sandbox_id, sandbox, FOREVER)
    second = subject.created(sandbox_id, sandbox, FOREVER)
    assert "is reserved for" in await refusal(second, "two containers have one name and attempt")


async def start_error(subject: Subject) -> None:
    sandbox_id, sandbox = await subject.sandbox("no-program")
    config = subject.container_config(sandbox, ("/no/such/program",))
    identifier = await subject.runtime.create_container(sandbox_id, config, sandbox)
    problem = await refusal(subject.runtime.start_container(identifier), "a program that does not exist starts")
    assert "no such file or directory" in problem
    info = await subject.runtime.container_status(identifier)
    assert (info.state, info.exit_code, info.reason) == ("exited", 128, "StartError")
    assert "no such file or directory" in info.message


async def stopped(subject: Subject) -> None:
    script = "trap 'exit 5' TERM; while true; do sleep 0.1; done"
    identifier = await subject.running("stop", script)
    await subject.clock.sleep(SECOND)  # until the shell is in its loop
    await subject.runtime.stop_container(identifier, 30 * SECOND)
    info = await subject.runtime.container_status(identifier)
    assert (info.state, info.exit_code) == ("exited", 5)
    await subject.runtime.stop_container(identifier, 30 * SECOND)  # it has already stopped


async def killed(subject: Subject) -> None:
    script = "trap '' TERM; while true; do sleep 0.1; done"
    identifier = await subject.running("kill", script)
    await subject.clock.sleep(SECOND)
    began = subject.clock.now()
    await subject.runtime.stop_container(identifier, SECOND)
    assert subject.clock.now() - began >= SECOND
    info = await subject.runtime.container_status(identifier)
    assert (info.state, info.exit_code) == ("exited", SIGKILLED)


async def ended_with_sandbox(subject: Subject) -> None:
    sandbox_id, sandbox = await subject.sandbox("ended")
    identifier = await subject.started(sandbox_id, sandbox, "trap '' TERM; while true; do sleep 0.1; done")
    await subject.runtime.stop_pod_sandbox(sandbox_id)
    assert (await subject.runtime.container_status(identifier)).state == "exited"


async def removed(subject: Subject) -> None:
    identifier = await subject.running("container-removed", "exit 0")
    await subject.exited(identifier)
    for _ in range(2):
        await subject.runtime.remove_container(identifier)
        assert await subject.runtime.list_containers("uid-of-container-removed") == []
    assert await refusal(subject.runtime.container_status(identifier), "a removed container has a status", NotFound)


async def updates(subject: Subject) -> None:
    identifier = await subject.running("updated", FOREVER, resources=SMALL)
    await subject.runtime.update_container_resources(identifier, LARGE)


async def updated(subject: Subject) -> None:
    identifier = await subject.running("updated", FOREVER, resources=SMALL)
    for resources in (SMALL, LARGE):
        if resources is LARGE:
            await subject.runtime.update_container_resources(identifier, LARGE)
        found = (await subject.runtime.container_status(identifier)).resources
        assert found is not None
        assert (found.cpu_request, found.cpu_limit) == (resources.cpu_request, resources.cpu_limit)
        assert found.memory_limit == resources.memory_limit


async def changes(subject: Subject) -> None:
    """A runtime without events compares two listings."""
    heard: list[str] = []
    subject.runtime.on_change(heard.append)
    identifier = await subject.running("changes", "exit 0")
    assert "uid-of-changes" in heard or "" in heard
    await subject.exited(identifier)
    heard.clear()
    deadline = subject.clock.now() + LIMIT
    await subject.runtime.remove_container(identifier)
    while "uid-of-changes" not in heard and "" not in heard:
        assert subject.clock.now() < deadline, "no listener is notified of a removal"
        await subject.clock.sleep(STEP)
        await subject.runtime.list_containers()


async def events(subject: Subject) -> None:
    received: list[ContainerEventResponse] = []
    reading = go(subject.runtime.get_container_events(received.append), "container events")
    await subject.clock.sleep(STEP)
    sandbox_id, sandbox = await subject.sandbox("events")
    identifier = await subject.started(sandbox_id, sandbox, "sleep 1")
    await subject.exited(identifier)
    await subject.runtime.stop_pod_sandbox(sandbox_id)
    await subject.runtime.remove_pod_sandbox(sandbox_id)
    deadline = subject.clock.now() + LIMIT

    def of(subject_id: str) -> list[str]:
        return [event.type.removeprefix("CONTAINER_") for event in received if event.container_id == subject_id]

    wanted = ["CREATED_EVENT", "STARTED_EVENT", "STOPPED_EVENT", "DELETED_EVENT"]
    while of(sandbox_id)[-1:] != ["DELETED_EVENT"]:
        assert subject.clock.now() < deadline, f"events of the sandbox: {of(sandbox_id)}"
        await subject.clock.sleep(STEP)
    reading.cancel()
    await asyncio.wait([reading])
    assert of(identifier)[:3] == wanted[:3]
    assert of(sandbox_id) == wanted
    started = next(event for event in received if event.container_id == identifier)
    assert started.sandbox is not None
    assert started.sandbox.pod_uid == "uid-of-events"
    assert [info.id for info in started.containers] == [identifier]


async def no_events(subject: Subject) -> None:
    assert await refusal(subject.runtime.get_container_events(lambda event: None), "the stream of events ends")

"""Containers over CRI: states, commands, resources, and the words of containerd's errors."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.timestamps import SECOND
from kubesim.runtime.cri.wire import cri_pb2 as cri
from kubesim.runtime.cri.wire.methods import CriError
from tests.support.cri_node import BUSYBOX, CriClient, container_message, sandbox_message, with_client


def test_a_container_keeps_its_attributes() -> None:
    async def story(client: CriClient) -> None:
        message = container_message("top", attempt=2, labels={"foo": "bar"}, annotations={"abc": "def"})
        message.mounts.add(container_path="/data", host_path="/nosuch", readonly=True)
        identifier = await client.create(await client.sandbox(), message)
        status = await client.status(identifier)
        assert status.metadata == message.metadata
        assert (dict(status.labels), dict(status.annotations)) == ({"foo": "bar"}, {"abc": "def"})
        assert list(status.mounts) == list(message.mounts)
        assert (status.state, status.started_at, status.finished_at) == (cri.CONTAINER_CREATED, 0, 0)
        (listed,) = (await client.call("ListContainers", filter=cri.ContainerFilter(id=identifier))).containers
        assert (listed.metadata, dict(listed.labels), listed.image) == (message.metadata, {"foo": "bar"}, message.image)

    with_client(story)


def test_the_image_of_a_container_is_the_same_in_all_answers() -> None:
    async def story(client: CriClient) -> None:
        image = await client.pull()
        sandbox = await client.sandbox()
        message = container_message("top", image=image)
        message.image.user_specified_image = BUSYBOX
        asked = {"config": message, "sandbox_config": sandbox_message()}
        identifier = (await client.call("CreateContainer", pod_sandbox_id=sandbox, **asked)).container_id
        status = await client.status(identifier)
        assert (status.image_id, status.image.image) == (image, BUSYBOX)
        assert status.image_ref.startswith("registry.k8s.io/e2e-test-images/busybox@sha256:")
        (listed,) = (await client.call("ListContainers")).containers
        assert listed.image_id == image
        assert (await client.call("ImageStatus", image=message.image)).image.id == image

    with_client(story)


def test_a_life_from_created_to_exited() -> None:
    async def story(client: CriClient) -> None:
        sandbox = await client.sandbox()
        identifier = await client.run(sandbox, "sh", "-c", "sleep 3; exit 4")
        status = await client.status(identifier)
        assert (status.state, status.finished_at, status.reason) == (cri.CONTAINER_RUNNING, 0, "")
        await client.clock.sleep(4 * SECOND)
        ended = await client.status(identifier)
        assert (ended.state, ended.exit_code, ended.reason) == (cri.CONTAINER_EXITED, 4, "Error")
        assert ended.finished_at - ended.started_at == 3 * 10**9

    with_client(story)


def test_an_exit_code_of_0_is_completed() -> None:
    async def story(client: CriClient) -> None:
        identifier = await client.run(await client.sandbox(), "true")
        await client.clock.sleep(SECOND)
        assert (await client.status(identifier)).reason == "Completed"

    with_client(story)


def test_a_container_stops_by_its_signal_or_by_force() -> None:
    async def story(client: CriClient) -> None:
        sandbox = await client.sandbox()
        graceful = await client.run(sandbox, "sh", "-c", "trap 'exit 3' TERM; sleep 100 & wait", name="a")
        stubborn = await client.run(sandbox, "sh", "-c", "trap '' TERM; sleep 100 & wait; wait", name="b")
        at_once = await client.run(sandbox, "sh", "-c", "trap 'exit 3' TERM; sleep 100 & wait", name="c")
        await client.clock.sleep(SECOND)
        await client.call("StopContainer", container_id=graceful, timeout=30)
        begun = client.clock.now()
        await client.call("StopContainer", container_id=stubborn, timeout=2)
        assert client.clock.now() - begun == 2 * SECOND
        await client.call("StopContainer", container_id=at_once, timeout=0)
        codes = [(await client.status(each)).exit_code for each in (graceful, stubborn, at_once)]
        assert codes == [3, 137, 137]

    with_client(story)


def test_the_stop_signal_of_the_message_is_sent() -> None:
    async def story(client: CriClient) -> None:
        script = "trap 'exit 5' USR1; sleep 100 & wait"
        identifier = await client.run(await client.sandbox(), "sh", "-c", script, stop_signal="SIGUSR1")
        assert (await client.status(identifier)).stop_signal == cri.SIGUSR1
        await client.clock.sleep(SECOND)
        await client.call("StopContainer", container_id=identifier, timeout=10)
        assert (await client.status(identifier)).exit_code == 5

    with_client(story)


def test_stopping_and_removing_are_idempotent() -> None:
    async def story(client: CriClient) -> None:
        await client.call("StopContainer", container_id="nosuch")
        await client.call("RemoveContainer", container_id="nosuch")
        identifier = await client.run(await client.sandbox(), "top")
        for _ in range(2):
            await client.call("StopContainer", container_id=identifier, timeout=5)
        for _ in range(2):
            await client.call("RemoveContainer", container_id=identifier)

    with_client(story)


def test_a_running_container_is_removed_by_force() -> None:
    async def story(client: CriClient) -> None:
        identifier = await client.run(await client.sandbox(), "sh", "-c", "trap '' TERM; sleep 100")
        await client.call("RemoveContainer", container_id=identifier)
        assert not (await client.call("ListContainers")).containers

    with_client(story)


async def failure_of(client: CriClient, name: str, **fields: Any) -> tuple[str, str]:
    with pytest.raises(CriError) as failed:
        await client.call(name, **fields)
    return failed.value.code, failed.value.text


def test_a_container_starts_once() -> None:
    async def story(client: CriClient) -> None:
        identifier = await client.run(await client.sandbox(), "true")
        begin = f'failed to set starting state for container "{identifier}": container is in CONTAINER_'
        assert await failure_of(client, "StartContainer", container_id=identifier) == (
            "Unknown",
            f"{begin}RUNNING state",
        )
        await client.clock.sleep(SECOND)
        assert (await failure_of(client, "StartContainer", container_id=identifier))[1] == f"{begin}EXITED state"

    with_client(story)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("StartContainer", 'an error occurred when try to find container "nosuch": not found'),
        ("ContainerStatus", 'an error occurred when try to find container "nosuch": not found'),
        ("ReopenContainerLog", 'an error occurred when try to find container "nosuch": not found'),
        ("UpdateContainerResources", "failed to find container: not found"),
        ("ContainerStats", "failed to find container: not found"),
        ("ExecSync", 'failed to exec in container: failed to find container "nosuch" in store: not found'),
        ("Exec", 'failed to find container "nosuch" in store: not found'),
        ("Attach", "failed to find container in store: not found"),
    ],
)
def test_a_container_that_does_not_exist(call: str, text: str) -> None:
    async def story(client: CriClient) -> None:
        assert await failure_of(client, call, container_id="nosuch") == ("NotFound", text)

    with_client(story)


def test_a_container_that_does_not_run_runs_no_command() -> None:
    async def story(client: CriClient) -> None:
        identifier = await client.create(await client.sandbox(), container_message("top"))
        state = "container is in CONTAINER_CREATED state"
        assert await failure_of(client, "ExecSync", container_id=identifier, cmd=["ls"]) == (
            "Unknown",
            f"failed to exec in container: {state}",
        )
        assert (await failure_of(client, "Exec", container_id=identifier, cmd=["ls"], stdout=True))[1] == state
        assert (await failure_of(client, "Attach", container_id=identifier, stdout=True))[1] == state
        assert (await failure_of(client, "ReopenContainerLog", container_id=identifier))[
            1
        ] == "container is not running"

    with_client(story)


def test_a_sandbox_that_is_not_ready_takes_no_container() -> None:
    async def story(client: CriClient) -> None:
        await client.pull()
        asked = {"config": container_message("top"), "sandbox_config": sandbox_message()}
        assert await failure_of(client, "CreateContainer", pod_sandbox_id="nosuch", **asked) == (
            "NotFound",
            'failed to find sandbox id "nosuch": not found',
        )
        sandbox = await client.sandbox()
        await client.call("StopPodSandbox", pod_sandbox_id=sandbox)
        text = (await failure_of(client, "CreateContainer", pod_sandbox_id=sandbox, **asked))[1]
        assert text == f'sandbox container "{sandbox}" is not running'

    with_client(story)


def test_a_container_needs_its_image_and_a_free_name() -> None:
    async def story(client: CriClient) -> None:
        sandbox = await client.sandbox()
        asked = {"pod_sandbox_id": sandbox, "config": container_message("top"), "sandbox_config": sandbox_message()}
        assert await failure_of(client, "CreateContainer", **asked) == (
            "NotFound",
            f'failed to resolve image "{BUSYBOX}": not found',
        )
        await client.pull()
        identifier = (await client.call("CreateContainer", **asked)).container_id
        name = "main_web_default_uid-web_0"
        assert (await failure_of(client, "CreateContainer", **asked))[1] == (
            f'failed to reserve container name "{name}"; check if another CreateContainer request is in progress: '
            f'name "{name}" is reserved for "{identifier}"'
        )
        await client.call("RemoveContainer", container_id=identifier)
        await client.call("CreateContainer", **asked)

    with_client(story)


def test_commands_report_output_and_exit_code() -> None:
    async def story(client: CriClient) -> None:
        identifier = await client.run(await client.sandbox(), "top")
        assert await client.exec(identifier, "echo", "-n", "hello") == (0, "hello", "")
        assert await client.exec(identifier, "sh", "-c", "echo out; echo err >&2; exit 3") == (3, "out\n", "err\n")
        assert await client.exec(identifier, "sh", "-c", "echo $HOSTNAME $$ > /tmp/x; cat /tmp/x | wc -l") == (
            0,
            "1\n",
            "",
        )

    with_client(story)


def test_a_command_that_takes_too_long_is_killed() -> None:
    async def story(client: CriClient) -> None:
        identifier = await client.run(await client.sandbox(), "top")
        code, text = await failure_of(client, "ExecSync", container_id=identifier, cmd=["sleep", "4321"], timeout=1)
        assert code == "DeadlineExceeded"
        assert text == "failed to exec in container: timeout 1s exceeded: context deadline exceeded"
        assert await client.exec(identifier, "sh", "-c", "pgrep sleep || true") == (0, "", "")

    with_client(story)


def test_a_variable_that_the_kubelet_has_expanded_stays_as_it_is() -> None:
    async def story(client: CriClient) -> None:
        envs = [cri.KeyValue(key="NAME", value=b"x")]
        command = ("sh", "-c", 'echo "$(echo $NAME) $$(NAME)" > /tmp/out; sleep 100')
        identifier = await client.run(await client.sandbox(), *command, envs=envs)
        code, out, _ = await client.exec(identifier, "cat", "/tmp/out")
        assert (code, out.startswith("x ")) == (0, True)
        assert "$(" not in out

    with_client(story)


def test_updated_resources_are_merged() -> None:
    async def story(client: CriClient) -> None:
        resources = cri.LinuxContainerResources(cpu_shares=100, memory_limit_in_bytes=1 << 20)
        linux = cri.LinuxContainerConfig(resources=resources)
        identifier = await client.run(await client.sandbox(), "top", linux=linux)
        update = cri.LinuxContainerResources(cpu_shares=200, cpu_quota=5000)
        await client.call("UpdateContainerResources", container_id=identifier, linux=update)
        expected = cri.LinuxContainerResources(cpu_shares=200, cpu_quota=5000, memory_limit_in_bytes=1 << 20)
        assert (await client.status(identifier)).resources.linux == expected

    with_client(story)


def test_listings_are_filtered() -> None:
    async def story(client: CriClient) -> None:
        first = await client.sandbox(sandbox_message("a"))
        second = await client.sandbox(sandbox_message("b"))
        one = await client.run(first, "top", name="one", labels={"app": "x"}, config=sandbox_message("a"))
        two = await client.create(second, container_message("top", name="two"), sandbox_message("b"))

        async def listed(**fields: Any) -> list[str]:
            found = await client.call("ListContainers", filter=cri.ContainerFilter(**fields))
            return [each.id for each in found.containers]

        assert await listed() == [one, two]
        assert await listed(pod_sandbox_id=second[:20]) == [two]
        assert await listed(state=cri.ContainerStateValue(state="CONTAINER_RUNNING")) == [one]
        assert await listed(label_selector={"app": "x"}) == [one]
        assert await listed(id="nosuch") == []
        streamed = [each.id async for answer in client.stream("StreamContainers") for each in answer.containers]
        assert streamed == [one, two]

    with_client(story)


def test_a_start_that_fails_leaves_the_container_exited() -> None:
    async def story(client: CriClient) -> None:
        identifier = await client.create(await client.sandbox(), container_message("/nosuch/program"))
        _, text = await failure_of(client, "StartContainer", container_id=identifier)
        assert "stat /nosuch/program: no such file or directory" in text
        status = await client.status(identifier)
        assert (status.state, status.exit_code, status.reason) == (cri.CONTAINER_EXITED, 128, "StartError")
        assert status.message == text

    with_client(story)


def test_a_behaviour_of_the_scenario_plays_the_container() -> None:
    async def story(client: CriClient) -> None:
        identifier = await client.run(await client.sandbox(), "whatever")
        await client.clock.sleep(6 * SECOND)
        assert (await client.status(identifier)).exit_code == 7

    with_client(story, {"behaviours": [{"pod": "web", "container": "main", "runFor": "5s", "exitCode": 7}]})


def test_events_report_every_change() -> None:
    async def story(client: CriClient) -> None:
        import asyncio

        seen: list[Any] = []

        async def read() -> None:
            async for event in client.stream("GetContainerEvents"):
                seen.append(event)

        reading = asyncio.get_running_loop().create_task(read())
        await client.clock.sleep(0)
        sandbox = await client.sandbox()
        identifier = await client.run(sandbox, "true")
        await client.clock.sleep(SECOND)
        await client.call("RemovePodSandbox", pod_sandbox_id=sandbox)
        await client.clock.sleep(SECOND)
        reading.cancel()
        kinds = [(event.container_id == sandbox, event.container_event_type) for event in seen]
        created, started, stopped, deleted = range(4)
        assert kinds == [
            (True, created), (True, started), (False, created), (False, started), (False, stopped),
            (True, stopped), (False, deleted), (True, deleted),
        ]  # fmt: skip
        ended = seen[4]
        assert ended.pod_sandbox_status.metadata.name == "web"
        (status,) = ended.containers_statuses
        assert (status.id, status.state, status.image.image) == (identifier, cri.CONTAINER_EXITED, BUSYBOX)

    with_client(story)


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        ("StopContainer", 'an error occurred when try to find container "{id}": '),
        ("RemoveContainer", 'an error occurred when try to find container "{id}": '),
        ("ContainerStats", "failed to find container: "),
    ],
)
def test_an_id_must_be_given_and_unique(call: str, problem: str) -> None:
    async def story(client: CriClient) -> None:
        sandbox = await client.sandbox()
        ids = [await client.create(sandbox, container_message("top", name=f"c{number}")) for number in range(17)]
        first = next(each[0] for each in ids if sum(other[0] == each[0] for other in ids) > 1)
        for given, why in (("", "prefix can't be empty"), (first, f"multiple IDs found with provided prefix: {first}")):
            code, text = await failure_of(client, call, container_id=given)
            assert (code, text) == ("Unknown", problem.replace("{id}", given) + why)

    with_client(story)


def test_a_container_of_a_stopped_sandbox_does_not_start() -> None:
    async def story(client: CriClient) -> None:
        sandbox = await client.sandbox()
        identifier = await client.create(sandbox, container_message("top"))
        await client.call("StopPodSandbox", pod_sandbox_id=sandbox)
        code, text = await failure_of(client, "StartContainer", container_id=identifier)
        assert (code, text) == ("Unknown", f'sandbox container "{sandbox}" is not running')
        status = await client.status(identifier)
        assert (status.state, status.exit_code, status.reason) == (cri.CONTAINER_EXITED, 128, "StartError")

    with_client(story)


NULL: dict[str, dict[str, Any]] = {
    "command": {"command": ["echo", "\0"]},
    "label": {"labels": {"a\0": "b"}},
    "annotation": {"annotations": {"a": "\0"}},
    "log path": {"log_path": "a\0"},
    "mount": {"mounts": [cri.Mount(host_path="/\0", container_path="/x", propagation="PROPAGATION_BIDIRECTIONAL")]},
    "profile": {
        "linux": cri.LinuxContainerConfig(
            security_context=cri.LinuxContainerSecurityContext(seccomp_profile_path="localhost/\0")
        )
    },
}


@pytest.mark.parametrize("place", NULL)
def test_a_null_byte_is_refused(place: str) -> None:
    async def story(client: CriClient) -> None:
        message = cri.ContainerConfig(image=cri.ImageSpec(image=BUSYBOX), **NULL[place])
        code, text = await failure_of(client, "CreateContainer", pod_sandbox_id="x", config=message)
        assert (code, text) == ("InvalidArgument", "CreateContainer: a text contains a null byte")

    with_client(story)

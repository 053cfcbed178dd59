"""Sandboxes over CRI: what critest checks of them, and the words of containerd's errors."""

from __future__ import annotations

import pytest

from kubesim.runtime.cri.wire import cri_pb2 as cri
from kubesim.runtime.cri.wire.methods import CriError
from tests.support.cri_node import CriClient, sandbox_message, with_client

NODE, POD, CONTAINER, TARGET = cri.NODE, cri.POD, cri.CONTAINER, cri.TARGET


def test_a_sandbox_keeps_its_attributes() -> None:
    async def story(client: CriClient) -> None:
        labels, annotations = {"foo": "bar"}, {"abc": "def"}
        message = sandbox_message("web", attempt=2, labels=labels, annotations=annotations)
        identifier = await client.sandbox(message)
        assert len(identifier) == 64
        status = await client.sandbox_status(identifier)
        assert status.metadata == message.metadata
        assert (dict(status.labels), dict(status.annotations)) == (labels, annotations)
        assert status.state == cri.SANDBOX_READY
        assert status.created_at == client.clock.wall() * 1000
        assert status.network.ip == "10.88.0.10"
        (listed,) = (await client.call("ListPodSandbox", filter=cri.PodSandboxFilter(id=identifier))).items
        assert (listed.metadata, dict(listed.labels)) == (message.metadata, labels)

    with_client(story)


def test_a_sandbox_is_found_by_the_beginning_of_its_id() -> None:
    async def story(client: CriClient) -> None:
        identifier = await client.sandbox()
        assert (await client.sandbox_status(identifier[:12])).id == identifier
        assert len((await client.call("ListPodSandbox", filter=cri.PodSandboxFilter(id=identifier[:12]))).items) == 1

    with_client(story)


def test_listings_are_filtered_by_state_and_labels() -> None:
    async def story(client: CriClient) -> None:
        ready = await client.sandbox(sandbox_message("a", labels={"app": "a"}))
        stopped = await client.sandbox(sandbox_message("b", labels={"app": "b"}))
        await client.call("StopPodSandbox", pod_sandbox_id=stopped)

        async def listed(**fields: object) -> list[str]:
            found = await client.call("ListPodSandbox", filter=cri.PodSandboxFilter(**fields))  # type: ignore[arg-type]
            return [item.id for item in found.items]

        assert await listed() == [ready, stopped]
        assert await listed(state=cri.PodSandboxStateValue(state=cri.SANDBOX_NOTREADY)) == [stopped]
        assert await listed(label_selector={"app": "a"}) == [ready]
        assert await listed(label_selector={"app": "c"}) == []

    with_client(story)


def test_stopping_and_removing_are_idempotent() -> None:
    async def story(client: CriClient) -> None:
        for name in ("StopPodSandbox", "RemovePodSandbox"):
            await client.call(name, pod_sandbox_id="nosuch")
        identifier = await client.sandbox()
        for _ in range(2):
            await client.call("StopPodSandbox", pod_sandbox_id=identifier)
        assert (await client.sandbox_status(identifier)).state == cri.SANDBOX_NOTREADY
        for _ in range(2):
            await client.call("RemovePodSandbox", pod_sandbox_id=identifier)
        assert not (await client.call("ListPodSandbox")).items

    with_client(story)


def test_removing_a_sandbox_removes_its_running_containers() -> None:
    async def story(client: CriClient) -> None:
        identifier = await client.sandbox()
        await client.run(identifier, "sleep", "1000")
        await client.call("RemovePodSandbox", pod_sandbox_id=identifier)
        assert not (await client.call("ListContainers")).containers

    with_client(story)


def test_the_status_of_a_sandbox_that_does_not_exist() -> None:
    async def story(client: CriClient) -> None:
        with pytest.raises(CriError) as failed:
            await client.sandbox_status("nosuch")
        assert failed.value.code == "NotFound"
        assert failed.value.text == "an error occurred when try to find sandbox: not found"

    with_client(story)


def test_a_name_is_reserved_until_the_sandbox_is_removed() -> None:
    async def story(client: CriClient) -> None:
        identifier = await client.sandbox()
        with pytest.raises(CriError) as failed:
            await client.sandbox()
        name = "web_default_uid-web_0"
        assert failed.value.code == "Unknown"
        assert failed.value.text == (
            f'failed to reserve sandbox name "{name}": name "{name}" is reserved for "{identifier}"'
        )
        await client.call("RemovePodSandbox", pod_sandbox_id=identifier)
        await client.sandbox()

    with_client(story)


def test_an_unknown_runtime_handler_is_refused() -> None:
    async def story(client: CriClient) -> None:
        with pytest.raises(CriError, match='no runtime for "gvisor" is configured'):
            await client.sandbox(runtime_handler="gvisor")
        identifier = await client.sandbox(runtime_handler="runc")
        assert (await client.sandbox_status(identifier)).runtime_handler == "runc"

    with_client(story)


def test_a_sandbox_needs_metadata() -> None:
    async def story(client: CriClient) -> None:
        with pytest.raises(CriError, match="sandbox config must include metadata"):
            await client.sandbox(cri.PodSandboxConfig())

    with_client(story)


def host_network() -> cri.LinuxPodSandboxConfig:
    options = cri.NamespaceOption(network="NODE")
    return cri.LinuxPodSandboxConfig(security_context=cri.LinuxSandboxSecurityContext(namespace_options=options))


def test_a_pod_on_the_network_of_the_node_has_no_address() -> None:
    async def story(client: CriClient) -> None:
        status = await client.sandbox_status(await client.sandbox(sandbox_message(linux=host_network())))
        assert status.network.ip == ""
        assert status.linux.namespaces.options.network == cri.NODE

    with_client(story)


ONE = cri.IDMapping(container_id=0, host_id=1000, length=100_000)


@pytest.mark.parametrize(
    ("users", "problem"),
    [
        (
            cri.UserNamespace(mode="POD", uids=[ONE, ONE], gids=[ONE]),
            "only one mapping line supported, got 2 mapping lines",
        ),
        (cri.UserNamespace(mode="POD"), 'can\'t use user namespace mode "POD" without UID and GID mappings'),
        (cri.UserNamespace(mode="NODE", uids=[ONE]), "Got 1 UID mappings and 0 GID mappings"),
        (cri.UserNamespace(mode="CONTAINER"), 'unsupported user namespace mode: "CONTAINER"'),
        (cri.UserNamespace(mode="TARGET"), 'unsupported user namespace mode: "TARGET"'),
        (
            cri.UserNamespace(mode="POD", uids=[cri.IDMapping(container_id=1, length=9)], gids=[ONE]),
            "container ID 0 is not mapped",
        ),
    ],
)
def test_wrong_user_namespaces_are_refused(users: cri.UserNamespace, problem: str) -> None:
    async def story(client: CriClient) -> None:
        options = cri.NamespaceOption(userns_options=users)
        linux = cri.LinuxPodSandboxConfig(security_context=cri.LinuxSandboxSecurityContext(namespace_options=options))
        with pytest.raises(CriError) as failed:
            await client.sandbox(sandbox_message(linux=linux))
        assert problem in failed.value.text

    with_client(story)


def test_a_fault_of_the_scenario_fails_the_call() -> None:
    async def story(client: CriClient) -> None:
        with pytest.raises(CriError) as failed:
            await client.sandbox()
        assert (failed.value.code, failed.value.text) == ("Unknown", "boom")
        await client.sandbox()

    with_client(story, {"faults": [{"operation": "RunPodSandbox", "error": "boom", "times": 1}]})


def test_a_fault_may_have_a_code_of_its_own() -> None:
    async def story(client: CriClient) -> None:
        with pytest.raises(CriError) as failed:
            await client.sandbox()
        assert (failed.value.code, failed.value.text) == ("ResourceExhausted", "too much")

    error = "rpc error: code = ResourceExhausted desc = too much"
    with_client(story, {"faults": [{"operation": "RunPodSandbox", "error": error}]})


def test_a_network_plugin_that_fails_is_in_the_error() -> None:
    async def story(client: CriClient) -> None:
        with pytest.raises(CriError) as failed:
            await client.sandbox()
        assert failed.value.text.endswith('plugin type="bridge" failed (add): no addresses left')

    with_client(story, {"faults": [{"operation": "cni.ADD", "error": "no addresses left", "times": 1}]})


def test_updated_resources_are_in_the_verbose_status() -> None:
    async def story(client: CriClient) -> None:
        identifier = await client.sandbox()
        resources = cri.LinuxContainerResources(cpu_shares=512)
        await client.call("UpdatePodSandboxResources", pod_sandbox_id=identifier, resources=resources)
        answer = await client.call("PodSandboxStatus", pod_sandbox_id=identifier, verbose=True)
        assert '"resources": {"linux": {"cpu_shares": "512"}}' in answer.info["info"]

    with_client(story)

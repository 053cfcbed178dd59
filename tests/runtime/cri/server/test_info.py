"""What a kubelet asks a runtime at its start, usage and metrics."""

from __future__ import annotations

import pytest

from kubesim.api.timestamps import SECOND
from kubesim.runtime.cri.server.usage.metric_table import KINDS
from kubesim.runtime.cri.wire import cri_pb2 as cri
from kubesim.runtime.cri.wire.methods import CriError
from tests.support.cri_node import CriClient, sandbox_message, with_client


def test_the_version_is_one_that_kubelets_accept() -> None:
    async def story(client: CriClient) -> None:
        found = await client.call("Version", version="0.1.0")
        assert (found.version, found.runtime_name, found.runtime_api_version) == ("0.1.0", "containerd", "v1")
        assert found.runtime_version.startswith("v2.3.4+kubesim.")

    with_client(story)


def test_runtime_and_network_are_ready() -> None:
    async def story(client: CriClient) -> None:
        found = await client.call("Status", verbose=True)
        conditions = {each.type: each.status for each in found.status.conditions}
        assert conditions == {"RuntimeReady": True, "NetworkReady": True, "ContainerdHasNoDeprecationWarnings": True}
        assert [handler.name for handler in found.runtime_handlers] == ["", "runc"]
        assert all(handler.features.user_namespaces for handler in found.runtime_handlers)
        assert found.features.supplemental_groups_policy
        assert {"config", "golang", "lastCNILoadStatus"} <= set(found.info)
        assert not (await client.call("Status")).info

    with_client(story)


def test_a_runtime_handler_of_the_scenario_is_listed() -> None:
    async def story(client: CriClient) -> None:
        found = await client.call("Status")
        assert [handler.name for handler in found.runtime_handlers] == ["", "gvisor", "runc"]
        await client.sandbox(runtime_handler="gvisor")

    with_client(story, {"nodes": [{"name": "n", "runtimeHandlers": ["runc", "gvisor"]}]})


def test_the_cgroup_driver_is_reported() -> None:
    async def story(client: CriClient) -> None:
        assert (await client.call("RuntimeConfig")).linux.cgroup_driver in (cri.SYSTEMD, cri.CGROUPFS)

    with_client(story)


def test_the_ranges_of_pod_addresses_are_checked() -> None:
    async def story(client: CriClient) -> None:
        def config(cidr: str) -> cri.RuntimeConfig:
            return cri.RuntimeConfig(network_config=cri.NetworkConfig(pod_cidr=cidr))

        await client.call("UpdateRuntimeConfig")
        await client.call("UpdateRuntimeConfig", runtime_config=config("10.244.0.0/24,fd00::/64"))
        with pytest.raises(CriError, match="invalid CIDR address"):
            await client.call("UpdateRuntimeConfig", runtime_config=config("10.244.0.0"))

    with_client(story)


def test_a_container_cannot_be_checkpointed() -> None:
    async def story(client: CriClient) -> None:
        with pytest.raises(CriError) as failed:
            await client.call("CheckpointContainer", container_id="main", location="/tmp/x.tar")
        assert failed.value.code == "Unknown"
        assert failed.value.text.startswith('failed to checkpoint container "main": criu binary not found')

    with_client(story)


def test_a_container_uses_what_its_behaviour_says() -> None:
    async def story(client: CriClient) -> None:
        sandbox = await client.sandbox(sandbox_message(labels={"pod": "web"}))
        identifier = await client.run(sandbox, "top", labels={"app": "x"})
        await client.clock.sleep(10 * SECOND)
        stats = (await client.call("ContainerStats", container_id=identifier)).stats
        assert (stats.attributes.id, stats.attributes.metadata.name) == (identifier, "main")
        assert stats.cpu.usage_core_nano_seconds.value == 10_000_000
        assert (stats.memory.working_set_bytes.value, stats.writable_layer.used_bytes.value) == (100 << 20, 1 << 20)
        assert stats.cpu.timestamp == stats.memory.timestamp == client.clock.wall() * 1000
        for selector, count in (({"app": "x"}, 1), ({"app": "y"}, 0)):
            wanted = cri.ContainerStatsFilter(label_selector=selector)
            assert len((await client.call("ListContainerStats", filter=wanted)).stats) == count
        pod = (await client.call("PodSandboxStats", pod_sandbox_id=sandbox)).stats
        assert (pod.attributes.id, pod.linux.memory.usage_bytes.value) == (sandbox, 100 << 20)
        assert pod.linux.process.process_count.value == 6
        assert len((await client.call("ListPodSandboxStats")).stats) == 1
        await client.call("StopPodSandbox", pod_sandbox_id=sandbox)
        assert not (await client.call("ListPodSandboxStats")).stats

    behaviour = {"container": "main", "memory": "100Mi", "disk": "1Mi", "processes": 5}
    with_client(story, {"behaviours": [behaviour]})


def test_metrics_have_the_labels_of_their_descriptors() -> None:
    async def story(client: CriClient) -> None:
        descriptors = (await client.call("ListMetricDescriptors")).descriptors
        assert all(each.help and each.label_keys for each in descriptors)
        keys = {each.name: len(each.label_keys) for each in descriptors}
        assert len(keys) == len(descriptors) == len(KINDS)
        sandbox = await client.sandbox()
        await client.run(sandbox, "top")
        (metrics,) = (await client.call("ListPodSandboxMetrics")).pod_metrics
        assert metrics.pod_sandbox_id == sandbox
        found = [*metrics.metrics, *(metric for each in metrics.container_metrics for metric in each.metrics)]
        assert {metric.name for metric in found} == set(keys)
        assert all(len(metric.label_values) == keys[metric.name] for metric in found)

    with_client(story)


def test_every_call_of_cri_is_answered() -> None:
    """None of them is unknown to the server; each request is empty."""
    from kubesim.runtime.cri.wire.methods import methods

    refused: dict[str, str] = {}

    async def story(client: CriClient) -> None:
        for name, method in methods().items():
            if name == "GetContainerEvents":
                continue
            if method.streaming:
                assert [each async for each in client.stream(name)] == []
                continue
            try:
                await client.call(name)
            except CriError as error:
                refused[name] = error.code
        assert {*refused.values()} == {"Unknown"}

    with_client(story)

"""Sandboxes in the order of dockertools."""

from __future__ import annotations

import pytest

from kubesim.cni.plugin_manager import PluginManager
from kubesim.errors import RuntimeCallError
from kubesim.runtime.docker.orders.dockertools import Dockertools
from kubesim.runtime.protocol import SetupNetworkFailed
from tests.support.fakes.docker import FakeDocker, FakePlugin, NotedSteps, sandbox_config

pytestmark = pytest.mark.asyncio


class Node:
    def __init__(self, docker: FakeDocker | None = None, **problems: str) -> None:
        self.docker = docker or FakeDocker()
        self.plugin = FakePlugin(self.docker, **problems)
        self.steps = NotedSteps()
        self.tools = Dockertools(self.docker, PluginManager(self.plugin), self.steps, lambda: 0xABC)


async def test_the_infra_container_runs_before_the_network_is_set_up() -> None:
    node = Node()
    infra = await node.tools.run(sandbox_config())
    assert [call.partition(" ")[0] for call in node.docker.calls] == ["image", "create", "start", "ADD"]
    assert node.steps.names == [
        "ensure the infra image", "create the infra container", "start the infra container", "SetUpPod",
    ]  # fmt: skip
    assert await node.tools.ip(infra) == "10.1.0.9"


async def test_after_a_failed_set_up_the_infra_container_is_killed_without_del() -> None:
    node = Node(ADD="no address")
    with pytest.raises(SetupNetworkFailed) as raised:
        await node.tools.run(sandbox_config())
    assert str(raised.value) == 'NetworkPlugin cni failed to set up pod "web_ns" network: no address'
    assert node.docker.calls[-2:] == ["ADD web", "stop id0"]
    await node.tools.stop("id0")  # before the next one: dead infra containers are torn down, but not killed again
    assert node.docker.calls[-2:] == ["stop id0", "DEL web"]


async def test_an_infra_container_that_cannot_be_killed_is_only_reported() -> None:
    node = Node(FakeDocker(stop="it hangs"), ADD="no address")
    with pytest.raises(SetupNetworkFailed, match=r"no address$"):
        await node.tools.run(sandbox_config())
    assert node.steps.names[-1] == "kill the infra container!"


async def test_a_running_one_is_torn_down_and_killed_even_if_that_failed() -> None:
    node = Node(DEL="no plugin")
    infra = await node.tools.run(sandbox_config())
    with pytest.raises(RuntimeCallError, match=r"failed to teardown pod"):
        await node.tools.stop(infra)
    assert node.docker.calls[-2:] == ["DEL web", "stop id0"]
    with pytest.raises(RuntimeCallError, match=r"^Error inspecting container gone: Error: No such container: gone$"):
        await node.tools.stop("gone")


async def test_a_pod_on_the_network_of_the_node_has_no_plugin_called() -> None:
    node = Node()
    infra = await node.tools.run(sandbox_config(hostNetwork=True))
    await node.tools.stop(infra)
    await node.tools.remove(infra)
    await node.tools.remove(infra)
    assert [call for call in node.docker.calls if call.endswith("web")] == []


async def test_plugins_get_no_ports_and_an_address_that_cannot_be_read_is_reported() -> None:
    node = Node(ip="no eth0")
    infra = await node.tools.run(sandbox_config())
    assert node.tools.port_mappings(infra) == ()
    assert await node.tools.ip(infra) == ""
    assert node.steps.names[-1] == "read the address!"

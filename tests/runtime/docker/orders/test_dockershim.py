"""Sandboxes in the order of dockershim."""

from __future__ import annotations

import pytest

from kubesim.cni.plugin_manager import PluginManager
from kubesim.cni.pod_config import PortMapping
from kubesim.errors import CniError, RuntimeCallError
from kubesim.runtime.docker.orders.checkpoint import marshal, unmarshal
from kubesim.runtime.docker.orders.dockershim import Dockershim
from kubesim.runtime.docker.orders.names import conflict
from kubesim.runtime.protocol import NotFound
from tests.support.fakes.docker import FakeDocker, FakePlugin, NotedSteps, sandbox_config

pytestmark = pytest.mark.asyncio
NAME = "k8s_POD_web_ns_u1_0"


class Node:
    def __init__(self, docker: FakeDocker | None = None, **problems: str) -> None:
        self.docker = docker or FakeDocker()
        self.plugin = FakePlugin(self.docker, **problems)
        self.steps = NotedSteps()
        self.shim = Dockershim(self.docker, PluginManager(self.plugin), self.steps, lambda: 0xABC)


async def test_pause_runs_before_the_network_is_set_up() -> None:
    node = Node()
    assert await node.shim.run(sandbox_config()) == "id0"
    assert node.docker.calls == ["image pause:3.1", f"create {NAME}", "start id0", "ADD web"]
    assert node.steps.names == [
        "ensure the sandbox image", "create the sandbox container", "write the checkpoint",
        "start the sandbox container", "rewrite resolv.conf", "SetUpPod",
    ]  # fmt: skip
    assert node.docker.resolv_confs == {"id0": "nameserver 10.0.0.10\nsearch ns.svc\noptions ndots:5\n"}
    assert await node.shim.ip("id0") == "10.1.0.9"


async def test_a_pod_on_the_network_of_the_node_has_no_plugin_called() -> None:
    node = Node()
    sandbox = await node.shim.run(sandbox_config(hostNetwork=True))
    await node.shim.stop(sandbox)
    assert [call for call in node.docker.calls if call.endswith("web")] == []
    assert await node.shim.ip(sandbox) == ""


async def test_no_runtime_handler_is_supported() -> None:
    node = Node()
    with pytest.raises(RuntimeCallError, match=r'^RuntimeHandler "kata" not supported$'):
        await node.shim.run(sandbox_config(handler="kata"))
    assert node.docker.calls == ["image pause:3.1"]  # it comes first


@pytest.mark.parametrize(
    ("call", "reported"),
    [
        ("image", "no"),
        ("create", 'failed to create a sandbox for pod "web": no'),
        ("start", 'failed to start sandbox container for pod "web": no'),
    ],
)
async def test_what_docker_refuses_is_the_error(call: str, reported: str) -> None:
    node = Node(FakeDocker(**{call: "no"}))
    with pytest.raises(RuntimeCallError) as raised:
        await node.shim.run(sandbox_config())
    assert str(raised.value) == reported
    assert node.shim.network_ready == ({"id0": False} if call == "start" else {})


# -- a name that is taken --------------------------------------------------------------------------------------------


async def test_the_container_that_has_the_name_is_removed_and_the_next_sync_creates() -> None:
    node = Node()
    other = node.docker.create_sandbox(sandbox_config(), "other")
    node.docker.failures["create"] = conflict(NAME, other)
    with pytest.raises(RuntimeCallError, match=r"^failed to create a sandbox for pod .* is already in use by"):
        await node.shim.run(sandbox_config())
    assert node.docker.calls[-1] == f"remove {other}"


async def test_a_container_that_docker_does_not_know_leads_to_a_random_end() -> None:
    node = Node(FakeDocker(create=conflict(NAME, "0123abcd")))
    await node.shim.run(sandbox_config())
    assert node.docker.calls[1:4] == [f"create {NAME}", f"create {NAME}_00000abc", "start id0"]


# -- a network that fails --------------------------------------------------------------------------------------------


async def test_a_failed_set_up_is_torn_down_and_the_sandbox_stopped() -> None:
    node = Node(ADD="no address")
    with pytest.raises(RuntimeCallError) as raised:
        await node.shim.run(sandbox_config())
    assert str(raised.value) == (
        'failed to set up sandbox container "id0" network for pod "web": '
        'NetworkPlugin cni failed to set up pod "web_ns" network: no address'
    )
    assert node.docker.calls[-3:] == ["ADD web", "DEL web", "stop id0"]
    assert node.steps.names[-3:] == ["SetUpPod!", "TearDownPod", "stop the sandbox container"]
    # The flag says that the network is ready, although it is not: stopping runs DEL again, once.
    await node.shim.stop("id0")
    await node.shim.stop("id0")
    assert node.docker.calls[-3:] == ["DEL web", "stop id0", "stop id0"]


async def test_what_fails_in_the_clean_up_is_reported_with_it() -> None:
    node = Node(FakeDocker(stop="it hangs"), ADD="no address", DEL="no plugin")
    with pytest.raises(RuntimeCallError) as raised:
        await node.shim.run(sandbox_config())
    assert str(raised.value) == (
        '[failed to set up sandbox container "id0" network for pod "web": '
        'NetworkPlugin cni failed to set up pod "web_ns" network: no address, '
        'failed to clean up sandbox container "id0" network for pod "web": '
        'NetworkPlugin cni failed to teardown pod "web_ns" network: no plugin, '
        'failed to stop sandbox container "id0" for pod "web": it hangs]'
    )
    assert node.shim.network_ready == {"id0": False}
    assert await node.shim.ip("id0") == ""


# -- stopping and removing -------------------------------------------------------------------------------------------


async def test_the_sandbox_is_stopped_even_if_its_network_cannot_be_torn_down() -> None:
    node = Node()
    await node.shim.run(sandbox_config())
    node.plugin.problems["DEL"] = "no plugin"
    with pytest.raises(
        RuntimeCallError, match=r'^NetworkPlugin cni failed to teardown pod "web_ns" network: no plugin$'
    ):
        await node.shim.stop("id0")
    assert node.docker.calls[-2:] == ["DEL web", "stop id0"]
    del node.plugin.problems["DEL"]
    await node.shim.stop("id0")
    assert node.docker.calls[-2:] == ["DEL web", "stop id0"]


async def test_a_kubelet_that_starts_again_tears_down_what_it_does_not_remember() -> None:
    node = Node()
    await node.shim.run(sandbox_config())
    await node.shim.stop("id0")
    node.shim.kubelet_starts()
    await node.shim.stop("id0")
    assert node.docker.calls.count("DEL web") == 2


async def test_a_sandbox_that_docker_lost_is_stopped_by_its_checkpoint() -> None:
    node = Node()
    await node.shim.run(sandbox_config())
    del node.docker.containers["id0"]
    await node.shim.stop("id0")
    assert node.docker.calls[-1] == "DEL web"
    assert node.shim.checkpoints == {}


@pytest.mark.parametrize("checkpoint", ["", "{}", '{"data": {}, "checksum": 1}'])
async def test_without_container_and_checkpoint_the_name_is_unknown(checkpoint: str) -> None:
    node = Node()
    if checkpoint:
        node.shim.checkpoints["gone"] = checkpoint
    await node.shim.stop("gone")
    assert node.docker.calls == ["DEL "]
    assert node.steps.names[0] == (
        'Both sandbox container and checkpoint for id "gone" could not be found. '
        "Proceed without further sandbox information."
    )
    assert node.shim.checkpoints == {}


async def test_removing_forgets_everything_and_calls_no_plugin() -> None:
    node = Node()
    await node.shim.run(sandbox_config())
    await node.shim.remove("id0")
    await node.shim.remove("id0")
    assert node.docker.calls[-1] == "remove id0"
    assert (node.shim.checkpoints, node.shim.network_ready) == ({}, {})
    with pytest.raises(NotFound, match=r"^Error: No such container: id0$"):
        await node.shim.ip("id0")


async def test_an_address_that_cannot_be_read_is_a_warning() -> None:
    node = Node()
    await node.shim.run(sandbox_config())
    node.plugin.problems["ip"] = "no eth0"
    assert await node.shim.ip("id0") == ""
    assert node.steps.names[-1] == "read the address!"


# -- the checkpoint --------------------------------------------------------------------------------------------------


async def test_plugins_get_ports_from_the_checkpoint_which_has_no_host_address() -> None:
    node = Node()
    ports = [{"containerPort": 53, "hostPort": 5353, "hostIP": "1.2.3.4", "protocol": "UDP"}]
    await node.shim.run(sandbox_config(containers=[{"name": "main", "ports": ports}]))
    assert node.shim.port_mappings("id0") == (PortMapping(1, 53, 5353),)
    text = node.shim.checkpoints["id0"]
    assert text.startswith(
        '{"version":"v1","name":"web","namespace":"ns","data":'
        '{"port_mappings":[{"protocol":"udp","container_port":53,"host_port":5353}]},"checksum":'
    )
    assert marshal(unmarshal(text)) == text
    node.shim.checkpoints["id0"] = text.replace("5353", "5354")
    with pytest.raises(CniError, match=r"^checkpoint is corrupted$"):
        node.shim.port_mappings("id0")
    assert node.shim.port_mappings("id0") == ()  # it was removed

"""Real plugins, run by this library on a private host."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

from kubesim.clock import Randomness
from kubesim.cni.cache import RuntimeConf
from kubesim.cni.conf.network_lists import network_conf_from_bytes
from kubesim.cni.exec.context import Context
from kubesim.cni.exec.process import RealExec
from kubesim.cni.gocni import CNI, NetworkDirectories, with_default_conf, with_lo_network
from kubesim.cni.libcni import CNIConfig, GCArgs, GCAttachment
from kubesim.cni.pod_config import PodNetworkConfig, PortMapping
from kubesim.cni.pod_network import PodNetworkSettings
from kubesim.cni.spec.results import current
from kubesim.errors import CniError
from kubesim.linux import netns
from kubesim.runtime.containerd.sandbox import Parts, PodSandboxService, SandboxFailed, SandboxRequest
from kubesim.runtime.containerd.sandbox_parts import BoundNamespaces, CniNetworking, SandboxDirectory
from kubesim.runtime.protocol import IdMapping, UserNamespace
from tests.support.fakes.sandbox import FakeController
from tests.support.machine.cni_host import BIN_DIR, links, on_host, output
from tests.support.machine.networks import BRIDGE, NOTHING_LEFT, PORTMAP, conflist, left_over, new_namespace
from tests.support.processes import running, unique_sleep


def test_the_plugins_are_installed() -> None:
    missing = [name for name in ("bridge", "host-local", "loopback", "portmap") if not Path(BIN_DIR, name).is_file()]
    assert not missing, f"{BIN_DIR} lacks {missing}: apt-get install containernetworking-plugins (make test does it)"


async def a_chain() -> dict[str, Any]:
    path = new_namespace()
    network = network_conf_from_bytes(conflist(BRIDGE, PORTMAP))
    ports = {"portMappings": [{"hostPort": 8080, "containerPort": 80, "protocol": "tcp"}]}
    runtime = RuntimeConf("container", path, "eth0", (), ports)
    cni = CNIConfig([BIN_DIR], RealExec())
    result = await cni.add_network_list(network, runtime)
    assert result is not None
    during = left_over()
    inside = json.loads(output("nsenter", f"--net={path}", "ip", "-j", "addr", "show", "eth0"))
    await cni.del_network_list(network, runtime)
    await cni.del_network_list(network, runtime)  # the second time there is nothing to do
    netns.remove_netns(path)
    addresses = [entry["local"] for entry in inside[0]["addr_info"] if entry["scope"] == "global"]
    ips = [str(ip.address) for ip in current(result).ips if ip is not None]
    return {"ips": ips, "addresses": addresses, "during": during, "after": left_over()}


def test_a_chain_is_set_up_and_torn_down() -> None:
    reported = on_host(a_chain)
    assert reported["ips"] == ["10.9.0.2/24", "fd00:9::2/64"]
    assert sorted(reported["addresses"]) == ["10.9.0.2", "fd00:9::2"]
    assert reported["during"]["addresses"] == ["10.9.0.2"]
    assert reported["during"]["cache"] == ["net-container-eth0"]
    assert any("--dport 8080 -j DNAT --to-destination 10.9.0.2:80" in rule for rule in reported["during"]["rules"])
    assert reported["after"] == NOTHING_LEFT


async def checked() -> list[str]:
    path = new_namespace()
    network = network_conf_from_bytes(conflist(BRIDGE))
    runtime = RuntimeConf("container", path, "eth0")
    cni = CNIConfig([BIN_DIR], RealExec())
    await cni.add_network_list(network, runtime)
    reported = []
    for change in ((), ("ip", "addr", "flush", "dev", "eth0")):
        if change:
            output("nsenter", f"--net={path}", *change)
        try:
            await cni.check_network_list(network, runtime)
            reported.append("")
        except CniError as error:
            reported.append(str(error))
    return reported


def test_check_detects_an_external_change() -> None:
    assert on_host(checked) == ["", "Failed to match addr 10.9.0.2/24 on interface eth0"]


async def garbage_collection() -> dict[str, Any]:
    network = network_conf_from_bytes(conflist(BRIDGE))
    cni = CNIConfig([BIN_DIR], RealExec())
    for name in ("kept", "lost"):
        await cni.add_network_list(network, RuntimeConf(name, new_namespace(name), "eth0"))
    await cni.gc_network_list(network, GCArgs([GCAttachment("kept", "eth0")]))
    return left_over()


def test_garbage_collection_removes_stale_attachments() -> None:
    reported = on_host(garbage_collection)
    assert reported["cache"] == ["net-kept-eth0"]
    assert reported["addresses"] == ["10.9.0.2"]


async def exhausted() -> str:
    small = {**BRIDGE, "ipam": {"type": "host-local", "subnet": "10.9.0.0/30"}}
    network = network_conf_from_bytes(conflist(small))
    cni = CNIConfig([BIN_DIR], RealExec())
    await cni.add_network_list(network, RuntimeConf("one", new_namespace("one"), "eth0"))
    try:
        await cni.add_network_list(network, RuntimeConf("two", new_namespace("two"), "eth0"))
    except CniError as error:
        return str(error)
    return ""


def test_an_exhausted_pool_is_the_plugins_error() -> None:
    assert on_host(exhausted) == (
        'plugin type="bridge" failed (add): failed to allocate for range 0: '
        "no IP addresses available in range set: 10.9.0.1-10.9.0.2"
    )


def service(folder: str, controller: FakeController) -> PodSandboxService:
    Path(folder, "net.d").mkdir()
    Path(folder, "net.d", "10-net.conflist").write_bytes(conflist(BRIDGE, PORTMAP))
    cni = CNI(NetworkDirectories([BIN_DIR], f"{folder}/net.d", min_networks=2), RealExec())
    cni.load_now(with_lo_network, with_default_conf)
    networking = CniNetworking(cni, PodNetworkSettings(ip_preference="ipv6"))
    names = Randomness(1).stream("netns")
    store = SandboxDirectory(f"{folder}/sandboxes")
    return PodSandboxService(Parts(BoundNamespaces(names), networking, controller, store))


def request(number: int, **more: Any) -> SandboxRequest:
    ports = (PortMapping(container_port=80, host_port=8000 + number),)
    pod = PodNetworkConfig("web", "default", f"uid-{number}", {}, ports)
    return SandboxRequest(f"sandbox{number}", "web", "default", f"uid-{number}", 0, pod, **more)


async def a_sandbox(folder: str) -> dict[str, Any]:
    sandboxes = service(folder, FakeController())
    sandbox = await sandboxes.run(request(1))
    stored = sorted(os.listdir(f"{folder}/sandboxes"))
    ips = await sandboxes.ips(sandbox)
    lo = json.loads(output("nsenter", f"--net={sandbox.netns_path}", "ip", "-j", "link", "show", "lo"))
    await sandboxes.stop(sandbox.id)
    await sandboxes.stop(sandbox.id)
    stopped = {"state": sandbox.state, "ips": await sandboxes.ips(sandbox)}
    await sandboxes.remove(sandbox.id)
    return {
        "stored": stored,
        "ips": ips,
        "lo": lo[0]["flags"],
        "stopped": stopped,
        "after": left_over(),
        "left": sorted(os.listdir(f"{folder}/sandboxes")),
    }


def test_a_sandbox_with_a_real_network(tmp_path: Path) -> None:
    reported = on_host(a_sandbox, folder=str(tmp_path))
    assert reported["stored"] == ["sandbox1.json"]
    assert reported["ips"] == ["fd00:9::2", "10.9.0.2"]
    assert "UP" in reported["lo"]
    assert reported["stopped"] == {"state": "NOTREADY", "ips": []}
    assert reported["after"] == NOTHING_LEFT
    assert reported["left"] == []


async def a_sandbox_that_does_not_start(folder: str) -> dict[str, Any]:
    sandboxes = service(folder, FakeController(start="no such runtime"))
    try:
        await sandboxes.run(request(1))
    except SandboxFailed as error:
        return {"error": str(error), "kept": error.kept is not None, "after": left_over()}
    return {}


def test_a_sandbox_that_does_not_start_leaves_nothing(tmp_path: Path) -> None:
    reported = on_host(a_sandbox_that_does_not_start, folder=str(tmp_path))
    assert reported["error"] == 'failed to start sandbox "sandbox1": no such runtime'
    assert not reported["kept"]
    assert reported["after"] == NOTHING_LEFT


async def a_sandbox_after_a_crash(folder: str) -> dict[str, Any]:
    """The runtime dies while a sandbox runs; the next one finds it in its store and can remove it."""
    before = service(folder, FakeController())
    await before.run(request(1))
    again = PodSandboxService(before._parts)
    again.recover({"sandbox1": True})
    states = {name: sandbox.state for name, sandbox in again.sandboxes.items()}
    await again.remove("sandbox1")
    return {"states": states, "after": left_over()}


def test_what_was_running_before_a_crash_can_be_removed(tmp_path: Path) -> None:
    reported = on_host(a_sandbox_after_a_crash, folder=str(tmp_path))
    assert reported["states"] == {"sandbox1": "READY"}
    assert reported["after"] == NOTHING_LEFT


async def with_user_namespace(folder: str) -> dict[str, Any]:
    sandboxes = service(folder, FakeController())
    mapping = (IdMapping(0, 100_000, 65_536),)
    sandbox = await sandboxes.run(request(1, user_namespace=UserNamespace(mapping, mapping)))
    owner = _owner_of(sandbox.netns_path)
    await sandboxes.remove(sandbox.id)
    return {"own": owner != os.stat("/proc/self/ns/user").st_ino, "after": left_over()}


def _owner_of(path: str) -> int:
    """The user namespace that owns a network namespace (NS_GET_USERNS)."""
    import fcntl

    with open(path) as file:
        fd = fcntl.ioctl(file.fileno(), 0xB701)
        try:
            return os.fstat(fd).st_ino
        finally:
            os.close(fd)


def test_the_network_of_a_pod_with_a_user_namespace_belongs_to_it(tmp_path: Path) -> None:
    assert on_host(with_user_namespace, folder=str(tmp_path)) == {"own": True, "after": NOTHING_LEFT}


async def cancelled_when(fifo: Path, ctx: Context) -> None:
    """Cancel a call as soon as a plugin has written into this pipe."""
    await asyncio.to_thread(fifo.read_bytes)
    ctx.cancel()


async def a_hung_plugin(folder: str, sleep: str) -> dict[str, Any]:
    """The second plugin of a chain hangs, and so do its children; then DEL removes what the first plugin created."""
    network = network_conf_from_bytes(conflist(BRIDGE, {"type": "hang"}))
    cni = CNIConfig([BIN_DIR, folder], RealExec())
    runtime, ctx = RuntimeConf("container", new_namespace(), "eth0"), Context()
    patience = asyncio.create_task(cancelled_when(Path(folder, "hang.began"), ctx))
    try:
        await cni.add_network_list(network, runtime, ctx)
    except CniError as error:
        text = str(error)
    await patience
    await cni.del_network_list(network, runtime)
    netns.remove_netns(runtime.netns)
    return {"error": text, "sleeping": running(sleep), "after": left_over()}


def test_a_hung_plugin_is_killed_with_its_children_and_reverted(tmp_path: Path) -> None:
    hanging, sleep = tmp_path / "hang", unique_sleep()
    hanging.write_text(f'#!/bin/sh\n[ "$CNI_COMMAND" = ADD ] || exit 0\nsetsid {sleep} &\necho >"$0.began"\n{sleep}\n')
    hanging.chmod(0o755)
    os.mkfifo(tmp_path / "hang.began")
    reported = on_host(a_hung_plugin, folder=str(tmp_path), sleep=sleep)
    assert reported["error"] == (
        'plugin type="hang" failed (add): netplugin failed with no error message: signal: killed'
    )
    assert reported["sleeping"] == []
    assert reported["after"] == NOTHING_LEFT


def a_host_in_a_host() -> dict[str, Any]:
    """Other programs may add links to the machine at any time, but not to a private host."""
    before = links()
    on_host(a_chain)
    return {"before": before, "after": links()}


def test_the_machines_links_are_unchanged() -> None:
    assert on_host(a_host_in_a_host) == {"before": ["lo"], "after": ["lo"]}
